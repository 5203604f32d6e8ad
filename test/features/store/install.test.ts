import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SandboxKeys } from '../../../src/stores/sandbox/signing-keys.ts';
import { sandboxSettings } from '../../../src/stores/sandbox/settings.ts';
import { ScriptRunner } from '../../../src/redis/script-runner.ts';
import { freshId, signIn, start, type TestReply, type TestService } from '../../harness.ts';
import { attested, integritySettings, PACKAGE_NAME, sealed, verdict, type Verdict } from './attestation.ts';

const MINUTE_MS = 60_000;

let service: TestService;
let logLines: string[];
const closing: PromiseLike<void>[] = [];
// A service for each test, because many tests move its clock. It closes in the background, so that the next test starts at once.
beforeEach(async () => {
  logLines = [];
  service = await start({ settings: integritySettings, logLines });
});
afterEach(() => void closing.push(service[Symbol.asyncDispose]()));
afterAll(() => Promise.all(closing));

const path = '/v1/account/store-install';

async function nonceFor(installId?: string, from: TestService = service): Promise<string> {
  const { status, body } = await from.get(`${path}/nonce`, installId === undefined ? {} : { headers: { 'x-install-id': installId } });
  expect(status).toBe(200);
  return body.nonce;
}

const tokenFor = (nonce: string, change: (changed: Verdict) => void = () => {}): Promise<string> => {
  const changed = verdict(nonce, service.now());
  change(changed);
  return attested(changed);
};

const prove = (body: object, options: { cookies?: string } = {}): Promise<TestReply> => service.post(path, body, options);

async function isVerified(installId: string): Promise<boolean> {
  const { body } = await service.get('/v1/session', { cookies: await signIn(service, installId) });
  return body.installVerified;
}

const accountOf = async (installId: string): Promise<string> => (await service.post('/v1/account/resolve', { installId })).body.accountId;

describe('POST /v1/account/store-install with a genuine token', () => {
  test('proves the install of the installId, and its session shows it', async () => {
    const installId = freshId();
    const cookies = await signIn(service, installId);
    expect((await service.get('/v1/session', { cookies })).body.installVerified).toBe(false);

    const nonce = await nonceFor();
    const reply = await prove({ nonce, integrityToken: await tokenFor(nonce), installId });
    const accountId = await accountOf(installId);
    expect([reply.status, reply.body]).toEqual([200, { ok: true, installVerified: true, packageName: PACKAGE_NAME, accountId }]);
    expect((await service.get('/v1/session', { cookies })).body.installVerified).toBe(true);
    expect(await service.service.redis.hget(`{${accountId}}:account`, 'installVerifiedAt')).toMatch(/^\d{13}$/);
  });

  test('accepts a token of another configured app and answers with its package', async () => {
    const nonce = await nonceFor();
    const integrityToken = await tokenFor(nonce, (changed) => {
      changed.requestDetails.requestPackageName = changed.appIntegrity.packageName = 'com.example.other';
    });
    expect((await prove({ nonce, integrityToken })).body).toEqual({ ok: true, installVerified: true, packageName: 'com.example.other' });
  });

  test('refuses a nonce of another caller with nonce_used, and the nonce stays usable', async () => {
    const [asker, other] = [freshId(), freshId()];
    const nonce = await nonceFor(asker);
    const body = { nonce, integrityToken: await tokenFor(nonce) };
    for (const reply of [await prove({ ...body, installId: other }), await prove(body, { cookies: await signIn(service, other) })]) {
      expect([reply.status, reply.body.error.code]).toEqual([409, 'nonce_used']);
    }
    expect([await isVerified(other), await isVerified(asker)]).toEqual([false, false]);
    expect((await prove({ ...body, installId: asker })).body.accountId).toBe(await accountOf(asker));
    expect([await isVerified(other), await isVerified(asker)]).toEqual([false, true]);
  });

  test('without a caller proves the install that requested the nonce, and does not name its account', async () => {
    const installId = freshId();
    const nonce = await nonceFor(installId);
    const reply = await prove({ nonce, integrityToken: await tokenFor(nonce) });
    expect([reply.status, reply.body]).toEqual([200, { ok: true, installVerified: true, packageName: PACKAGE_NAME }]);
    expect(await isVerified(installId)).toBe(true);
  });

  test('without a caller of nonce and proof verifies the token and stores nothing', async () => {
    const nonce = await nonceFor();
    expect((await prove({ nonce, integrityToken: await tokenFor(nonce) })).body).toEqual({
      ok: true,
      installVerified: true,
      packageName: PACKAGE_NAME,
    });
    for (const key of [`{nonce:${nonce}}`, '{}:account']) expect(await service.service.redis.exists(key)).toBe(0);
  });

  test('creates the account of a new install at the time of the proof', async () => {
    const [named, asker] = [freshId(), freshId()];
    const [first, second] = [await nonceFor(), await nonceFor(asker)];
    const { body } = await prove({ nonce: first, integrityToken: await tokenFor(first), installId: named });
    await prove({ nonce: second, integrityToken: await tokenFor(second) });
    for (const installId of [named, asker]) {
      const resolved = await service.post('/v1/account/resolve', { installId });
      expect(resolved.body.created).toBe(false);
      const [createdAt, verifiedAt] = await service.service.redis.hmget(
        `{${resolved.body.accountId}}:account`,
        'createdAt',
        'installVerifiedAt',
      );
      expect(createdAt).toBe(verifiedAt);
    }
    expect(body.accountId).toBe(await accountOf(named));
  });

  test('a repeated proof updates installVerifiedAt and keeps createdAt', async () => {
    const installId = freshId();
    const accountId = await accountOf(installId);
    const times = async () => service.service.redis.hmget(`{${accountId}}:account`, 'createdAt', 'installVerifiedAt');
    const [createdAt, never] = await times();
    expect(never).toBe(null);
    const proofs: (string | null)[] = [];
    for (let proof = 0; proof < 2; proof++) {
      service.advance(MINUTE_MS);
      const nonce = await nonceFor();
      expect((await prove({ nonce, integrityToken: await tokenFor(nonce), installId })).status).toBe(200);
      const [stillCreatedAt, verifiedAt] = await times();
      expect(stillCreatedAt).toBe(createdAt);
      proofs.push(verifiedAt!);
    }
    expect(Number(proofs[1]) - Number(proofs[0])).toBeGreaterThanOrEqual(MINUTE_MS);
  });

  test('does not count against the creation limit, because the nonce did', async () => {
    await using limited = await start({ settings: { ...integritySettings, RATE_LIMIT: 'on', RATE_LIMIT_CREATIONS_PER_MINUTE: '1' } });
    const nonce = await nonceFor(undefined, limited);
    const reply = await limited.post(path, { nonce, integrityToken: await tokenFor(nonce), installId: freshId() });
    expect(reply.status).toBe(200);
  });

  test('accepts a token whose nonce is padded with =', async () => {
    const nonce = await nonceFor();
    const integrityToken = await tokenFor(nonce, (changed) => (changed.requestDetails.nonce = `${nonce}=`));
    expect((await prove({ nonce, integrityToken })).status).toBe(200);
  });
});

describe('POST /v1/account/store-install for a moved account', () => {
  const moveTo = async (guest: string, target: string): Promise<void> => {
    await service.service.redis.set(`{${await accountOf(guest)}}:moves`, `>${await accountOf(target)}`);
  };

  test('refuses its nonce requests and proofs with sign_in_required', async () => {
    const [guest, target] = [freshId(), freshId()];
    await moveTo(guest, target);
    const nonce = await nonceFor();
    const reply = await prove({ nonce, integrityToken: await tokenFor(nonce), installId: guest });
    expect([reply.status, reply.body.error.code]).toEqual([401, 'sign_in_required']);
    const asked = await service.get('/v1/account/store-install/nonce', { headers: { 'x-install-id': guest } });
    expect([asked.status, asked.body.error.code]).toEqual([401, 'sign_in_required']);
    expect(await isVerified(target)).toBe(false);
  });

  test('proves nobody with a nonce that the guest requested before it moved', async () => {
    const [guest, target] = [freshId(), freshId()];
    const guestId = await accountOf(guest);
    const [first, second] = [await nonceFor(guest), await nonceFor(guest)];
    await moveTo(guest, target);
    const byNobody = await prove({ nonce: first, integrityToken: await tokenFor(first) });
    expect([byNobody.status, byNobody.body.error.code]).toEqual([401, 'sign_in_required']);
    const byTarget = await prove({ nonce: second, integrityToken: await tokenFor(second), installId: target });
    expect([byTarget.status, byTarget.body.error.code]).toEqual([409, 'nonce_used']);
    expect(await isVerified(target)).toBe(false);
    expect(await service.service.redis.hexists(`{${guestId}}:account`, 'installVerifiedAt')).toBe(0);
  });

  test('accepts proofs of an account that guests moved into', async () => {
    const installId = freshId();
    await service.service.redis.set(`{${await accountOf(installId)}}:moves`, 'AAAAAAAAAAAAAAAAAAAAAA 0=\n');
    const nonce = await nonceFor(installId);
    expect((await prove({ nonce, integrityToken: await tokenFor(nonce) })).status).toBe(200);
    expect(await isVerified(installId)).toBe(true);
  });
});

describe('POST /v1/account/store-install with a signed-out session', () => {
  test('ignores a session that another process signed out', async () => {
    await using other = await start({ settings: integritySettings });
    const [own, asker] = [freshId(), freshId()];
    const cookies = await signIn(service, own);
    await service.get('/v1/session', { cookies });
    await other.post('/v1/logout', {}, { cookies });
    const nonce = await nonceFor(asker);
    const reply = await prove({ nonce, integrityToken: await tokenFor(nonce) }, { cookies });
    expect([reply.status, reply.body.accountId]).toEqual([200, undefined]);
    expect([await isVerified(own), await isVerified(asker)]).toEqual([false, true]);
  });
});

describe('the nonce of POST /v1/account/store-install', () => {
  const used = [409, { code: 'nonce_used', message: 'The nonce is unknown, expired or already used.' }];
  const outcome = ({ status, body }: TestReply) => [status, body.error];

  test('is accepted by one of 50 concurrent requests', async () => {
    const nonce = await nonceFor();
    const body = { nonce, integrityToken: await tokenFor(nonce) };
    const replies = await Promise.all(Array.from({ length: 50 }, () => prove(body)));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(replies.filter(({ status }) => status !== 200).map(outcome)).toEqual(Array.from({ length: 49 }, () => used));
    expect(outcome(await prove(body))).toEqual(used);
  });

  test('is accepted once across processes', async () => {
    await using other = await start({ settings: integritySettings });
    const nonce = await nonceFor();
    const body = { nonce, integrityToken: await tokenFor(nonce) };
    const replies = await Promise.all(Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? service : other).post(path, body)));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  test('is accepted for just under 5 minutes', async () => {
    const installId = freshId();
    const [early, late] = [await nonceFor(), await nonceFor()];
    service.advance(5 * MINUTE_MS - 5000);
    expect((await prove({ nonce: early, integrityToken: await tokenFor(early) })).status).toBe(200);
    service.advance(5000);
    expect(outcome(await prove({ nonce: late, integrityToken: await tokenFor(late), installId }))).toEqual(used);
    expect(await isVerified(installId)).toBe(false);
    // The refused request deletes the expired nonce.
    expect(await service.service.redis.exists(`{nonce:${late}}`)).toBe(0);
  });

  test('is refused with nonce_used when the service did not issue it', async () => {
    const nonce = randomBytes(32).toString('base64url');
    expect(outcome(await prove({ nonce, integrityToken: await tokenFor(nonce) }))).toEqual(used);
  });

  test('is spent by a token that does not verify', async () => {
    const nonce = await nonceFor();
    expect(outcome(await prove({ nonce, integrityToken: 'a.b.c.d.e' }))[0]).toBe(401);
    expect(outcome(await prove({ nonce, integrityToken: await tokenFor(nonce) }))).toEqual(used);
  });

  test('is spent by a verdict that does not pass', async () => {
    const nonce = await nonceFor();
    const unlicensed = await tokenFor(nonce, (changed) => (changed.accountDetails.appLicensingVerdict = 'UNLICENSED'));
    expect(outcome(await prove({ nonce, integrityToken: unlicensed }))[0]).toBe(403);
    expect(outcome(await prove({ nonce, integrityToken: await tokenFor(nonce) }))).toEqual(used);
  });

  test('is not spent by a request that is not valid', async () => {
    const nonce = await nonceFor();
    expect((await prove({ nonce, integrityToken: 'a b' })).status).toBe(400);
    expect((await prove({ nonce, integrityToken: await tokenFor(nonce), installId: 'short' })).status).toBe(400);
    expect((await prove({ nonce, integrityToken: await tokenFor(nonce) })).status).toBe(200);
  });
});

describe('POST /v1/account/store-install with a bad verdict', () => {
  test.each<[failed: string[], name: string, change: (changed: Verdict) => void]>([
    [['nonce'], 'another nonce', (changed) => (changed.requestDetails.nonce = randomBytes(32).toString('base64url'))],
    [['package'], 'another app', (changed) => (changed.appIntegrity.packageName = 'com.example.evil')],
    [['package'], 'asked for by another app', (changed) => (changed.requestDetails.requestPackageName = 'com.example.evil')],
    [['age'], 'old', (changed) => (changed.requestDetails.timestampMillis = String(service.now() - 5 * MINUTE_MS - 1))],
    [['age'], 'from the future', (changed) => (changed.requestDetails.timestampMillis = String(service.now() + 2 * MINUTE_MS))],
    [['app_recognition'], 'unrecognised', (changed) => (changed.appIntegrity.appRecognitionVerdict = 'UNRECOGNIZED_VERSION')],
    [['device_integrity'], 'basic', (changed) => (changed.deviceIntegrity.deviceRecognitionVerdict = ['MEETS_BASIC_INTEGRITY'])],
    [['licensing'], 'unlicensed', (changed) => (changed.accountDetails.appLicensingVerdict = 'UNLICENSED')],
    [
      ['app_recognition', 'device_integrity', 'licensing'],
      'an emulator with a rebuilt app',
      (changed) => {
        changed.appIntegrity.appRecognitionVerdict = 'UNRECOGNIZED_VERSION';
        changed.deviceIntegrity.deviceRecognitionVerdict = [];
        changed.accountDetails.appLicensingVerdict = 'UNEVALUATED';
      },
    ],
  ])('answers integrity_failed with %j and proves nothing: %s', async (failed, _, change) => {
    const installId = freshId();
    const nonce = await nonceFor(installId);
    const reply = await prove({ nonce, integrityToken: await tokenFor(nonce, change), installId });
    expect([reply.status, reply.body.error]).toEqual([
      403,
      { code: 'integrity_failed', message: 'The install could not be proven genuine.', failed },
    ]);
    // A failed proof creates no account.
    expect((await service.post('/v1/account/resolve', { installId })).body.created).toBe(true);
    expect(await isVerified(installId)).toBe(false);
  });

  test('keeps an earlier proof', async () => {
    const installId = freshId();
    const [good, bad] = [await nonceFor(), await nonceFor()];
    await prove({ nonce: good, integrityToken: await tokenFor(good), installId });
    const unlicensed = await tokenFor(bad, (changed) => (changed.accountDetails.appLicensingVerdict = 'UNLICENSED'));
    expect((await prove({ nonce: bad, integrityToken: unlicensed, installId })).status).toBe(403);
    expect(await isVerified(installId)).toBe(true);
  });
});

test.each<[name: string, make: (nonce: string) => string | Promise<string>]>([
  ['no token at all', () => 'x'],
  ['dots', () => '....'],
  ['a verdict nobody signed', (nonce) => sealed(JSON.stringify(verdict(nonce, service.now())))],
  ['a token by other keys', async (nonce) => sealed(JSON.stringify(verdict(nonce, service.now())), {}, randomBytes(32))],
  ['dir', async (nonce) => sealed(await tokenFor(nonce), { alg: 'dir' })],
  ['a decompression bomb', () => sealed(Buffer.alloc(5 * 1024 * 1024), { zip: 'DEF' })],
  ['a token cut in half', async (nonce) => (await tokenFor(nonce)).slice(0, 400)],
])('a token is refused with bad_token: %s', async (_, make) => {
  const installId = freshId();
  const nonce = await nonceFor();
  const reply = await prove({ nonce, integrityToken: await make(nonce), installId });
  expect([reply.status, reply.body.error]).toEqual([
    401,
    { code: 'bad_token', message: 'The token does not verify.', field: 'integrityToken' },
  ]);
  expect(await isVerified(installId)).toBe(false);
});

test('a malformed nonce or token is refused with invalid_request', async () => {
  const nonce = 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8';
  for (const bad of [undefined, null, 7, '', nonce.slice(1), `${nonce}A`, `${nonce.slice(1)}+`]) {
    const reply = await prove({ nonce: bad, integrityToken: 'a.b.c.d.e' });
    expect([reply.status, reply.body.error.code, reply.body.error.field]).toEqual([400, 'invalid_request', 'nonce']);
  }
  for (const integrityToken of [undefined, null, 7, '', 'a b', 'x'.repeat(8193)]) {
    const reply = await prove({ nonce, integrityToken });
    expect([reply.status, reply.body.error.code, reply.body.error.field]).toEqual([400, 'invalid_request', 'integrityToken']);
  }
});

test('the log contains no secret of a proof', async () => {
  const installId = freshId();
  const [good, bad] = [await nonceFor(installId), await nonceFor(installId)];
  const [goodToken, badToken] = [await tokenFor(good), await sealed('nothing')];
  await prove({ nonce: good, integrityToken: goodToken, installId });
  await prove({ nonce: bad, integrityToken: badToken, installId });
  const log = logLines.join('');
  expect(log).toContain('an integrity token does not verify');
  for (const secret of [installId, good, bad, goodToken.slice(0, 60), badToken.slice(-20)]) expect(log).not.toContain(secret);
});

describe('POST /v1/account/store-install without', () => {
  test.each<[name: string, settings: Record<string, string>]>([
    ['a store', { STORE: 'off' }],
    ['an app', { ...integritySettings, GOOGLE_PACKAGE_NAMES: '' }],
    ['a way to open tokens', { ...integritySettings, PLAY_INTEGRITY_DECRYPTION_KEY: '', PLAY_INTEGRITY_VERIFICATION_KEY: '' }],
  ])('%s answers store_unconfigured and does not spend the nonce', async (_, settings) => {
    await using bare = await start({ settings });
    const nonce = await nonceFor();
    const body = { nonce, integrityToken: await tokenFor(nonce) };
    const reply = await bare.post(path, body);
    expect([reply.status, reply.body.error]).toEqual([
      503,
      { code: 'store_unconfigured', message: 'No app store is configured on this service.' },
    ]);
    expect((await prove(body)).status).toBe(200);
  });
});

describe('POST /v1/account/store-install with the sandbox', () => {
  test('checks verdicts by the same rules', async () => {
    await using sandbox = await start();
    const installId = freshId();
    const issue = async (more: object = {}) => {
      const nonce = await nonceFor(installId, sandbox);
      const { body } = await sandbox.post('/sandbox/issue', { kind: 'integrity_token', nonce, ...more });
      return sandbox.post(path, { nonce, integrityToken: body.integrityToken });
    };
    expect((await issue()).body).toEqual({ ok: true, installVerified: true, packageName: 'dev.coinop.sandbox' });
    expect((await issue({ ageSeconds: 301 })).body.error.failed).toEqual(['age']);
    expect((await issue({ appLicensingVerdict: 'UNLICENSED' })).body.error.failed).toEqual(['licensing']);
    expect((await issue({ packageName: 'com.example.evil' })).body.error.failed).toEqual(['package']);
  });
});

describe('POST /v1/account/store-install without keys, by decodeIntegrityToken', () => {
  /** Starts a service whose app store is the sandbox of another service. */
  async function startApart(): Promise<{ sandbox: TestService; apart: TestService }> {
    const sandbox = await start();
    const keys = new SandboxKeys(new ScriptRunner(sandbox.service.redis, { now: sandbox.now }));
    await keys.get();
    const storeSettings = { ...sandboxSettings(keys, sandbox.url), integrityKeys: undefined };
    return { sandbox, apart: await start({ storeSettings }) };
  }

  test('checks verdicts by the same rules', async () => {
    const { sandbox, apart } = await startApart();
    await using _sandbox = sandbox;
    await using _apart = apart;
    const send = async (more: object = {}) => {
      const nonce = await nonceFor(undefined, apart);
      const { body } = await sandbox.post('/sandbox/issue', { kind: 'integrity_token', nonce, ...more });
      return apart.post(path, { nonce, integrityToken: body.integrityToken });
    };
    expect((await send()).body).toEqual({ ok: true, installVerified: true, packageName: 'dev.coinop.sandbox' });
    const failed = await send({ deviceRecognitionVerdict: ['MEETS_BASIC_INTEGRITY'], ageSeconds: 301 });
    expect(failed.body.error.failed).toEqual(['age', 'device_integrity']);
    // The store refuses to decode a token of an app that is not configured.
    expect((await send({ packageName: 'com.example.evil' })).body.error.code).toBe('bad_token');
    const nonce = await nonceFor(undefined, apart);
    expect((await apart.post(path, { nonce, integrityToken: 'not.of.this.store.x' })).body.error.code).toBe('bad_token');
  });

  test('answers app_store_unavailable when the store is down, and the nonce is spent', async () => {
    const { sandbox, apart } = await startApart();
    await using _apart = apart;
    const nonce = await nonceFor(undefined, apart);
    await sandbox[Symbol.asyncDispose]();
    const reply = await apart.post(path, { nonce, integrityToken: 'a.b.c.d.e', installId: freshId() });
    expect([reply.status, reply.body.error]).toEqual([
      503,
      {
        code: 'app_store_unavailable',
        message: 'The app store does not answer just now: ask for a new nonce and try again.',
        retryAfterMs: expect.any(Number),
      },
    ]);
    expect((await apart.post(path, { nonce, integrityToken: 'a.b.c.d.e' })).body.error.code).toBe('nonce_used');
    // Every other request that needs the store. No key of this token is known, so the store would have to be asked for it.
    const token = [{ alg: 'RS256', kid: 'unknown' }, {}, '']
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    const asked = [
      ['/v1/account/store-provision', { token }, {}],
      ['/v1/account/delete', { token }, {}],
      ['/v1/purchases', { installId: freshId(), store: 'google', purchaseToken: 'a-purchase' }, {}],
      ['/v1/store/google/notifications', { message: { data: Buffer.from('{}').toString('base64') } }, { bearer: token }],
    ] as const;
    for (const [url, body, options] of asked) {
      const { status, body: answer } = await apart.post(url, body, options);
      expect([url, status, answer.error.code]).toEqual([url, 503, 'app_store_unavailable']);
    }
  });
});
