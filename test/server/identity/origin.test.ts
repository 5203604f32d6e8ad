import { describe, expect, test } from 'vitest';
import { Origins } from '../../../src/server/identity/origin.ts';
import { forFile, freshId, signIn, start } from '../../harness.ts';

const service = await forFile(start({ settings: { HOST: '0.0.0.0', ALLOWED_ORIGINS: 'https://play.example,https://www.example' } }));

describe('Origins', () => {
  const origins = new Origins(['https://play.example']);
  const local = new Origins([], undefined, true);

  test.each<[what: string, origin: string, host: string]>([
    ['no Origin', '', 'game.example'],
    ['a listed origin', 'https://play.example', 'game.example'],
    ['the host over https', 'https://game.example', 'game.example'],
    ['the host with its port', 'http://game.example:3000', 'game.example:3000'],
    ['the host, its default port in the Host header alone', 'https://game.example', 'game.example:443'],
    ['the host, its default port in the Origin alone', 'http://game.example:80', 'game.example'],
    ['the host in capitals', 'https://GAME.example', 'game.example'],
    ['an IPv6 address', 'http://[::1]:3000', '[::1]:3000'],
  ])('%s is not foreign', (_, origin, host) => {
    expect(origins.isForeign(origin, host)).toBe(false);
  });

  test.each<[what: string, origin: string, host: string]>([
    ['another host', 'https://evil.example', 'game.example'],
    ['a listed host over another scheme', 'http://play.example', 'game.example'],
    ['a listed host on another port', 'https://play.example:8443', 'game.example'],
    ['a host that begins like the own one', 'https://game.example.evil.example', 'game.example'],
    ['the own host on another port', 'https://game.example:444', 'game.example'],
    ["another scheme's default port", 'http://game.example', 'game.example:443'],
    ['null', 'null', 'game.example'],
    ['a word', 'nonsense', 'game.example'],
    ['an origin with a path', 'https://game.example/x', 'game.example'],
    ['a Host header with a path, though the origin is equal', 'https://game.example/x', 'game.example/x'],
    ['an origin beside an empty Host header', 'https://game.example', ''],
    ['a host of 301 characters, though the origin is equal', `https://${'a'.repeat(301)}`, 'a'.repeat(301)],
    ['an origin of percent-encoded marks', `https://${'%CC%81'.repeat(20)}`, 'game.example'],
  ])('%s is foreign', (_, origin, host) => {
    expect(origins.isForeign(origin, host)).toBe(true);
  });

  test('the origin of PUBLIC_URL is not foreign, whatever Host a proxy sends', () => {
    const proxied = new Origins([], 'https://play.example/base');
    const areForeign = ['https://play.example', 'http://play.example'].map((origin) => proxied.isForeign(origin, 'backend:3000'));
    expect(areForeign).toEqual([false, true]);
  });

  test.each(['http://localhost', 'http://localhost:5173', 'http://127.0.0.1:8080', 'http://[::1]:65535'])(
    'pages of %s may call a service that allows loopback, and no other',
    (origin) => {
      expect([local.isForeign(origin, '127.0.0.1:3000'), origins.isForeign(origin, 'game.example')]).toEqual([false, true]);
      expect(local.corsHeaders(origin)).toContainEqual(['access-control-allow-origin', origin]);
    },
  );

  test.each([
    ...['http://localhost.evil.example', 'http://127.0.0.1.evil.example', 'http://[::1].evil.example', 'http://evil.example'],
    ...['http://localhost@evil.example', 'http://localhost#.evil.example', 'http://localhost\n.evil.example', 'http://localhost/'],
    ...['http://localhost:port', 'http://localhost:123456', `http://localhost:${'9'.repeat(100_000)}`, 'ws://localhost', 'null'],
    ...['http://[::ffff:8.8.8.8]', 'http://127.0.0.2', 'http://2130706433', 'capacitor://localhost'],
  ])('a service that allows loopback refuses %s', (origin) => {
    expect(local.isForeign(origin, '127.0.0.1:3000')).toBe(true);
    for (const headers of [local.corsHeaders(origin), local.preflightHeaders(origin)]) expect(headers).toEqual([['vary', 'Origin']]);
  });

  test('a page of another origin is foreign, even if DNS rebinding leads its requests to this machine', () => {
    for (const host of ['localhost:3000', '127.0.0.1:3000']) expect(local.isForeign('http://evil.example:3000', host)).toBe(true);
  });
});

describe('through the server', () => {
  const credit = (origin: string, cookies: string, on = service) =>
    on.post('/v1/coins/credit', { coins: 1, key: origin }, { cookies, headers: { origin } });

  test('a POST with cookies is served from the own origin or a listed one, and from a foreign one it is refused and does nothing', async () => {
    const cookies = await signIn(service, freshId());
    for (const origin of ['https://evil.example', 'null', 'https://play.example.evil.example', 'http://play.example']) {
      const { status, body } = await credit(origin, cookies);
      expect([origin, status, body.error.code]).toEqual([origin, 403, 'cross_site']);
    }
    for (const [index, origin] of [service.url, 'https://play.example', 'https://www.example'].entries())
      expect((await credit(origin, cookies)).body.balanceAfterCoins).toBe(index + 1);
  });

  test('a POST without cookies is served whatever its origin', async () => {
    const { status } = await service.post('/v1/account/resolve', { installId: freshId() }, { headers: { origin: 'https://evil.example' } });
    expect(status).toBe(200);
  });

  // Every answer varies by Origin, so that no cache serves it the answer to a listed one. A page can read the code of a refusal too.
  test.each([
    ['/health', 'https://play.example', 200, 'https://play.example', 'true'],
    ['/v1/balance', 'https://play.example', 401, 'https://play.example', 'true'],
    ['/health', 'https://evil.example', 200, null, null],
  ])('CORS headers go to listed origins only: %s from %s', async (path, origin, status, allowed, withCookies) => {
    const { headers, ...reply } = await service.get(path, { headers: { origin } });
    expect([reply.status, headers.get('vary')]).toEqual([status, 'Origin']);
    expect(['origin', 'credentials'].map((name) => headers.get(`access-control-allow-${name}`))).toEqual([allowed, withCookies]);
    const exposed = allowed && 'x-request-id, retry-after, etag';
    expect(headers.get('access-control-expose-headers')).toBe(exposed);
  });

  test('a preflight of a listed origin is allowed, one of another origin is not', async () => {
    const { status, headers } = await service.get('/v1/coins/credit', {
      method: 'OPTIONS',
      headers: { origin: 'https://play.example', 'access-control-request-method': 'POST' },
    });
    expect([status, headers.get('allow'), headers.get('access-control-allow-methods')]).toEqual([204, 'POST, OPTIONS', 'GET, HEAD, POST']);
    expect(headers.get('access-control-allow-headers')).toBe(
      'authorization, content-type, traceparent, x-device-id, x-install-id, x-pair-secret, x-request-id',
    );
    const foreign = await service.get('/v1/coins/credit', { method: 'OPTIONS', headers: { origin: 'https://evil.example' } });
    expect([foreign.status, foreign.headers.get('access-control-allow-methods')]).toEqual([204, null]);
  });

  describe('a page of this machine', () => {
    const origin = 'http://localhost:5173';

    test('calls a service on a loopback address in development with cookies, and reads answers and refusals', async () => {
      await using local = await start();
      const cookies = await signIn(local, freshId());
      const preflight = await local.get('/v1/coins/credit', { method: 'OPTIONS', headers: { origin } });
      const credited = await credit(origin, cookies, local);
      const refused = await local.post('/v1/coins/debit', { coins: 6, key: 'page-2' }, { cookies, headers: { origin } });
      expect([preflight.status, credited.status, refused.body.error.code]).toEqual([204, 200, 'insufficient_coins']);
      for (const { headers } of [preflight, credited, refused]) expect(headers.get('access-control-allow-origin')).toBe(origin);
    });

    test.each<[string, Record<string, string>]>([
      ['in production', { NODE_ENV: 'production', SESSION_KEYS: `k:${'A'.repeat(43)}`, PUBLIC_URL: 'https://play.example', STORE: 'off' }],
      ['on an address that other machines reach', { HOST: '0.0.0.0' }],
    ])('%s is refused', async (_, settings) => {
      await using other = await start({ settings });
      expect((await credit(origin, await signIn(other, freshId()), other)).body.error.code).toBe('cross_site');
    });
  });
});
