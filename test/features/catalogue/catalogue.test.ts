import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Catalogue } from '../../../src/features/catalogue/file.ts';
import { forFile, freshId, sleep, start } from '../../harness.ts';
import { sendRaw } from '../../raw.ts';
import { catalogueFile } from '../highscores/catalogue-of.ts';

const entry = {
  id: 'tetra',
  kind: 'game',
  name: 'Tetra',
  tagline: 'Falling shapes.',
  icon: 'https://play.example/tetra.png',
  url: 'https://play.example/tetra',
  status: 'live',
  platforms: [{ platform: 'android', packageName: 'example.tetra', url: 'https://play.example/tetra/android' }],
  updatedAt: '2026-01-02T03:04:05Z',
};

const season = { period: 'daily', prizes: [{ upTo: 1, coins: 500 }] };

const pouch = { productId: 'pouch', coins: 500, name: 'A pouch', stores: { google: 'coins_500', apple: 'coins.500' } };

const folder = dirname(catalogueFile('[]'));

function write(content: unknown): string {
  const file = join(folder, `${freshId('catalogue')}.json`);
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

const problemsOf = (file: string, COIN_AUTHORITY: 'client' | 'server' = 'client'): string[] =>
  Catalogue.problemsOf({ CATALOGUE_FILE: file, COIN_AUTHORITY }).map((line) => line.slice(`CATALOGUE_FILE ${file}: `.length));

const service = await forFile(start());

describe('the bundled sample catalogue', () => {
  test.each(['/v1/catalogue', '/v1/apps', '/v1/lobby/catalogue'])('is served at %s', async (path) => {
    const { status, body } = await service.get(path);
    expect(status).toBe(200);
    expect(body.count).toBe(5);
    expect(body.apps.map(({ id, kind, order }: typeof entry & { order?: string }) => [id, kind, order])).toEqual([
      ['pebble-drop', 'game', undefined],
      ['harbour-golf', 'game', 'asc'],
      ['lantern-lane', 'game', undefined],
      ['tide-table', 'app', undefined],
      ['small-hours', 'app', undefined],
    ]);
  });

  test('is cacheable for a minute, and answers 304 without a body when If-None-Match holds its ETag', async () => {
    const { headers } = await service.get('/v1/catalogue');
    const etag = headers.get('etag')!;
    expect([etag, headers.get('cache-control')]).toEqual([expect.stringMatching(/^"[\w-]{22}"$/), 'public, max-age=60']);
    for (const known of [etag, `W/${etag}`, `"older", ${etag}`, `"older",W/${etag} , "x"`, '*']) {
      for (const method of ['GET', 'HEAD']) {
        const reply = await service.get('/v1/apps', { method, headers: { 'if-none-match': known } });
        expect([known, reply.status, reply.body]).toEqual([known, 304, '']);
        expect(['etag', 'cache-control', 'content-length'].map((name) => reply.headers.get(name))).toEqual([
          etag,
          'public, max-age=60',
          null,
        ]);
      }
    }
    for (const [one, other] of [[etag, '"older"'] as const, ['"older"', etag] as const, ['"older"', '*'] as const]) {
      const request = `GET /v1/catalogue HTTP/1.1\r\nhost: x\r\nif-none-match: ${one}\r\nif-none-match: ${other}\r\n\r\n`;
      expect((await sendRaw(service.port, request)).text).toMatch(/^HTTP\/1.1 304/);
    }
  });

  test('answers 200 when If-None-Match holds another ETag', async () => {
    const etag = (await service.get('/v1/catalogue')).headers.get('etag')!;
    for (const known of ['"older"', `W/"older"`, etag.slice(1, -1), etag.toLowerCase(), '"*"', '"*, ' + etag.slice(1)]) {
      expect((await service.get('/v1/catalogue', { headers: { 'if-none-match': known } })).status).toBe(200);
    }
  });
});

describe('CATALOGUE_FILE', () => {
  test('is served with every field', async () => {
    const apps = [
      { ...entry, features: ['coins'], order: 'asc', scores: 'server' },
      { ...entry, id: 'atlas', kind: 'app', status: 'soon', platforms: [] },
    ];
    await using service = await start({ settings: { CATALOGUE_FILE: write({ apps }) } });
    expect((await service.get('/v1/catalogue')).body).toEqual({ ok: true, apps, count: 2 });
  });

  test('may be the bare list of apps, with paths as links and without products, or begin with a byte order mark', async () => {
    const apps = [{ ...entry, icon: '/icons/tetra.png' }];
    await using service = await start({ settings: { CATALOGUE_FILE: write(`\ufeff${JSON.stringify(apps)}`) } });
    expect((await service.get('/v1/catalogue')).body).toEqual({ ok: true, apps, count: 1 });
    expect((await service.get('/v1/products')).body).toEqual({ ok: true, products: [], count: 0 });
  });

  test('lists its products, with an ETag of their own that an edit changes', async () => {
    // Two stores may use the same id for different products.
    const products = [
      pouch,
      { productId: 'Chest', coins: 1_000_000, stores: { apple: 'coins_500' } },
      { productId: 'unsold', coins: 1, stores: {} },
    ];
    const file = write({ apps: [entry], products });
    await using service = await start({ settings: { CATALOGUE_FILE: file } });
    const { body, headers } = await service.get('/v1/products');
    expect(body).toEqual({ ok: true, products, count: 3 });
    const etag = headers.get('etag')!;
    expect((await service.get('/v1/catalogue')).headers.get('etag')).not.toBe(etag);
    expect(headers.get('cache-control')).toBe('public, max-age=60');
    expect((await service.get('/v1/products', { headers: { 'if-none-match': etag } })).status).toBe(304);

    writeFileSync(file, JSON.stringify({ apps: [entry], products: [pouch] }));
    await expect.poll(async () => (await service.get('/v1/products')).body.count).toBe(1);
    expect((await service.get('/v1/products', { headers: { 'if-none-match': etag } })).status).toBe(200);
  });

  test.each([
    ['apps.0.order', { apps: [{ ...entry, order: 'up' }] }],
    ['apps.0.scores', { apps: [{ ...entry, kind: 'app', scores: 'client' }] }],
    ['apps.0.scores', { apps: [{ ...entry, scores: 'servers' }] }],
    ['apps.0.platforms.0.url', { apps: [{ ...entry, platforms: [{ platform: 'web', url: 'javascript:alert(1)' }] }] }],
    ['apps.0.updatedAt', { apps: [{ ...entry, updatedAt: 'yesterday' }] }],
    ['apps.0: Unrecognized key: "oder"', { apps: [{ ...entry, oder: 'asc' }] }],
    ['products.0.coins', { apps: [], products: [{ ...pouch, coins: 1_000_001 }] }],
    ['products.0.name', { apps: [], products: [{ ...pouch, name: 'n'.repeat(81) }] }],
    ['products.0.stores.google', { apps: [], products: [{ ...pouch, stores: { google: '../coins' } }] }],
    ['products.0.stores: Unrecognized key: "gogle"', { apps: [], products: [{ ...pouch, stores: { gogle: 'coins_500' } }] }],
    ['expected object', 7],
    ['apps.0.id', [{ ...entry, id: 'Tetra' }]],
    ['JSON', '{"apps":['],
    ['apps.0.season: Only a game has seasons', [{ ...entry, kind: 'app', season }]],
    ['apps.0.season.period: ', [{ ...entry, season: { ...season, period: 'hourly' } }]],
    ['apps.0.season: ', [{ ...entry, season: { ...season, prices: [] } }]],
    ['apps.0.season.payAfterSeconds: Must be a whole number of seconds', [{ ...entry, season: { ...season, payAfterSeconds: -1 } }]],
    ['apps.0.season.prizes.0.upTo: Must be a rank from 1', [{ ...entry, season: { ...season, prizes: [{ upTo: 0, coins: 1 }] } }]],
    [
      'prizes.1.upTo: Must be above the upTo before it',
      [{ ...entry, season: { ...season, prizes: [...season.prizes, ...season.prizes] } }],
    ],
  ])('a mistake is named: %s', (place, content) => {
    expect(problemsOf(write(content))).toEqual([expect.stringContaining(place)]);
  });

  test.each([
    ['holds a mistake', write('{"apps":['), 'JSON'],
    ['is missing', '/nowhere/catalogue.json', 'ENOENT'],
  ])('that %s stops the start', async (_, file, message) => {
    await expect(start({ settings: { CATALOGUE_FILE: file } })).rejects.toThrow(new RegExp(`^CATALOGUE_FILE ${file}: .*${message}`));
  });

  test('may not have prizes for scores of clients with COIN_AUTHORITY=server, and warns of them with client', async () => {
    const file = write([{ ...entry, season }]);
    expect(problemsOf(file, 'server')).toEqual([
      'apps.0.season.prizes: With COIN_AUTHORITY=server a game with prizes needs "scores": "server" (in "tetra")',
    ]);
    expect(problemsOf(write([{ ...entry, season, scores: 'server' }]), 'server')).toEqual([]);
    expect(problemsOf(write([{ ...entry, season: { ...season, prizes: [] } }]), 'server')).toEqual([]);
    const logLines: string[] = [];
    await using _ = await start({ settings: { CATALOGUE_FILE: file }, logLines });
    expect(logLines.join('')).toContain('pay prizes for scores that any client can submit');
  });

  test('all mistakes are named at once, each with the id of its entry', async () => {
    const apps = [{ ...entry, kind: 'app', order: 'asc' }, { ...entry, status: 'gone', icon: 'x' }, 7];
    expect(problemsOf(write({ apps, products: [pouch, { ...pouch, coins: 0 }] }))).toEqual([
      'apps.0.order: Only a game has an order (in "tetra")',
      'apps.1.icon: Must be a URL, or a path that starts with / (in "tetra")',
      'apps.1.status: Invalid option: expected one of "live"|"beta"|"soon" (in "tetra")',
      'apps.2: Invalid input: expected object, received number',
      'products.1.coins: Must be a whole number from 1 to 1,000,000 (in "pouch")',
      'apps.1.id: Another entry has the id tetra (in "tetra")',
      'products.1.productId: Another product has the productId pouch (in "pouch")',
      'products.1.stores.google: Another product is sold as coins_500 in this store (in "pouch")',
      'products.1.stores.apple: Another product is sold as coins.500 in this store (in "pouch")',
    ]);
  });

  test('is read again when it is edited or replaced, and the ETag and the order of boards change', async () => {
    const file = write({ apps: [entry] });
    await using service = await start({ settings: { CATALOGUE_FILE: file } });
    const etag = (await service.get('/v1/catalogue')).headers.get('etag')!;
    const namesBecome = (name: string) => expect.poll(async () => (await service.get('/v1/catalogue')).body.apps[0].name).toBe(name);

    writeFileSync(file, JSON.stringify({ apps: [{ ...entry, name: 'Tetra 2', order: 'asc' }] }));
    await namesBecome('Tetra 2');
    expect((await service.get('/v1/catalogue', { headers: { 'if-none-match': etag } })).status).toBe(200);
    const submit = (score: number) => service.post(`/v1/highscores/${entry.id}`, { installId: freshId(), score, name: 'Ada' });
    await submit(31);
    expect((await submit(29)).body.rank).toBe(1);

    renameSync(write({ apps: [{ ...entry, name: 'Tetra 3' }] }), file);
    await namesBecome('Tetra 3');
  });

  test('a bad edit or a deletion keeps the old catalogue and is logged once', async () => {
    const file = write({ apps: [entry] });
    const logLines: string[] = [];
    await using service = await start({ settings: { CATALOGUE_FILE: file }, logLines });
    const before = await service.get('/v1/catalogue');
    const errorLines = () => logLines.map((line) => JSON.parse(line)).filter(({ level }) => level >= 50);

    writeFileSync(file, JSON.stringify({ apps: [entry, { ...entry, id: 'other', status: 'gone' }] }));
    await expect.poll(() => errorLines()).toHaveLength(1);
    expect(errorLines()[0]).toMatchObject({ file, problem: expect.stringContaining('apps.1.status') });
    // The same mistake must not be logged again: nothing follows within two looks at the file, one every 500 ms.
    await sleep(1200);
    expect(errorLines()).toHaveLength(1);
    const after = await service.get('/v1/catalogue');
    expect([after.body, after.headers.get('etag')]).toEqual([before.body, before.headers.get('etag')]);

    rmSync(file);
    await expect.poll(() => errorLines()).toHaveLength(2);
    expect((await service.get('/v1/catalogue')).body).toEqual(before.body);

    writeFileSync(file, JSON.stringify({ apps: [{ ...entry, name: 'Tetra 2' }] }));
    await expect.poll(async () => (await service.get('/v1/catalogue')).body.apps[0].name).toBe('Tetra 2');
  });
});
