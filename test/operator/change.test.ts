import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { Refusal } from '../../src/errors.ts';
import { adjust } from '../../src/operator/adjust.ts';
import { ban, unban } from '../../src/operator/ban.ts';
import { listBoard, removeEntry, resetBoard } from '../../src/operator/boards.ts';
import { perform, recorded, type Operation, type OperatorParts } from '../../src/operator/operation.ts';
import { readLog, type LogEntry } from '../../src/operator/operator-log.ts';
import { endRoom } from '../../src/operator/rooms.ts';
import { ReplicasLate } from '../../src/redis/script-call.ts';
import { KeyChangeRefused } from '../../src/server/identity/server-key-changes.ts';
import { freshId, type TestService } from '../harness.ts';
import { signInToStore } from '../store.ts';
import { startOperated, type Operated } from './parts.ts';

/** A change from its question to its entry in the log. Other operators may act between the question and the answer. */

let operated: Operated;
let service: TestService;
let parts: OperatorParts;
beforeAll(async () => {
  operated = await startOperated();
  ({ service, parts } = operated);
});
afterAll(() => operated[Symbol.asyncDispose]());

const by = 'ada@ops-1';

interface Asked {
  readonly reply: Record<string, unknown> | Refusal;
  readonly question: string | undefined;
}

/** Runs an operation as the tool does. @param meanwhile acts of other operators before the answer */
async function run(operation: unknown, input: object, meanwhile = async (): Promise<void> => {}): Promise<Asked> {
  let question: string | undefined;
  const confirm = async (text: string): Promise<void> => {
    question = text;
    await meanwhile();
  };
  const reply = await perform<Record<string, unknown>>(operation as Operation, input, parts, { by, role: 'admin' }, confirm);
  return { reply, question };
}

/** The entry of a change that has this reason. All test files share one log. */
async function entryOf(why: string): Promise<LogEntry | undefined> {
  return (await readLog(0, 100, parts)).find((entry) => entry.why === why);
}

const refusalOf = ({ reply }: Asked): [string, string] => [(reply as Refusal).code, (reply as Refusal).message];

async function account(coins: number): Promise<{ installId: string; accountId: string }> {
  const installId = freshId();
  await service.post('/v1/coins/credit', { installId, coins, key: 'first' });
  return { installId, accountId: accountIdOf(installId) };
}

const freshGame = (): string => freshId('game').toLowerCase();

async function submit(game: string, score: number, installId = freshId()): Promise<string> {
  expect((await service.post(`/v1/highscores/${game}`, { installId, score, name: 'Ada' })).status).toBe(200);
  return accountIdOf(installId);
}

describe('the question', () => {
  test('of an adjustment has the balance before and after it, and the key', async () => {
    const { accountId } = await account(30);
    const { question } = await run(adjust, { accountId, coins: -1, key: 'ticket-1', reason: 'test' });
    expect(question).toBe(`Remove 1 coin from the account ${accountId}, which has 30 and will have 29? Key: ticket-1. Reason: test`);
  });

  test('of a ban names the ban that it replaces, and the question of an unban names the ban', async () => {
    const { accountId } = await account(1);
    const first = await run(ban, { accountId, until: '2099-01-01T00:00:00Z', reason: 'cheats' });
    expect(first.question).toBe(`Ban the account ${accountId} until 2099-01-01T00:00:00.000Z? Reason: cheats`);
    const second = await run(ban, { accountId, reason: 'again' });
    expect(second.question).toBe(
      `Ban the account ${accountId} without an end? This replaces its ban until 2099-01-01T00:00:00.000Z, for: cheats. Reason: again`,
    );
    const { question } = await run(unban, { accountId, reason: 'appeal' });
    expect(question).toBe(`End the ban of the account ${accountId}? It is without an end, for: again. Reason: appeal`);
  });

  test('is not asked if there is no ban to end, and the log has no entry', async () => {
    const { accountId } = await account(1);
    const reason = freshId('reason');
    expect(await run(unban, { accountId, reason })).toEqual({ reply: { accountId, wasBanned: false }, question: undefined });
    expect(await entryOf(reason)).toBeUndefined();
  });

  test('of a removal has the name and the score, and is not asked if there is no entry', async () => {
    const game = freshGame();
    const player = await submit(game, 4200);
    const { question } = await run(removeEntry, { game, player, reason: 'cheated' });
    expect(question).toBe(`Remove "Ada" with the score 4200 (account ${player}) from the board of ${game}? Reason: cheated`);
    const reason = freshId('reason');
    const again = await run(removeEntry, { game, player, reason });
    expect(again.question).toBeUndefined();
    expect(refusalOf(again)).toEqual(['entry_not_found', `The board of ${game} has no entry of this player.`]);
    expect(await entryOf(reason)).toBeUndefined();
  });
});

describe('between the question and the answer', () => {
  test('a reset by another operator makes the service refuse the reset, because its question was about an earlier board', async () => {
    const game = freshGame();
    await submit(game, 1);
    const { question, reply } = await run(resetBoard, { game, reason: 'season 2' }, async () => {
      await run(resetBoard, { game, reason: 'the other operator' });
      await submit(game, 2);
    });
    expect(question).toBe(`Reset the board of ${game}? Its entries (1) go into archive 1. Reason: season 2`);
    expect(refusalOf({ reply, question })).toEqual([
      'entry_not_found',
      `The board of ${game} has just been reset by somebody else: archive 1 has its entries.`,
    ]);
    expect((await run(listBoard, { game })).reply).toMatchObject({
      count: 1,
      entries: [{ score: 2 }],
      archives: [{ archive: 1, entries: 1 }],
    });
  });

  test('the operation follows a guest that moves, and the log names the changed account', async () => {
    const { accountId, installId } = await account(30);
    const reason = freshId('reason');
    const subject = freshId('user');
    const { reply } = await run(adjust, { accountId, coins: 5, key: 'ticket-1', reason }, async () => {
      await signInToStore(service, subject, { installId });
    });
    const { accountId: target } = reply as { accountId: string };
    expect(target).not.toBe(accountId);
    expect(reply).toMatchObject({ balanceAfterCoins: 35 });
    expect(await entryOf(reason)).toMatchObject({
      what: { account: accountId, coins: 5 },
      outcome: { word: 'done', balanceAfterCoins: 35, movedTo: target },
    });
    // The key took effect in the guest's account or in the target of the move, never in both.
    expect((await run(adjust, { accountId, coins: 5, key: 'ticket-1', reason })).reply).toMatchObject({ replayed: true, balanceCoins: 35 });
  });

  test('players may act in a room, and the answer to the end of the room has their acts', async () => {
    const installId = freshId();
    const { code } = (await service.post('/v1/rooms', { installId, state: { round: 1 } })).body.room;
    await service.post(`/v1/rooms/${code}/start`, { installId });
    const { reply } = await run(endRoom, { code, reason: 'abuse' }, async () => {
      expect((await service.post(`/v1/rooms/${code}/state`, { installId, state: { round: 2 } })).status).toBe(200);
    });
    expect(reply).toMatchObject({ room: { phase: 'ended', state: { round: 2 } } });
  });
});

test('an entry on a board is removed by the id of a guest that moved', async () => {
  const game = freshGame();
  const installId = freshId();
  const guest = await submit(game, 7, installId);
  await signInToStore(service, freshId('user'), { installId });
  const { reply } = await run(removeEntry, { game, player: guest, reason: 'cheated' });
  expect(reply).toMatchObject({ removed: { score: 7, accountId: expect.not.stringContaining(guest) } });
});

describe('the outcome in the log', () => {
  test('of a change is a refusal if the account itself refuses the change', async () => {
    const { accountId } = await account(30);
    await run(ban, { accountId, reason: 'cheats' });
    const reason = freshId('reason');
    const refused = await run(adjust, { accountId, coins: 5, key: 'ticket-1', reason });
    expect(refusalOf(refused)[0]).toBe('account_banned');
    expect((await entryOf(reason))?.outcome).toEqual({ word: 'refused', code: 'account_banned' });
  });

  test.each<[string, Error, object]>([
    ['an error with which Redis refuses', new Error('OOM command not allowed'), { word: 'failed', reason: 'OOM command not allowed' }],
    ['a connection that broke', new Error('Connection is closed.'), { word: 'unknown', reason: 'Connection is closed.' }],
    ['replicas that are late', new ReplicasLate(0, 1), { word: 'unknown', reason: '0 of 1 replicas confirmed the writes in time' }],
    ['a fault of the service', new TypeError('x is undefined'), { word: 'unknown', reason: 'x is undefined' }],
    ['a key that cannot be changed', new KeyChangeRefused('There are 200 keys.'), { word: 'refused', reason: 'There are 200 keys.' }],
  ])('of %s says what is known', async (_, error, outcome) => {
    const why = freshId('reason');
    await expect(recorded({ action: 'test', by, what: {}, why, act: () => Promise.reject(error) }, parts)).rejects.toBe(error);
    expect((await entryOf(why))?.outcome).toEqual(outcome);
  });
});

test('a change that could not begin because Redis failed is reported as not made', async () => {
  const failing = { ...parts, scripts: { run: () => Promise.reject(new Error('Connection is closed.')) } } as unknown as OperatorParts;
  const { accountId } = await account(30);
  const refusal = await perform(adjust, { accountId, coins: 1, key: 'a', reason: 'test' }, failing, { by, role: 'admin' }).catch(
    (error: unknown) => error,
  );
  expect(refusal).toMatchObject({ code: 'store_unavailable', details: { retryAfterMs: 1000 } });
  expect((refusal as Refusal).details).not.toHaveProperty('outcome');
});
