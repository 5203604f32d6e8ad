import { describe, expect, test } from 'vitest';
import { codeOf, forFile, start } from '../../harness.ts';

const service = await forFile(start());

describe('POST /v1/pair/new', () => {
  test('gives 50 concurrent browsers a token, a match code, a URL for the QR code and a cookie each, none of them twice', async () => {
    const replies = await Promise.all(Array.from({ length: 50 }, () => service.post('/v1/pair/new')));
    for (const { body, setCookies } of replies) {
      expect(body).toEqual({
        ok: true,
        token: expect.stringMatching(/^[\w-]{24}$/),
        pairingId: expect.stringMatching(/^[0-9a-f]{22}$/),
        expiresIn: 180,
        interval: 2,
        matchCode: expect.stringMatching(/^\d\d$/),
        url: `${service.url}/pair?token=${body.token}`,
      });
      expect(setCookies).toEqual([expect.stringMatching(/^svc_pair=[\w-]{32}; Path=\/v1\/pair; Max-Age=780; HttpOnly; SameSite=Lax$/)]);
    }
    for (const values of [replies.map(({ body }) => body.token), replies.map(({ cookies }) => cookies[0])])
      expect(new Set(values).size).toBe(50);
  });

  test('with session: token answers with a secret of 192 bits, and leaves a cookie svc_pair as it is', async () => {
    const cookie = await service.post('/v1/pair/new', { session: 'cookie' });
    expect([cookie.body.secret, cookie.setCookies.length]).toEqual([undefined, 1]);
    const { body, setCookies, headers } = await service.post('/v1/pair/new', { session: 'token' }, { cookies: cookie.cookies });
    expect(body.secret).toMatch(/^[\w-]{32}$/);
    expect([setCookies, headers.get('cache-control')]).toEqual([[], 'no-store']);
    expect(JSON.stringify(await service.service.redis.hgetall(`{pair:${body.token}}`))).not.toContain(body.secret);
    for (const session of [null, 'secret', 1]) {
      const refused = await service.post('/v1/pair/new', { session });
      expect([codeOf(refused), refused.body.error.field]).toEqual(['400 invalid_request', 'session']);
    }
  });

  test('Redis holds only the hash of the secret, and deletes the pairing after 780 seconds', async () => {
    const { cookies, body } = await service.post('/v1/pair/new');
    const kept = await service.service.redis.hgetall(`{pair:${body.token}}`);
    expect(kept['secretHash']).toMatch(/^[\w-]{43}$/);
    expect(JSON.stringify(kept)).not.toContain(cookies[0]!.slice('svc_pair='.length));
    const ttl = await service.service.redis.ttl(`{pair:${body.token}}`);
    expect(ttl).toBeGreaterThan(700);
    expect(ttl).toBeLessThanOrEqual(780);
  });

  test('svc_pair holds the secrets of the latest four pairings, newest first, and drops malformed ones', async () => {
    const secrets: string[][] = [];
    let cookies: string[] = ['svc_pair=planted'];
    for (let pairing = 1; pairing <= 5; pairing++) {
      ({ cookies } = await service.post('/v1/pair/new', {}, { cookies }));
      secrets.push(cookies[0]!.slice('svc_pair='.length).split('.'));
    }
    expect(secrets.map(({ length }) => length)).toEqual([1, 2, 3, 4, 4]);
    expect(secrets[4]!.slice(1)).toEqual(secrets[3]!.slice(0, 3));
  });

  test('in production the cookie is Secure and the URL ignores the Host header', async () => {
    await using production = await start({
      settings: { NODE_ENV: 'production', SESSION_KEYS: `a:${'A'.repeat(43)}`, PUBLIC_URL: 'https://play.example' },
    });
    const { setCookies, body } = await production.post('/v1/pair/new', {});
    expect(setCookies[0]).toMatch(/; Secure$/);
    expect(body.url).toBe(`https://play.example/pair?token=${body.token}`);
  });

  test('counts against the creation limit of the address', async () => {
    await using limited = await start({ settings: { RATE_LIMIT: 'on', RATE_LIMIT_CREATIONS_PER_MINUTE: '1' }, stoppedClock: true });
    const codes = [];
    for (let times = 0; times < 2; times++) codes.push(codeOf(await limited.post('/v1/pair/new')));
    expect(codes).toEqual(['200', '429 rate_limited']);
  });
});
