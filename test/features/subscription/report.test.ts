import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { accountKey } from '../../../src/accounts/account-keys.ts';
import { sharedClient, freshId, request, signIn, start, type TestService } from '../../harness.ts';

let service: TestService;
let ignoring: TestService;
let redis: Redis;
beforeAll(async () => {
  service = await start();
  ignoring = await start({ settings: { SUBSCRIPTION_REPORTS: 'ignore' } });
  redis = sharedClient();
});
afterAll(async () => {
  await redis.quit();
  await ignoring[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});

const report = (installId: string, subscribed: unknown, at = service) => at.post('/v1/subscription/report', { installId, subscribed });
const subscription = (installId: string, at = service) => at.get(`/v1/subscription?installId=${installId}`);

describe('POST /v1/subscription/report', () => {
  test('the last report counts', async () => {
    const installId = freshId();
    expect((await report(installId, true)).body).toEqual({ ok: true, recorded: true });
    expect((await subscription(installId)).body).toMatchObject({ subscribed: true, state: 'active', source: 'report', verified: false });
    expect((await report(installId, false)).body).toEqual({ ok: true, recorded: true });
    expect((await subscription(installId)).body).toMatchObject({ subscribed: false, state: 'none', source: 'report', verified: false });
  });

  test('every report counts for 72 hours', async () => {
    await using moved = await start();
    const installId = freshId();
    await report(installId, true, moved);
    moved.advance(48 * 3_600_000);
    await report(installId, true, moved);
    moved.advance(71 * 3_600_000);
    expect((await subscription(installId, moved)).body.subscribed).toBe(true);
    moved.advance(3_600_000);
    expect((await subscription(installId, moved)).body.subscribed).toBe(false);
  });

  test('is refused unless subscribed is a boolean', async () => {
    for (const subscribed of [undefined, null, 'true', 1]) {
      const reply = await report(freshId(), subscribed);
      expect([reply.status, reply.body.error.code, reply.body.error.field]).toEqual([400, 'invalid_request', 'subscribed']);
    }
    const broken = await request(service.url, '/v1/subscription/report', { method: 'POST' }, '{"subscribed":');
    expect([broken.status, broken.body.error.code]).toEqual([400, 'invalid_json']);
  });
});

describe('SUBSCRIPTION_REPORTS=ignore', () => {
  test('a report of an install answers recorded: false and stores nothing', async () => {
    const installId = freshId();
    expect((await report(installId, true, ignoring)).body).toEqual({ ok: true, recorded: false });
    expect(await redis.exists(accountKey(accountIdOf(installId)))).toBe(0);
    expect((await subscription(installId)).body).toMatchObject({ subscribed: false, source: 'none' });
  });

  test('a session that ended on another process is refused here too', async () => {
    const cookies = await signIn(service, freshId());
    await service.post('/v1/logout', {}, { cookies });
    const reply = await ignoring.post('/v1/subscription/report', { subscribed: true }, { cookies });
    expect([reply.status, reply.body.error.code]).toEqual([401, 'identity_required']);
  });

  test('earlier reports no longer count', async () => {
    const installId = freshId();
    await report(installId, true);
    expect((await subscription(installId)).body.subscribed).toBe(true);
    expect((await subscription(installId, ignoring)).body).toEqual({
      ok: true,
      subscribed: false,
      state: 'none',
      source: 'none',
      verified: false,
    });
    expect((await ignoring.get(`/v1/entitlement?installId=${installId}`)).body).toMatchObject({ state: 'none', access: false });
  });
});
