import { expect, test, vi } from 'vitest';
import { start } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { issue, signInToStore } from '../../store.ts';

const SECOND_MINUTES = 1 / 60;

test('a short subscription goes from subscribed to grace to expired on its own, through no other state', async () => {
  await using redis = await startRedis();
  await using service = await start({ redis: redis.location });
  const { cookies } = await signInToStore(service, 'ada');
  const stateNow = async (): Promise<string> => (await service.get('/v1/entitlement', { cookies })).body.state;
  const states = [await stateNow()];
  const { purchaseToken } = await issue(service, { kind: 'subscription', minutes: 3 * SECOND_MINUTES, graceMinutes: 4 * SECOND_MINUTES });
  await service.post('/v1/subscription/purchase', { purchaseToken }, { cookies });
  const watch = async (): Promise<boolean> => {
    const state = await stateNow();
    if (state !== states.at(-1)) states.push(state);
    return state === 'expired';
  };
  await vi.waitUntil(watch, { timeout: 15_000, interval: 50 });
  expect(states).toEqual(['none', 'subscribed', 'grace', 'expired']);
});
