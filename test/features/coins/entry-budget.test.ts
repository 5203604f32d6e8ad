import { randomInt } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { addressGrowthKey } from '../../../src/features/coins/address-growth.ts';
import { dayOf } from '../../../src/features/coins/model.ts';
import { forFile, freshId, sharedClient, signIn, start, type TestReply } from '../../harness.ts';
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

describe('LEDGER_ENTRIES_PER_DAY', () => {
  let address = 0;
  /** A player with its own address. */
  const player = (from = `203.0.113.${++address}`) => {
    const installId = freshId();
    const operate = (operation: string, coins: number, key: string, bearer?: string): Promise<TestReply> =>
      service.post(
        `/v1/coins/${operation}`,
        { installId, coins, key },
        { headers: { 'x-forwarded-for': from }, ...(bearer === undefined ? {} : { bearer }) },
      );
    const entries = async () => {
      const cookies = await signIn(service, installId);
      return (await service.get('/v1/coins/history', { cookies })).body.entries.length as number;
    };
    return { installId, from, operate, entries };
  };

  test('credits, purchases and debits of an address count together, for all its accounts', async () => {
    const { from, operate, entries } = player();
    expect((await operate('credit', 10, 'a')).status).toBe(200);
    expect((await operate('purchase', 10, 'b')).status).toBe(200);
    expect((await operate('debit', 10, 'c')).status).toBe(200);
    const other = player(from);
    expect((await other.operate('credit', 1, 'a')).status).toBe(200);
    expect((await other.operate('credit', 1, 'b')).status).toBe(200);
    for (const operation of ['credit', 'purchase', 'debit']) {
      const { status, body, headers } = await operate(operation, 1, `late ${operation}`);
      expect([status, body.error.code]).toEqual([429, 'rate_limited']);
      expect(body.error.retryAfterMs).toBe(DAY_MS / BUDGET);
      expect(headers.get('retry-after')).toBe(String(DAY_MS / BUDGET / 1000));
    }
    expect([await entries(), await other.entries()]).toEqual([3, 2]);
    expect((await player().operate('credit', 1, 'a')).status).toBe(200);
  });

  test('a personal best counts as an entry, and any other score does not', async () => {
    const { installId, from, operate } = player();
    const submit = (score: number) =>
      service.post(
        `/v1/highscores/budget-${from.replaceAll('.', '-')}`,
        { installId, score, name: 'Ada' },
        { headers: { 'x-forwarded-for': from } },
      );
    const replies = [];
    for (const score of [1, 2, 2, 1, 0, 3]) replies.push(await submit(score));
    expect(replies.map(({ body }) => body.personalBest)).toEqual([true, true, false, false, false, true]);
    expect([(await operate('credit', 1, 'a')).status, (await operate('credit', 1, 'b')).status]).toEqual([200, 200]);
    expect([(await operate('credit', 1, 'c')).status, (await submit(4)).status]).toEqual([429, 429]);
  });

  test('a refused operation uses nothing up, and passes after the time that the refusal names', async () => {
    const { operate } = player();
    const replies = await all(2 * BUDGET, (index) => operate('credit', 1, `k${index}`));
    expect([count(replies, 200), count(replies, 429)]).toEqual([BUDGET, BUDGET]);
    const refused = replies.findIndex(({ status }) => status === 429);
    service.advance(replies[refused]!.body.error.retryAfterMs - 1);
    expect((await operate('credit', 1, `k${refused}`)).status).toBe(429);
    service.advance(1);
    expect((await operate('credit', 1, `k${refused}`)).body).toEqual({ ok: true, balanceAfterCoins: BUDGET + 1 });
    expect((await operate('credit', 1, 'one more')).status).toBe(429);
  });

  test('replays and refusals use nothing up, but need an unused entry while they run', async () => {
    const { operate } = player();
    expect((await operate('credit', 1, 'a')).status).toBe(200);
    for (let times = 0; times < BUDGET; times++) {
      expect((await operate('credit', 1, 'a')).body.replayed).toBe(true);
      expect((await operate('credit', 2, 'a')).body.error.code).toBe('key_reused');
      expect((await operate('debit', 100, 'b')).body.error.code).toBe('insufficient_coins');
      expect((await operate('credit', 0, 'c')).body.error.code).toBe('invalid_request');
    }
    for (let left = BUDGET - 1; left > 0; left--) expect((await operate('credit', 1, `k${left}`)).status).toBe(200);
    expect((await operate('credit', 1, 'late')).status).toBe(429);
  });

  test('entries of a server key do not count', async () => {
    const { token } = await makeServerKey(service, ['coins']);
    const { operate } = player();
    for (let index = 0; index < 2 * BUDGET; index++) expect((await operate('credit', 1, `key ${index}`, token)).status).toBe(200);
    for (let index = 0; index < BUDGET; index++) expect((await operate('credit', 1, `own ${index}`)).status).toBe(200);
    expect((await operate('credit', 1, 'late')).status).toBe(429);
  });

  test('the number of entries of an address is in Redis once the service has drained', async () => {
    const from = `10.${randomInt(256)}.${randomInt(256)}.${randomInt(256)}`;
    let day: string;
    {
      await using other = await start({ settings });
      day = dayOf(other.now());
      for (let index = 0; index < 3; index++) {
        const body = { installId: freshId(), coins: 1, key: 'a' };
        expect((await other.post('/v1/coins/credit', body, { headers: { 'x-forwarded-for': from } })).status).toBe(200);
      }
    }
    const redis = sharedClient();
    try {
      expect(await redis.zscore(addressGrowthKey(day), from)).toBe('3');
    } finally {
      redis.disconnect();
    }
  });

  test.each([
    ['LEDGER_ENTRIES_PER_DAY=0', { LEDGER_ENTRIES_PER_DAY: '0' }],
    ['RATE_LIMIT=off', { RATE_LIMIT: 'off' }],
  ])('with %s there is no budget', async (_, more) => {
    await using other = await start({ settings: { ...settings, ...more } });
    const installId = freshId();
    for (let index = 0; index < 3 * BUDGET; index++)
      expect((await other.post('/v1/coins/credit', { installId, coins: 1, key: `k${index}` })).status).toBe(200);
  });
});
