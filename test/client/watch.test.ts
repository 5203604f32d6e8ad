import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { WebSocket as WsSocket } from 'ws';
import type { WatchState } from '../../src/client/client.ts';
import type { Fetch } from '../../src/client/request.ts';
import type { SocketClass } from '../../src/client/watched.ts';
import { forFile, freshId, start } from '../harness.ts';
import { FakeSockets } from './fake-socket.ts';
import { player } from './player.ts';
import { issue } from './sandbox.ts';

// Without a store, because the periodic requests to a store would wait for the fake clock below.
const service = await forFile(start({ settings: { STORE: 'off' } }));
const WebSocket: SocketClass = WsSocket;

async function codeOf(host: ReturnType<typeof player>): Promise<string> {
  const reply = await host.rooms.create({ name: 'Ada' });
  if (!reply.ok) throw new Error(reply.error.code);
  return reply.room.code;
}

describe('a watched room', () => {
  test.each([
    ['a WebSocket', { WebSocket }, 'socket'],
    ['long-polls', { WebSocket: null }, 'poll'],
    [
      'long-polls if no WebSocket can be opened',
      {
        WebSocket: class {
          constructor() {
            throw new Error('SecurityError');
          }
        } as never,
      },
      'poll',
    ],
  ])('is followed by %s until it ends', async (_, options, by) => {
    using ada = player(service.url, options);
    using bob = player(service.url);
    const code = await codeOf(ada);
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
    const code = await codeOf(ada);
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
    const code = await codeOf(ada);
    let connected: boolean[] = [];
    const watch = ada.watchRoom(code, ({ players }) => (connected = players.map((each) => each.connected)), { hello: false });
    await expect.poll(() => watch.state.status).toBe('live');
    await ada.rooms.ready({ code });
    expect(connected).toEqual([false]);
  });

  test('counts a guest that signs in as connected again', async () => {
    await using sandbox = await start();
    using ada = player(sandbox.url, { WebSocket, installId: undefined });
    const code = await codeOf(ada);
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
    const code = await codeOf(ada);
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
    const pairing = await website.pairing.open();
    if (!pairing.ok) throw new Error(pairing.error.code);
    const seen: string[] = [];
    const names: unknown[] = [];
    const watch = website.watchPairing(pairing, (status, claimedBy) => (names.push(claimedBy), seen.push(status)));
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
    await thief.watchPairing({ token: pairing.token }, (_, claimedBy) => expect(claimedBy).toBeUndefined()).ended;
    expect((await thief.who()).sessionToken).toBeUndefined();
  }
});

test('a phone lists the browser that it signed in and ends its session; a browser forgets a session that it ends itself', async () => {
  using website = player(service.url);
  using phone = player(service.url);
  const signIn = async () => {
    const pairing = await website.pairing.open();
    if (!pairing.ok) throw new Error(pairing.error.code);
    await phone.pairing.claim({ token: pairing.token });
    await website.watchPairing(pairing, () => {}).ended;
  };
  const idsOf = async () => {
    const listed = await phone.sessions.list();
    return listed.ok ? listed.sessions.map(({ id }) => id) : listed.error.code;
  };
  await signIn();
  const [id] = await idsOf();
  expect(await phone.sessions.end({ id: id! })).toEqual({ ok: true, current: false });
  expect([await idsOf(), await website.coins.balance()]).toMatchObject([[], { error: { code: 'session_required' } }]);
  await signIn();
  const own = await website.sessions.list();
  if (!own.ok) throw new Error(own.error.code);
  const other = await website.sessions.end({ id: '0.AAAAAAAAAAAAAAAA' });
  expect(other.ok ? '' : other.error.code === 'forbidden').toBe(true);
  expect(await website.sessions.end({ id: own.sessions[0]!.id })).toEqual({ ok: true, current: true });
  expect((await website.who()).sessionToken).toBeUndefined();
});

describe('with a fake clock', () => {
  const sockets = () => new FakeSockets();
  let polls: string[];
  /** The answer to a read of the room. */
  let room: { seq: number; phase: string } | undefined;
  let isGone = false;

  beforeEach(() => {
    vi.useFakeTimers();
    vi.spyOn(Math, 'random').mockReturnValue(0.5);
    polls = [];
    room = { seq: 1, phase: 'lobby' };
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  const fetch: Fetch = async (url, { signal }) => {
    polls.push(url.replace(/.*\/v1/, ''));
    if (room === undefined) throw new TypeError('offline');
    if (isGone) return new Response('{"ok":false,"error":{"code":"room_not_found","message":""}}', { status: 404 });
    if (url.includes('wait=')) await new Promise((_, reject) => signal.addEventListener('abort', reject));
    return new Response(JSON.stringify({ ok: true, room }));
  };

  async function watching(fake = sockets()) {
    const client = player('https://coinop.example', { WebSocket: fake.WebSocket, fetch, installId: 'install-of-ada' });
    const seen: number[] = [];
    const states: string[] = [];
    const watch = client.watchRoom('BCDFG', ({ seq }) => seen.push(seq), { onState: ({ status }) => states.push(status) });
    await vi.advanceTimersByTimeAsync(0);
    return { client, fake, seen, states, watch };
  }

  test.each([
    [1001, 'waiting'],
    [1006, 'waiting'],
    [1009, 'waiting'],
    [4008, 'waiting'],
    [4009, 'waiting'],
    [4429, 'waiting'],
    [4499, 'waiting'],
    [4500, 'ended'],
    [4501, 'ended'],
    [4999, 'ended'],
  ])('close code %i leads to %s', async (code, status) => {
    const { client, fake, watch } = await watching();
    fake.last.onopen!({});
    fake.last.room(1);
    await vi.advanceTimersByTimeAsync(10);
    fake.last.onclose!({ code });
    await vi.advanceTimersByTimeAsync(0);
    expect(watch.state.status).toBe(status);
    client.close();
  });

  test('says hello on every new connection', async () => {
    const { client, fake, states } = await watching();
    for (let time = 0; time < 3; time++) {
      fake.last.onopen!({});
      fake.last.room(time + 1);
      await vi.advanceTimersByTimeAsync(10);
      expect(fake.last.sent).toEqual([{ type: 'hello', installId: 'install-of-ada' }]);
      fake.last.onclose!({ code: 1006 });
      await vi.advanceTimersByTimeAsync(5000);
    }
    expect(fake.opened.length).toBe(4);
    expect(states.slice(0, 4)).toEqual(['connecting', 'live', 'waiting', 'connecting']);
    client.close();
  });

  test('says hello again when the service could not process it', async () => {
    const { client, fake } = await watching();
    fake.last.onopen!({});
    fake.last.message({ type: 'error', error: { code: 'rate_limited', message: '', retryAfterMs: 1500 } });
    await vi.advanceTimersByTimeAsync(1400);
    expect(fake.last.sent.length).toBe(1);
    await vi.advanceTimersByTimeAsync(2000);
    expect(fake.last.sent.length).toBe(2);
    client.close();
  });

  test('waits longer after each failure, up to 30 s, and reconnects at once when the device wakes up', async () => {
    room = undefined;
    const { client, fake, watch } = await watching();
    const waits: number[] = [];
    for (let time = 0; time < 8; time++) {
      fake.last.onclose!({ code: 1006 });
      await vi.advanceTimersByTimeAsync(0);
      waits.push(watch.state.status === 'waiting' ? watch.state.ms : NaN);
      if (time < 7) await vi.advanceTimersByTimeAsync(waits.at(-1)!);
    }
    expect(waits).toEqual([500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000]);
    const before = fake.opened.length;
    client.wake();
    await vi.advanceTimersByTimeAsync(0);
    expect(fake.opened.length).toBe(before + 1);
    client.close();
  });

  test('never goes back to an older state of another process', async () => {
    const { client, fake, seen } = await watching();
    fake.last.onopen!({});
    fake.last.room(7);
    await vi.advanceTimersByTimeAsync(10);
    fake.last.onclose!({ code: 1001 });
    await vi.advanceTimersByTimeAsync(1000);
    room = { seq: 8, phase: 'lobby' };
    fake.last.onopen!({});
    fake.last.room(6);
    fake.last.room(7);
    fake.last.room(8);
    fake.last.room(8);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(seen).toEqual([7, 8]);
    client.close();
  });

  test('goes back when the service has lost changes', async () => {
    const { client, fake, seen } = await watching();
    fake.last.onopen!({});
    fake.last.room(7);
    await vi.advanceTimersByTimeAsync(10);
    fake.last.onclose!({ code: 4009 });
    await vi.advanceTimersByTimeAsync(1000);
    room = { seq: 5, phase: 'lobby' };
    fake.last.onopen!({});
    fake.last.room(5);
    await vi.advanceTimersByTimeAsync(3000);
    fake.last.room(6);
    await vi.advanceTimersByTimeAsync(0);
    expect(seen).toEqual([7, 5, 6]);
    client.close();
  });

  const patch = (from: number, seq: number, ...ops: object[]) => ({
    type: 'patch',
    seq,
    from,
    ops: [...ops, { op: 'replace', path: '/seq', value: seq }],
  });

  test('applies patches to the room of its connection, also after a read has found a newer room', async () => {
    const { client, fake, seen } = await watching();
    fake.last.onopen!({});
    fake.last.room(1);
    fake.last.message(patch(1, 2));
    await vi.advanceTimersByTimeAsync(10);
    room = { seq: 4, phase: 'lobby' };
    client.wake();
    await vi.advanceTimersByTimeAsync(10);
    expect(seen).toEqual([1, 2, 4]);
    fake.last.message(patch(2, 3));
    fake.last.message(patch(3, 5));
    await vi.advanceTimersByTimeAsync(10_000);
    expect([seen, fake.opened.length]).toEqual([[1, 2, 4, 5], 1]);
    client.close();
  });

  test.each([
    ['is of another room', patch(2, 3)],
    ['is of a room before that of the connection', patch(0, 2)],
    ['changes what is not there', patch(1, 2, { op: 'replace', path: '/state/x', value: 1 })],
  ])('a patch that %s changes nothing: the next connection brings whole rooms, and later ones patches again', async (_, misfit) => {
    const { client, fake, seen, watch } = await watching();
    fake.last.onopen!({});
    fake.last.room(1);
    fake.last.message(misfit);
    fake.last.message(patch(1, 9));
    await vi.advanceTimersByTimeAsync(10);
    expect([seen, fake.last.isClosed, watch.state.status]).toEqual([[1], true, 'waiting']);
    await vi.advanceTimersByTimeAsync(1000);
    fake.last.onopen!({});
    fake.last.room(4);
    await vi.advanceTimersByTimeAsync(10);
    fake.last.onclose!({ code: 1006 });
    await vi.advanceTimersByTimeAsync(2000);
    fake.last.onopen!({});
    fake.last.room(5);
    fake.last.message(patch(5, 6));
    await vi.advanceTimersByTimeAsync(10);
    expect(seen).toEqual([1, 4, 5, 6]);
    const live = 'wss://coinop.example/v1/rooms/BCDFG/live';
    expect(fake.opened.map(({ url }) => url)).toEqual([`${live}?patch=1`, live, `${live}?patch=1`]);
    client.close();
  });

  test('notices by a read that its connection is open on this side only', async () => {
    const { client, fake, seen, watch } = await watching();
    fake.last.onopen!({});
    fake.last.room(1);
    await vi.advanceTimersByTimeAsync(30_000);
    expect([polls, watch.state]).toEqual([[], { status: 'live', by: 'socket' }]);
    // An idle room costs one read in 30 to 45 s.
    await vi.advanceTimersByTimeAsync(8000);
    expect([polls, fake.last.isClosed]).toEqual([['/rooms/BCDFG'], false]);
    room = { seq: 2, phase: 'lobby' };
    await vi.advanceTimersByTimeAsync(38_000);
    expect([seen, fake.last.isClosed]).toEqual([[1, 2], false]);
    await vi.advanceTimersByTimeAsync(2000);
    expect([fake.opened[0]!.isClosed, fake.opened.length]).toEqual([true, 2]);
    client.close();
  });

  test('checks the connection when the device wakes up', async () => {
    const { client, fake, watch } = await watching();
    fake.last.onopen!({});
    fake.last.room(1);
    await vi.advanceTimersByTimeAsync(10);
    room = undefined;
    client.wake();
    await vi.advanceTimersByTimeAsync(0);
    expect([fake.last.isClosed, watch.state.status]).toEqual([true, 'waiting']);
    client.close();
  });

  test('ends when the room no longer exists and the connection died without a close', async () => {
    const { client, fake, watch } = await watching();
    fake.last.onopen!({});
    fake.last.room(1);
    await vi.advanceTimersByTimeAsync(10);
    isGone = true;
    client.wake();
    await vi.advanceTimersByTimeAsync(1500);
    fake.last.onclose!({ code: 1006 });
    await vi.advanceTimersByTimeAsync(1500);
    isGone = false;
    expect([fake.opened.length, watch.state]).toEqual([2, { status: 'ended', code: 'room_not_found' }]);
    client.close();
  });

  test('of a pairing reports `claimed` once it has the session, also after an outage of minutes', async () => {
    const fake = sockets();
    let isAway = true;
    const answer: Fetch = async () => {
      if (isAway) throw new TypeError('offline');
      return new Response('{"ok":true,"status":"claimed","sessionToken":"t","accountId":"a"}');
    };
    const client = player('https://coinop.example', { WebSocket: fake.WebSocket, fetch: answer });
    const seen: unknown[] = [];
    client.watchPairing({ token: 'x' }, async (status) => seen.push(status, (await client.who()).sessionToken));
    await vi.advanceTimersByTimeAsync(0);
    fake.last.onopen!({});
    fake.last.message({ type: 'pair', status: 'claimed' });
    await vi.advanceTimersByTimeAsync(120_000);
    expect(seen).toEqual([]);
    isAway = false;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(seen).toEqual(['claimed', 't']);
    client.close();
  });

  test('abandons a connection that does not open', async () => {
    const { client, fake, watch } = await watching();
    await vi.advanceTimersByTimeAsync(10_000);
    expect([fake.opened[0]!.isClosed, watch.state]).toEqual([true, { status: 'live', by: 'poll' }]);
    client.close();
  });

  test('leaves no timer when it is closed', async () => {
    for (const isOpen of [true, false]) {
      const { client, fake } = await watching();
      if (isOpen) {
        fake.last.onopen!({});
        fake.last.message({ type: 'error', error: { code: 'rate_limited', message: '', retryAfterMs: 60_000 } });
        await vi.advanceTimersByTimeAsync(10);
      }
      client.close();
      await vi.advanceTimersByTimeAsync(0);
      expect(vi.getTimerCount()).toBe(0);
    }
  });

  test('leaves no timer when it is closed while a message waits for its turn', async () => {
    const { client, fake } = await watching();
    fake.last.onopen!({});
    fake.last.room(1);
    client.close();
    await vi.advanceTimersByTimeAsync(0);
    expect(vi.getTimerCount()).toBe(0);
  });
});
