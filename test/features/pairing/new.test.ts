import { describe, expect, test } from 'vitest';
import { forFile, start } from '../../harness.ts';

const service = await forFile(start());

describe('POST /v1/pair/new', () => {
  test('answers with a token, its life, the poll interval, a match code and the URL for the QR code', async () => {
    const { status, body } = await service.post('/v1/pair/new', {});
    expect(status).toBe(200);
    expect(body).toEqual({
      ok: true,
      token: expect.stringMatching(/^[\w-]{24}$/),
      pairingId: expect.stringMatching(/^[0-9a-f]{22}$/),
      expiresIn: 180,
      interval: 2,
      matchCode: expect.stringMatching(/^\d\d$/),
      url: `${service.url}/pair?token=${body.token}`,
    });
  });

  test('gives 50 concurrent browsers different tokens and different secrets', async () => {
    const replies = await Promise.all(Array.from({ length: 50 }, () => service.post('/v1/pair/new')));
    expect(new Set(replies.map(({ body }) => body.token)).size).toBe(50);
    expect(new Set(replies.map(({ cookies }) => cookies[0])).size).toBe(50);
  });

  test('sets svc_pair for the life of the pairing, and Redis holds only the hash of its secret', async () => {
    const { setCookies, cookies, body } = await service.post('/v1/pair/new');
    expect(setCookies).toEqual([expect.stringMatching(/^svc_pair=[\w-]{32}; Path=\/v1\/pair; Max-Age=780; HttpOnly; SameSite=Lax$/)]);
    const kept = await service.service.redis.hgetall(`{pair:${body.token}}`);
    expect(kept['secretHash']).toMatch(/^[\w-]{43}$/);
    expect(JSON.stringify(kept)).not.toContain(cookies[0]!.slice('svc_pair='.length));
  });

  test('Redis deletes the pairing after 780 seconds', async () => {
    const { body } = await service.post('/v1/pair/new');
    const ttl = await service.service.redis.ttl(`{pair:${body.token}}`);
    expect(ttl).toBeGreaterThan(770);
    expect(ttl).toBeLessThanOrEqual(780);
  });

  test('svc_pair holds the secrets of the latest four pairings, newest first, and drops malformed ones', async () => {
    let cookies: string[] = ['svc_pair=planted'];
    const first = await service.post('/v1/pair/new', {}, { cookies });
    expect(first.cookies[0]).toMatch(/^svc_pair=[\w-]{32}$/);
    cookies = first.cookies;
    for (let pairing = 2; pairing <= 4; pairing++) ({ cookies } = await service.post('/v1/pair/new', {}, { cookies }));
    const four = cookies[0]!.slice('svc_pair='.length).split('.');
    const fifth = await service.post('/v1/pair/new', {}, { cookies });
    const held = fifth.cookies[0]!.slice('svc_pair='.length).split('.');
    expect(held).toHaveLength(4);
    expect(held.slice(1)).toEqual(four.slice(0, 3));
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
    await using limited = await start({ settings: { RATE_LIMIT: 'on', RATE_LIMIT_CREATIONS_PER_MINUTE: '1' } });
    expect((await limited.post('/v1/pair/new')).status).toBe(200);
    const refused = await limited.post('/v1/pair/new');
    expect([refused.status, refused.body.error.code]).toEqual([429, 'rate_limited']);
  });
});
