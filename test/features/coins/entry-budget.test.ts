import { randomInt } from 'node:crypto';
import { expect, test } from 'vitest';
import { addressGrowthKey } from '../../../src/features/coins/address-growth.ts';
import { dayOf } from '../../../src/features/coins/model.ts';
import { forFile, freshId, start, type TestReply } from '../../harness.ts';
import { makeServerKey } from '../../server-keys.ts';
import { all, count } from '../../server/connection-lines.ts';

const DAY_MS = 86_400_000;
const BUDGET = 5;

const settings = {
  RATE_LIMIT: 'on',
  RATE_LIMIT_PER_SECOND: '10000',
  RATE_LIMIT_BURST: '10000',
  LEDGER_ENTRIES_PER_DAY: String(BUDGET),
  TRUSTED_PROXIES: '127.0.0.1',
};

const service = await forFile(start({ settings, stoppedClock: true }));

/** A player with an address of its own, or with this one. */
const player = (from = `10.${randomInt(256)}.${randomInt(256)}.${randomInt(256)}`, at = service) => {
  const installId = freshId();
  const post = (path: string, body: object, more: object = {}): Promise<TestReply> =>
    at.post(path, { installId, ...body }, { headers: { 'x-forwarded-for': from }, ...more });
  const operate = (operation: string, coins: number, key: string, more?: object) => post(`/v1/coins/${operation}`, { coins, key }, more);
  /** Number of credits that succeed until one is refused. */
  const left = async (): Promise<number> => {
    for (let done = 0; ; done++) if ((await operate('credit', 1, `left ${done}`)).status === 429) return done;
  };
  return { from, post, operate, left };
};

test('credits, purchases, debits and personal bests of an address count together, for all its accounts', async () => {
  const { from, post, operate, left } = player();
  for (const operation of ['credit', 'purchase', 'debit']) expect((await operate(operation, 10, operation)).status).toBe(200);
  const path = `/v1/highscores/${freshId('game').toLowerCase()}`;
  const submit = async (score: number) => (await post(path, { score, name: 'Ada' })).body;
  const bests = [await submit(1), await submit(1), await submit(0)];
  expect(bests.map(({ personalBest }) => personalBest)).toEqual([true, false, false]);
  expect(await player(from).left()).toBe(1);
  expect([await left(), (await submit(2)).error.code]).toEqual([0, 'rate_limited']);
  for (const operation of ['credit', 'purchase', 'debit']) {
    const { status, body, headers } = await operate(operation, 1, `late ${operation}`);
    expect([status, body.error]).toMatchObject([429, { code: 'rate_limited', retryAfterMs: DAY_MS / BUDGET }]);
    expect(headers.get('retry-after')).toBe(String(DAY_MS / BUDGET / 1000));
  }
  expect(await player().left()).toBe(BUDGET);
});

test('a refused operation uses nothing up, and passes after the time that the refusal names', async () => {
  const { operate, left } = player();
  const replies = await all(2 * BUDGET, (index) => operate('credit', 1, `k${index}`));
  expect([count(replies, 200), count(replies, 429)]).toEqual([BUDGET, BUDGET]);
  const refused = replies.findIndex(({ status }) => status === 429);
  service.advance(replies[refused]!.body.error.retryAfterMs - 1);
  expect((await operate('credit', 1, `k${refused}`)).status).toBe(429);
  service.advance(1);
  expect((await operate('credit', 1, `k${refused}`)).body).toEqual({ ok: true, balanceAfterCoins: BUDGET + 1 });
  expect(await left()).toBe(0);
});

test('replays, refusals and entries of a server key use nothing up', async () => {
  const { token: bearer } = await makeServerKey(service, ['coins']);
  const { operate, left } = player();
  expect((await operate('credit', 1, 'a')).status).toBe(200);
  for (let times = 0; times < BUDGET; times++) {
    expect((await operate('credit', 1, 'a')).body.replayed).toBe(true);
    for (const [operation, coins, key, code] of [
      ['credit', 2, 'a', 'key_reused'],
      ['debit', 100, 'b', 'insufficient_coins'],
      ['credit', 0, 'c', 'invalid_request'],
    ] as const)
      expect((await operate(operation, coins, key)).body.error.code).toBe(code);
    expect((await operate('credit', 1, `key ${times}`, { bearer })).status).toBe(200);
  }
  expect(await left()).toBe(BUDGET - 1);
});

test('the number of entries of an address is in Redis once the service has drained', async () => {
  let from: string;
  let day: string;
  {
    await using other = await start({ settings });
    day = dayOf(other.now());
    const { operate, ...one } = player(undefined, other);
    from = one.from;
    for (let index = 0; index < 3; index++) expect((await operate('credit', 1, `k${index}`)).status).toBe(200);
  }
  expect(await service.service.redis.zscore(addressGrowthKey(day), from)).toBe('3');
});

test.each([{ LEDGER_ENTRIES_PER_DAY: '0' }, { RATE_LIMIT: 'off' }])('with %j there is no budget', async (more) => {
  await using other = await start({ settings: { ...settings, ...more } });
  const { operate } = player(undefined, other);
  for (let index = 0; index < 3 * BUDGET; index++) expect((await operate('credit', 1, `k${index}`)).status).toBe(200);
});
