import { describe, expect, test } from 'vitest';
import { api } from '../../api.ts';
import { forFile, freshId, request, sleep, start } from '../../harness.ts';
import { eventually } from '../../realtime/watcher.ts';
import { all, credit, Lines, roomy, statusOf, type Line } from '../connection-lines.ts';

const service = await forFile(start());

describe('paths and methods', () => {
  test.each(['/nothing', '/v1', '/v1/', '/v1/balance/', '/V1/balance', '/v1/coins', '/v1//balance', '/health/x'])(
    '%s is answered not_found',
    async (path) => expect(await service.get(path)).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } }),
  );

  test('a browser at a path that does not exist gets a page, and everything else the error body', async () => {
    const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
    for (const path of ['/docs/', '/no%22such<b>/']) {
      const answer = await fetch(service.url + path, { headers: { accept } });
      const [{ status, headers }, page] = [answer, await answer.text()];
      expect([status, headers.get('content-type'), headers.get('vary')]).toEqual([
        404,
        'text/html; charset=utf-8',
        expect.stringContaining('Accept'),
      ]);
      expect(headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(page).toContain(headers.get('x-request-id'));
      expect([page.includes('<a href="/docs">/docs</a>'), page.includes('such<b>')]).toEqual([path === '/docs/', false]);
    }
    for (const taken of ['*/*', 'application/json', 'text/html;q=0', '']) {
      const { status, body, headers } = await service.get('/docs/', { headers: { accept: taken } });
      expect([status, body.error.code, headers.get('vary')]).toEqual([404, 'not_found', expect.stringContaining('Accept')]);
    }
  });

  test('every path refuses every method that it does not take, and its Allow header names the methods that it takes', async () => {
    const methodsOf = new Map<string, Set<string>>();
    for (const endpoint of api) {
      for (const path of [endpoint.path, ...(endpoint.aliases ?? [])]) {
        const methods = methodsOf.get(path) ?? methodsOf.set(path, new Set()).get(path)!;
        for (const method of endpoint.method === 'GET' ? ['GET', 'HEAD'] : ['POST']) methods.add(method);
      }
    }
    expect(methodsOf.size).toBeGreaterThan(30);
    // A read of a room whose code is "match".
    for (const method of methodsOf.get('/v1/rooms/{code}')!) methodsOf.get('/v1/rooms/match')!.add(method);
    for (const [path, methods] of methodsOf) {
      const url = path.replace('{game}', 'tetris').replace('{code}', 'BCDFG').replace('{action}', 'join');
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((candidate) => !methods.has(candidate))) {
        const reply = await request(service.url, url, { method });
        expect([path, method, reply.status, reply.body.error.code]).toEqual([path, method, 405, 'method_not_allowed']);
        expect(reply.headers.get('allow')!.split(', ').sort()).toEqual([...methods, 'OPTIONS'].sort());
      }
    }
  });
});

test('every answer forbids sniffing its type, and does not name the make of the server', async () => {
  const answers = await Promise.all([
    ...['/', '/?format=json', '/health', '/ready', '/metrics', '/openapi.json', '/asyncapi.json', '/v1/catalogue'].map((path) =>
      service.get(path),
    ),
    ...['/nothing', '/v1/balance', '/v1/coins/credit', '/v1/rooms/BBBBB/live'].map((path) => service.get(path)),
    service.get('/health', { method: 'HEAD' }),
    service.post('/v1/account/resolve', { installId: freshId() }),
  ]);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 400, 401, 404, 405]));
  for (const { headers } of answers) expect(headers.get('x-content-type-options')).toBe('nosniff');
  answers.push(await service.get('/health', { method: 'OPTIONS' }));
  for (const { headers } of answers) expect([headers.get('uwebsockets'), headers.get('server')]).toEqual([null, null]);
});

describe('unfinished bodies', () => {
  const settings = { ...roomy, BODIES_PER_ADDRESS: '3' };
  const areClosed = (lines: readonly Line[]): boolean[] => lines.map(({ isClosed }) => isClosed);

  test('an address that begins more than BODIES_PER_ADDRESS has the later ones refused and closed; other addresses have their own', async () => {
    await using bounded = await start({ settings });
    using lines = new Lines(bounded);
    const begun = [...(await all(3, () => lines.beginBody())), ...(await all(4, () => lines.beginBody()))];
    const elsewhere = await all(3, () => lines.beginBody('', '127.0.0.2'));
    await eventually(() => begun.slice(3).every(({ isClosed }) => isClosed));
    expect(begun.map(statusOf)).toEqual([NaN, NaN, NaN, 429, 429, 429, 429]);
    expect(begun[3]!.received).toContain('"code":"rate_limited"');
    expect(begun[3]!.received).toMatch(/^retry-after: 1\r$/m);
    expect((await credit(bounded, freshId())).status).toBe(200);
    expect(areClosed([...begun.slice(0, 3), ...elsewhere])).toEqual(Array(6).fill(false));
  });

  test('a completed body makes room for another', async () => {
    await using bounded = await start({ settings });
    using lines = new Lines(bounded);
    const begun = await all(3, () => lines.beginBody());
    begun[0]!.socket.write('x'.repeat(79));
    await eventually(() => statusOf(begun[0]!) === 400);
    const next = await lines.beginBody();
    // Three times as long as it takes the server to look at unfinished bodies: nothing is to happen within it.
    await sleep(300);
    expect(next.isClosed).toBe(false);
  });

  test('the bound counts the clients of a trusted proxy, not the proxy', async () => {
    await using proxied = await start({ settings: { ...roomy, BODIES_PER_ADDRESS: '2', TRUSTED_PROXIES: '127.0.0.1' } });
    using lines = new Lines(proxied);
    const of = (client: string) => lines.beginBody(`x-forwarded-for: ${client}\r\n`);
    const [one, other] = [await all(3, () => of('203.0.113.1')), await all(2, () => of('203.0.113.2'))];
    await eventually(() => areClosed(one).filter(Boolean).length === 1);
    expect(areClosed(other)).toEqual([false, false]);
  });
});
