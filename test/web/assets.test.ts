import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { start, type TestService } from '../harness.ts';

let service: TestService;
beforeAll(async () => void (service = await start()));
afterAll(() => service[Symbol.asyncDispose]());

const modules = readdirSync(new URL('../../src/web/browser', import.meta.url)).filter((file) => file.endsWith('.ts'));

test.each(modules)('%s is served as JavaScript that parses, and whose imports lead to modules that are served', async (file) => {
  const { status, headers, body } = await service.get(`/pages/modules/${file.replace(/ts$/, 'js')}`);
  expect([status, headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8']);
  expect(body).not.toMatch(/\.ts'|import type|interface \w+ \{/);
  for (const [, name] of body.matchAll(/(?:from |import\()'\.\/([^']*)'/g)) {
    expect((await service.get(`/pages/modules/${name}`)).status).toBe(200);
  }
});

test.each(['nothing.js', 'style.css', 'tsconfig.json', 'home.ts', '..%2Fhome.ts', '%2e%2e%2f%2e%2e%2fconfig.ts', 'constructor', '%00'])(
  'there is no module %s',
  async (name) => {
    const { status, body } = await service.get(`/pages/modules/${name}`);
    expect([status, body.error.code]).toEqual([404, 'not_found']);
  },
);

test('the style sheet is compressed for clients that take gzip, and not sent again while it is unchanged', async () => {
  const plain = await service.get('/pages/style.css', { headers: { 'accept-encoding': 'identity' } });
  const zipped = await service.get('/pages/style.css', { headers: { 'accept-encoding': 'gzip' } });
  expect(plain.headers.get('content-type')).toBe('text/css; charset=utf-8');
  expect(zipped.headers.get('content-encoding')).toBe('gzip');
  expect(zipped.body).toBe(plain.body);
  for (const { headers } of [plain, zipped]) {
    expect([headers.get('cache-control'), headers.get('vary')]).toEqual(['no-cache', expect.stringContaining('Accept-Encoding')]);
    const again = await service.get('/pages/style.css', { headers: { 'if-none-match': headers.get('etag')! } });
    expect([again.status, again.body]).toEqual([304, '']);
  }
});
