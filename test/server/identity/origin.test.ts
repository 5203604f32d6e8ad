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

  test('CORS headers are left out where no origin is listed', () => {
    expect(new Origins([]).corsHeaders('https://play.example')).toEqual([]);
    expect(new Origins([]).preflightHeaders('https://play.example')).toEqual([]);
  });

  test('an origin that is not listed gets Vary alone, so that no cache serves it the answer of a listed one', () => {
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
  beforeAll(async () => void (service = await start({ settings: { ALLOWED_ORIGINS: 'https://play.example,https://www.example' } })));
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

  test('a POST with cookies from the origin of PUBLIC_URL is served', async () => {
    await using proxied = await start({ settings: { PUBLIC_URL: 'https://play.example/base' } });
    const cookies = await signIn(proxied, freshId());
    const from = async (origin: string) =>
      (await proxied.post('/v1/coins/credit', { coins: 1, key: origin }, { cookies, headers: { origin } })).status;
    expect(await from('https://play.example')).toBe(200);
    expect(await from('http://play.example')).toBe(403);
  });

  test('a Host header may spell the default port out', async () => {
    const cookies = await signIn(service, freshId());
    const body = '{"coins":1,"key":"port"}';
    const bytes = `POST /v1/coins/credit HTTP/1.1\r\nhost: game.example:443\r\norigin: https://game.example\r\ncookie: ${cookies}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    expect(statusesIn((await sendRaw(service.port, bytes)).text)).toEqual([200]);
    expect(statusesIn((await sendRaw(service.port, bytes.replace(':443', ':444'))).text)).toEqual([403]);
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
    expect(headers.get('access-control-allow-headers')).toContain('content-type');
    const foreign = await service.get('/v1/coins/credit', { method: 'OPTIONS', headers: { origin: 'https://evil.example' } });
    expect([foreign.status, foreign.headers.get('access-control-allow-methods')]).toEqual([204, null]);
  });
});
