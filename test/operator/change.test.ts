import { describe, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { Refusal } from '../../src/errors.ts';
import { adjust } from '../../src/operator/adjust.ts';
import { ban, unban } from '../../src/operator/ban.ts';
import { listBoard, removeEntry, resetBoard } from '../../src/operator/boards.ts';
import { perform, recorded, type Operation, type OperatorServices } from '../../src/operator/operation.ts';
import { readLog, type LogEntry } from '../../src/operator/operator-log.ts';
import { ReplicasLate } from '../../src/redis/script-call.ts';
import { forFile, freshId } from '../harness.ts';
import { signInToStore } from '../store.ts';
import { startOperated } from './parts.ts';

/** A change from its question to its entry in the log. Other operators may act between the question and the answer. */

const { service, parts } = await forFile(startOperated());
const operator = { by: 'ada@ops-1', role: 'admin' } as const;

interface Asked {
  readonly reply: Record<string, unknown>;
  readonly question: string | undefined;
}

/** Runs an operation as the tool does. @param meanwhile acts of other operators before the answer */
async function run(operation: unknown, input: object, meanwhile = async (): Promise<void> => {}): Promise<Asked> {
  let question: string | undefined;
  const confirm = async (text: string): Promise<void> => {
    question = text;
    await meanwhile();
  };
  const reply = await perform<Record<string, unknown>>(operation as Operation, { reason: 'test', ...input }, parts, operator, confirm);
  return { reply: reply as Record<string, unknown>, question };
}

/** The entry of a change that has this reason. All test files share one log. */
async function entryOf(why: string): Promise<LogEntry | undefined> {
  return (await readLog(0, 100, parts)).find((entry) => entry.why === why);
}

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

test('no question is asked if there is nothing to change, and the log has no entry', async () => {
  const { accountId } = await account(1);
  const [reason, game] = [freshId('reason'), freshGame()];
  expect(await run(unban, { accountId, reason })).toEqual({ reply: { accountId, wasBanned: false }, question: undefined });
  const { reply, question } = await run(removeEntry, { game, player: accountId, reason });
  expect([reply, question]).toMatchObject([
    { code: 'entry_not_found', message: `The board of ${game} has no entry of this player.` },
    undefined,
  ]);
  expect(await entryOf(reason)).toBeUndefined();
});

describe('between the question and the answer', () => {
  test('a reset by another operator makes the service refuse the reset, because its question was about an earlier board', async () => {
    const game = freshGame();
    await submit(game, 1);
    const asked = await run(resetBoard, { game, reason: 'season 2' }, async () => {
      await run(resetBoard, { game });
      await submit(game, 2);
    });
    expect(asked).toMatchObject({
      question: `Reset the board of ${game}? Its entries (1) go into archive 1. Reason: season 2`,
      reply: {
        code: 'entry_not_found',
        message: `The board of ${game} has just been reset by somebody else: archive 1 has its entries.`,
      },
    });
    const left = { count: 1, entries: [{ score: 2 }], archives: [{ archive: 1, entries: 1 }] };
    expect((await run(listBoard, { game })).reply).toMatchObject(left);
  });

  test('the operation follows a guest that moves, and the log names the changed account', async () => {
    const { accountId, installId } = await account(30);
    const reason = freshId('reason');
    const change = { accountId, coins: 5, key: 'ticket-1', reason };
    const { reply } = await run(adjust, change, async () => void (await signInToStore(service, freshId('user'), { installId })));
    const target = reply['accountId'];
    expect([target === accountId, reply]).toMatchObject([false, { balanceAfterCoins: 35 }]);
    expect(await entryOf(reason)).toMatchObject({
      what: { account: accountId, coins: 5 },
      outcome: { word: 'done', balanceAfterCoins: 35, movedTo: target },
    });
    // The key took effect in the guest's account or in the target of the move, never in both.
    expect((await run(adjust, change)).reply).toMatchObject({ replayed: true, balanceCoins: 35 });
  });
});

describe('the outcome in the log', () => {
  test('of a change is a refusal if the account itself refuses the change', async () => {
    const { accountId } = await account(30);
    await run(ban, { accountId });
    const reason = freshId('reason');
    const { reply } = await run(adjust, { accountId, coins: 5, key: 'ticket-1', reason });
    expect([reply['code'], (await entryOf(reason))?.outcome]).toEqual(['account_banned', { word: 'refused', code: 'account_banned' }]);
  });

  test.each<[string, Error, string]>([
    ['an error with which Redis refuses', new Error('OOM command not allowed'), 'failed'],
    ['a connection that broke', new Error('Connection is closed.'), 'unknown'],
    ['replicas that are late', new ReplicasLate(0, 1), 'unknown'],
    ['a fault of the service', new TypeError('x is undefined'), 'unknown'],
  ])('of %s says what is known', async (_, error, word) => {
    const why = freshId('reason');
    await expect(recorded({ action: 'test', by: operator.by, what: {}, why, act: () => Promise.reject(error) }, parts)).rejects.toBe(error);
    expect((await entryOf(why))?.outcome).toEqual({ word, reason: error.message });
  });
});

test('a change that could not begin because Redis failed is reported as not made', async () => {
  const failing = { ...parts, scripts: { run: () => Promise.reject(new Error('Connection is closed.')) } } as unknown as OperatorServices;
  const { accountId } = await account(30);
  const refusal = await perform(adjust, { accountId, coins: 1, key: 'a', reason: 'test' }, failing, operator).catch(
    (error: unknown) => error,
  );
  expect(refusal).toMatchObject({ code: 'store_unavailable', details: { retryAfterMs: 1000 } });
  expect((refusal as Refusal).details).not.toHaveProperty('outcome');
});
