import { createServer as createTcpServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import { coinop } from '../../../src/clients/javascript/client.ts';
import type { Fetch } from '../../../src/clients/javascript/request.ts';
import { actInRoom } from '../../../src/features/rooms/act.ts';
import { forFile, freshId, sleep, start } from '../../harness.ts';
import { answering, refusal } from './answering.ts';
import { openRoom } from './played.ts';
import { done, player } from './player.ts';

const service = await forFile(start());

const balance = '{"ok":true,"balanceCoins":7}';

describe('a call', () => {
  test('builds the address from its input, and leaves out undefined fields', async () => {
    await using proxy = await answering([200, '{"ok":true}']);
    using client = player(proxy.url);
    await client.rooms.read({ code: 'a/b?c', since: 4, wait: undefined });
    await client.rooms.kick({ code: 'BCDFG', playerId: 'p2' });
    expect(proxy.seen.map(({ line }) => line)).toEqual(['GET /v1/rooms/a%2Fb%3Fc?since=4', 'POST /v1/rooms/BCDFG/kick']);
  });

  test('without a field of its path is refused by the field, and sent nowhere', async () => {
    await using proxy = await answering([200, '{"ok":true}']);
    using client = player(proxy.url);
    for (const input of [{}, { code: undefined }])
      expect(await client.rooms.join(input as never)).toEqual({
        ok: false,
        error: { code: 'invalid_request', message: 'code is missing', field: 'code' },
      });
    expect(proxy.seen).toEqual([]);
  });

  test('knows every action in a room', () => {
    using client = player(service.url);
    const known = Object.keys(client.rooms).filter((name) => !['create', 'read', 'ticket'].includes(name));
    expect(known.sort()).toEqual([...(actInRoom.params!.shape['action'] as { meta(): { enum: string[] } }).meta().enum].sort());
  });

  test('is repeated until the service answers', async () => {
    await using proxy = await answering(
      [502, '<html>Bad gateway</html>'],
      [503, refusal('store_unavailable', { retryAfterMs: 1 })],
      [200, balance],
    );
    using client = player(proxy.url);
    expect(await client.coins.balance()).toEqual({ ok: true, balanceCoins: 7 });
    expect(proxy.seen.length).toBe(3);
  });

  test('waits as long as the service requests', async () => {
    await using proxy = await answering([429, refusal('rate_limited'), { 'retry-after': '1' }], [200, balance]);
    using client = player(proxy.url);
    const began = performance.now();
    expect(await client.coins.balance()).toMatchObject({ ok: true });
    expect(performance.now() - began).toBeGreaterThan(990);
  });

  test.each<[what: string, sent: number, ...answers: Parameters<typeof answering>]>([
    ['not repeated after a lost answer', 1, [502, 'Bad gateway']],
    ['not repeated after an unknown outcome', 1, [503, refusal('store_unavailable', { outcome: 'unknown' })]],
    ['repeated after a refusal', 2, [503, refusal('overloaded')], [200, '{"ok":true,"room":{}}']],
  ])('that would create a second room is %s', async (_, sent, ...answers) => {
    await using proxy = await answering(...answers);
    using client = player(proxy.url);
    expect((await client.rooms.create()).ok).toBe(sent === 2);
    expect(proxy.seen.length).toBe(sent);
  });

  test('ends with the last failure when its time is up', async () => {
    await using proxy = await answering([503, refusal('store_unavailable')]);
    using client = player(proxy.url);
    expect(await client.coins.balance({}, { timeoutMs: 1000 })).toMatchObject({ ok: false, error: { code: 'store_unavailable' } });
  });

  test('that waits for news gets the time of the wait in addition to its own', async () => {
    using client = player(service.url, { timeoutMs: 2900 });
    const { code, seq } = (await done(client.rooms.create({ name: 'Ada' }, { timeoutMs: 30_000 }))).room;
    expect(await client.rooms.read({ code, since: seq, wait: 3 })).toMatchObject({ ok: true, room: { seq } });
  });

  test('ends when its time is up if the peer sends no answer', async () => {
    const silent = createTcpServer((socket) => void socket.on('error', () => {}));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    using client = player(`http://127.0.0.1:${(silent.address() as AddressInfo).port}`);
    expect(await client.coins.balance({}, { timeoutMs: 200 })).toMatchObject({ ok: false, error: { code: 'timeout' } });
    silent.close();
  });

  test('ends when its signal aborts', async () => {
    await using proxy = await answering([503, refusal('store_unavailable')]);
    using client = player(proxy.url);
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 50);
    const aborted = { signal: AbortSignal.abort() };
    const results = [
      await client.coins.balance({}, { signal: controller.signal }),
      await client.coins.balance({}, aborted),
      await client.coins.credit({ coins: 1 }, aborted),
    ];
    expect(results).toMatchObject(Array(3).fill({ ok: false, error: { code: 'aborted' } }));
    expect(client.kept.operations).toBe(0);
  });

  test('sends the credentials of the client and no cookies', async () => {
    const inits: Parameters<Fetch>[1][] = [];
    const fetch: Fetch = async (_, init) => (inits.push(init), new Response(balance));
    using client = player('https://coinop.example', { fetch, installId: 'install-of-ada' });
    await client.coins.balance();
    expect(inits[0]).toMatchObject({ credentials: 'omit', redirect: 'manual', headers: { 'x-install-id': 'install-of-ada' } });
  });
});

describe('acts in a room', () => {
  const delayed: Fetch = async (url, init) => {
    const isFirst = init.body?.includes('"first"');
    if (isFirst) await sleep(100);
    return fetch(url, init);
  };

  test('of one client run in the order of the calls, also if the network delivers the second call first', async () => {
    using client = player(service.url, { fetch: delayed });
    const code = await openRoom(client);
    const results = await Promise.all([
      client.rooms.state({ code, merge: { by: 'first', first: 1 } }),
      client.rooms.state({ code, merge: { by: 'second' } }),
      client.rooms.data({ code, data: [1] }),
    ]);
    expect(results.map((result) => [result.ok, 'replayed' in result])).toEqual(Array(3).fill([true, false]));
    expect(await client.rooms.read({ code })).toMatchObject({ room: { state: { by: 'second', first: 1 }, players: [{ data: [1] }] } });
  });

  test('are not undone by the delayed first try of a repeated act', async () => {
    let late: Parameters<Fetch> | undefined;
    const losing: Fetch = async (...request) => {
      if (late === undefined && request[0].endsWith('/state')) {
        late = request;
        throw new TypeError('the network keeps it');
      }
      return fetch(...request);
    };
    using client = player(service.url, { fetch: losing });
    const code = await openRoom(client);
    expect(await client.rooms.state({ code, state: 'old' })).toMatchObject({ ok: true });
    expect(await client.rooms.state({ code, state: 'new' })).toMatchObject({ ok: true });
    const [url, { signal: _, ...init }] = late!;
    expect(await (await fetch(url, init)).json()).toMatchObject({ ok: true, replayed: true, room: { state: 'new' } });
  });

  test('wait for an unanswered act until their own time is up, and are not sent after that', async () => {
    const sent: string[] = [];
    const silent: Fetch = (url, init) => {
      // The platform's fetch sends nothing if its signal has already aborted.
      if (url.endsWith('/state') && !init.signal.aborted) sent.push(init.body!);
      return url.endsWith('/state') && init.body!.includes('"silence"')
        ? new Promise((_, reject) => init.signal.addEventListener('abort', () => reject(new Error('aborted'))))
        : fetch(url, init);
    };
    using client = player(service.url, { fetch: silent });
    const code = await openRoom(client);
    const stopping = new AbortController();
    const first = client.rooms.state({ code, state: 'silence' }, { signal: stopping.signal });
    expect(await client.rooms.state({ code, state: 'short' }, { timeoutMs: 30 })).toMatchObject({ ok: false, error: { code: 'timeout' } });
    const third = client.rooms.state({ code, state: 'third' });
    stopping.abort();
    expect([await first, await third]).toMatchObject([{ error: { code: 'aborted' } }, { ok: true, room: { state: 'third' } }]);
    expect(sent.map((body) => (JSON.parse(body) as { state: string }).state)).toEqual(['silence', 'third']);
  });
});

describe('a wrong address', () => {
  test.each(['', 'coinop.example', 'ftp://coinop.example', 'https://coinop.example/v1'])('%j is refused', (url) => {
    expect(() => coinop({ url, store: null })).toThrow(TypeError);
  });

  test('is refused like an installId that no header can carry', () => {
    expect(() => coinop({ url: service.url, installId: 'ключ игрока' })).toThrow('Bad installId');
  });

  test.each<[status: number, text: string]>([
    [200, '<!doctype html><title>Sign in to this Wi-Fi</title>'],
    [404, '{"error":"no such thing"}'],
    ...['null', '[]', '{"ok":true', '{"ok":false}', '{"ok":false,"error":null}'].map((text) => [200, text] as [number, string]),
  ])('gives not_coinop if another server answers: %i %s', async (status, text) => {
    await using page = await answering([status, text]);
    using client = player(page.url);
    expect(await client.coins.balance()).toMatchObject({ ok: false, error: { code: 'not_coinop' } });
    expect(page.seen.length).toBe(1);
  });

  test('with a redirect sends the installId to no other host', async () => {
    await using thief = await answering([200, balance]);
    await using proxy = await answering([307, '', { location: `${thief.url}/v1/balance` }]);
    using client = player(proxy.url);
    expect(await client.coins.balance()).toMatchObject({ ok: false, error: { code: 'not_coinop' } });
    expect(thief.seen).toEqual([]);
  });

  test('discards no operation', async () => {
    await using page = await answering([200, '<html>']);
    using client = player(page.url);
    expect(await client.coins.credit({ coins: 5 }, { timeoutMs: 500 })).toMatchObject({ pending: true, error: { code: 'not_coinop' } });
    expect(client.kept.operations).toBe(1);
  });
});

test('an error of a function of the game stops no call', async () => {
  const logged = vi.spyOn(console, 'error').mockImplementation(() => {});
  using client = player(service.url, {
    onOperation: () => {
      throw new Error('of the game');
    },
  });
  expect(await client.coins.credit({ coins: 1 })).toMatchObject({ ok: true });
  expect(await client.coins.credit({ coins: 1 })).toMatchObject({ ok: true, balanceAfterCoins: 2 });
  expect(logged).toHaveBeenCalledTimes(2);
  logged.mockRestore();
});
