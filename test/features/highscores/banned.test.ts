import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { ban, BANS_DUE, unban } from '../../../src/accounts/ban.ts';
import type { CallerScripts } from '../../../src/accounts/caller-scripts.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { BanJournal } from '../../../src/features/bans/ban-journal.ts';
import { boardKeys } from '../../../src/features/highscores/model.ts';
import { holdings } from '../../../src/holdings.ts';
import { memberOf } from '../../../src/redis/queue.ts';
import { audited } from '../../consistency/audited.ts';
import { DyingScripts } from '../../dying-scripts.ts';
import { forFile, freshId, start } from '../../harness.ts';
import { makeServerKey } from '../../server-keys.ts';
import { signInToStore } from '../../store.ts';
import { type Around, callerOf, openMoving } from '../guest-moves/mortal.ts';
import { testConfig } from '../../environment.ts';
import { exportOf } from '../../exported.ts';

/** Boards hide the entries of banned accounts. */

const moving = await forFile(openMoving({ ADMIN_API: 'on' }));
const { service, redis, movers } = moving;
const { token: bearer } = await makeServerKey(service, ['admin']);

const freshGame = (): string => freshId('game').toLowerCase();
const admin = (path: string, body: object) => service.post(`/v1/admin${path}`, body, { bearer });
const banned = async (installId: string, body: object = {}): Promise<void> => {
  expect((await admin(`/accounts/${accountIdOf(installId)}/ban`, { reason: 'cheats', ...body })).status).toBe(200);
};
const unbanned = async (installId: string): Promise<void> => {
  expect((await admin(`/accounts/${accountIdOf(installId)}/unban`, { reason: 'appeal' })).status).toBe(200);
};
const submit = (game: string, installId: string, score: number, name: string) =>
  service.post(`/v1/highscores/${game}`, { installId, score, name });

/** A game with these scores of players who are named by letters, and the players' installs. */
async function board(scores: Readonly<Record<string, number>>): Promise<{ game: string; installs: Record<string, string> }> {
  const game = freshGame();
  const installs: Record<string, string> = {};
  for (const [name, score] of Object.entries(scores)) {
    installs[name] = freshId();
    await submit(game, installs[name], score, name);
  }
  return { game, installs };
}

type Shown = { rank: number; name: string; score: number };
const lines = (entries: readonly Shown[]): string[] => entries.map(({ rank, name, score }) => `${rank} ${name} ${score}`);
const top = async (game: string, from = service): Promise<string[]> => lines((await from.get(`/v1/highscores/${game}`)).body.top);
const entries = async (game: string): Promise<string[]> => lines((await service.get(`/v1/highscores/${game}/entries`)).body.entries);

/** The part of a process that bans. */
function bansBy(scripts: CallerScripts): BanJournal {
  scripts.helpMove = (accountId) => movers.mover().moves.help(accountId);
  return new BanJournal({
    scripts,
    config: testConfig(),
    log: pino({ level: 'silent' }),
    now: service.now,
    holdings,
    catalogue: { orderOf: () => 'desc' },
  });
}

/** Pauses before the first call of a script. */
function pausing(name: string) {
  const [paused, resumed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const around: Around = async (script, run) => {
    if (script === name) {
      paused.resolve();
      await resumed.promise;
    }
    return run();
  };
  return { around, paused: paused.promise, resume: () => resumed.resolve() };
}

/** Does all work in the queue of bans, once. It has to be due within ten seconds. */
async function work(): Promise<void> {
  const bans = bansBy(movers.mover().scripts);
  for (const entry of await redis.zrange(BANS_DUE, '0', '-1')) {
    expect(Number(await redis.zscore(BANS_DUE, entry))).toBeLessThanOrEqual(service.now() + 10_000);
    expect(await bans.work(memberOf(entry))).toBe(undefined);
    await redis.zrem(BANS_DUE, entry);
  }
}

describe('the entry of a banned account', () => {
  test('leaves lists and ranks on every process, and comes back to its place among equals', async () => {
    const { game, installs } = await board({ A: 30, B: 20, C: 20, D: 20, E: 10 });
    await using other = await start({ redis: moving.own.location });
    const before = [await top(game), await top(game, other)];
    const { playerId } = (await service.get(`/v1/highscores/${game}/around?installId=${installs['C']}`)).body.you;
    await banned(installs['C']!);
    const left = ['1 A 30', '2 B 20', '2 D 20', '4 E 10'];
    expect(await top(game)).toEqual(left);
    await expect.poll(() => top(game, other)).toEqual(left);
    expect(await entries(game)).toEqual(left);
    expect((await service.get(`/v1/highscores/${game}/around?playerId=${playerId}`)).body).toMatchObject({ you: null, entries: [] });
    const { body } = await submit(game, installs['E']!, 15, 'E');
    expect([body.rank, lines(body.top).slice(0, 3)]).toEqual([4, left.slice(0, 3)]);
    expect((await service.get(`/v1/admin/boards/${game}`, { bearer })).body.count).toBe(4);
    await submit(game, installs['E']!, 20, 'E');
    await unbanned(installs['C']!);
    expect([await top(game), before[0]!.length]).toEqual([['1 A 30', '2 B 20', '2 C 20', '2 D 20', '2 E 20'], 5]);
    await expect.poll(() => top(game, other)).toEqual(await top(game));
    expect((await service.get(`/v1/highscores/${game}/around?installId=${installs['C']}`)).body.you).toMatchObject({ playerId, rank: 2 });
  });

  test('comes back by itself when the ban ends, unless another ban has replaced it', async () => {
    const { game, installs } = await board({ A: 30, B: 20 });
    const until = (afterMs: number): object => ({ until: new Date(service.now() + afterMs).toISOString() });
    await banned(installs['A']!, until(60_000));
    await banned(installs['B']!, until(60_000));
    await banned(installs['B']!);
    expect(await top(game)).toEqual([]);
    service.advance(60_000);
    await expect.poll(() => top(game)).toEqual(['1 A 30']);
    await expect.poll(() => redis.zcard(BANS_DUE)).toBe(0);
    // The audit at the end of this file uses the real time.
    await unban(accountIdOf(installs['A']!), { scripts: movers.mover().scripts });
    await unbanned(installs['B']!);
    expect(await top(game)).toEqual(['1 A 30', '2 B 20']);
  });

  test('comes back with the next score, if that is faster than the queue', async () => {
    const { game, installs } = await board({ A: 30, B: 20 });
    for (const [score, best] of [[10, 30] as const, [40, 40] as const]) {
      await banned(installs['A']!);
      // Stands for a process that dies after the script.
      await unban(accountIdOf(installs['A']!), { scripts: movers.mover().scripts });
      expect(await top(game)).toEqual(['1 B 20']);
      expect((await submit(game, installs['A']!, score, 'A')).body).toMatchObject({ rank: 1, best, personalBest: score === 40 });
      expect(await top(game)).toEqual([`1 A ${best}`, '2 B 20']);
    }
    expect(await redis.hlen(boardKeys.players(game))).toBe(2);
  });

  test('goes with the account, with the entry that an operator removes, and into the archive of a reset', async () => {
    const { game, installs } = await board({ A: 30, B: 20, C: 10 });
    for (const name of ['A', 'B', 'C']) await banned(installs[name]!);
    expect((await admin(`/accounts/${accountIdOf(installs['A']!)}/delete`, { reason: 'asked' })).status).toBe(200);
    const removed = await admin(`/boards/${game}/remove`, { player: `account:${accountIdOf(installs['B']!)}`, reason: 'cheats' });
    expect(removed.body.removed).toMatchObject({ name: 'B', score: 20 });
    expect(await redis.hlen(boardKeys.players(game))).toBe(2);
    await submit(game, freshId(), 5, 'D');
    expect((await admin(`/boards/${game}/reset`, { reason: 'season 2' })).body).toMatchObject({ archive: 1, entries: 1 });
    await unbanned(installs['C']!);
    expect(await top(game)).toEqual([]);
    const exported = (await exportOf(service, { headers: { 'x-install-id': installs['C']! } })).scores;
    expect(exported).toMatchObject([{ game, archive: 1, name: 'C', score: 10 }]);
    await submit(game, installs['C']!, 1, 'C');
    expect(await top(game)).toEqual(['1 C 1']);
  });
});

test('a process that dies anywhere in a ban, or at its end, leaves the rest to the queue', async () => {
  const { installs, game } = await board({ A: 30, B: 20 });
  const second = freshGame();
  for (const name of ['A', 'B']) await submit(second, installs[name]!, 5, name);
  const [accountId, both] = [accountIdOf(installs['A']!), ['1 A 30', '2 B 20']];
  for (const isBan of [true, false]) {
    let isWhole = false;
    for (let call = 1; !isWhole; call++) {
      // Starts from the other state.
      await bansBy(movers.mover().scripts)[isBan ? 'unban' : 'ban'](accountId, {});
      const scripts = new DyingScripts({ call: (command, words) => redis.call(command, ...words) }, service.now);
      scripts.dieBefore(call, true);
      const bans = bansBy(scripts);
      await (isBan ? bans.ban(accountId, {}) : bans.unban(accountId)).catch(() => {});
      isWhole = scripts.calls.length < call;
      await work();
      const isBanned = (await submit(second, installs['A']!, 5, 'A')).status === 403;
      expect(await top(game), `${isBan} ${call}`).toEqual(isBanned ? ['1 B 20'] : both);
      if (call > 3) expect(isBanned).toBe(isBan);
    }
  }
});

test('a ban that ends while another process still hides its entries leaves none hidden', async () => {
  const { game, installs } = await board({ A: 30 });
  const slow = pausing('highscores/hide-entry');
  const banning = bansBy(movers.mover(slow.around).scripts).ban(accountIdOf(installs['A']!), {});
  await slow.paused;
  await unbanned(installs['A']!);
  slow.resume();
  await banning;
  expect(await top(game)).toEqual(['1 A 30']);
});

test('a guest that moves into a banned account brings no visible entry', async () => {
  const { game, installs } = await board({ A: 30, B: 20 });
  const { accountId } = (await signInToStore(service, freshId('subject'))).body;
  const slow = pausing('highscores/move-entry');
  const move = movers.mover(slow.around).moves.begin(callerOf(accountIdOf(installs['A']!)), { accountId, store: 'sandbox' });
  await slow.paused;
  await ban(accountId, {}, { scripts: movers.mover().scripts, now: service.now });
  slow.resume();
  await move;
  await expect.poll(() => top(game)).toEqual(['1 B 20']);
  await admin(`/accounts/${accountId}/unban`, { reason: 'appeal' });
  expect(await top(game)).toEqual(['1 A 30', '2 B 20']);
  await movers.work();
  await expect.poll(async () => (await audited(moving.own.location)).findings).toEqual([]);
});
