import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { SettingError } from '../../../src/config.ts';
import { Catalogue } from '../../../src/features/catalogue/file.ts';
import { forFile, freshId, sleep, start } from '../../harness.ts';
import { sendRaw } from '../../raw.ts';

const folder = mkdtempSync(join(tmpdir(), 'coinop-catalogue-'));
afterAll(() => rmSync(folder, { recursive: true }));

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

const pouch = { productId: 'pouch', coins: 500, name: 'A pouch', stores: { google: 'coins_500', apple: 'coins.500' } };

function write(content: unknown): string {
  const file = join(folder, `${freshId('catalogue')}.json`);
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

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

  test('has a strong ETag and is cacheable for a minute', async () => {
    const { headers } = await service.get('/v1/catalogue');
    expect(headers.get('etag')).toMatch(/^"[\w-]{22}"$/);
    expect(headers.get('cache-control')).toBe('public, max-age=60');
  });

  test('answers 304 without a body when If-None-Match holds its ETag', async () => {
    const etag = (await service.get('/v1/catalogue')).headers.get('etag')!;
    for (const known of [etag, `W/${etag}`, `"older", ${etag}`, `"older",W/${etag} , "x"`, '*']) {
      for (const method of ['GET', 'HEAD']) {
        const reply = await service.get('/v1/apps', { method, headers: { 'if-none-match': known } });
        expect([known, reply.status, reply.body]).toEqual([known, 304, '']);
        expect([reply.headers.get('etag'), reply.headers.get('cache-control')]).toEqual([etag, 'public, max-age=60']);
        expect(reply.headers.get('content-length')).toBeNull();
      }
    }
  });

  test('answers 304 when one of several If-None-Match headers holds its ETag', async () => {
    const etag = (await service.get('/v1/catalogue')).headers.get('etag')!;
    for (const known of [
      [etag, '"older"'],
      ['"older"', etag],
      ['"older"', '*'],
    ]) {
      const fields = known.map((tag) => `if-none-match: ${tag}\r\n`).join('');
      const { text } = await sendRaw(service.port, `GET /v1/catalogue HTTP/1.1\r\nhost: x\r\n${fields}\r\n`);
      expect([known, text.slice(0, 12)]).toEqual([known, 'HTTP/1.1 304']);
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

  test('may hold no apps and begin with a byte order mark', async () => {
    await using service = await start({ settings: { CATALOGUE_FILE: write('\ufeff{"apps":[]}') } });
    expect((await service.get('/v1/catalogue')).body).toEqual({ ok: true, apps: [], count: 0 });
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
    expect([etag === (await service.get('/v1/catalogue')).headers.get('etag'), headers.get('cache-control')]).toEqual([
      false,
      'public, max-age=60',
    ]);
    expect((await service.get('/v1/products', { headers: { 'if-none-match': etag } })).status).toBe(304);

    writeFileSync(file, JSON.stringify({ apps: [entry], products: [pouch] }));
    await expect.poll(async () => (await service.get('/v1/products')).body.count).toBe(1);
    expect((await service.get('/v1/products', { headers: { 'if-none-match': etag } })).status).toBe(200);
  });

  test('may be the bare list of apps, with paths as links and without products', async () => {
    await using service = await start({ settings: { CATALOGUE_FILE: write([{ ...entry, icon: '/icons/tetra.png' }]) } });
    expect((await service.get('/v1/catalogue')).body).toMatchObject({ count: 1, apps: [{ icon: '/icons/tetra.png' }] });
    expect((await service.get('/v1/products')).body).toEqual({ ok: true, products: [], count: 0 });
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
  ])('a mistake stops the start, and the message names it: %s', async (place, content) => {
    const file = write(content);
    const failure = await start({ settings: { CATALOGUE_FILE: file } }).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(SettingError);
    expect((failure as Error).message).toContain(`CATALOGUE_FILE ${file}: `);
    expect((failure as Error).message).toContain(place);
  });

  test('all mistakes are named at once, each with the id of its entry', async () => {
    const apps = [{ ...entry, kind: 'app', order: 'asc' }, { ...entry, status: 'gone', icon: 'x' }, 7];
    const file = write({ apps, products: [pouch, { ...pouch, coins: 0 }] });
    expect(Catalogue.problemsOf({ CATALOGUE_FILE: file, COIN_AUTHORITY: 'client' })).toEqual(
      [
        'apps.0.order: Only a game has an order (in "tetra")',
        'apps.1.icon: Must be a URL, or a path that starts with / (in "tetra")',
        'apps.1.status: Invalid option: expected one of "live"|"beta"|"soon" (in "tetra")',
        'apps.2: Invalid input: expected object, received number',
        'products.1.coins: Must be a whole number from 1 to 1,000,000 (in "pouch")',
        'apps.1.id: Another entry has the id tetra (in "tetra")',
        'products.1.productId: Another product has the productId pouch (in "pouch")',
        'products.1.stores.google: Another product is sold as coins_500 in this store (in "pouch")',
        'products.1.stores.apple: Another product is sold as coins.500 in this store (in "pouch")',
      ].map((line) => `CATALOGUE_FILE ${file}: ${line}`),
    );
  });

  test('of many mistakes the first twenty are named', () => {
    const problems = Catalogue.problemsOf({ CATALOGUE_FILE: write(Array.from({ length: 25 }, () => 7)), COIN_AUTHORITY: 'client' });
    expect([problems.length, problems.at(-1)!.split(': ').at(-1)]).toEqual([21, 'and 5 more problems']);
  });

  test('a missing file stops the start', async () => {
    const file = join(folder, 'missing.json');
    await expect(start({ settings: { CATALOGUE_FILE: file } })).rejects.toThrow(`CATALOGUE_FILE ${file}: ENOENT`);
  });

  test('is read again when it is edited or replaced, and the ETag changes', async () => {
    const file = write({ apps: [entry] });
    await using service = await start({ settings: { CATALOGUE_FILE: file } });
    const etag = (await service.get('/v1/catalogue')).headers.get('etag')!;
    const namesBecome = (name: string) => expect.poll(async () => (await service.get('/v1/catalogue')).body.apps[0].name).toBe(name);

    writeFileSync(file, JSON.stringify({ apps: [{ ...entry, name: 'Tetra 2', order: 'asc' }] }));
    await namesBecome('Tetra 2');
    const changed = await service.get('/v1/catalogue', { headers: { 'if-none-match': etag } });
    expect(changed.status).toBe(200);
    expect(changed.headers.get('etag')).not.toBe(etag);
    const game = entry.id;
    await service.post(`/v1/highscores/${game}`, { installId: freshId(), score: 31, name: 'Ada' });
    expect((await service.post(`/v1/highscores/${game}`, { installId: freshId(), score: 29, name: 'Bob' })).body.rank).toBe(1);

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

  test('a file that is still being written is not read', async () => {
    const file = write({ apps: [entry] });
    const logLines: string[] = [];
    await using service = await start({ settings: { CATALOGUE_FILE: file }, logLines });
    const text = JSON.stringify({ apps: Array.from({ length: 8 }, (_, index) => ({ ...entry, id: `game-${index}` })) });
    for (let written = 0; written < text.length; written += 200) {
      writeFileSync(file, text.slice(0, written + 200));
      // The pace of a slow writer: each pause is shorter than the time for which a file must stay unchanged.
      await sleep(150);
    }
    await expect.poll(async () => (await service.get('/v1/catalogue')).body.count).toBe(8);
    expect(logLines.filter((line) => JSON.parse(line).level >= 50)).toEqual([]);
  });
});
