import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Origins } from '../../../src/server/identity/origin.ts';
import { freshId, signIn, start, type TestService } from '../../harness.ts';
import { sendRaw, statusesIn } from '../../raw.ts';

describe('Origins', () => {
  const origins = new Origins(['https://play.example']);

  test.each<[what: string, origin: string, host: string]>([
    ['no Origin', '', 'game.example'],
    ['a listed origin', 'https://play.example', 'game.example'],
    ['the host over https', 'https://game.example', 'game.example'],
    ['the host over http', 'http://game.example', 'game.example'],
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
    expect(proxied.isForeign('https://play.example', 'backend:3000')).toBe(false);
    expect(proxied.isForeign('http://play.example', 'backend:3000')).toBe(true);
  });

  describe('that allow loopback', () => {
    const local = new Origins([], undefined, true);

    test.each(['http://localhost', 'http://localhost:5173', 'http://127.0.0.1:8080', 'http://[::1]:65535'])(
      'let pages of %s call',
      (origin) => {
        expect(local.isForeign(origin, '127.0.0.1:3000')).toBe(false);
        expect(local.corsHeaders(origin)).toContainEqual(['access-control-allow-origin', origin]);
        expect(local.corsHeaders(origin)).toContainEqual(['access-control-allow-credentials', 'true']);
        expect(local.preflightHeaders(origin)).toContainEqual(['access-control-allow-methods', 'GET, HEAD, POST']);
        expect(origins.isForeign(origin, 'game.example')).toBe(true);
        expect(origins.corsHeaders(origin)).toEqual([['vary', 'Origin']]);
      },
    );

    test.each([
      'http://localhost.evil.example',
      'http://evil.example',
      'http://127.0.0.1.evil.example',
      'http://localhost@evil.example',
      'http://localhost#.evil.example',
      'http://localhost/',
      'http://localhost:port',
      'http://localhost:123456',
      'http://localhost\n.evil.example',
      'http://[::1].evil.example',
      'http://[::ffff:8.8.8.8]',
      'http://127.0.0.2',
      'http://2130706433',
      'ws://localhost',
      'capacitor://localhost',
      'null',
      `http://localhost:${'9'.repeat(100_000)}`,
    ])('refuse %s', (origin) => {
      expect(local.isForeign(origin, '127.0.0.1:3000')).toBe(true);
      expect(local.corsHeaders(origin)).toEqual([['vary', 'Origin']]);
      expect(local.preflightHeaders(origin)).toEqual([['vary', 'Origin']]);
    });

    test('refuse a page that has this machine as its host by DNS rebinding, whatever host it named before', () => {
      expect(local.isForeign('http://evil.example:3000', 'localhost:3000')).toBe(true);
      expect(local.isForeign('http://evil.example:3000', '127.0.0.1:3000')).toBe(true);
    });
  });

  test('every request without an allowed origin gets the same CORS headers, so that the pipeline can keep their lines', () => {
    expect(origins.corsHeaders('')).toBe(origins.corsHeaders('https://evil.example'));
    expect(new Origins([]).corsHeaders('')).toBe(new Origins([]).corsHeaders('https://evil.example'));
  });

  test('CORS headers are left out if no origin is listed', () => {
    expect(new Origins([]).corsHeaders('https://play.example')).toEqual([]);
    expect(new Origins([]).preflightHeaders('https://play.example')).toEqual([]);
  });

  test('an origin that is not listed gets only Vary, so that no cache serves it the answer to a listed one', () => {
    expect(origins.corsHeaders('https://evil.example')).toEqual([['vary', 'Origin']]);
    expect(origins.preflightHeaders('https://evil.example')).toEqual([['vary', 'Origin']]);
  });

  test('a listed origin may send cookies and read the headers that the service adds', () => {
    expect(origins.corsHeaders('https://play.example')).toEqual([
      ['vary', 'Origin'],
      ['access-control-allow-origin', 'https://play.example'],
      ['access-control-allow-credentials', 'true'],
      ['access-control-expose-headers', 'x-request-id, retry-after, etag'],
    ]);
  });
});

describe('through the server', () => {
  let service: TestService;
  beforeAll(
    async () =>
      void (service = await start({ settings: { HOST: '0.0.0.0', ALLOWED_ORIGINS: 'https://play.example,https://www.example' } })),
  );
  afterAll(() => service[Symbol.asyncDispose]());

  const credit = (origin: string, cookies: string) =>
    service.post('/v1/coins/credit', { coins: 1, key: origin }, { cookies, headers: { origin } });

  test('a POST with cookies from a foreign origin is refused, and does nothing', async () => {
    const cookies = await signIn(service, freshId());
    for (const origin of [
      'https://evil.example',
      'null',
      'https://play.example.evil.example',
      'http://play.example',
      'https://127.0.0.1:1',
      'nonsense',
    ]) {
      const { status, body } = await credit(origin, cookies);
      expect([origin, status, body.error.code]).toEqual([origin, 403, 'cross_site']);
    }
    expect((await service.get('/v1/balance', { cookies })).body.balanceCoins).toBe(0);
  });

  test("a POST with cookies from the service's own origin or a listed one is served", async () => {
    const cookies = await signIn(service, freshId());
    for (const origin of [service.url, 'https://play.example', 'https://www.example']) {
      expect((await credit(origin, cookies)).status).toBe(200);
    }
  });

  test('a POST without cookies is served whatever its origin', async () => {
    const { status } = await service.post('/v1/account/resolve', { installId: freshId() }, { headers: { origin: 'https://evil.example' } });
    expect(status).toBe(200);
  });

  test('CORS headers go to listed origins only, and every answer varies by Origin', async () => {
    const listed = await service.get('/health', { headers: { origin: 'https://play.example' } });
    expect(listed.headers.get('access-control-allow-origin')).toBe('https://play.example');
    expect(listed.headers.get('access-control-allow-credentials')).toBe('true');
    expect(listed.headers.get('vary')).toBe('Origin');
    const foreign = await service.get('/health', { headers: { origin: 'https://evil.example' } });
    expect(foreign.headers.get('access-control-allow-origin')).toBeNull();
    expect(foreign.headers.get('vary')).toBe('Origin');
  });

  test('a refusal carries CORS headers too, so that a page can read its code', async () => {
    const { status, headers } = await service.get('/v1/balance', { headers: { origin: 'https://play.example' } });
    expect([status, headers.get('access-control-allow-origin')]).toEqual([401, 'https://play.example']);
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

  describe('on a loopback address in development', () => {
    const origin = 'http://localhost:5173';

    test('a page of this machine calls with cookies, and reads answers and refusals', async () => {
      await using local = await start();
      const cookies = await signIn(local, freshId());
      const preflight = await local.get('/v1/coins/credit', { method: 'OPTIONS', headers: { origin } });
      expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, origin]);
      const credited = await local.post('/v1/coins/credit', { coins: 5, key: 'page' }, { cookies, headers: { origin } });
      expect([credited.status, credited.body.balanceAfterCoins]).toEqual([200, 5]);
      const refused = await local.post('/v1/coins/debit', { coins: 6, key: 'page-2' }, { cookies, headers: { origin } });
      for (const { headers } of [credited, refused]) {
        expect(headers.get('access-control-allow-origin')).toBe(origin);
        expect(headers.get('access-control-allow-credentials')).toBe('true');
        expect(headers.get('vary')).toBe('Origin');
      }
      expect(refused.body.error.code).toBe('insufficient_coins');
      expect((await local.get('/health')).headers.get('vary')).toBe('Origin');
    });

    test.each<[string, Record<string, string>]>([
      ['in production', { NODE_ENV: 'production', SESSION_KEYS: `k:${'A'.repeat(43)}`, PUBLIC_URL: 'https://play.example', STORE: 'off' }],
      ['on an address that other machines reach', { HOST: '0.0.0.0' }],
    ])('%s a page of this machine is refused', async (_, settings) => {
      await using other = await start({ settings });
      const cookies = await signIn(other, freshId());
      const { body } = await other.post('/v1/coins/credit', { coins: 1, key: 'page' }, { cookies, headers: { origin } });
      expect(body.error.code).toBe('cross_site');
    });
  });
});
