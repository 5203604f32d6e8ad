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

  test('creates the account of a new install', async () => {
    const installId = freshId();
    await report(installId, true);
    expect((await service.post('/v1/account/resolve', { installId })).body.created).toBe(false);
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

  test('a session outranks the installId', async () => {
    const installId = freshId();
    const other = freshId();
    const cookies = await signIn(service, installId);
    await service.post('/v1/subscription/report', { installId: other, subscribed: true }, { cookies });
    expect((await subscription(installId)).body.subscribed).toBe(true);
    expect((await subscription(other)).body.source).toBe('none');
  });

  test('is refused with identity_required without a caller and with a signed-out session', async () => {
    // Another process signs the session out, so that these services learn of it only from Redis.
    await using another = await start();
    const cookies = await signIn(service, freshId());
    await another.post('/v1/logout', {}, { cookies });
    for (const at of [service, ignoring]) {
      for (const options of [{}, { cookies }]) {
        const reply = await at.post('/v1/subscription/report', { subscribed: true }, options);
        expect([reply.status, reply.body.error.code]).toEqual([401, 'identity_required']);
      }
    }
  });

  test('takes the install from x-install-id', async () => {
    const headers = { 'x-install-id': freshId() };
    expect((await service.post('/v1/subscription/report', { subscribed: true }, { headers })).body).toEqual({ ok: true, recorded: true });
    expect((await service.get('/v1/subscription', { headers })).body.subscribed).toBe(true);
  });

  test('is refused unless subscribed is a boolean', async () => {
    for (const subscribed of [undefined, null, 'true', 1]) {
      const reply = await report(freshId(), subscribed);
      expect([reply.status, reply.body.error.code, reply.body.error.field]).toEqual([400, 'invalid_request', 'subscribed']);
    }
    const broken = await request(service.url, '/v1/subscription/report', { method: 'POST' }, '{"subscribed":');
    expect([broken.status, broken.body.error.code]).toEqual([400, 'invalid_json']);
  });

  test('a request beyond the creation limit of its address is refused and stores nothing', async () => {
    await using limited = await start({ settings: { RATE_LIMIT: 'on', RATE_LIMIT_CREATIONS_PER_MINUTE: '1' } });
    expect((await report(freshId(), true, limited)).status).toBe(200);
    const installId = freshId();
    const reply = await report(installId, true, limited);
    expect([reply.status, reply.body.error.code]).toEqual([429, 'rate_limited']);
    expect(await redis.exists(accountKey(accountIdOf(installId)))).toBe(0);
  });
});

describe('SUBSCRIPTION_REPORTS=ignore', () => {
  test('a report of an install answers recorded: false and stores nothing', async () => {
    const installId = freshId();
    expect((await report(installId, true, ignoring)).body).toEqual({ ok: true, recorded: false });
    expect(await redis.exists(accountKey(accountIdOf(installId)))).toBe(0);
    expect((await subscription(installId)).body).toMatchObject({ subscribed: false, source: 'none' });
  });

  test('a report of a session answers recorded: false', async () => {
    const cookies = await signIn(ignoring, freshId());
    const reply = await ignoring.post('/v1/subscription/report', { subscribed: true }, { cookies });
    expect(reply.body).toEqual({ ok: true, recorded: false });
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
