import { describe, expect, test } from 'vitest';
import { forFile, start } from '../harness.ts';

const service = await forFile(start({ settings: { STORE: 'sandbox' } }));

const ASKED = 'no-cache';
const MINUTE = 'public, max-age=60';
const [JS, CSS, HTML, MARKDOWN, TEXT] = ['javascript', 'css', 'html', 'markdown', 'plain'].map((type) => `text/${type}; charset=utf-8`) as [
  string,
  string,
  string,
  string,
  string,
];

/** The bound is in bytes, gzipped: /client.js is for everybody, its parts, /rooms.js and /saves.js for pages that need them. */
describe.each<[path: string, type: string, caching: string, mostBytes: number]>([
  ['/client.js', JS, MINUTE, 6144],
  ['/client/account.js', JS, MINUTE, 1024],
  ['/client/pairing.js', JS, MINUTE, 1024],
  ['/client/patch.js', JS, MINUTE, 1024],
  ['/client/sign-ins.js', JS, MINUTE, 1024],
  ['/client/unreachable.js', JS, MINUTE, 1024],
  ['/client/watched-room.js', JS, MINUTE, 1024],
  ['/rooms.js', JS, MINUTE, 4.6 * 1024],
  ['/saves.js', JS, MINUTE, 2.2 * 1024],
  ['/pages/modules/docs.js', JS, ASKED, 16_000],
  ['/pages/style.css', CSS, ASKED, 4000],
  ['/pages/styles/home.css', CSS, ASKED, 4000],
  ['/pages/styles/playground.css', CSS, ASKED, 4000],
  ['/pages/styles/pairing.css', CSS, ASKED, 4000],
  ['/pages/styles/console.css', CSS, ASKED, 4000],
  ['/docs/style.css', CSS, ASKED, 4000],
  ['/', HTML, MINUTE, 9000],
  ['/docs', HTML, MINUTE, 20_000],
  ['/docs/reference/rooms', HTML, MINUTE, 40_000],
  ['/docs/operating', HTML, MINUTE, 55_000],
  ['/docs/client.md', MARKDOWN, MINUTE, 25_000],
  ['/docs/examples/game.html', TEXT, MINUTE, 4000],
  ['/llms.txt', TEXT, MINUTE, 4000],
  ['/docs/search.json', 'application/json; charset=utf-8', MINUTE, 350_000],
  ['/docs/channels', HTML, MINUTE, 55_000],
  ['/docs/errors', HTML, MINUTE, 55_000],
])('GET %s', (path, type, caching, mostBytes) => {
  const from = { origin: 'https://game.example' };
  /** Games of any origin import only these. */
  const origin = /^\/(client|rooms|saves)\b/.test(path) ? '*' : null;

  test('is one text of a bounded size, gzipped for clients that accept it', async () => {
    const [zipped, plain] = await Promise.all(
      ['gzip', 'gzip; q=0'].map((accepted) => service.get(path, { headers: { ...from, 'accept-encoding': accepted } })),
    );
    for (const { headers } of [zipped!, plain!]) {
      const names = ['content-type', 'cache-control', 'access-control-allow-origin', 'access-control-allow-credentials'];
      expect(names.map((name) => headers.get(name))).toEqual([type, caching, origin, null]);
      expect(headers.get('vary')).toContain('Accept-Encoding');
    }
    expect([zipped!.headers.get('content-encoding'), plain!.headers.get('content-encoding')]).toEqual(['gzip', null]);
    expect(zipped!.body).toEqual(plain!.body);
    expect(Number(zipped!.headers.get('content-length'))).toBeLessThanOrEqual(mostBytes);
    const ownParts = /import\(`\.\/client\/[\w-]+\.js`\)/g;
    if ([JS, CSS].includes(type)) expect(plain!.body.replace(ownParts, '')).not.toMatch(/\bimport\b|\burl\(|https?:\/\/\w/);
  });

  test('is not sent again while it is unchanged, in either encoding', async () => {
    for (const accepted of ['gzip', 'identity']) {
      const { headers } = await service.get(path, { headers: { 'accept-encoding': accepted } });
      const again = await service.get(path, { headers: { ...from, 'if-none-match': headers.get('etag')! } });
      expect([again.status, again.body, again.headers.get('access-control-allow-origin')]).toEqual([304, '', origin]);
    }
    expect((await service.get(path, { headers: { 'if-none-match': '"other"' } })).status).toBe(200);
  });
});

test.each([
  ['/', ['/pages/style.css', '/pages/styles/home.css', '/pages/styles/playground.css']],
  ['/pair', ['/pages/style.css', '/pages/styles/pairing.css']],
  ['/docs', ['/pages/style.css', '/docs/style.css']],
  ['/docs/client', ['/pages/style.css', '/docs/style.css']],
])('the page %s loads the primitives and then its own sheets', async (path, sheets) => {
  const { body } = await service.get(path);
  expect([...body.matchAll(/rel="stylesheet" href="([^"]*)"/g)].map(([, sheet]) => sheet)).toEqual(sheets);
});

test.each(['identity', 'gzip;q=0', 'gzip; q=0', 'br'])('a client that accepts %s gets plain text', async (accepted) => {
  const { headers, body } = await service.get('/client.js', { headers: { 'accept-encoding': accepted } });
  expect([headers.get('content-encoding'), (body as string).startsWith('\u001f')]).toEqual([null, false]);
});

test('a text for any origin has one header of each name for an allowed origin too', async () => {
  await using other = await start({ settings: { ALLOWED_ORIGINS: 'https://game.example' } });
  const { headers } = await other.get('/client.js', { headers: { origin: 'https://game.example' } });
  expect(headers.get('access-control-allow-origin')).toBe('*');
});

test.each(['/docs', '/openapi.json', '/asyncapi.json'])('HEAD %s answers without a body, cacheable for a minute', async (path) => {
  const { status, headers, body } = await service.get(path, { method: 'HEAD' });
  expect([status, body, headers.get('cache-control')]).toEqual([200, '', MINUTE]);
});

test.each([
  ...['nothing.js', 'style.css', 'home.ts', '..%2Fhome.ts', '%2e%2e%2f%2e%2e%2fconfig.ts', 'constructor', '%00'].map(
    (name) => `/pages/modules/${name}`,
  ),
  ...['style.css', 'reference.css', '..%2Fstyle-sheet.ts', 'constructor'].map((name) => `/pages/styles/${name}`),
  ...['nothing.js', 'account.ts', '..%2Fclient.js', 'constructor'].map((name) => `/client/${name}`),
  ...['', '../package.json', '%2e%2e/package.json', 'style.css/..', 'script.ts'].map((name) => `/docs/${name}`),
])('there is nothing at %s', async (path) => {
  const { status, body } = await service.get(path);
  expect([status, body.error.code]).toEqual([404, 'not_found']);
});
