import { expect, test } from 'vitest';
import { freshId, start } from '../harness.ts';
import { startRedis } from '../own-redis.ts';
import { audited } from './audited.ts';
import { issue, signInToStore } from '../store.ts';

const DAY_MS = 86_400_000;

test('an audit reports no drift if writes come between any two of its reads', async () => {
  await using redis = await startRedis();
  await using service = await start({ redis: redis.location, settings: { LEDGER_RETENTION_DAYS: '1' } });
  // The service's clock runs fast, and must not pass that of Redis.
  service.setClock(-30 * DAY_MS);
  const [subject, ageing] = [freshId('subject'), freshId('ageing')];
  let operations = 0;
  const credit = (installId: string): Promise<unknown> =>
    service.post('/v1/coins/credit', { installId, coins: 1, key: `key ${operations++}` });
  const score = (installId: string): Promise<unknown> =>
    service.post('/v1/highscores/crowded', { installId, score: operations++, name: 'Ada' });
  let bought: string | undefined;
  /** Buys a subscription in place of the last one, or takes the last one over from another guest. */
  const buy = async (installId: string, isTakenOver: boolean): Promise<void> => {
    const isNew = bought === undefined || !isTakenOver;
    if (isNew) bought = (await issue(service, { kind: 'subscription', linkedPurchaseToken: bought })).purchaseToken as string;
    expect((await service.post('/v1/subscription/purchase', { installId, purchaseToken: bought })).status).toBe(200);
  };
  const players = Array.from({ length: 4 }, () => freshId());
  // A ledger of four pages that from then on gets an entry, and loses one, with each write.
  const grow = async (): Promise<void> => {
    service.advance(DAY_MS / 500);
    await credit(ageing);
  };
  for (let index = 0; index < 520; index++) await grow();
  await Promise.all(players.map(score));
  await buy(players[0]!, false);

  let [reads, writes] = [0, 0];
  const write = async (): Promise<void> => {
    if (++writes % 9 === 0) return void (await buy(players[writes % players.length]!, writes % 2 === 0));
    if (writes % 8 === 0) return void (await score(players[operations % players.length]!));
    if (writes % 30 === 0) {
      const installId = freshId();
      await credit(installId);
      await score(installId);
      await buy(installId, false);
      // From now on it belongs to the store account.
      bought = undefined;
      return void (await signInToStore(service, subject, { installId }));
    }
    await grow();
  };
  const before = async (): Promise<void> => {
    reads++;
    await write();
    await write();
  };
  const { findings } = await audited(redis.location, { before });
  expect(findings).toEqual([]);
  expect(reads).toBeGreaterThan(100);
  expect((await audited(redis.location)).findings).toEqual([]);
});

test('an audit reports no drift if a purchase changes between any two of its reads', async () => {
  await using redis = await startRedis();
  await using service = await start({ redis: redis.location });
  const guests = Array.from({ length: 5 }, () => freshId());
  const { purchaseToken } = await issue(service, { kind: 'subscription' });
  let writes = 0;
  let buyers = 1;
  // Each write changes the state of the purchase, and with several buyers mostly its owner.
  const before = async (): Promise<void> => {
    const installId = guests[Math.floor(Math.random() * buyers)]!;
    await issue(service, { kind: 'subscription', purchaseToken, state: writes++ % 4 < 2 ? 'active' : 'canceled' });
    service.advance(1);
    expect((await service.post('/v1/subscription/purchase', { installId, purchaseToken })).status).toBe(200);
  };
  await before();
  for (let audits = 0; audits < 10; audits++) {
    expect((await audited(redis.location, { before })).findings).toEqual([]);
    buyers = guests.length;
  }
  expect(writes).toBeGreaterThan(100);
  expect((await audited(redis.location)).findings).toEqual([]);
});
