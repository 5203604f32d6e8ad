import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose';
import { describe, expect, test } from 'vitest';
import { ban } from '../../../src/accounts/ban.ts';
import { CallerScripts } from '../../../src/accounts/caller-scripts.ts';
import { Proofs } from '../../../src/features/entitlement/proof.ts';
import { ProofKeys } from '../../../src/features/entitlement/proof-keys.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { accountKey } from '../../../src/accounts/account-keys.ts';
import { forFile, freshId, signIn, start, testKeys, type TestService } from '../../harness.ts';
import { issue, provision } from '../../store.ts';

const service = await forFile(start());
const { redis } = service.service;

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

const proven = (installId: string, from = service) => from.get('/v1/entitlement?proof=1', { headers: { 'x-install-id': installId } });

/** Verifies a proof as an app does. */
async function verify(proof: string, keys: JWTVerifyGetKey, now = service.now()): Promise<JWTPayload> {
  const options = { issuer: 'coinop', typ: 'entitlement+jwt', algorithms: ['ES256'], currentDate: new Date(now) };
  return (await jwtVerify(proof, keys, options)).payload;
}

const keysOf = (from: TestService) => createRemoteJWKSet(new URL('/.well-known/jwks.json', from.url));

/** An install whose trial of 7 days ends in this many milliseconds. */
async function onTrialFor(milliseconds: number): Promise<string> {
  const installId = freshId();
  const trialStartedAt = service.now() + milliseconds - 7 * DAY_MS;
  await redis.hset(accountKey(accountIdOf(installId)), { createdAt: trialStartedAt, trialStartedAt });
  return installId;
}

describe('the proof of GET /v1/entitlement?proof=1', () => {
  test('is a JWT with the facts of the reply, and the published keys verify it', async () => {
    const installId = await onTrialFor(5 * DAY_MS);
    const { body, headers } = await proven(installId);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(decodeProtectedHeader(body.proof)).toEqual({ alg: 'ES256', kid: 'test', typ: 'entitlement+jwt' });
    const claims = await verify(body.proof, keysOf(service));
    expect(claims).toEqual({
      iss: 'coinop',
      sub: accountIdOf(installId),
      state: 'trial',
      access: true,
      expiresAt: body.expiresAt,
      iat: expect.any(Number),
      exp: claims.iat! + 86_400,
    });
    expect(Math.abs(claims.iat! * 1000 - service.now())).toBeLessThan(5000);
    // The rest of the reply is the same without a proof.
    const { proof: _, ...rest } = body;
    expect((await service.get(`/v1/entitlement?installId=${installId}`)).body).toEqual(rest);
  });

  test('ignores unverified subscription reports, and says none for an unknown install', async () => {
    const [reported, unknown] = [freshId(), freshId()];
    await service.post('/v1/subscription/report', { installId: reported, subscribed: true });
    for (const installId of [reported, unknown]) {
      const { body } = await proven(installId);
      expect(body).toMatchObject(installId === reported ? { state: 'subscribed', access: true } : { state: 'none', access: false });
      const claims = await verify(body.proof, keysOf(service));
      expect(claims).toMatchObject({ sub: accountIdOf(installId), state: 'none', access: false });
      expect(claims).not.toHaveProperty('expiresAt');
    }
  });

  test('is not accepted as a session, and a session is not accepted as a proof', async () => {
    const installId = freshId();
    const session = await signIn(service, installId);
    const { proof } = (await proven(installId)).body;
    expect((await service.get('/v1/session', { cookies: session })).body.authenticated).toBe(true);
    expect((await service.get('/v1/session', { cookies: `svc_session=${proof}` })).body.authenticated).toBe(false);
    await expect(verify(session.slice('svc_session='.length), keysOf(service))).rejects.toThrow();
  });
});

test('proof=true is refused', async () => {
  const { status, body } = await service.get(`/v1/entitlement?installId=${freshId()}&proof=true`);
  expect([status, body.error.code, body.error.issues]).toEqual([
    400,
    'invalid_request',
    [{ path: 'proof', message: 'Must be 1, or left out' }],
  ]);
});

describe('the life of a proof', () => {
  const at = Date.parse('2026-03-01T12:00:00.700Z');
  const issued = Date.parse('2026-03-01T12:00:00Z') / 1000;

  test.each([
    ['subscribed for 24 hours and a bit', 'subscribed', true, '2026-03-02T12:00:00.999Z', '2026-03-02T12:00:00Z'],
    ['subscribed for a second less', 'subscribed', true, '2026-03-02T11:59:59.999Z', '2026-03-02T11:59:59Z'],
    ['subscribed until this very second', 'subscribed', true, '2026-03-01T12:00:00.900Z', '2026-03-01T12:00:00Z'],
    ['on trial for five minutes', 'trial', true, '2026-03-01T12:05:00.000Z', '2026-03-01T12:05:00Z'],
    ['expired a week ago', 'expired', false, '2026-02-22T12:00:00.000Z', '2026-03-02T12:00:00Z'],
    ['none', 'none', false, undefined, '2026-03-02T12:00:00Z'],
  ] as const)('ends after 24 hours or with the access, whichever is sooner: %s', (_name, state, access, expiresAt, end) => {
    const claims = decodeJwt(new Proofs(new ProofKeys(testKeys)).of('an-account', { state, access, expiresAt }, at));
    expect([claims.iat, claims.exp]).toEqual([issued, Date.parse(end) / 1000]);
  });

  test('ends with the trial, to the second', async () => {
    const { body } = await proven(await onTrialFor(10 * MINUTE_MS));
    const end = Math.floor(Date.parse(body.expiresAt) / 1000) * 1000;
    expect(await verify(body.proof, keysOf(service), end - 1000)).toMatchObject({ state: 'trial', exp: end / 1000 });
    await expect(verify(body.proof, keysOf(service), end)).rejects.toThrow('"exp" claim timestamp check failed');
  });
});

describe('a proof that was just made', () => {
  const proofOf = async (installId: string, from = service): Promise<string> => (await proven(installId, from)).body.proof;

  test('a proof is given again for a minute, and then signed anew', async () => {
    await using still = await start({ stoppedClock: true });
    const installId = freshId();
    // A proof is issued in whole seconds.
    still.advance(1000 - (still.now() % 1000));
    const proof = await proofOf(installId, still);
    still.advance(59_999);
    expect(await proofOf(installId, still)).toBe(proof);
    still.advance(1);
    const next = await proofOf(installId, still);
    const [before, now] = [decodeJwt(proof), decodeJwt(next)];
    expect([now.iat! - before.iat!, now.exp! - before.exp!]).toEqual([60, 60]);
    expect(await verify(next, keysOf(still), still.now())).toMatchObject({ sub: accountIdOf(installId) });
    still.advance(-2 * MINUTE_MS);
    expect(decodeJwt(await proofOf(installId, still)).iat).toBe(before.iat! - 60);
  });

  test('is not given once the access has begun, changed its end or ended', async () => {
    const installId = freshId();
    const claims = async () => decodeJwt(await proofOf(installId));
    expect(await claims()).toMatchObject({ state: 'none', access: false });
    const buy = async (minutes: number): Promise<void> => {
      const { purchaseToken } = await issue(service, { kind: 'subscription', minutes });
      expect((await service.post('/v1/subscription/purchase', { installId, purchaseToken })).status).toBe(200);
    };
    await buy(10);
    const first = await claims();
    expect(first).toMatchObject({ state: 'subscribed', access: true, exp: Math.floor(Date.parse(first['expiresAt'] as string) / 1000) });
    await buy(60);
    const second = await claims();
    expect(second.exp! - first.exp!).toBeGreaterThan(2900);

    const ending = await onTrialFor(MINUTE_MS / 2);
    expect(decodeJwt(await proofOf(ending))).toMatchObject({ state: 'trial', access: true });
    service.advance(MINUTE_MS / 2);
    expect(decodeJwt(await proofOf(ending))).toMatchObject({ state: 'expired', access: false });
  });

  test('is not given to an account that was banned, to a guest that moved, or after a deletion', async () => {
    const [banned, moved, deleted] = [await onTrialFor(DAY_MS), await onTrialFor(DAY_MS), await onTrialFor(DAY_MS)];
    for (const installId of [banned, moved, deleted]) expect((await proven(installId)).body).toHaveProperty('proof');
    const scripts = new CallerScripts(service.service.connections.scripts, { now: service.now });
    await ban(accountIdOf(banned), {}, { scripts, now: service.now });
    expect((await provision(service, freshId('user'), { installId: moved })).body).toMatchObject({ moved: true });
    const { confirm } = (await service.post('/v1/account/delete', { installId: deleted })).body;
    expect((await service.post('/v1/account/delete', { installId: deleted, confirm })).body).toMatchObject({ deleted: true });
    const codes = [banned, moved, deleted].map(async (installId) => (await proven(installId)).body.error.code);
    expect(await Promise.all(codes)).toEqual(['account_banned', 'sign_in_required', 'account_deleted']);
  });
});
