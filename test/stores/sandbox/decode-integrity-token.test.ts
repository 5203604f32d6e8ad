import { CompactEncrypt } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { start, type TestService } from '../../harness.ts';
import { accessTokenFor, google, INTEGRITY, keptKeys, PUBLISHER, type GoogleReply } from './google.ts';

const nonce = 'n'.repeat(43);

let service: TestService;
let authorization: string;
beforeAll(async () => {
  service = await start();
  authorization = `Bearer ${await accessTokenFor(service, INTEGRITY)}`;
});
afterAll(() => service[Symbol.asyncDispose]());

const issue = async (order: object = {}): Promise<string> =>
  (await service.post('/sandbox/issue', { kind: 'integrity_token', nonce, ...order })).body.integrityToken;

const decode = (body: object, call = 'dev.coinop.sandbox:decodeIntegrityToken', bearer = authorization): Promise<GoogleReply> =>
  google(service, `/sandbox/playintegrity/v1/${call}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: bearer },
    body: JSON.stringify(body),
  });

describe('POST /sandbox/playintegrity/…:decodeIntegrityToken', () => {
  test.each(['integrity_token', 'integrityToken'])("decodes a token sent as %s in the shape of Google's API", async (field) => {
    const before = service.now();
    const { status, headers, body } = await decode({ [field]: await issue({ ageSeconds: 10 }) });
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/json; charset=UTF-8');
    const { timestampMillis } = body.tokenPayloadExternal.requestDetails;
    expect(body).toEqual({
      tokenPayloadExternal: {
        requestDetails: { requestPackageName: 'dev.coinop.sandbox', nonce, timestampMillis: expect.stringMatching(/^\d{13}$/) },
        appIntegrity: {
          appRecognitionVerdict: 'PLAY_RECOGNIZED',
          packageName: 'dev.coinop.sandbox',
          certificateSha256Digest: [expect.stringMatching(/^[\w-]{43}$/)],
          versionCode: '1',
        },
        deviceIntegrity: { deviceRecognitionVerdict: ['MEETS_DEVICE_INTEGRITY'] },
        accountDetails: { appLicensingVerdict: 'LICENSED' },
      },
    });
    expect(Number(timestampMillis)).toBeGreaterThanOrEqual(before - 10_000);
    expect(Number(timestampMillis)).toBeLessThanOrEqual(service.now() - 10_000);
  });

  test('refuses malformed and foreign tokens and tokens of another package', async () => {
    const token = await issue();
    const { integrityDecryption } = await keptKeys(service);
    const unsigned = await new CompactEncrypt(new TextEncoder().encode('{"requestDetails":{"requestPackageName":"dev.coinop.sandbox"}}'))
      .setProtectedHeader({ alg: 'A256KW', enc: 'A256GCM' })
      .encrypt(Buffer.from(integrityDecryption!, 'base64url'));
    for (const integrityToken of ['', 'nonsense', token.slice(0, -2), unsigned, await issue({ packageName: 'com.other.app' })]) {
      const { status, body } = await decode({ integrityToken });
      expect([status, body.error.code, body.error.status]).toEqual([400, 400, 'INVALID_ARGUMENT']);
    }
    expect((await decode({})).status).toBe(400);
    expect((await decode({ integrityToken: token }, 'com.other.app:decodeIntegrityToken')).status).toBe(400);
  });

  test('answers 404 to an unknown call', async () => {
    expect((await decode({ integrityToken: await issue() }, 'dev.coinop.sandbox')).status).toBe(404);
  });

  test('answers 401 to a bad access token', async () => {
    expect((await decode({ integrityToken: await issue() }, undefined, 'Bearer x')).status).toBe(401);
  });

  test('answers 403 to an access token of another scope', async () => {
    const integrityToken = await issue();
    expect((await decode({ integrityToken }, undefined, `Bearer ${await accessTokenFor(service, PUBLISHER)}`)).status).toBe(403);
  });
});
