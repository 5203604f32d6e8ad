import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import * as source from '../../../src/client/client.ts';
import * as roomsSource from '../../../src/client/rooms.ts';
import { clientModule, roomsModule } from '../../../src/web/client/client-module.ts';
import { forFile, freshId, start } from '../../harness.ts';

const service = await forFile(start());

const run = promisify(execFile);

/** In bytes, for everything that a browser downloads. */
const LIMIT = 6.2 * 1024;

/** In addition, for pages that play in rooms or watch boards. */
const ROOMS_LIMIT = 4.2 * 1024;

describe.each([
  ['/client.js', LIMIT],
  ['/rooms.js', ROOMS_LIMIT],
])('GET %s', (path, limit) => {
  test('is a module that any origin may import, gzipped, of a bounded size', async () => {
    const { headers, body } = await service.get(path, { headers: { origin: 'https://game.example' } });
    expect(headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(headers.get('access-control-allow-credentials')).toBeNull();
    expect(headers.get('cache-control')).toBe('public, max-age=60');
    expect(headers.get('content-encoding')).toBe('gzip');
    expect(Number(headers.get('content-length'))).toBeLessThanOrEqual(limit);
    // The module loads no other files.
    expect(body).not.toMatch(/\bimport\b|https?:\/\/\w/);
  });

  test('is not sent again while it is unchanged', async () => {
    const { headers } = await service.get(path);
    const again = await service.get(path, { headers: { 'if-none-match': headers.get('etag')!, origin: 'https://game.example' } });
    expect([again.status, again.body, again.headers.get('access-control-allow-origin')]).toEqual([304, '', '*']);
    expect((await service.get(path, { headers: { 'if-none-match': '"other"' } })).status).toBe(200);
  });
});

describe('GET /client.js', () => {
  test.each(['identity', 'gzip;q=0', 'gzip; q=0', 'br'])('is plain for a client that accepts %s', async (accepted) => {
    const { headers, body } = await service.get('/client.js', { headers: { 'accept-encoding': accepted } });
    expect([headers.get('content-encoding'), headers.get('vary'), body]).toEqual([null, 'Accept-Encoding', clientModule()]);
  });

  test('has one header of each name for an allowed origin too', async () => {
    await using other = await start({ settings: { ALLOWED_ORIGINS: 'https://game.example' } });
    const { headers } = await other.get('/client.js', { headers: { origin: 'https://game.example' } });
    expect(headers.get('access-control-allow-origin')).toBe('*');
  });
});

describe('GET /rooms.js', () => {
  test('exports what the source exports, and plays with the client of /client.js', async () => {
    const load = (text: string) => import(`data:text/javascript;base64,${Buffer.from(text).toString('base64')}`);
    const { coinop } = (await load(clientModule())) as typeof source;
    const served = (await load(roomsModule())) as typeof roomsSource;
    expect(Object.keys(served).sort()).toEqual(Object.keys(roomsSource).sort());
    const client = coinop({ url: service.url, store: null, installId: freshId() });
    const opened = await client.rooms.create({ name: 'Ada' });
    if (!opened.ok) throw new Error(opened.error.code);
    const room = served.playRoom(client, opened.room.code);
    expect(await room.mergeState({ round: 1 })).toMatchObject({ ok: true });
    expect(room.state).toEqual({ round: 1 });
    client.close();
  });
});

describe('the module', () => {
  test('exports what the source exports, and works', async () => {
    const served = (await import(`data:text/javascript;base64,${Buffer.from(clientModule()).toString('base64')}`)) as typeof source;
    expect(Object.keys(served)).toEqual(Object.keys(source));
    const client = served.coinop({ url: service.url, store: null, installId: freshId() });
    expect(await client.coins.credit({ coins: 5 })).toEqual({ ok: true, balanceAfterCoins: 5 });
    expect(await client.coins.debit({ coins: 9 })).toMatchObject({ ok: false, error: { code: 'insufficient_coins', balanceCoins: 5 } });
    const room = await client.rooms.create({ name: 'Ada' });
    if (!room.ok) throw new Error(room.error.code);
    const seen: string[] = [];
    const watch = client.watchRoom(room.room.code, ({ phase }) => seen.push(phase));
    await expect.poll(() => seen).toEqual(['lobby', 'lobby']);
    await client.rooms.end({ code: room.room.code });
    expect(await watch.ended).toEqual({ code: 'finished' });
    client.close();
  });

  test('lets a Node process end once its watches are closed, and leaves no warning', async () => {
    const script = `
      import { coinop } from ${JSON.stringify(`data:text/javascript;base64,${Buffer.from(clientModule()).toString('base64')}`)};
      const client = coinop({ url: '${service.url}', store: null, installId: '${freshId()}' });
      const { room } = await client.rooms.create();
      await new Promise((resolve) => client.watchRoom(room.code, resolve));
      await client.coins.credit({ coins: 1 });
      client.close();
      console.log('closed');
    `;
    const { stdout, stderr } = await run(process.execPath, ['--input-type=module', '-e', script], { timeout: 20_000 });
    expect([stdout, stderr]).toEqual(['closed\n', '']);
  });

  test('is built from the current sources, and so is the module for game servers', async () => {
    const script = fileURLToPath(new URL('../../../scripts/build-client.mjs', import.meta.url));
    expect(await run(process.execPath, [script, '--check'])).toEqual({ stdout: '', stderr: '' });
  });
});
