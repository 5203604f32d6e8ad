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
  /** By install, the token of its newest subscription. */
  const owned = new Map<string, string>();
  let newest: string | undefined;
  /** Buys a subscription in place of the guest's last one, or tries to use the newest one, which may be another guest's. */
  const buy = async (installId: string, isNew: boolean): Promise<void> => {
    if (newest === undefined || isNew) {
      const linkedPurchaseToken = owned.get(installId);
      newest = (await issue(service, { kind: 'subscription', linkedPurchaseToken })).purchaseToken as string;
      owned.set(installId, newest);
    }
    const { status } = await service.post('/v1/subscription/purchase', { installId, purchaseToken: newest });
    expect(status).toBe(newest === owned.get(installId) ? 200 : 409);
  };
  const players = Array.from({ length: 4 }, () => freshId());
  // A ledger of four pages that from then on gets an entry, and loses one, with each write.
  const grow = async (): Promise<void> => {
    service.advance(DAY_MS / 500);
    await credit(ageing);
  };
  for (let index = 0; index < 520; index++) await grow();
  await Promise.all(players.map(score));
  await buy(players[0]!, true);

  let [reads, writes] = [0, 0];
  const write = async (): Promise<void> => {
    if (++writes % 9 === 0) return void (await buy(players[writes % players.length]!, writes % 2 === 1));
    if (writes % 8 === 0) return void (await score(players[operations % players.length]!));
    if (writes % 30 === 0) {
      const installId = freshId();
      await credit(installId);
      await score(installId);
      await buy(installId, true);
      // From now on it belongs to the store account.
      newest = undefined;
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
  // Each write changes the state of the purchase, as its owner or another guest asks about it.
  const before = async (): Promise<void> => {
    const installId = guests[Math.floor(Math.random() * buyers)]!;
    await issue(service, { kind: 'subscription', purchaseToken, state: writes++ % 4 < 2 ? 'active' : 'canceled' });
    service.advance(1);
    const { status } = await service.post('/v1/subscription/purchase', { installId, purchaseToken });
    expect(status).toBe(installId === guests[0] ? 200 : 409);
  };
  await before();
  for (let audits = 0; audits < 10; audits++) {
    expect((await audited(redis.location, { before })).findings).toEqual([]);
    buyers = guests.length;
  }
  expect(writes).toBeGreaterThan(100);
  expect((await audited(redis.location)).findings).toEqual([]);
});
