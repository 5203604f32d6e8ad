import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { api } from '../../../src/api.ts';
import { sendRaw, statusesIn } from '../../raw.ts';
import { freshId, note, request, signIn, start, type TestService } from '../../harness.ts';

let service: TestService;
beforeAll(async () => void (service = await start({ settings: { ALLOWED_ORIGINS: 'https://play.example,https://www.example' } })));
afterAll(() => service[Symbol.asyncDispose]());

const resolve = (text: string | undefined, headers: Record<string, string> = {}) =>
  request(service.url, '/v1/account/resolve', { method: 'POST', headers }, text);

describe('bodies', () => {
  test.each([
    ['nothing', ''],
    ['broken JSON', '{"installId":'],
    ['a trailing comma', '{"installId":"install-0001",}'],
    ['NaN', '{"installId":NaN}'],
    ['a byte order mark', '\uFEFF{"installId":"install-0001"}'],
  ])('%s is invalid_json', async (_name, text) => {
    const { status, body } = await resolve(text);
    expect([status, body.error.code]).toEqual([400, 'invalid_json']);
  });

  test('invalid UTF-8 is invalid_json', async () => {
    const response = await fetch(`${service.url}/v1/account/resolve`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]),
    });
    expect([response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([400, 'invalid_json']);
  });

  test.each(['[]', 'null', '1', '"text"', 'true'])('%s is invalid_request: the body is not an object', async (text) => {
    const { status, body } = await resolve(text);
    expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', 'body']);
  });

  test('a bad field is named, with every issue', async () => {
    const { status, body } = await service.post('/v1/coins/credit', { installId: freshId(), coins: 0, key: '' });
    expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', 'coins']);
    expect(body.error.issues.map((issue: { path: string }) => issue.path)).toEqual(['coins', 'key']);
  });

  test('__proto__ and unknown fields are ignored', async () => {
    const { status } = await resolve(`{"__proto__":{"installId":"polluted-1"},"constructor":1,"more":[],"installId":"${freshId()}"}`);
    expect(status).toBe(200);
    expect(({} as { installId?: string }).installId).toBeUndefined();
    const inherited = await resolve('{"__proto__":{"installId":"polluted-1"}}');
    expect([inherited.status, inherited.body.error.field]).toEqual([400, 'installId']);
  });

  test('a lone surrogate is refused by name', async () => {
    const { status, body } = await resolve('{"installId":"install-\\ud800"}');
    expect([status, body.error.field]).toEqual([400, 'installId']);
  });

  test.each([undefined, 'text/plain', 'application/jsonp', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])(
    'content-type %s is unsupported_media_type',
    async (contentType) => {
      const headers: Record<string, string> = contentType === undefined ? {} : { 'content-type': contentType };
      const response = await fetch(`${service.url}/v1/account/resolve`, { method: 'POST', headers, body: Buffer.from('{}') });
      const body = (await response.json()) as { error: { code: string } };
      expect([response.status, body.error.code]).toEqual([415, 'unsupported_media_type']);
      note(undefined, body.error.code);
    },
  );

  test.each(['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset=UTF-8'])(
    'content-type %s is taken',
    async (contentType) => {
      expect((await resolve(JSON.stringify({ installId: freshId() }), { 'content-type': contentType })).status).toBe(200);
    },
  );
});

describe('paths and methods', () => {
  test.each(['/nothing', '/v1', '/v1/', '/v1/balance/', '/V1/balance', '/v1/coins', '/v1//balance', '/health/x'])(
    '%s is not_found',
    async (path) => {
      const { status, body } = await service.get(path);
      expect([status, body.error.code]).toEqual([404, 'not_found']);
    },
  );

  test('every path refuses every method it does not take, and says which it does', async () => {
    const methodsOf = new Map<string, Set<string>>();
    for (const endpoint of api) {
      for (const path of [endpoint.path, ...(endpoint.aliases ?? [])]) {
        const methods = methodsOf.get(path) ?? methodsOf.set(path, new Set()).get(path)!;
        for (const method of endpoint.method === 'GET' ? ['GET', 'HEAD'] : ['POST']) methods.add(method);
      }
    }
    expect(methodsOf.size).toBeGreaterThan(30);
    for (const [path, methods] of methodsOf) {
      const url = path.replace('{game}', 'tetris').replace('{code}', 'BCDFG').replace('{action}', 'join');
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((candidate) => !methods.has(candidate))) {
        const reply = await request(service.url, url, { method });
        expect([path, method, reply.status, reply.body.error.code]).toEqual([path, method, 405, 'method_not_allowed']);
        expect(reply.headers.get('allow')!.split(', ').sort()).toEqual([...methods, 'OPTIONS'].sort());
      }
    }
  });

  test('HEAD answers as GET does, without the body', async () => {
    const get = await service.get('/health');
    const head = await service.get('/health', { method: 'HEAD' });
    expect([head.status, head.body, head.headers.get('content-type')]).toEqual([200, '', get.headers.get('content-type')]);
    expect(head.headers.get('content-length')).toBe(String(JSON.stringify(get.body).length));
  });
});

test('every answer forbids sniffing its type, and does not name the make of the server', async () => {
  const answers = await Promise.all([
    ...[
      '/',
      '/?format=json',
      '/health',
      '/ready',
      '/metrics',
      '/openapi.json',
      '/asyncapi.json',
      '/v1/catalogue',
      '/nothing',
      '/v1/balance',
    ].map((path) => service.get(path)),
    service.get('/health', { method: 'HEAD' }),
    service.get('/v1/coins/credit'),
    service.post('/v1/account/resolve', { installId: freshId() }),
    service.post('/v1/account/resolve', {}),
    service.get('/v1/rooms/BBBBB/live'),
  ]);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 400, 401, 404, 405]));
  for (const { headers } of answers) {
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('uwebsockets')).toBeNull();
    expect(headers.get('server')).toBeNull();
  }
  const preflight = await service.get('/health', { method: 'OPTIONS' });
  expect([preflight.status, preflight.headers.get('uwebsockets')]).toEqual([204, null]);
});

describe('x-request-id', () => {
  test('a well-formed one is kept, in the error body too', async () => {
    const { headers, body } = await service.get('/nothing', { headers: { 'x-request-id': 'my-request.1' } });
    expect([headers.get('x-request-id'), body.requestId]).toEqual(['my-request.1', 'my-request.1']);
  });

  test.each(['with blanks in it', 'a'.repeat(129), 'semi;colon', '<script>'])('another (%s) is replaced', async (given) => {
    const { headers } = await service.get('/health', { headers: { 'x-request-id': given } });
    expect(headers.get('x-request-id')).not.toBe(given);
  });

  test('no two are alike', async () => {
    const ids = await Promise.all(Array.from({ length: 100 }, async () => (await service.get('/health')).headers.get('x-request-id')));
    expect(new Set(ids).size).toBe(100);
  });
});

describe('origins', () => {
  test('a POST with cookies from a foreign origin is refused, and does nothing', async () => {
    const installId = freshId();
    const cookies = await signIn(service, installId);
    for (const origin of [
      'https://evil.example',
      'null',
      'https://play.example.evil.example',
      'http://play.example',
      'https://127.0.0.1:1',
      'nonsense',
    ]) {
      const { status, body } = await service.post('/v1/coins/credit', { coins: 1, key: 'a' }, { cookies, headers: { origin } });
      expect([origin, status, body.error.code]).toEqual([origin, 403, 'cross_site']);
    }
    expect((await service.get('/v1/balance', { cookies })).body.balanceCoins).toBe(0);
  });

  test('from its own and from a listed origin it passes', async () => {
    const cookies = await signIn(service, freshId());
    for (const origin of [service.url, 'https://play.example', 'https://www.example']) {
      expect((await service.post('/v1/coins/credit', { coins: 1, key: origin }, { cookies, headers: { origin } })).status).toBe(200);
    }
  });

  test('PUBLIC_URL is its own, whatever Host a proxy sends; so is its host with the default port spelled out', async () => {
    await using proxied = await start({ settings: { PUBLIC_URL: 'https://play.example/base' } });
    const cookies = await signIn(proxied, freshId());
    const from = async (origin: string) =>
      (await proxied.post('/v1/coins/credit', { coins: 1, key: origin }, { cookies, headers: { origin } })).status;
    expect(await from('https://play.example')).toBe(200);
    expect(await from('http://play.example')).toBe(403);
    const { port } = proxied;
    const body = '{"coins":1,"key":"port"}';
    const bytes = `POST /v1/coins/credit HTTP/1.1\r\nhost: game.example:443\r\norigin: https://game.example\r\ncookie: ${cookies}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    expect(statusesIn((await sendRaw(port, bytes)).text)).toEqual([200]);
    expect(statusesIn((await sendRaw(port, bytes.replace(':443', ':444'))).text)).toEqual([403]);
  });

  test('without cookies the origin does not matter', async () => {
    expect(
      (await service.post('/v1/account/resolve', { installId: freshId() }, { headers: { origin: 'https://evil.example' } })).status,
    ).toBe(200);
  });

  test('CORS headers go to listed origins only, and every answer varies by Origin', async () => {
    const listed = await service.get('/health', { headers: { origin: 'https://play.example' } });
    expect(listed.headers.get('access-control-allow-origin')).toBe('https://play.example');
    expect(listed.headers.get('access-control-allow-credentials')).toBe('true');
    expect(listed.headers.get('vary')).toBe('Origin');
    const foreign = await service.get('/health', { headers: { origin: 'https://evil.example' } });
    expect(foreign.headers.get('access-control-allow-origin')).toBeNull();
    expect(foreign.headers.get('vary')).toBe('Origin');
    const refused = await service.get('/v1/balance', { headers: { origin: 'https://play.example' } });
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([401, 'https://play.example']);
  });

  test('a preflight is answered', async () => {
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
