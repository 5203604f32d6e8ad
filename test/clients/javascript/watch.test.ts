import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { WebSocket as WsSocket } from 'ws';
import type { WatchState } from '../../../src/clients/javascript/client.ts';
import type { Watch } from '../../../src/clients/javascript/watch.ts';
import type { Fetch } from '../../../src/clients/javascript/request.ts';
import type { SocketClass } from '../../../src/clients/javascript/watched.ts';
import { forFile, freshId, start } from '../../harness.ts';
import { FakeSockets } from './fake-socket.ts';
import { openRoom } from './played.ts';
import { done, player, type Player } from './player.ts';
import { issue } from './sandbox.ts';

// Without a store, because the periodic requests to a store would wait for the fake clock below.
const service = await forFile(start({ settings: { STORE: 'off' } }));
const WebSocket: SocketClass = WsSocket;
const Forbidden = class {
  constructor() {
    throw new Error('SecurityError');
  }
} as unknown as SocketClass;

describe('a watched room', () => {
  test.each([
    ['a WebSocket', { WebSocket }, 'socket'],
    ['long-polls', { WebSocket: null }, 'poll'],
    ['long-polls if no WebSocket can be opened', { WebSocket: Forbidden }, 'poll'],
  ])('is followed by %s until it ends', async (_, options, by) => {
    using ada = player(service.url, options);
    using bob = player(service.url);
    const code = await openRoom(ada);
    const seen: string[] = [];
    const frozen: boolean[] = [];
    const states: WatchState[] = [];
    const watch = ada.watchRoom(
      code,
      (room) => {
        seen.push(`${room.phase} ${room.players.length}`);
        frozen.push(Object.isFrozen(room) && room.players.every(Object.isFrozen));
      },
      { onState: (each) => states.push(each) },
    );
    await expect.poll(() => seen.at(-1)).toBe('lobby 1');
    await bob.rooms.join({ code, name: 'Bob' });
    await expect.poll(() => seen.at(-1)).toBe('lobby 2');
    await ada.rooms.start({ code });
    await expect.poll(() => seen.at(-1)).toBe('playing 2');
    await ada.rooms.end({ code });
    expect(await watch.ended).toEqual({ code: 'finished' });
    expect(seen.at(-1)).toBe('ended 2');
    expect(frozen).not.toContain(false);
    expect(states.filter(({ status }) => status !== 'connecting')).toEqual([
      { status: 'live', by },
      { status: 'ended', code: 'finished' },
    ]);
    expect(watch.state).toEqual({ status: 'ended', code: 'finished' });
  });

  test('counts its player as connected, with the installId and with a session, also after joining late', async () => {
    using ada = player(service.url, { WebSocket });
    using bob = player(service.url, { WebSocket });
    const code = await openRoom(ada);
    await bob.sessions.login();
    let connected: string[] = [];
    const yous: unknown[] = [];
    const errors: string[] = [];
    ada.watchRoom(code, ({ players }) => (connected = players.filter((each) => each.connected).map(({ name }) => name)));
    bob.watchRoom(code, () => {}, { onYou: (you) => yous.push(you), onError: (error) => errors.push(error.code) });
    await expect.poll(() => [connected, errors]).toEqual([['Ada'], ['not_in_room']]);
    await bob.rooms.join({ code, name: 'Bob' });
    await expect.poll(() => [connected, yous]).toEqual([['Ada', 'Bob'], [{ playerId: 'p2', host: false }]]);
  });

  test('is watched without a seat if hello is false', async () => {
    using ada = player(service.url, { WebSocket });
    const code = await openRoom(ada);
    let connected: boolean[] = [];
    const watch = ada.watchRoom(code, ({ players }) => (connected = players.map((each) => each.connected)), { hello: false });
    await expect.poll(() => watch.state.status).toBe('live');
    await ada.rooms.ready({ code });
    expect(connected).toEqual([false]);
  });

  test('counts a guest that signs in as connected again', async () => {
    await using sandbox = await start();
    using ada = player(sandbox.url, { WebSocket, installId: undefined });
    const code = await openRoom(ada);
    let connected: boolean[] = [];
    ada.watchRoom(code, ({ players }) => (connected = players.map((each) => each.connected)));
    await expect.poll(() => connected).toEqual([true]);
    expect(await ada.store.provision({ token: await issue(sandbox, freshId('user')) })).toMatchObject({ moved: true });
    await expect.poll(() => connected).toEqual([true]);
  });

  test.each([{ WebSocket }, { WebSocket: null }])('that does not exist ends at once', async (options) => {
    using ada = player(service.url, options);
    expect(await ada.watchRoom('BBBBB', () => {}).ended).toEqual({ code: 'room_not_found' });
  });

  test('is closed by its watch and by its client, and reports nothing after that', async () => {
    using ada = player(service.url, { WebSocket });
    const code = await openRoom(ada);
    let count = 0;
    const watches = [ada.watchRoom(code, () => count++), ada.watchRoom(code, () => count++, { hello: false })];
    await expect.poll(() => watches.map(({ state }) => state.status)).toEqual(['live', 'live']);
    watches[0]!.close();
    watches[0]!.close();
    expect(await watches[0]!.ended).toEqual({ code: 'closed' });
    ada.close();
    expect(await watches[1]!.ended).toEqual({ code: 'closed' });
    const before = count;
    await service.post(`/v1/rooms/${code}/join`, { installId: freshId() });
    expect(count).toBe(before);
  });
});

test('a watched pairing signs in to the account of the phone', async () => {
  for (const options of [{ WebSocket }, { WebSocket: null }]) {
    using website = player(service.url, options);
    using phone = player(service.url);
    await phone.coins.credit({ coins: 40 });
    const pairing = await done(website.pairing.open());
    const seen: string[] = [];
    const names: unknown[] = [];
    const watch = website.watchPairing(pairing, ({ status, claimedBy }) => (names.push(claimedBy), seen.push(status)));
    await expect.poll(() => seen).toEqual(['pending']);
    await phone.pairing.claim({ token: pairing.token, step: 'scan' });
    await expect.poll(() => seen.at(-1)).toBe('scanned');
    await phone.pairing.claim({ token: pairing.token, name: 'Ada' });
    expect(await watch.ended).toEqual({ code: 'finished' });
    expect(seen).toEqual(['pending', 'scanned', 'claimed']);
    expect(names).toEqual([undefined, undefined, { name: 'Ada' }]);
    expect(await website.coins.balance()).toEqual({ ok: true, balanceCoins: 40 });
    // Without the secret nobody gets a session.
    using thief = player(service.url, options);
    await thief.watchPairing({ token: pairing.token }, ({ claimedBy }) => expect(claimedBy).toBeUndefined()).ended;
    expect((await thief.who()).sessionToken).toBeUndefined();
  }
});

describe('a watched account', () => {
  const balances = (client: Player, options?: Parameters<Player['watchAccount']>[1]) => {
    const seen: unknown[] = [];
    const watch = client.watchAccount(({ balanceCoins, entitlement }) => seen.push([balanceCoins, entitlement.state]), options);
    return { seen, watch, last: () => seen.at(-1) };
  };

  test.each([{ WebSocket }, { WebSocket: null }])('shows what changes elsewhere, and no balance twice', async (options) => {
    using client = player(service.url, options);
    const { installId } = await client.who();
    const { seen, watch, last } = balances(client);
    await expect.poll(last).toEqual([0, 'none']);
    await service.post('/v1/coins/credit', { installId, coins: 5, key: 'a' });
    await expect.poll(last).toEqual([5, 'none']);
    await service.post('/v1/subscription/report', { installId, subscribed: true });
    await expect.poll(last).toEqual([5, 'subscribed']);
    expect(seen).toHaveLength(3);
    watch.close();
    expect(await watch.ended).toEqual({ code: 'closed' });
  });

  test('follows the player through a sign-in that moves the guest, and a sign-out', async () => {
    await using sandbox = await start();
    using client = player(sandbox.url, { WebSocket, installId: undefined });
    const ids: unknown[] = [];
    const watch = client.watchAccount(({ accountId, balanceCoins }) => ids.push([accountId, balanceCoins]));
    await client.coins.credit({ coins: 7 });
    await expect.poll(() => ids.at(-1)).toEqual([expect.any(String), 7]);
    const guest = ids.at(-1) as [string, number];
    const { accountId } = await done(client.store.provision({ token: await issue(sandbox, freshId('user')) }));
    await expect.poll(() => ids.at(-1)).toEqual([accountId, 7]);
    expect(accountId).not.toBe(guest[0]);
    await client.sessions.logout();
    await expect.poll(() => ids.at(-1)).toEqual([expect.any(String), 0]);
    expect(watch.state.status).not.toBe('ended');
  });

  test('ends with the code of the error when the session ends elsewhere', async () => {
    using client = player(service.url, { WebSocket });
    await client.sessions.login();
    const { watch, last } = balances(client);
    await expect.poll(last).toEqual([0, 'none']);
    await service.post('/v1/logout', {}, { bearer: (await client.who()).sessionToken! });
    expect(await watch.ended).toEqual({ code: 'session_required' });
  });
});

test('a phone lists the browser that it signed in, and ends its session', async () => {
  using website = player(service.url);
  using phone = player(service.url);
  const pairing = await done(website.pairing.open());
  await phone.pairing.claim({ token: pairing.token });
  await website.watchPairing(pairing, () => {}).ended;
  const listed = await done(phone.sessions.list());
  expect(await phone.sessions.end({ id: listed.sessions[0]!.id })).toEqual({ ok: true, current: false });
  expect(await website.coins.balance()).toMatchObject({ error: { code: 'session_required' } });
});

describe('with a fake clock', () => {
  let polls: string[];
  /** The answer to a read of the room. Undefined: the service is away. */
  let room: { seq: number; phase: string } | 'gone' | undefined;
  /** The error with which the service refuses a read. */
  let busy: object | undefined;
  let fake: FakeSockets;
  let client: Player;
  let watch: Watch;
  let seen: number[];
  let states: string[];

  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

  beforeEach(() => {
    vi.useFakeTimers();
    vi.spyOn(Math, 'random').mockReturnValue(0.5);
    busy = undefined;
    [polls, room, fake, seen, states] = [[], { seq: 1, phase: 'lobby' }, new FakeSockets(), [], []];
  });
  afterEach(() => {
    client.close();
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  const fetch: Fetch = async (url, { signal }) => {
    polls.push(url.replace(/.*\/v1/, ''));
    if (room === undefined) throw new TypeError('offline');
    if (busy !== undefined) return new Response(JSON.stringify({ ok: false, error: busy }), { status: 503 });
    if (room === 'gone') return new Response('{"ok":false,"error":{"code":"room_not_found","message":""}}', { status: 404 });
    if (url.includes('wait=')) await new Promise((_, reject) => signal.addEventListener('abort', reject));
    return new Response(JSON.stringify({ ok: true, room }));
  };

  async function watching() {
    client = player('https://coinop.example', { WebSocket: fake.WebSocket, fetch, installId: 'install-of-ada' });
    watch = client.watchRoom('BCDFG', ({ seq }) => seen.push(seq), { onState: ({ status }) => states.push(status) });
    await pass(0);
  }

  /** Opens the last socket, which brings rooms. */
  async function open(...seqs: number[]) {
    fake.last.onopen!({});
    for (const seq of seqs) fake.last.room(seq);
    await pass(10);
  }

  /** A closed client leaves no timer, which would keep a Node process alive. */
  async function expectNoTimer() {
    client.close();
    await pass(0);
    expect(vi.getTimerCount()).toBe(0);
  }

  async function connected(seq: number) {
    await watching();
    await open(seq);
  }

  test.each([
    [1006, 'waiting'],
    [4009, 'waiting'],
    [4499, 'waiting'],
    [4500, 'ended'],
    [4501, 'ended'],
    [4999, 'ended'],
  ])('close code %i leads to %s', async (code, status) => {
    await connected(1);
    fake.last.onclose!({ code });
    await pass(0);
    expect(watch.state.status).toBe(status);
  });

  test('says hello on every new connection', async () => {
    await watching();
    for (let time = 0; time < 3; time++) {
      await open(time + 1);
      expect(fake.last.sent).toEqual([{ type: 'hello', installId: 'install-of-ada' }]);
      fake.last.onclose!({ code: 1006 });
      await pass(1000);
    }
    expect(fake.opened.length).toBe(4);
    expect(states.slice(0, 4)).toEqual(['connecting', 'live', 'waiting', 'connecting']);
  });

  test('says hello again when the service could not process it', async () => {
    await watching();
    await open();
    fake.last.message({ type: 'error', error: { code: 'rate_limited', message: '', retryAfterMs: 1500 } });
    await pass(1400);
    expect(fake.last.sent.length).toBe(1);
    await pass(2000);
    expect(fake.last.sent.length).toBe(2);
    fake.last.message({ type: 'error', error: { code: 'rate_limited', message: '', retryAfterMs: 60_000 } });
    await pass(10);
    await expectNoTimer();
  });

  test('waits a second at most in the first seconds, 3.5 s later on, and reconnects at once when the device wakes up', async () => {
    room = undefined;
    await watching();
    const waits: number[] = [];
    for (let time = 0; time < 10; time++) {
      fake.last.onclose!({ code: 1006 });
      await pass(0);
      waits.push(watch.state.status === 'waiting' ? watch.state.ms : NaN);
      if (time < 9) await pass(waits.at(-1)!);
    }
    expect(waits).toEqual([187.5, 375, ...Array.from({ length: 6 }, () => 750), 2625, 2625]);
    const before = fake.opened.length;
    client.wake();
    await pass(0);
    expect(fake.opened.length).toBe(before + 1);
  });

  test('waits for the time that a busy service asks for', async () => {
    await connected(1);
    busy = { code: 'overloaded', message: '', retryAfterMs: 9000 };
    fake.last.onclose!({ code: 1001 });
    await pass(200);
    fake.last.onclose!({ code: 1006 });
    await pass(0);
    expect(watch.state).toEqual({ status: 'waiting', ms: 9375, error: busy });
  });

  test('tries a WebSocket once more when one is refused and the service answers a read: it may just have come back', async () => {
    await watching();
    fake.last.onclose!({ code: 1006 });
    await pass(10);
    expect([polls, seen, fake.opened.length, watch.state.status]).toEqual([['/rooms/BCDFG'], [1], 2, 'connecting']);
    await open(1);
    fake.last.onclose!({ code: 1006 });
    await pass(1000);
    for (let time = 0; time < 2; time++) {
      fake.last.onclose!({ code: 1006 });
      await pass(10);
    }
    expect(watch.state).toEqual({ status: 'live', by: 'poll' });
  });

  test('pings a silent connection of a service that knows pings, and connects again if no answer comes', async () => {
    await connected(1);
    const pings = () => fake.last.sent.filter((message) => (message as { type: string }).type === 'ping').length;
    fake.last.message({ type: 'welcome', you: { playerId: 'p1', host: true }, now: 1 });
    await pass(9900);
    fake.last.room(2);
    await pass(10_100);
    expect([pings(), polls]).toEqual([1, []]);
    fake.last.message({ type: 'pong', t: 1, now: 2 });
    await pass(10_100);
    fake.last.message({ type: 'pong', t: 1, now: 2 });
    await pass(10_100);
    expect([pings(), polls]).toEqual([3, []]);
    fake.last.message({ type: 'pong', t: 1, now: 2 });
    // The fourth look is a read, which also shows a process that is behind.
    await pass(10_100);
    expect([pings(), polls]).toEqual([3, ['/rooms/BCDFG']]);
    await pass(10_000);
    expect([pings(), watch.state.status]).toEqual([4, 'live']);
    await pass(4000);
    expect([fake.opened[0]!.isClosed, watch.state.status]).toEqual([true, 'waiting']);
  });

  test.each<[what: string, code: number, now: number, then: number[], expected: number[]]>([
    ['never goes back to an older state of another process', 1001, 8, [6, 7, 8, 8], [7, 8]],
    ['goes back when the service has lost changes', 4009, 5, [5], [7, 5]],
  ])('%s', async (_, code, now, then, expected) => {
    await connected(7);
    fake.last.onclose!({ code });
    await pass(1000);
    room = { seq: now, phase: 'lobby' };
    await open(...then);
    await pass(10_000);
    expect(seen).toEqual(expected);
    fake.last.room(9);
    await pass(0);
    expect(seen).toEqual([...expected, 9]);
  });

  const patch = (from: number, seq: number, ...ops: object[]) => ({
    type: 'patch',
    seq,
    from,
    ops: [...ops, { op: 'replace', path: '/seq', value: seq }],
  });

  test('applies patches to the room of its connection, also after a read has found a newer room', async () => {
    await connected(1);
    fake.last.message(patch(1, 2));
    await pass(10);
    room = { seq: 4, phase: 'lobby' };
    client.wake();
    await pass(10);
    expect(seen).toEqual([1, 2, 4]);
    fake.last.message(patch(2, 3));
    fake.last.message(patch(3, 5));
    await pass(10_000);
    expect([seen, fake.opened.length]).toEqual([[1, 2, 4, 5], 1]);
  });

  test.each([
    ['is of another room', patch(2, 3)],
    ['is of a room before that of the connection', patch(0, 2)],
    ['changes what is not there', patch(1, 2, { op: 'replace', path: '/state/x', value: 1 })],
  ])('a patch that %s changes nothing: the next connection brings whole rooms, and later ones patches again', async (_, misfit) => {
    await connected(1);
    fake.last.message(misfit);
    fake.last.message(patch(1, 9));
    await pass(10);
    expect([seen, fake.last.isClosed, watch.state.status]).toEqual([[1], true, 'waiting']);
    await pass(1000);
    await open(4);
    fake.last.onclose!({ code: 1006 });
    await pass(2000);
    await open(5);
    fake.last.message(patch(5, 6));
    await pass(10);
    expect(seen).toEqual([1, 4, 5, 6]);
    const live = 'wss://coinop.example/v1/rooms/BCDFG/live';
    expect(fake.opened.map(({ url }) => url)).toEqual([`${live}?patch=1`, live, `${live}?patch=1`]);
  });

  test('notices by a read that its connection is open on this side only', async () => {
    await connected(1);
    await pass(30_000);
    expect([polls, watch.state]).toEqual([[], { status: 'live', by: 'socket' }]);
    // An idle room costs one read in 30 to 45 s.
    await pass(8000);
    expect([polls, fake.last.isClosed]).toEqual([['/rooms/BCDFG'], false]);
    room = { seq: 2, phase: 'lobby' };
    await pass(38_000);
    expect([seen, fake.last.isClosed]).toEqual([[1, 2], false]);
    await pass(2000);
    expect([fake.opened[0]!.isClosed, fake.opened.length]).toEqual([true, 2]);
  });

  test('checks the connection when the device wakes up', async () => {
    await connected(1);
    room = undefined;
    client.wake();
    await pass(0);
    expect([fake.last.isClosed, watch.state.status]).toEqual([true, 'waiting']);
  });

  test('ends when the room no longer exists and the connection died without a close', async () => {
    await connected(1);
    room = 'gone';
    client.wake();
    await pass(1500);
    fake.last.onclose!({ code: 1006 });
    await pass(1500);
    expect([fake.opened.length, watch.state]).toEqual([2, { status: 'ended', code: 'room_not_found' }]);
  });

  test('abandons a connection that does not open', async () => {
    await watching();
    await pass(10_000);
    expect([fake.opened[0]!.isClosed, watch.state]).toEqual([true, { status: 'live', by: 'poll' }]);
    await expectNoTimer();
  });

  test('of a pairing reports `claimed` once it has the session, also after an outage of minutes', async () => {
    let isAway = true;
    const answer: Fetch = async () => {
      if (isAway) throw new TypeError('offline');
      return new Response('{"ok":true,"status":"claimed","sessionToken":"t","accountId":"a"}');
    };
    client = player('https://coinop.example', { WebSocket: fake.WebSocket, fetch: answer });
    const said: unknown[] = [];
    client.watchPairing({ token: 'x' }, async ({ status }) => said.push(status, (await client.who()).sessionToken));
    await pass(0);
    await open();
    fake.last.message({ type: 'pair', status: 'claimed' });
    await pass(120_000);
    expect(said).toEqual([]);
    isAway = false;
    await pass(10_000);
    expect(said).toEqual(['claimed', 't']);
  });
});
