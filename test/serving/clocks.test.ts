import { expect, test } from 'vitest';
import { appOf, catalogueFile } from '../features/highscores/catalogue-of.ts';
import { seasonKeys } from '../../src/features/highscores/model.ts';
import { moveKeys } from '../../src/features/guest-moves/model.ts';
import { subscriptionKeys } from '../../src/features/purchases/subscription/model.ts';
import { purchaseHash } from '../../src/features/purchases/core/purchase-ids.ts';
import { holdings } from '../../src/holdings.ts';
import { forFile, freshId, start } from '../harness.ts';
import { startRedis } from '../own-redis.ts';
import { issue, signInToStore } from '../store.ts';

const [HOUR_MS, DAY_MS] = [3_600_000, 86_400_000];

const { location, redis } = await forFile(startRedis());
const season = { period: 'daily', prizes: [{ upTo: 1, coins: 500 }] };
const CATALOGUE_FILE = catalogueFile(JSON.stringify({ apps: ['ahead', 'behind'].map((id) => appOf(id, { season })) }));

/** @param redisAheadMs milliseconds that have passed for Redis. @param machineAheadMs how far the machine's clock is ahead of Redis's */
const serve = (redisAheadMs: number, machineAheadMs: number, more: Parameters<typeof start>[0] = {}) =>
  start({ redis: location, settings: { CATALOGUE_FILE }, redisAheadMs, clockAheadMs: redisAheadMs + machineAheadMs, ...more });

/** A holding that keeps the steps after a move from ending, as a crash does. */
const failing = {
  name: 'failing',
  handOver: () => Promise.reject(new Error('a step that fails')),
};

const redisNow = async (): Promise<number> => Number((await redis.time())[0]) * 1000;

test.each([
  ['ahead', HOUR_MS],
  ['behind', -HOUR_MS],
])(
  'a prize, a check and a move that a service whose clock is an hour %s began are done as punctually by one whose clock is off the other way',
  async (game, aheadMs) => {
    const [installId, guest] = [freshId(), freshId()];
    const today = new Date(Date.now()).toISOString().slice(0, 10);
    const untilEnd = DAY_MS - (Date.now() % DAY_MS);
    let purchase: string;
    {
      await using first = await serve(0, aheadMs, { holdings: [...holdings, failing] });
      expect((await first.post(`/v1/highscores/${game}`, { installId, score: 7, name: 'Ada' })).body.season.id).toBe(today);
      const order = { kind: 'subscription', state: 'canceled', minutes: untilEnd / 60_000 };
      const { purchaseToken } = await issue(first, order);
      purchase = subscriptionKeys.purchase(purchaseHash(purchaseToken));
      const bought = await first.post('/v1/subscription/purchase', { installId, purchaseToken });
      expect(bought.body).toMatchObject({ subscribed: true });
      await first.post(`/v1/highscores/${game}`, { installId: guest, score: 1, name: 'Guest' });
      await signInToStore(first, freshId('subject'), { installId: guest });
      const due = Number((await redis.zrange(moveKeys.unfinished, '0', '0', 'WITHSCORES'))[1]);
      const now = await redisNow();
      // 10 s after its beginning, by Redis's clock.
      expect([due > now - 50_000, due < now + 12_000]).toEqual([true, true]);
      const [member] = await redis.zrangebyscore('seasons:due', '-inf', '+inf');
      expect(member).toBe(`${game} ${today}`);
    }
    // Half an hour after the end of the season and of the subscription, by Redis's clock.
    await using other = await serve(untilEnd + HOUR_MS / 2, -aheadMs);
    await expect.poll(() => redis.hget(seasonKeys.season(game, today), 'state')).toBe('paid');
    expect((await other.get(`/v1/balance?installId=${installId}`)).body.balanceCoins).toBe(500);
    await expect.poll(() => redis.hget(purchase, 'state')).toBe('expired');
    await expect.poll(() => redis.zcard(moveKeys.unfinished)).toBe(0);
    // Redis stores times by its own clock.
    const [checkedAt, now] = [Number(await redis.hget(purchase, 'checkedAt')), (await redisNow()) + untilEnd + HOUR_MS / 2];
    expect(Math.abs(checkedAt - now)).toBeLessThan(60_000);
  },
  90_000,
);
