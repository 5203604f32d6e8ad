import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { WebSocket as WsSocket } from 'ws';
import type { Fetch } from '../../../src/clients/javascript/request.ts';
import { lastSeat, listRooms, quickMatch, watchLobby } from '../../../src/clients/javascript/rooms.ts';
import type { SocketClass } from '../../../src/clients/javascript/watched.ts';
import { forFile, freshId, start } from '../../harness.ts';
import { FakeSockets } from './fake-socket.ts';
import { openRoom, seat } from './played.ts';
import { done, player, stubSessionStorage, type Player } from './player.ts';

// Without a store, because the periodic requests to a store would wait for the fake clock below.
const service = await forFile(start({ settings: { STORE: 'off' } }));
const WebSocket: SocketClass = WsSocket;

const freshGame = (): string => freshId('game').toLowerCase();

describe('the list of open rooms', () => {
  test('is read by game and tags, page by page', async () => {
    using ada = player(service.url);
    const game = freshGame();
    const duel = await openRoom(ada, { game, public: true, maxPlayers: 4, tags: { mode: 'duel', level: 3 } });
    service.advance(5);
    const team = await openRoom(ada, { game, public: true, tags: { mode: 'team & co', ranked: true } });
    await openRoom(ada, { game });
    const codes = async (filter: Parameters<typeof listRooms>[1]) => {
      const reply = await listRooms(ada, { game, ...filter });
      return reply.ok && reply.rooms.map(({ code }) => code);
    };
    await expect.poll(() => codes({})).toEqual([team, duel]);
    expect(await codes({ tags: { mode: 'duel', level: 3 } })).toEqual([duel]);
    expect(await codes({ tags: { mode: 'team & co', ranked: true } })).toEqual([team]);
    expect(await codes({ tags: { ranked: false } })).toEqual([]);
    const first = await listRooms(ada, { game, limit: 1 });
    expect(first).toMatchObject({ ok: true, rooms: [{ code: team }] });
    expect(await codes({ limit: 1, cursor: first.ok ? first.nextCursor : '' })).toEqual([duel]);
    expect(await listRooms(ada, { limit: 0 })).toMatchObject({ ok: false, error: { code: 'invalid_request', field: 'limit' } });
    expect(await listRooms(ada, {}, { signal: AbortSignal.abort() })).toMatchObject({ error: { code: 'aborted' } });
  });

  test('can be followed over a WebSocket, and its rooms can be joined', async () => {
    using ada = player(service.url);
    using bob = player(service.url, { WebSocket });
    const game = freshGame();
    const seen: string[] = [];
    const watch = watchLobby(bob, { game, tags: { mode: 'duel' } }, (rooms) =>
      seen.push(rooms.map(({ code, players }) => `${code} ${players}`).join()),
    );
    await expect.poll(() => seen).toEqual(['']);
    const code = await openRoom(ada, { game, public: true, maxPlayers: 2, tags: { mode: 'duel' } });
    await expect.poll(() => seen).toEqual(['', `${code} 1`]);
    expect(watch.state).toEqual({ status: 'live', by: 'socket' });
    await seat(bob, code);
    // The room is full.
    await expect.poll(() => seen).toEqual(['', `${code} 1`, '']);
    watch.close();
    expect(await watch.ended).toEqual({ code: 'closed' });
  });

  test('ends with the error of a filter that the service refuses', async () => {
    using bob = player(service.url, { WebSocket });
    expect(await watchLobby(bob, { game: 'No Game' }, () => {}).ended).toEqual({ code: 'invalid_request' });
  });
});

describe('a followed list with a fake clock', () => {
  const [one, two] = [{ code: 'BCDFG' }, { code: 'BCDFH' }];
  let rooms: object[];
  let reads: string[];
  /** Called during a read. */
  let during: () => void;
  let nextCursor: string | undefined;
  let seen: object[][];
  let fake: FakeSockets;
  let client: Player;
  beforeEach(() => {
    vi.useFakeTimers();
    vi.spyOn(Math, 'random').mockReturnValue(0.5);
    [rooms, reads, during, nextCursor, seen, fake] = [[one], [], () => {}, undefined, [], new FakeSockets()];
  });
  afterEach(() => {
    client.close();
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  const fetch: Fetch = async (url, { signal }) => {
    signal.throwIfAborted();
    reads.push(url.replace(/.*\/v1/, ''));
    const text = JSON.stringify({ ok: true, rooms, nextCursor });
    during();
    await Promise.resolve();
    return new Response(text);
  };
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
  const tell = async (list: object[]) => {
    fake.last.message({ type: 'rooms', rooms: list });
    await pass(0);
  };

  async function watching(WebSocket: SocketClass | null = fake.WebSocket) {
    client = player('https://coinop.example', { WebSocket, fetch, installId: 'install-of-ada' });
    const watch = watchLobby(client, { game: 'duel', tags: { mode: 'a&b', ranked: false } }, (list) => seen.push(list));
    await pass(0);
    return watch;
  }

  /** A followed list whose connection is open and has delivered a first list. */
  async function connected() {
    const watch = await watching();
    fake.last.onopen!({});
    await tell([one]);
    return watch;
  }

  test('reconnects after a lost connection, and reports only changes', async () => {
    const watch = await connected();
    expect(fake.last.url).toBe('wss://coinop.example/v1/lobby/live?game=duel&tag.mode=a%26b&tag.ranked=false');
    fake.last.onclose!({ code: 1006 });
    await pass(0);
    expect(watch.state.status).toBe('waiting');
    await pass(1000);
    fake.last.onopen!({});
    for (const list of [[one], [one, two], [one]]) await tell(list);
    expect([seen, fake.opened.length, reads]).toEqual([[[one], [one, two], [one]], 2, []]);
  });

  /** The answers to the reads that check a silent connection which has brought [one]. */
  test.each<[what: string, changes: () => void, seenThen: object[][], sockets: number]>([
    ['the same list keeps the connection', () => {}, [[one]], 1],
    ['a list that the connection did not bring is reported, and ends the connection', () => (rooms = [two]), [[one], [two]], 3],
    ['a short page, which may lack rooms of the channel, changes nothing', () => ([rooms, nextCursor] = [[], 'more']), [[one]], 1],
  ])('is checked by reads while nothing changes: %s', async (_, changes, seenThen, sockets) => {
    await connected();
    changes();
    await pass(45_000);
    expect(reads[0]).toBe('/rooms?game=duel&tag.mode=a%26b&tag.ranked=false&limit=50');
    expect([seen, fake.opened.length]).toEqual([seenThen, sockets]);
  });

  test('keeps a list that arrived over the connection during a read of an older list', async () => {
    await connected();
    rooms = [];
    during = () => fake.last.message({ type: 'rooms', rooms: [two] });
    await pass(38_000);
    during = () => {};
    rooms = [two];
    await pass(60_000);
    expect([seen, fake.opened.length]).toEqual([[[one], [two]], 1]);
  });

  test('is read every four seconds if no WebSocket can be opened, also with short pages', async () => {
    const watch = await watching(null);
    expect([seen, watch.state]).toEqual([[[one]], { status: 'live', by: 'poll' }]);
    await pass(8000);
    [rooms, nextCursor] = [[two], 'more'];
    await pass(4000);
    expect([reads.length, seen]).toEqual([4, [[one], [two]]]);
    client.close();
    // The followed list does not keep a Node process alive.
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('a quick match', () => {
  test('puts both players in one room', async () => {
    using ada = player(service.url, { WebSocket });
    using bob = player(service.url, { WebSocket });
    const wanted = { game: freshGame(), tags: { mode: 'duel' }, maxPlayers: 2, startWhenFull: true };
    const first = await done(quickMatch<{ data: { x: number } }>(ada, { ...wanted, name: 'Ada' }));
    const second = await done(quickMatch<{ data: { x: number } }>(bob, { ...wanted, name: 'Bob' }));
    expect([first.created, second.created]).toEqual([true, false]);
    expect(second.room.code).toBe(first.room.code);
    await expect.poll(() => [first.room.room?.phase, first.room.me?.name, second.room.me?.name]).toEqual(['playing', 'Ada', 'Bob']);
    expect(await second.room.set({ x: 7 })).toMatchObject({ ok: true });
    await expect.poll(() => first.room.players[1]?.data?.x).toBe(7);
  });

  test('returns the same seat after a lost answer', async () => {
    let tries = 0;
    const losing: Fetch = async (...request) => {
      const response = await fetch(...(request as Parameters<typeof globalThis.fetch>));
      if (request[0].endsWith('/match') && ++tries < 2) throw new TypeError('lost');
      return response;
    };
    using ada = player(service.url, { fetch: losing });
    const game = freshGame();
    const match = await done(quickMatch(ada, { game, name: 'Ada' }));
    expect([tries, match.created]).toEqual([2, true]);
    await expect.poll(() => match.room.players.map(({ name }) => name)).toEqual(['Ada']);
    const listed = await listRooms(ada, { game });
    expect(listed.ok && listed.rooms.map(({ code }) => code)).toEqual([match.room.code]);
  });

  test('is not repeated for longer than the service returns the same seat', async () => {
    vi.useFakeTimers();
    const sentAt: number[] = [];
    const began = performance.now();
    const client = player('https://coinop.example', {
      fetch: async () => (sentAt.push(performance.now() - began), Promise.reject(new TypeError('offline'))),
    });
    const asking = quickMatch(client, { game: 'duel' }, { timeoutMs: 60_000 });
    await vi.advanceTimersByTimeAsync(60_000);
    vi.useRealTimers();
    expect(await asking).toMatchObject({ ok: false, error: { code: 'network' } });
    expect(sentAt.length).toBeGreaterThan(2);
    expect(Math.max(...sentAt)).toBeLessThanOrEqual(10_000);
    client.close();
  });

  test('is stored by the tab at once as the seat of its player', async () => {
    const kept = new Map<string, string>();
    stubSessionStorage(kept);
    using ada = player(service.url, { WebSocket });
    const match = await done(quickMatch(ada, { game: freshGame() }));
    const { code } = match.room;
    // Before the first message of the channel.
    expect([match.room.connection.status, lastSeat(ada)]).toEqual(['connecting', { code, playerId: 'p1', seat: expect.any(String) }]);
    const seatBefore = kept.get('coinop:seat');
    await expect.poll(() => match.room.me?.id).toBe('p1');
    expect(kept.get('coinop:seat')).toBe(seatBefore);
    expect(await match.room.act('leave')).toMatchObject({ ok: true });
    await expect.poll(() => lastSeat(ada)).toBeUndefined();
    vi.unstubAllGlobals();
  });
});
