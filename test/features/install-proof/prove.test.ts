import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { accountKey, standingKey } from '../../../src/accounts/account-keys.ts';
import { ScriptRunner } from '../../../src/redis/script-runner.ts';
import { sandboxSettings } from '../../../src/apart/sandbox/settings.ts';
import { SandboxKeys } from '../../../src/apart/sandbox/signing-keys.ts';
import { codeOf, forFile, freshId, signIn, start, type TestReply, type TestService } from '../../harness.ts';
import { issue } from '../../store.ts';
import { attested, integritySettings, PACKAGE_NAME, sealed, verdict, type Verdict } from '../../stores/google/attestation.ts';

const MINUTE_MS = 60_000;

const logLines: string[] = [];
const service = await forFile(start({ settings: integritySettings, logLines }));
/** Another process on the same data. */
const other = await forFile(start({ settings: integritySettings }));
const { redis } = service.service;

const PATH = '/v1/account/store-install';
const askNonce = (installId?: string, from: TestService = service): Promise<TestReply> =>
  from.get(`${PATH}/nonce`, installId === undefined ? {} : { headers: { 'x-install-id': installId } });
const nonceFor = async (installId?: string, from?: TestService): Promise<string> => (await askNonce(installId, from)).body.nonce;
const tokenFor = (nonce: string, change: (changed: Verdict) => void = () => {}): Promise<string> => {
  const changed = verdict(nonce, service.now());
  change(changed);
  return attested(changed);
};
const unlicensed = (changed: Verdict): void => void (changed.accountDetails.appLicensingVerdict = 'UNLICENSED');
const prove = (body: object, options: { cookies?: string } = {}): Promise<TestReply> => service.post(PATH, body, options);
/** Proves with a good token for the nonce. */
const proveBy = async (nonce: string, installId?: string) => prove({ nonce, integrityToken: await tokenFor(nonce), installId });

const isVerified = async (installId: string): Promise<boolean> =>
  (await service.get('/v1/session', { cookies: await signIn(service, installId) })).body.installVerified;
const accountOf = async (installId: string): Promise<string> => (await service.post('/v1/account/resolve', { installId })).body.accountId;
const USED = '409 nonce_used';
const PROVEN = { ok: true, installVerified: true, packageName: PACKAGE_NAME };

describe('GET /v1/account/store-install/nonce', () => {
  test('answers with 32 random bytes that are valid for 5 minutes, and Redis deletes them within 6', async () => {
    const replies = await Promise.all(Array.from({ length: 20 }, () => askNonce()));
    for (const { body } of replies) expect(body).toEqual({ ok: true, nonce: expect.stringMatching(/^[\w-]{43}$/), expiresIn: 300 });
    expect(new Set(replies.map(({ body }) => body.nonce)).size).toBe(20);
    expect(replies[0]!.headers.get('cache-control')).toBe('no-store');
    const left = await redis.ttl(`{nonce:${replies[0]!.body.nonce}}`);
    expect(left).toBeGreaterThan(300);
    expect(left).toBeLessThanOrEqual(360);
  });

  test('counts against the creation limit of the address, and the proof does not', async () => {
    await using limited = await start({
      settings: { ...integritySettings, RATE_LIMIT: 'on', RATE_LIMIT_CREATIONS_PER_MINUTE: '1' },
      stoppedClock: true,
    });
    const nonce = await nonceFor(undefined, limited);
    expect(codeOf(await askNonce(undefined, limited))).toBe('429 rate_limited');
    const proof = { nonce, integrityToken: await tokenFor(nonce), installId: freshId() };
    expect((await limited.post(PATH, proof)).status).toBe(200);
  });
});

describe('a genuine token', () => {
  test('proves the install of the installId, and its session shows it', async () => {
    const installId = freshId();
    const cookies = await signIn(service, installId);
    expect((await service.get('/v1/session', { cookies })).body.installVerified).toBe(false);
    const reply = await proveBy(await nonceFor(), installId);
    const accountId = await accountOf(installId);
    expect([reply.status, reply.body]).toEqual([200, { ...PROVEN, accountId }]);
    expect((await service.get('/v1/session', { cookies })).body.installVerified).toBe(true);
  });

  test('may be of another configured app, and its nonce may be padded with =', async () => {
    const nonce = await nonceFor();
    const integrityToken = await tokenFor(nonce, (changed) => {
      changed.requestDetails.nonce = `${nonce}=`;
      changed.requestDetails.requestPackageName = changed.appIntegrity.packageName = 'com.example.other';
    });
    expect((await prove({ nonce, integrityToken })).body).toEqual({ ...PROVEN, packageName: 'com.example.other' });
    // Without a caller of nonce and proof nothing is stored.
    for (const key of [`{nonce:${nonce}}`, '{}:account']) expect(await redis.exists(key)).toBe(0);
  });

  test('for the nonce of another caller is refused with nonce_used, and the nonce stays usable', async () => {
    const [asker, stranger] = [freshId(), freshId()];
    const nonce = await nonceFor(asker);
    const integrityToken = await tokenFor(nonce);
    const bySession = await prove({ nonce, integrityToken }, { cookies: await signIn(service, stranger) });
    for (const reply of [await proveBy(nonce, stranger), bySession]) expect(codeOf(reply)).toBe(USED);
    expect((await proveBy(nonce, asker)).body.accountId).toBe(await accountOf(asker));
    expect([await isVerified(stranger), await isVerified(asker)]).toEqual([false, true]);
  });

  test('without a caller proves the install that requested the nonce, and does not name its account', async () => {
    const installId = freshId();
    const nonce = await nonceFor(installId);
    // The nonce creates no account.
    expect((await service.post('/v1/account/resolve', { installId })).body.created).toBe(true);
    // A session that another process signed out counts as no caller.
    const cookies = await signIn(service, freshId());
    await other.post('/v1/logout', {}, { cookies });
    const reply = await prove({ nonce, integrityToken: await tokenFor(nonce) }, { cookies });
    expect([reply.status, reply.body, await isVerified(installId)]).toEqual([200, PROVEN, true]);
  });

  test('creates the account of a new install, and a repeated proof updates installVerifiedAt alone', async () => {
    const [named, asker] = [freshId(), freshId()];
    await proveBy(await nonceFor(), named);
    await proveBy(await nonceFor(asker));
    for (const installId of [named, asker]) {
      const { created, accountId } = (await service.post('/v1/account/resolve', { installId })).body;
      const times = async () =>
        (await redis.hmget(accountKey(accountId), 'createdAt', 'installVerifiedAt')).map(Number) as [number, number];
      const [createdAt, verifiedAt] = await times();
      expect([created, verifiedAt]).toEqual([false, createdAt]);
      service.advance(MINUTE_MS);
      await proveBy(await nonceFor(), installId);
      const [stillCreatedAt, later] = await times();
      expect([stillCreatedAt, later >= verifiedAt + MINUTE_MS]).toEqual([createdAt, true]);
    }
  });
});

test('a nonce that a guest requested before it moved proves nobody, and accounts that guests moved into prove as others', async () => {
  const [guest, target] = [freshId(), freshId()];
  const [guestId, targetId] = [await accountOf(guest), await accountOf(target)];
  const nonces = [await nonceFor(guest), await nonceFor(guest)];
  const own = await nonceFor(target);
  await redis.set(standingKey(guestId), `>${targetId}`);
  await redis.set(standingKey(targetId), `${guestId} 0=\n`);
  for (const reply of [await askNonce(guest), await proveBy(await nonceFor(), guest), await proveBy(nonces[0]!)])
    expect(codeOf(reply)).toBe('401 sign_in_required');
  expect(codeOf(await proveBy(nonces[1]!, target))).toBe(USED);
  expect(await isVerified(target)).toBe(false);
  expect(await redis.hexists(accountKey(guestId), 'installVerifiedAt')).toBe(0);
  expect((await proveBy(own)).status).toBe(200);
  expect(await isVerified(target)).toBe(true);
});

describe('the nonce of a proof', () => {
  test('is accepted by one of 20 concurrent requests to two processes', async () => {
    const nonce = await nonceFor();
    const body = { nonce, integrityToken: await tokenFor(nonce) };
    const replies = await Promise.all(Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? service : other).post(PATH, body)));
    expect(replies.map(codeOf).toSorted()).toEqual(['200', ...Array(19).fill(USED)]);
  });

  test('is accepted for just under 5 minutes', async () => {
    const [early, late] = [await nonceFor(), await nonceFor()];
    service.advance(5 * MINUTE_MS - 5000);
    expect(codeOf(await proveBy(early))).toBe('200');
    service.advance(5000);
    expect(codeOf(await proveBy(late))).toBe(USED);
    // The refused request deletes the expired nonce.
    expect(await redis.exists(`{nonce:${late}}`)).toBe(0);
  });

  test('is spent by a token that does not verify or pass, and not by a request that is not valid, and must be one of the service', async () => {
    const [bad, failed, open] = [await nonceFor(), await nonceFor(), await nonceFor()];
    expect(codeOf(await prove({ nonce: bad, integrityToken: 'a.b.c.d.e' }))).toBe('401 bad_token');
    expect(codeOf(await prove({ nonce: failed, integrityToken: await tokenFor(failed, unlicensed) }))).toBe('403 integrity_failed');
    for (const nonce of [bad, failed, randomBytes(32).toString('base64url')]) expect(codeOf(await proveBy(nonce))).toBe(USED);
    for (const more of [{ integrityToken: 'a b' }, { integrityToken: await tokenFor(open), installId: 'short' }])
      expect((await prove({ nonce: open, ...more })).status).toBe(400);
    expect((await proveBy(open)).status).toBe(200);
  });
});

describe('a proof is refused', () => {
  // The other checks of a verdict are tested with the code that opens tokens.
  test('with integrity_failed, which names the failed checks and creates no account, and an earlier proof stays', async () => {
    const [proven, installId] = [freshId(), freshId()];
    await proveBy(await nonceFor(), proven);
    for (const by of [proven, installId]) {
      const nonce = await nonceFor(by);
      const integrityToken = await tokenFor(nonce, (changed) => {
        changed.requestDetails.nonce = 'another';
        changed.appIntegrity = { ...changed.appIntegrity, packageName: 'com.example.evil', appRecognitionVerdict: 'UNRECOGNIZED_VERSION' };
        changed.deviceIntegrity.deviceRecognitionVerdict = [];
        changed.accountDetails.appLicensingVerdict = 'UNEVALUATED';
      });
      const reply = await prove({ nonce, integrityToken, installId: by });
      const failed = ['nonce', 'package', 'app_recognition', 'device_integrity', 'licensing'];
      expect([codeOf(reply), reply.body.error.failed]).toEqual(['403 integrity_failed', failed]);
    }
    expect(await isVerified(proven)).toBe(true);
    expect((await service.post('/v1/account/resolve', { installId })).body.created).toBe(true);
  });

  test('with bad_token for a token that does not verify, and the log shows no secret', async () => {
    const installId = freshId();
    const [good, bad] = [await nonceFor(installId), await nonceFor(installId)];
    const [goodToken, badToken] = [await tokenFor(good), await sealed(JSON.stringify(verdict(bad, service.now())))];
    await prove({ nonce: good, integrityToken: goodToken });
    const refused = await prove({ nonce: bad, integrityToken: badToken, installId });
    expect([codeOf(refused), refused.body.error.field]).toEqual(['401 bad_token', 'integrityToken']);
    const log = logLines.join('');
    expect(log).toContain('an integrity token does not verify');
    for (const secret of [installId, good, bad, goodToken.slice(0, 60), badToken.slice(-20)]) expect(log).not.toContain(secret);
  });

  test.each<[name: string, settings: Record<string, string>]>([
    ['a store', { STORE: 'off' }],
    ['an app', { ...integritySettings, GOOGLE_PACKAGE_NAMES: '' }],
    ['a way to open tokens', { ...integritySettings, PLAY_INTEGRITY_DECRYPTION_KEY: '', PLAY_INTEGRITY_VERIFICATION_KEY: '' }],
  ])('with store_unconfigured without %s, as is a nonce, and the nonce is not spent', async (_, settings) => {
    await using bare = await start({ settings });
    const nonce = await nonceFor();
    for (const reply of [await bare.post(PATH, { nonce, integrityToken: await tokenFor(nonce) }), await askNonce(undefined, bare)])
      expect(codeOf(reply)).toBe('503 store_unconfigured');
    expect((await proveBy(nonce)).status).toBe(200);
  });
});

describe('proofs of the sandbox', () => {
  /** Sends a proof of the sandbox to a service. */
  const send = async (sandbox: TestService, to: TestService, order: object = {}): Promise<TestReply> => {
    const nonce = await nonceFor(undefined, to);
    const { integrityToken } = await issue(sandbox, { kind: 'integrity_token', nonce, ...order });
    return to.post(PATH, { nonce, integrityToken });
  };
  /** A service without keys whose app store is the sandbox of another service. */
  async function startApart(sandbox: TestService): Promise<TestService> {
    const keys = new SandboxKeys(new ScriptRunner(sandbox.service.redis, { now: sandbox.now }));
    await keys.get();
    const settings = { OPENID_PROVIDERS: `issuer=${sandbox.url}=client` };
    return start({ settings, storeSettings: { ...sandboxSettings(keys, sandbox.url), integrityKeys: undefined } });
  }

  test('are checked by the same rules, by keys and by decodeIntegrityToken of the store', async () => {
    await using sandbox = await start();
    await using apart = await startApart(sandbox);
    for (const to of [sandbox, apart]) {
      expect((await send(sandbox, to)).body).toEqual({ ...PROVEN, packageName: 'dev.coinop.sandbox' });
      const failed = await send(sandbox, to, { deviceRecognitionVerdict: ['MEETS_BASIC_INTEGRITY'], ageSeconds: 301 });
      expect(failed.body.error.failed).toEqual(['age', 'device_integrity']);
    }
    // The store refuses to decode a token of an app that is not configured.
    expect((await send(sandbox, sandbox, { packageName: 'com.example.evil' })).body.error.failed).toEqual(['package']);
    expect((await send(sandbox, apart, { packageName: 'com.example.evil' })).body.error.code).toBe('bad_token');
  });

  test('are refused with app_store_unavailable while the store is down, as is all that needs the store or an issuer; the nonce is spent', async () => {
    const sandbox = await start();
    await using apart = await startApart(sandbox);
    const nonce = await nonceFor(undefined, apart);
    await sandbox[Symbol.asyncDispose]();
    const proof = { nonce, integrityToken: 'a.b.c.d.e', installId: freshId() };
    expect([codeOf(await apart.post(PATH, proof)), codeOf(await apart.post(PATH, proof))]).toEqual(['503 app_store_unavailable', USED]);
    // No key of this token is known, so its issuer would have to be asked for it.
    const token = [{ alg: 'RS256', kid: 'unknown' }, { iss: sandbox.url }, '']
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    for (const [url, body, options] of [
      ['/v1/account/store-provision', { token }, {}],
      ['/v1/account/delete', { token }, {}],
      ['/v1/purchases', { installId: freshId(), store: 'google', purchaseToken: 'a-purchase' }, {}],
      ['/v1/store/google/notifications', { message: { data: Buffer.from('{}').toString('base64') } }, { bearer: token }],
    ] as const)
      expect([url, codeOf(await apart.post(url, body, options))]).toEqual([url, '503 app_store_unavailable']);
  });
});
