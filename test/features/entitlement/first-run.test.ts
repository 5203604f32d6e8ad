import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { accountKey } from '../../../src/accounts/account-keys.ts';
import { sharedClient, freshId, signIn, start, type TestService } from '../../harness.ts';

let service: TestService;
let redis: Redis;
beforeAll(async () => {
  service = await start();
  redis = sharedClient();
});
afterAll(async () => {
  await redis.quit();
  await service[Symbol.asyncDispose]();
});

const firstRun = (installId: string, at = service) => at.post('/v1/entitlement/first-run', { installId });
const entitlement = (installId: string, at = service) => at.get(`/v1/entitlement?installId=${installId}`);

describe('POST /v1/entitlement/first-run', () => {
  test("records the time on the server's clock and starts no trial", async () => {
    const installId = freshId();
    const before = service.now();
    const { body } = await firstRun(installId);
    expect(body).toEqual({ ok: true, firstRunAt: expect.any(String) });
    expect(Date.parse(body.firstRunAt)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(body.firstRunAt)).toBeLessThanOrEqual(service.now());
    expect((await entitlement(installId)).body).toEqual({
      ok: true,
      state: 'none',
      access: false,
      installVerified: false,
      firstRunAt: body.firstRunAt,
    });
  });

  test('later requests answer with the first time', async () => {
    await using moved = await start();
    const installId = freshId();
    const first = await firstRun(installId, moved);
    moved.advance(3_600_000);
    const again = await firstRun(installId, moved);
    expect([again.status, again.body]).toEqual([200, first.body]);
    expect((await entitlement(installId, moved)).body.firstRunAt).toBe(first.body.firstRunAt);
  });

  test('50 concurrent requests on two processes record one time', async () => {
    // The clocks of the services are an hour apart, so that a second write would show.
    await using ahead = await start();
    ahead.advance(3_600_000);
    const installId = freshId();
    const replies = await Promise.all(Array.from({ length: 50 }, (_, index) => firstRun(installId, index % 2 === 0 ? service : ahead)));
    expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 200));
    const times = new Set(replies.map(({ body }) => body.firstRunAt));
    expect([...times]).toEqual([(await entitlement(installId)).body.firstRunAt]);
  });

  test('creates the account of a new install', async () => {
    const installId = freshId();
    await firstRun(installId);
    expect((await service.post('/v1/account/resolve', { installId })).body.created).toBe(false);
  });

  test('a session outranks the installId', async () => {
    const installId = freshId();
    const other = freshId();
    const cookies = await signIn(service, installId);
    const { body } = await service.post('/v1/entitlement/first-run', { installId: other }, { cookies });
    expect((await entitlement(installId)).body.firstRunAt).toBe(body.firstRunAt);
    expect((await entitlement(other)).body).toEqual({ ok: true, state: 'none', access: false, installVerified: false });
  });

  test('is refused with identity_required without a caller and with a signed-out session', async () => {
    const installId = freshId();
    const cookies = await signIn(service, installId);
    // Another process signs the session out, so that `service` learns of it only from Redis.
    await using another = await start();
    await another.post('/v1/logout', {}, { cookies });
    for (const options of [{}, { cookies }]) {
      const reply = await service.post('/v1/entitlement/first-run', {}, options);
      expect([reply.status, reply.body.error.code]).toEqual([401, 'identity_required']);
    }
    expect((await entitlement(installId)).body).toEqual({ ok: true, state: 'none', access: false, installVerified: false });
  });

  test('refuses a malformed installId', async () => {
    const reply = await firstRun('short');
    expect([reply.status, reply.body.error.code, reply.body.error.field]).toEqual([400, 'invalid_request', 'installId']);
  });

  test('a request beyond the creation limit of its address is refused and stores nothing', async () => {
    await using limited = await start({ settings: { RATE_LIMIT: 'on', RATE_LIMIT_CREATIONS_PER_MINUTE: '1' } });
    expect((await firstRun(freshId(), limited)).status).toBe(200);
    const installId = freshId();
    const reply = await firstRun(installId, limited);
    expect([reply.status, reply.body.error.code]).toEqual([429, 'rate_limited']);
    expect(await redis.exists(accountKey(accountIdOf(installId)))).toBe(0);
  });
});
