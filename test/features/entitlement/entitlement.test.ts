import { describe, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { accountKey } from '../../../src/accounts/account-keys.ts';
import { forFile, freshId, signIn, start } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { expectCommands } from '../../round-trips.ts';

const service = await forFile(start());
const { redis } = service.service;

const NOBODY = { ok: true, state: 'none', access: false };

const entitlement = (installId: string) => service.get(`/v1/entitlement?installId=${installId}`);
const setFields = (installId: string, fields: Record<string, string | number>) => redis.hset(accountKey(accountIdOf(installId)), fields);
const iso = (milliseconds: number) => new Date(milliseconds).toISOString();

describe('GET /v1/entitlement', () => {
  test('the state is none without a caller and for an unknown install, and reading creates no account', async () => {
    for (const query of ['', '?proof=1']) expect((await service.get(`/v1/entitlement${query}`)).body).toEqual(NOBODY);
    const installId = freshId();
    expect((await entitlement(installId)).body).toEqual({ ...NOBODY, installVerified: false });
    expect(await redis.exists(accountKey(accountIdOf(installId)))).toBe(0);
  });

  test('the state rises from expired to trial to grace to subscribed as the account gains each, and an install proof shows', async () => {
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
    await setFields(installId, { purchases: purchase('active', now + 30 * day), installVerifiedAt: now });
    expect((await entitlement(installId)).body).toEqual({ ...answer('subscribed', true, now + 30 * day), installVerified: true });
  });

  test('costs one Redis round trip, with and without a proof', async () => {
    await using own = await startRedis();
    await using alone = await start({ redis: own.location });
    const cookies = await signIn(alone, freshId());
    // Redis receives the source of a script once. Afterwards the service sends only its hash.
    await alone.get('/v1/entitlement', { cookies });
    await expectCommands(alone, [
      [() => alone.get('/v1/entitlement', { cookies }), ['evalsha']],
      [() => alone.get('/v1/entitlement?proof=1', { cookies }), ['evalsha']],
    ]);
  });

  test('TRIAL_DAYS sets the length of the trial', async () => {
    await using longer = await start({ settings: { TRIAL_DAYS: '30' } });
    const installId = freshId();
    const startedAt = service.now() - 8 * 86_400_000;
    await setFields(installId, { createdAt: startedAt, trialStartedAt: startedAt });
    expect((await entitlement(installId)).body.state).toBe('expired');
    expect((await longer.get(`/v1/entitlement?installId=${installId}`)).body.state).toBe('trial');
  });
});
