import { expect, test } from 'vitest';
import { accountsOn } from '../../board-entries.ts';
import { accountIdOf, storeAccountIdOf } from '../../../src/accounts/ids.ts';
import { standingKey } from '../../../src/accounts/account-keys.ts';
import { applyTombstones, DELETIONS_DUE, TOMBSTONES } from '../../../src/accounts/tombstones.ts';
import type { DeletionJournal } from '../../../src/features/deletion/deletion-journal.ts';
import { operatedBoardKeys } from '../../../src/features/highscores/archives.ts';
import { boardKeys } from '../../../src/features/highscores/model.ts';
import { subscriptionKeys } from '../../../src/features/purchases/subscription/model.ts';
import { purchaseHash } from '../../../src/features/purchases/core/purchase-ids.ts';
import { memberOf } from '../../../src/redis/queue.ts';
import { CLUSTER_QUEUE_TAGS } from '../../../src/redis/slots.ts';
import { audited } from '../../consistency/audited.ts';
import { DyingScripts } from '../../dying-scripts.ts';
import { forFile, freshId } from '../../harness.ts';
import { issue, signInToStore } from '../../store.ts';
import { type Around, openMoving } from '../guest-moves/mortal.ts';

/** A process dies before each single script of a deletion. Then the queue finishes the deletion. */

const { own, service, redis, movers } = await forFile(openMoving());
const freshGame = (): string => freshId('game').toLowerCase();

/** The part of another process that deletes accounts. */
function deleter(): { scripts: DyingScripts; deletions: DeletionJournal } {
  const scripts = new DyingScripts({ call: (command, words) => redis.call(command, ...words) }, service.now);
  // The process that finishes moves has other scripts, so it does not die with this one.
  scripts.helpMove = (accountId) => movers.mover().moves.help(accountId);
  return { scripts, deletions: movers.deletions(scripts) };
}

const submit = (game: string, installId: string) => service.post(`/v1/highscores/${game}`, { installId, score: 1, name: 'Ada' });
const begin = (around: Around, guestId: string, accountId: string) => movers.begin(guestId, accountId, movers.mover(around));

/** Pauses before a call of a script. */
function pausing(isIt: (script: string, call: number) => boolean) {
  const [paused, resumed] = [Promise.withResolvers<string>(), Promise.withResolvers<void>()];
  let calls = 0;
  const around: Around = async (script, run) => {
    if (isIt(script, ++calls)) {
      paused.resolve(script);
      await resumed.promise;
    }
    return run();
  };
  return { around, paused: paused.promise, resume: () => resumed.resolve() };
}

/** Does all work in the queue of deletions, once. It has to be due within the ten seconds of docs/guarantees.md. */
async function work(): Promise<void> {
  const { deletions } = deleter();
  for (const entry of await redis.zrange(DELETIONS_DUE, '0', '-1')) {
    expect(Number(await redis.zscore(DELETIONS_DUE, entry))).toBeLessThanOrEqual(service.now() + 10_000);
    expect(await deletions.work(memberOf(entry))).toBe(undefined);
    await redis.zrem(DELETIONS_DUE, entry);
  }
}

interface Stage {
  readonly accountId: string;
  readonly guests: readonly string[];
  readonly frozen: string;
  readonly game: string;
  readonly code: string;
  /** The second purchase replaced the first. */
  readonly purchaseTokens: readonly [string, string];
}

/**
 * A store account with two guests that moved in, an accepted guest that is still frozen, two purchases, scores on a board and in its
 * archive, a score that an operator removed, and a seat.
 */
async function filledAccount(): Promise<Stage> {
  const [subject, small, large, frozen] = [freshId('subject'), freshId(), freshId(), freshId()];
  const game = freshGame();
  const credit = (installId: string, key: string) => service.post('/v1/coins/credit', { installId, coins: 1, key });
  await credit(small, 'small');
  await Promise.all(Array.from({ length: 110 }, (_, number) => credit(large, `${number}`)));
  await credit(frozen, 'frozen');
  for (const installId of [small, frozen, large]) await submit(game, installId);
  // The state after an operator's reset and removal.
  await redis.rename(boardKeys.scores(game), operatedBoardKeys.archivedScores(game, 1));
  await redis.rename(boardKeys.players(game), operatedBoardKeys.archivedPlayers(game, 1));
  await redis.hset(operatedBoardKeys.archives(game), 1, JSON.stringify({ at: 1, by: 'ada', reason: 'season 2', entries: 3 }));
  await redis.sadd(operatedBoardKeys.removed(game), accountIdOf(large));
  for (const installId of [small, frozen]) await submit(game, installId);
  const buy = async (more: object): Promise<string> => {
    const { purchaseToken } = await issue(service, { kind: 'subscription', ...more });
    await service.post('/v1/subscription/purchase', { installId: small, purchaseToken });
    return purchaseToken;
  };
  const replaced = await buy({});
  const purchaseTokens = [replaced, await buy({ linkedPurchaseToken: replaced })] as const;
  await signInToStore(service, subject, { installId: small });
  const { cookies } = await signInToStore(service, subject, { installId: large });
  const { code } = (await service.post('/v1/rooms', {}, { cookies })).body.room;
  const accountId = storeAccountIdOf('sandbox', subject);
  let isDead = false;
  const around: Around = async (script, run) => {
    if (isDead) throw new Error('the process died');
    const answer = await run();
    isDead = script === 'guest-moves/add-guest-to-account';
    return answer;
  };
  await begin(around, accountIdOf(frozen), accountId).catch(() => {});
  expect(await redis.get(standingKey(accountIdOf(frozen)))).toMatch(/^~/);
  return { accountId, guests: [small, large, frozen].map(accountIdOf), frozen, game, code, purchaseTokens };
}

async function expectErased({ accountId, guests, game, code, purchaseTokens }: Stage, what: string): Promise<void> {
  for (const id of [accountId, ...guests]) {
    const keys = (await redis.keys(`{${id}}:*`)).filter((key) => !/:(?:move|revised):[^:]+$/.test(key));
    // A guest's own seats are in no room.
    expect(keys, what).toEqual([standingKey(id)]);
    expect(await redis.get(standingKey(id)), what).toMatch(/^=\d{13}$/);
    expect(await redis.zscore(TOMBSTONES, id), what).not.toBe(null);
  }
  const { archivedPlayers, archivedScores, removed } = operatedBoardKeys;
  const boards = [boardKeys.scores(game), boardKeys.players(game), archivedPlayers(game, 1), archivedScores(game, 1), removed(game)];
  expect(await redis.exists(...boards), what).toBe(0);
  expect((await service.get(`/v1/rooms/${code}`)).body.room.players, what).toEqual([]);
  const [replaced, last] = purchaseTokens.map((token) => purchaseHash(token)) as [string, string];
  expect(await redis.hgetall(subscriptionKeys.purchase(replaced)), what).toEqual({ owner: '-', retiredBy: last });
  expect(await redis.exists(subscriptionKeys.purchase(last)), what).toBe(0);
  expect(await redis.zcard(DELETIONS_DUE), what).toBe(0);
}

/** @returns false: the deletion ended before the process would have died */
async function crashAt(number: number): Promise<boolean> {
  const stage = await filledAccount();
  const { scripts, deletions } = deleter();
  scripts.dieBefore(number);
  await deletions.delete(stage.accountId, 'owner').catch(() => {});
  const isOver = scripts.calls.length < number;
  const what = `before call ${number}, ${scripts.calls.at(-1)}`;
  const record = await redis.get(standingKey(stage.accountId));
  const isMarked = record?.startsWith('=') === true;
  await work();
  await movers.work();
  if (isMarked) await expectErased(stage, what);
  else {
    expect(isOver, what).toBe(false);
    expect(await redis.get(standingKey(stage.accountId)), what).toBe(record);
    expect(scripts.calls.filter((name) => name === 'accounts/mark-deleted').length, what).toBeLessThanOrEqual(1);
  }
  return !isOver;
}

test('a process dies at each script of a deletion, and the queue finishes what was decided', { timeout: 280_000 }, async () => {
  let number = 1;
  while (await crashAt(number)) number++;
  expect(number).toBeGreaterThan(30);
  await movers.drained();
  await expect.poll(async () => (await audited(own.location)).findings).toEqual([]);
});

/** A move that pauses before one of its scripts, until the account is deleted. @returns false: the move ended before */
async function deletedAt(number: number): Promise<boolean> {
  const [subject, installId] = [freshId('subject'), freshId()];
  const guestId = accountIdOf(installId);
  const game = freshGame();
  for (const key of ['a', 'b', 'c']) await service.post('/v1/coins/credit', { installId, coins: 1, key });
  await submit(game, installId);
  const { accountId } = (await signInToStore(service, subject)).body;
  const { around, paused, resume } = pausing((_, call) => call === number);
  const moving = begin(around, guestId, accountId).catch((error: unknown) => error);
  const script = await Promise.race([paused, moving.then(() => undefined)]);
  await deleter().deletions.delete(accountId, 'owner');
  resume();
  await moving;
  await movers.work();
  const what = `before call ${number}, ${script}`;
  expect(await redis.get(standingKey(accountId)), what).toMatch(/^=\d{13}$/);
  const kept = (await redis.keys(`{${accountId}}:*`)).filter((key) => !/:move:[^:]+$/.test(key));
  expect(kept, what).toEqual([standingKey(accountId)]);
  const isGone = (await redis.get(standingKey(guestId)))?.startsWith('=') === true;
  expect(await accountsOn(redis, game), what).toEqual(isGone ? [] : [guestId]);
  expect(await redis.zcard(boardKeys.scores(game)), what).toBe(isGone ? 0 : 1);
  const { status, body } = await service.get('/v1/balance', { headers: { 'x-install-id': installId } });
  expect([status, body.balanceCoins], what).toEqual(isGone ? [410, undefined] : [200, 3]);
  if (isGone) expect(await redis.keys(`{${guestId}}:*`), what).toEqual([standingKey(guestId)]);
  return script !== undefined;
}

test('an account is deleted before each script of a move into it', async () => {
  let number = 1;
  while (await deletedAt(number)) number++;
  expect(number).toBeGreaterThan(12);
  await movers.drained();
  expect((await audited(own.location)).findings).toEqual([]);
});

test('a score that moves from a guest to the account before any script of the deletion is removed', async () => {
  let isPaused = true;
  for (let number = 1; isPaused; number++) {
    const [subject, installId] = [freshId('subject'), freshId()];
    const game = freshGame();
    await submit(game, installId);
    const { accountId } = (await signInToStore(service, subject)).body;
    const move = pausing((script) => script === 'highscores/move-entry');
    const moving = begin(move.around, accountIdOf(installId), accountId);
    await move.paused;
    const deletion = pausing((_, call) => call === number);
    const deleting = movers.deletions(movers.mover(deletion.around).scripts).delete(accountId, 'owner');
    isPaused = (await Promise.race([deletion.paused, deleting.then(() => undefined)])) !== undefined;
    move.resume();
    await moving;
    deletion.resume();
    await deleting;
    await movers.work();
    expect(await accountsOn(redis, game), `before call ${number}`).toEqual([]);
    expect(await redis.keys(`{${accountId}}:boards`), `before call ${number}`).toEqual([]);
  }
});

test('tombstones delete accounts that a backup brought back, with guests that are moving, whichever script their process dies before', async () => {
  const stage = await filledAccount();
  const banned = accountIdOf(freshId());
  await redis.set(standingKey(banned), '!0 1 -\n');
  const at = service.now() - 3_600_000;
  const tombstones = [stage.accountId, ...stage.guests, banned].map((accountId) => ({ accountId, at }));
  for (let call = 1; call < 14; call += 3) {
    const { scripts } = deleter();
    scripts.dieBefore(call);
    await applyTombstones(tombstones, { scripts, now: service.now }).catch(() => {});
  }
  for (let times = 0; times < 2; times++) await applyTombstones(tombstones, { scripts: deleter().scripts, now: service.now });
  // The queue of the service does the rest.
  await expect.poll(() => redis.zcard(DELETIONS_DUE)).toBe(0);
  await expectErased(stage, 'restored');
  expect((await service.get('/v1/balance', { headers: { 'x-install-id': stage.frozen } })).status).toBe(410);
  expect(await redis.get(standingKey(banned))).toBe(`=${at}`);
  expect(await redis.zscore(TOMBSTONES, stage.accountId)).toBe(String(at));
  await movers.work();
  await expect.poll(async () => (await audited(own.location)).findings).toEqual([]);
});

test('the last erasure of an account is the last of its guests, although the estimate of the clock goes back in it', async () => {
  const installId = freshId();
  await service.post('/v1/coins/credit', { installId, coins: 1, key: 'a' });
  const { accountId } = (await signInToStore(service, freshId('subject'), { installId })).body;
  const { scripts } = movers.mover();
  // As on a Cluster, where a deleted account is erased once more after a minute.
  Object.defineProperty(scripts, 'queueTags', { value: CLUSTER_QUEUE_TAGS });
  let now = Date.now();
  const deletions = movers.deletions(scripts, () => now);
  await deletions.delete(accountId, 'owner');
  const lastAt = now + 60_000;
  const standings = () => redis.mget([accountIdOf(installId), accountId].map(standingKey));
  expect(await standings()).toEqual([expect.stringMatching(/^=\d+\n/), expect.stringMatching(/^=\d+\n/)]);
  now = lastAt;
  let reads = 0;
  scripts.around = async (script, run) => {
    const answer = await run();
    if (script === 'deletion/read-deletion' && ++reads === 2) now = lastAt - 1;
    if (script === 'deletion/erase-account') now = lastAt + 1;
    return answer;
  };
  expect(await deletions.work(accountId)).toBe(undefined);
  expect(await standings()).toEqual([expect.stringMatching(/^=\d+$/), expect.stringMatching(/^=\d+$/)]);
  await redis.del(await redis.keys('{deletions:due:*'));
});
