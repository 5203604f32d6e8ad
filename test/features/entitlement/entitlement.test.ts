import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { accountIdOf, accountKey } from '../../../src/server/caller.ts';
import { freshId, signIn, start, type TestService } from '../../harness.ts';

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

const NONE = { ok: true, state: 'none', access: false };

const entitlement = (installId: string) => service.get(`/v1/entitlement?installId=${installId}`);
const setFields = (installId: string, fields: Record<string, string | number>) => redis.hset(accountKey(accountIdOf(installId)), fields);
const iso = (milliseconds: number) => new Date(milliseconds).toISOString();

describe('entitlement', () => {
  test('is none with nobody named and for an install never seen', async () => {
    expect((await service.get('/v1/entitlement')).body).toEqual(NONE);
    const installId = freshId();
    expect((await entitlement(installId)).body).toEqual(NONE);
    expect(await redis.exists(accountKey(accountIdOf(installId)))).toBe(0);
  });

  test('is expired, trial, grace, then subscribed as the account gains the better fact', async () => {
    const installId = freshId();
    const now = service.now();
    const day = 86_400_000;
    await setFields(installId, { createdAt: now, trialStartedAt: now - 8 * day });
    expect((await entitlement(installId)).body).toEqual({ ok: true, state: 'expired', access: false, expiresAt: iso(now - day) });
    await setFields(installId, { trialStartedAt: now - 3 * day });
    expect((await entitlement(installId)).body).toEqual({ ok: true, state: 'trial', access: true, expiresAt: iso(now + 4 * day) });
    await setFields(installId, { storeState: 'grace', storeExpiresAt: now + 2 * day });
    expect((await entitlement(installId)).body).toEqual({ ok: true, state: 'grace', access: true, expiresAt: iso(now + 2 * day) });
    await setFields(installId, { storeState: 'active', storeExpiresAt: now + 30 * day });
    expect((await entitlement(installId)).body).toEqual({ ok: true, state: 'subscribed', access: true, expiresAt: iso(now + 30 * day) });
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
    expect(body).toEqual({ ok: true, state: 'subscribed', access: true, expiresAt: expect.any(String) });
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
    expect((await service.get('/v1/entitlement', { cookies })).body).toEqual(NONE);
    expect((await service.get(`/v1/entitlement?installId=${installId}`, { cookies })).body.state).toBe('subscribed');
  });
});
