import { createServer as createTcpServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import { coinop } from '../../src/client/client.ts';
import type { Fetch } from '../../src/client/request.ts';
import { actInRoom } from '../../src/features/rooms/act.ts';
import { forFile, freshId, sleep, start } from '../harness.ts';
import { answering, refusal } from './answering.ts';
import { openRoom } from './played.ts';
import { player } from './player.ts';

const service = await forFile(start());

const balance = '{"ok":true,"balanceCoins":7}';

describe('a call', () => {
  test('answers with the reply of the service', async () => {
    using client = player(service.url);
    expect(await client.highscores.submit({ game: freshId('board').toLowerCase(), score: 9, name: 'Ada' })).toMatchObject({
      ok: true,
      rank: 1,
    });
    expect(await client.coins.balance()).toEqual({ ok: true, balanceCoins: 0 });
    expect(await client.rooms.read({ code: 'BCDFG' })).toMatchObject({ ok: false, status: 404, error: { code: 'room_not_found' } });
  });

  test('builds the address from its input, and leaves out undefined fields', async () => {
    await using proxy = await answering([200, '{"ok":true}']);
    using client = player(proxy.url);
    await client.rooms.read({ code: 'a/b?c', since: 4, wait: undefined });
    await client.rooms.kick({ code: 'BCDFG', playerId: 'p2' });
    expect(proxy.seen.map(({ line }) => line)).toEqual(['GET /v1/rooms/a%2Fb%3Fc?since=4', 'POST /v1/rooms/BCDFG/kick']);
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

  test('that would create a second room is repeated after a refusal, but not after a lost answer', async () => {
    await using lost = await answering([502, 'Bad gateway']);
    using client = player(lost.url);
    expect(await client.rooms.create()).toMatchObject({ ok: false, error: { code: 'network' } });
    expect(lost.seen.length).toBe(1);
    await using unknown = await answering([503, refusal('store_unavailable', { outcome: 'unknown' })]);
    using second = player(unknown.url);
    expect(await second.rooms.create()).toMatchObject({ ok: false, error: { code: 'store_unavailable' } });
    expect(unknown.seen.length).toBe(1);
    await using full = await answering([503, refusal('overloaded')], [200, '{"ok":true,"room":{}}']);
    using third = player(full.url);
    expect(await third.rooms.create()).toMatchObject({ ok: true });
  });

  test('ends with the last failure when its time is up', async () => {
    await using proxy = await answering([503, refusal('store_unavailable')]);
    using client = player(proxy.url);
    expect(await client.coins.balance({}, { timeoutMs: 1000 })).toMatchObject({ ok: false, error: { code: 'store_unavailable' } });
  });

  test('that waits for news gets the time of the wait in addition to its own', async () => {
    using client = player(service.url, { timeoutMs: 300 });
    const created = await client.rooms.create({ name: 'Ada' });
    if (!created.ok) throw new Error(created.error.code);
    const { code, seq } = created.room;
    expect(await client.rooms.read({ code, since: seq, wait: 1 })).toMatchObject({ ok: true, room: { seq } });
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
    expect(await client.coins.balance({}, { signal: controller.signal })).toMatchObject({ ok: false, error: { code: 'aborted' } });
    expect(await client.coins.balance({}, { signal: AbortSignal.abort() })).toMatchObject({ ok: false, error: { code: 'aborted' } });
    expect(await client.coins.credit({ coins: 1 }, { signal: AbortSignal.abort() })).toMatchObject({
      ok: false,
      error: { code: 'aborted' },
    });
    expect(client.kept.operations).toBe(0);
  });

  test('sends the credentials of the client and no cookies', async () => {
    const inits: Parameters<Fetch>[1][] = [];
    const fetch: Fetch = async (_, init) => (inits.push(init), new Response(balance));
    using client = player('https://coinop.example', { fetch, installId: 'install-of-ada' });
    await client.coins.balance();
    expect(inits[0]).toMatchObject({ credentials: 'omit', redirect: 'error', headers: { 'x-install-id': 'install-of-ada' } });
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
    expect(results.map((result) => [result.ok, (result as { replayed?: true }).replayed])).toEqual([
      [true, undefined],
      [true, undefined],
      [true, undefined],
    ]);
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

  test('have a separate order for each client of the same player', async () => {
    using client = player(service.url);
    const code = await openRoom(client);
    await client.rooms.state({ code, state: 1 });
    await client.rooms.state({ code, state: 2 });
    using other = player(service.url, {}, client.kept);
    expect(await other.rooms.state({ code, state: 3 })).toMatchObject({ ok: true, room: { state: 3 } });
  });
});

describe('a wrong address', () => {
  test.each(['', 'coinop.example', 'ftp://coinop.example', 'https://coinop.example/v1'])('%j is refused', (url) => {
    expect(() => coinop({ url, store: null })).toThrow(TypeError);
  });

  test('is refused like an installId that no header can carry', () => {
    expect(() => coinop({ url: service.url, installId: 'ключ игрока' })).toThrow('Bad installId');
  });

  test('gives not_coinop if another server answers', async () => {
    await using page = await answering([200, '<!doctype html><title>Sign in to this Wi-Fi</title>']);
    using client = player(page.url);
    expect(await client.coins.balance()).toMatchObject({ ok: false, error: { code: 'not_coinop' } });
    await using other = await answering([404, '{"error":"no such thing"}']);
    using second = player(other.url);
    expect(await second.coins.balance()).toMatchObject({ ok: false, error: { code: 'not_coinop' } });
    for (const text of ['null', '[]', '{"ok":true', '{"ok":false}', '{"ok":false,"error":null}']) {
      await using strange = await answering([200, text]);
      using third = player(strange.url);
      expect(await third.coins.balance()).toMatchObject({ ok: false, error: { code: 'not_coinop' } });
    }
    expect(page.seen.length).toBe(1);
  });

  test('with a redirect sends the installId to no other host', async () => {
    await using thief = await answering([200, balance]);
    await using proxy = await answering([307, '', { location: `${thief.url}/v1/balance` }]);
    using client = player(proxy.url);
    expect(await client.coins.balance({}, { timeoutMs: 100 })).toMatchObject({ ok: false, error: { code: 'network' } });
    expect(thief.seen).toEqual([]);
  });

  test('discards no operation', async () => {
    await using page = await answering([200, '<html>']);
    using client = player(page.url);
    expect(await client.coins.credit({ coins: 5 }, { timeoutMs: 100 })).toMatchObject({ pending: true, error: { code: 'not_coinop' } });
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
