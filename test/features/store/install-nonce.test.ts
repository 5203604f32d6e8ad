import { describe, expect, test } from 'vitest';
import { forFile, freshId, signIn, start } from '../../harness.ts';
import { integritySettings } from './attestation.ts';

const service = await forFile(start({ settings: integritySettings }));

const path = '/v1/account/store-install/nonce';
const stored = (nonce: string) => service.service.redis.hgetall(`{nonce:${nonce}}`);

describe('GET /v1/account/store-install/nonce', () => {
  test('answers with 32 random bytes that are valid for 5 minutes', async () => {
    const replies = await Promise.all(Array.from({ length: 50 }, () => service.get(path)));
    for (const { status, body } of replies) {
      expect([status, body]).toEqual([200, { ok: true, nonce: expect.stringMatching(/^[\w-]{43}$/), expiresIn: 300 }]);
      expect(Buffer.from(body.nonce, 'base64url')).toHaveLength(32);
    }
    expect(new Set(replies.map(({ body }) => body.nonce)).size).toBe(50);
    expect(replies[0]!.headers.get('cache-control')).toBe('no-store');
  });

  test('Redis deletes the nonce within 6 minutes', async () => {
    const { body } = await service.get(path);
    const left = await service.service.redis.ttl(`{nonce:${body.nonce}}`);
    expect(left).toBeGreaterThan(300);
    expect(left).toBeLessThanOrEqual(360);
  });

  test('Redis remembers the caller with the nonce, and no account is created', async () => {
    const installId = freshId();
    const nobody = await service.get(path);
    const byHeader = await service.get(path, { headers: { 'x-install-id': installId } });
    const byQuery = await service.get(`${path}?installId=${installId}`);
    const { body: account } = await service.post('/v1/account/resolve', { installId });
    expect(account.created).toBe(true);
    expect((await stored(nobody.body.nonce))['owner']).toBe('');
    expect((await stored(byHeader.body.nonce))['owner']).toBe(account.accountId);
    expect((await stored(byQuery.body.nonce))['owner']).toBe(account.accountId);

    const cookies = await signIn(service, installId);
    const bySession = await service.get(`${path}?installId=${freshId()}`, { cookies });
    expect((await stored(bySession.body.nonce))['owner']).toBe(account.accountId);
    expect(Object.keys(await stored(bySession.body.nonce)).toSorted()).toEqual(['expiresAt', 'owner']);
  });

  test('counts against the creation limit of the address', async () => {
    await using limited = await start({ settings: { ...integritySettings, RATE_LIMIT: 'on', RATE_LIMIT_CREATIONS_PER_MINUTE: '1' } });
    expect((await limited.get(path)).status).toBe(200);
    const reply = await limited.get(path);
    expect([reply.status, reply.body.error.code]).toEqual([429, 'rate_limited']);
  });
});

test.each<[name: string, settings: Record<string, string>]>([
  ['a store', { STORE: 'off' }],
  ['an app', { ...integritySettings, GOOGLE_PACKAGE_NAMES: '' }],
  ['a way to open tokens', { ...integritySettings, PLAY_INTEGRITY_DECRYPTION_KEY: '', PLAY_INTEGRITY_VERIFICATION_KEY: '' }],
])('the nonce endpoint answers store_unconfigured without %s', async (_, settings) => {
  await using bare = await start({ settings });
  const reply = await bare.get(path);
  expect([reply.status, reply.body.error]).toEqual([
    503,
    { code: 'store_unconfigured', message: 'No app store is configured on this service.' },
  ]);
});
