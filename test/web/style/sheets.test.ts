import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { forFile, start } from '../../harness.ts';

const service = await forFile(start());

const source = new URL('../../../src/', import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, source), 'utf8');

/** The text of every file that generates HTML or runs in a page. */
const pages = [
  ...readdirSync(new URL('web', source), { recursive: true, encoding: 'utf8' }).map((file) => `web/${file}`),
  'features/pairing/pairing-page.ts',
]
  .filter((file) => file.endsWith('.ts'))
  .map(read)
  .join('\n');

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

const SHEETS = [
  ['/pages/style.css', 'pages.css'],
  ['/docs/style.css', 'reference.css'],
] as const;

/** The custom properties that a sheet defines, such as `--ground`. */
const namesOf = (css: string): string[] => [...new Set([...css.matchAll(/(--[\w-]+):/g)].map(([, name]) => name!))];

test.each(SHEETS)('%s begins with the shared rules, and %s defines none of their colours again', async (path, own) => {
  const shared = namesOf(read('web/style/shared.css'));
  expect(shared).toEqual(expect.arrayContaining(['--ground', '--ink', '--accent']));
  const ours = namesOf(read(`web/style/${own}`));
  expect(ours.filter((name) => shared.includes(name))).toEqual([]);
  const { body } = await service.get(path);
  expect(namesOf(body)).toEqual([...shared, ...ours]);
  expect(body).not.toContain('/*');
});

test.each(['shared.css', ...SHEETS.map(([, own]) => own)])('each class and id of %s is in a page', (file) => {
  const css = read(`web/style/${file}`).replace(/\/\*[^]*?\*\//g, '');
  const names = new Set([...css.matchAll(/[^{}]+(?=\{)/g)].flatMap(([selector]) => selector.match(/[.#][a-z][\w-]*/g) ?? []));
  expect(names.size).toBeGreaterThan(3);
  expect([...names].filter((name) => !new RegExp(`(?<![\\w-])${name.slice(1)}(?![\\w-])`).test(pages))).toEqual([]);
});
