import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { accountKey } from '../../../src/accounts/keys.ts';
import { freshId, signIn, start, type TestService } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';

let service: TestService;
let redis: Redis;
beforeAll(async () => {
  service = await start();
  redis = new Redis(inject('redisSocket'));
});
afterAll(async () => {
  await redis.quit();
  await service[Symbol.asyncDispose]();
});

const NONE = { ok: true, state: 'none', access: false, installVerified: false };
const NOBODY = { ok: true, state: 'none', access: false };

const entitlement = (installId: string) => service.get(`/v1/entitlement?installId=${installId}`);
const setFields = (installId: string, fields: Record<string, string | number>) => redis.hset(accountKey(accountIdOf(installId)), fields);
const iso = (milliseconds: number) => new Date(milliseconds).toISOString();

describe('entitlement', () => {
  test('is none with nobody named and for an install never seen', async () => {
    expect((await service.get('/v1/entitlement')).body).toEqual(NOBODY);
    const installId = freshId();
    expect((await entitlement(installId)).body).toEqual(NONE);
    expect(await redis.exists(accountKey(accountIdOf(installId)))).toBe(0);
  });

  test('is expired, trial, grace, then subscribed as the account gains the better fact', async () => {
    const installId = freshId();
    const now = service.now();
    const day = 86_400_000;
    const answer = (state: string, access: boolean, expiresAt: number) => ({
      ok: true,
      state,
      access,
      expiresAt: iso(expiresAt),
      installVerified: false,
    });
    const purchase = (state: string, expiresAt: number) => `${'A'.repeat(22)} ${state} ${expiresAt} 1 ${now} premium`;
    await setFields(installId, { createdAt: now, trialStartedAt: now - 8 * day });
    expect((await entitlement(installId)).body).toEqual(answer('expired', false, now - day));
    await setFields(installId, { trialStartedAt: now - 3 * day });
    expect((await entitlement(installId)).body).toEqual(answer('trial', true, now + 4 * day));
    await setFields(installId, { purchases: purchase('grace', now + 2 * day) });
    expect((await entitlement(installId)).body).toEqual(answer('grace', true, now + 2 * day));
    await setFields(installId, { purchases: purchase('active', now + 30 * day) });
    expect((await entitlement(installId)).body).toEqual(answer('subscribed', true, now + 30 * day));
  });

  test('tells whether the install was verified', async () => {
    const installId = freshId();
    await setFields(installId, { createdAt: service.now(), installVerifiedAt: service.now() });
    expect((await entitlement(installId)).body).toEqual({ ok: true, state: 'none', access: false, installVerified: true });
  });

  test('asks Redis once, with a proof too', async () => {
    await using own = await startRedis();
    await using alone = await start({ redis: own.location });
    const cookies = await signIn(alone, freshId());
    // A script that Redis does not know yet is sent whole, once.
    await alone.get('/v1/entitlement', { cookies });
    const commands: string[] = [];
    const monitor = await alone.service.redis.monitor();
    monitor.on('monitor', (_time: string, [command = '']: string[], source: string) => {
      // What a script itself calls costs no round trip.
      if (source !== 'lua') commands.push(command.toLowerCase());
    });
    await alone.get('/v1/entitlement', { cookies });
    expect((await alone.get('/v1/entitlement?proof=1', { cookies })).body.proof).toEqual(expect.any(String));
    // MONITOR tells of commands on a connection of its own.
    await alone.service.redis.ping();
    await expect.poll(() => commands).toEqual(['evalsha', 'evalsha', 'ping']);
    monitor.disconnect();
  });

  test('a trial lasts as long as TRIAL_DAYS says', async () => {
    await using longer = await start({ settings: { TRIAL_DAYS: '30' } });
    const installId = freshId();
    const startedAt = service.now() - 8 * 86_400_000;
    await setFields(installId, { createdAt: startedAt, trialStartedAt: startedAt });
    expect((await entitlement(installId)).body.state).toBe('expired');
    expect((await longer.get(`/v1/entitlement?installId=${installId}`)).body.state).toBe('trial');
  });

  test('a report subscribes for 72 hours and leaves no trace', async () => {
    await using moved = await start();
    const installId = freshId();
    await moved.post('/v1/subscription/report', { installId, subscribed: true });
    const { body } = await moved.get(`/v1/entitlement?installId=${installId}`);
    expect(body).toEqual({ ok: true, state: 'subscribed', access: true, expiresAt: expect.any(String), installVerified: false });
    moved.advance(Date.parse(body.expiresAt) - moved.now());
    expect((await moved.get(`/v1/entitlement?installId=${installId}`)).body).toEqual(NONE);
  });

  test('takes the install from the header x-install-id', async () => {
    const installId = freshId();
    await service.post('/v1/subscription/report', { installId, subscribed: true });
    expect((await service.get('/v1/entitlement', { headers: { 'x-install-id': installId } })).body.state).toBe('subscribed');
    const bad = await service.get('/v1/entitlement', { headers: { 'x-install-id': 'short' } });
    expect([bad.status, bad.body.error.code, bad.body.error.field]).toEqual([400, 'invalid_request', 'installId']);
  });

  test('a session decides, whatever installId also says; a signed-out one counts as none', async () => {
    const installId = freshId();
    const other = freshId();
    const cookies = await signIn(service, installId);
    await service.post('/v1/subscription/report', { installId, subscribed: true });
    expect((await service.get(`/v1/entitlement?installId=${other}`, { cookies })).body.state).toBe('subscribed');
    expect((await entitlement(other)).body).toEqual(NONE);

    // Signed out at another service, so that only Redis can tell this one.
    await using another = await start();
    await another.post('/v1/logout', {}, { cookies });
    expect((await service.get('/v1/entitlement', { cookies })).body).toEqual(NOBODY);
    expect((await service.get(`/v1/entitlement?installId=${installId}`, { cookies })).body.state).toBe('subscribed');
  });
});
