import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { Presence } from '../../../src/features/rooms/presence.ts';
import { forFile, freshId, start } from '../../harness.ts';
import { type Message, type Watcher } from '../../realtime/watcher.ts';
import { makeServerKey, keyChangesOf } from '../../server-keys.ts';
import { open, refusal, seated, watched } from './room.ts';

const service = await forFile(start());

/** The answer to the act of this order. */
const acted = (watcher: Watcher, order: number): Promise<Message> =>
  watcher.until((message) => message.type === 'acted' && message.order === order);

function act(watcher: Watcher, order: number, action: string, more: object = {}): Promise<Message> {
  const before = watcher.messages.length;
  watcher.send({ type: 'act', order, action, ...more });
  return watcher.until((message) => message.type === 'acted' && watcher.messages.indexOf(message) >= before);
}

describe('an act over the channel', () => {
  test('changes the room, and is answered with its seq', async () => {
    const room = await open(service);
    const guest = await room.join();
    const [ofHost, ofGuest] = [await seated(service, room, room.host), await seated(service, room, guest)];
    const { seq } = await act(ofGuest, 1, 'data', { data: { x: 1 } });
    expect((await ofHost.reaches(seq)).players[1].data).toEqual({ x: 1 });
    expect(await act(ofHost, 1, 'state', { merge: { round: 1 } })).toEqual({ type: 'acted', order: 1, seq: seq + 1 });
    expect((await ofGuest.reaches(seq + 1)).state).toEqual({ round: 1 });
  });

  test('sent again is replayed, also on a new connection, whose welcome tells the last order', async () => {
    const room = await open(service);
    const first = await seated(service, room, room.host, 'a');
    await act(first, 7, 'state', { state: 'seven' });
    await first.close();
    const second = await seated(service, room, room.host, 'a');
    const welcome = second.messages.find(({ type }) => type === 'welcome');
    expect(welcome).toEqual({ type: 'welcome', you: { playerId: 'p1', host: true, order: 7 }, order: 7, now: expect.any(Number) });
    expect(await act(second, 7, 'state', { state: 'again' })).toMatchObject({ replayed: true });
    expect((await room.read()).state).toBe('seven');
  });

  test('that is refused is acted with its error, and leaves the order unused', async () => {
    const room = await open(service);
    const watcher = await seated(service, room, await room.join());
    for (const [action, more, code] of [
      ['start', {}, 'not_host'],
      ['dance', {}, 'unknown_action'],
      ['join', {}, 'unknown_action'],
      ['state', { state: 1 }, 'not_host'],
      ['data', {}, 'invalid_request'],
      ['data', { data: 'x'.repeat(1100) }, 'invalid_request'],
      ['kick', { playerId: 7 }, 'invalid_request'],
      ['private', { seats: { p1: 1 } }, 'not_host'],
      ['message', { data: 1, to: ['p9'] }, 'invalid_request'],
    ] as const)
      expect([action, (await act(watcher, 1, action, more)).error]).toEqual([
        action,
        expect.objectContaining({ code, message: expect.stringMatching(/./) }),
      ]);
    expect(await act(watcher, 1, 'data', { data: 1 })).toMatchObject({ order: 1, seq: expect.any(Number) });
    const ofHost = await seated(service, room, room.host);
    const { error } = await act(ofHost, 1, 'state', { state: 1, ifStateSeq: 9 });
    expect(error).toMatchObject({ code: 'stale_state', stateSeq: 1, state: {} });
    await room.act('kick', room.host, { playerId: 'p2' });
    expect((await act(watcher, 2, 'data', { data: 1 })).error.code).toBe('not_in_room');
  });

  test('before the welcome is not_in_room, and without a tab invalid', async () => {
    const room = await open(service);
    const watcher = await watched(service, room.code);
    expect((await act(watcher, 1, 'ready')).error.code).toBe('not_in_room');
    await watcher.hello(room.host);
    expect((await act(watcher, 2, 'ready')).error.field).toBe('tab');
    expect((await act(watcher, 3, 'ready', { tab: 'x' })).seq).toBeGreaterThan(1);
  });

  test('keeps the order in which a tab sends', async () => {
    const room = await open(service);
    const watcher = await seated(service, room, room.host);
    for (let order = 1; order <= 50; order++) watcher.send({ type: 'act', order, action: 'state', state: order });
    await acted(watcher, 50);
    const answers = watcher.messages.filter(({ type }) => type === 'acted');
    expect(answers).toEqual(Array.from({ length: 50 }, (_, index) => ({ type: 'acted', order: index + 1, seq: expect.any(Number) })));
    expect((await room.read()).state).toBe(50);
  });

  test('past sixty at once is rate_limited, and counts for its seat alone', async () => {
    await using stopped = await start({ stoppedClock: true });
    const room = await open(stopped);
    const [one, other] = [await seated(stopped, room, room.host, 'a'), await seated(stopped, room, await room.join(), 'b')];
    for (let order = 1; order <= 80; order++) one.send({ type: 'act', order, action: 'data', data: order });
    await acted(one, 80);
    const refused = one.messages.filter(({ type, error }) => type === 'acted' && error !== undefined);
    expect(refused.map(({ order }) => order)).toEqual(Array.from({ length: 20 }, (_, index) => 61 + index));
    expect(refused[0].error).toMatchObject({ code: 'rate_limited', retryAfterMs: expect.any(Number) });
    expect((await act(other, 1, 'data', { data: 1 })).error).toBeUndefined();
  });

  test('may come in any form of JSON', async () => {
    const room = await open(service);
    const watcher = await seated(service, room, room.host);
    for (const [index, text] of [
      '{"type": "act", "order": 1, "action": "data", "data": {"type": "act"}}',
      ' { "type" : "act" , "action":"data","data":1,"order":2}',
      '{"action":"data","data":{"order":9},"order":3,"type":"act"}',
      '{"order":4,"type":"act","action":"data","data":[]}',
    ].entries()) {
      watcher.send(text);
      expect(await acted(watcher, index + 1)).toEqual({ type: 'acted', order: index + 1, seq: expect.any(Number) });
    }
  });

  test('that the address has no budget for is answered with its own order, or with none', async () => {
    await using limited = await start({ settings: { RATE_LIMIT: 'on', RATE_LIMIT_ACTS_PER_SECOND: '1' } });
    for (const text of [
      '{"type":"act","action":"message","data":{"order":3},"order":7}',
      '{"type": "act", "tab":"t", "action":"data", "order" : 7, "data":{"order":3}}',
      '{"data":{"order":3},"action":"data","order":7,"type":"act"}',
    ]) {
      const room = await open(limited);
      const watcher = await seated(limited, room, room.host);
      for (let times = 0; times < 10; times++) watcher.send(text);
      const { order } = await watcher.until(({ error }) => error?.code === 'rate_limited');
      expect([7, undefined]).toContain(order);
      expect(watcher.messages.filter((message) => message.order === 3)).toEqual([]);
      await watcher.close();
    }
  });
});

test('a private part that is dealt during the hello of its player follows the welcome', async () => {
  const room = await open(service);
  const guest = await room.join();
  const other = await watched(service, room.code);
  const { hello } = Presence.prototype;
  const spy = vi.spyOn(Presence.prototype, 'hello').mockImplementationOnce(async function (this: Presence, ...said) {
    const seat = await hello.apply(this, said);
    const { body } = await room.act('private', room.host, { seats: { p2: 'ace' } });
    // The process has heard of the change before it sends the welcome.
    await other.reaches(body.room.seq);
    return seat;
  });
  onTestFinished(() => spy.mockRestore());
  const watcher = await seated(service, room, guest);
  expect(await watcher.until(({ type }) => type === 'you')).toMatchObject({ playerId: 'p2', private: 'ace' });
  expect(watcher.messages.find(({ type }) => type === 'welcome').you.private).toBeUndefined();
});

describe('acted', () => {
  /** The messages that came before the answer to this order. */
  const before = ({ messages }: Watcher, order: number): Message[] =>
    messages.slice(
      0,
      messages.findIndex((message) => message.type === 'acted' && message.order === order),
    );
  const seqBefore = (watcher: Watcher, order: number): number =>
    Math.max(0, ...before(watcher, order).flatMap(({ type, seq }) => (type === 'room' || type === 'patch' ? seq : [])));

  test.each(['', '?patch=1'])('comes after a state that shows the act, on a channel with "%s"', async (query) => {
    const room = await open(service, { writers: 'players' });
    const guest = await room.join();
    const watchers = await Promise.all([watched(service, room.code, query), watched(service, room.code, query)]);
    const [ofHost, ofGuest] = watchers as [Watcher, Watcher];
    await Promise.all([ofHost.hello(room.host, 'a'), ofGuest.hello(guest, 'b')]);
    for (let order = 1; order <= 30; order++)
      for (const watcher of watchers) {
        const [action, more] = [
          ['data', { data: order }],
          ['state', { merge: { [order]: 'x'.repeat(100) } }],
          ['ready', {}],
        ][order % 3] as [string, object];
        watcher.send({ type: 'act', order, action, ...more });
        // A repetition is answered by the same rule.
        if (order % 5 === 0) watcher.send({ type: 'act', order, action, ...more });
        if (order % 10 === 0) await acted(watcher, order);
      }
    for (const watcher of watchers) {
      await acted(watcher, 30);
      let shown = 0;
      for (const { type, order, seq } of watcher.messages) {
        if (type === 'room' || type === 'patch') shown = seq;
        else if (type === 'acted') expect([order, shown >= seq]).toEqual([order, true]);
      }
    }
  });

  test('of private comes after the `you` of the actor, also if it is repeated, from another tab or on another channel', async () => {
    const room = await open(service);
    const watcher = await seated(service, room, room.host, 'a');
    for (const [order, more] of [
      [1, {}],
      [1, {}],
      [2, { tab: 'b' }],
      [3, {}],
    ] as const)
      watcher.send({ type: 'act', order, action: 'private', seats: { p1: `hand ${order}` }, state: order, ...more });
    await acted(watcher, 3);
    for (const order of [1, 2, 3]) {
      const { seq } = await acted(watcher, order);
      const own = before(watcher, order).findLast(({ type }) => type === 'you');
      expect(own).toMatchObject({ seq, playerId: 'p1', private: `hand ${order}` });
      expect(seqBefore(watcher, order)).toBeGreaterThanOrEqual(seq);
    }
    expect(watcher.messages.filter(({ type }) => type === 'you').map(({ seq }) => seq)).toEqual([3, 4, 5]);
    const again = await seated(service, room, room.host, 'a');
    expect(await act(again, 3, 'private', { seats: { p1: 'hand 4' } })).toMatchObject({ order: 3, replayed: true });
    expect(again.messages.find(({ type }) => type === 'welcome').you.private).toBe('hand 3');
  });

  test('of end comes between the last room and the close', async () => {
    const room = await open(service);
    const watcher = await seated(service, room, room.host);
    watcher.send({ type: 'act', order: 1, action: 'end' });
    expect((await watcher.closed).code).toBe(4501);
    expect(watcher.messages.slice(-2)).toMatchObject([{ room: { phase: 'ended' } }, { type: 'acted', order: 1 }]);
  });

  test('of a message and of a refusal does not wait for a room that has pushed too many bytes, and that of a change not for long', async () => {
    await using slow = await start({ settings: { ROOM_BYTES_PER_SECOND: '65536' } });
    const room = await open(slow);
    const watcher = await seated(slow, room, room.host);
    const others = await Promise.all(Array.from({ length: 19 }, () => watched(slow, room.code)));
    const state = 'x'.repeat(8000);
    await act(watcher, 1, 'state', { state });
    watcher.send({ type: 'act', order: 2, action: 'state', state: `${state}2` });
    watcher.send({ type: 'act', order: 3, action: 'message', data: 1 });
    watcher.send({ type: 'act', order: 4, action: 'kick', playerId: 'p9' });
    await acted(watcher, 2);
    expect(watcher.messages.filter(({ type }) => type === 'acted').map(({ order }) => order)).toEqual([1, 3, 4, 2]);
    expect(seqBefore(watcher, 2)).toBe((await acted(watcher, 2)).seq);
    // The push itself follows after two seconds.
    expect(others.map(({ last }) => last.room.state.length)).not.toContain(8001);
  });
});

test('a ping is answered at once with the time of the service, also before the welcome', async () => {
  const room = await open(service);
  const watcher = await watched(service, room.code);
  watcher.send({ type: 'ping', t: 12.5 });
  watcher.send({ type: 'ping' });
  const { now } = await watcher.until(({ type }) => type === 'pong');
  expect(watcher.messages.filter(({ type }) => type === 'pong')).toEqual([
    { type: 'pong', t: 12.5, now },
    { type: 'pong', now: expect.any(Number) },
  ]);
  expect(Math.abs(now - service.now())).toBeLessThan(60_000);
  expect(Number.isInteger(now)).toBe(true);
});

describe('a message', () => {
  test('reaches every channel of the room in one order, on every process', async () => {
    await using other = await start();
    const room = await open(service);
    const guest = await room.join();
    const [ofHost, ofGuest] = [await seated(service, room, room.host), await seated(service, room, guest)];
    const far = await watched(other, room.code);
    await far.reaches(1);
    for (let order = 1; order <= 10; order++) {
      ofHost.send({ type: 'act', order, action: 'message', data: `host ${order}` });
      ofGuest.send({ type: 'act', order, action: 'message', data: `guest ${order}` });
    }
    const heard = await Promise.all(
      [ofHost, ofGuest, far].map(async (watcher) => {
        await watcher.until(({ type, n }) => type === 'message' && n === 20);
        return watcher.messages.filter(({ type }) => type === 'message');
      }),
    );
    const [first] = heard as [Message[]];
    expect(first.map(({ n }) => n)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
    expect(heard).toEqual([first, first, first]);
    const ofGuestAlone = first.filter(({ from }) => from === 'p2').map(({ data }) => data);
    expect(ofGuestAlone).toEqual(Array.from({ length: 10 }, (_, index) => `guest ${index + 1}`));
    expect((await room.read()).seq).toBe(4);
  });

  test('to one player reaches the channels of that player alone', async () => {
    const room = await open(service);
    const [bob, cleo] = [await room.join(), await room.join()];
    const seats = [room.host, bob, cleo].map((installId) => seated(service, room, installId));
    const [ofHost, ofBob, ofCleo] = (await Promise.all(seats)) as [Watcher, Watcher, Watcher];
    await act(ofHost, 1, 'message', { data: 'for bob', to: ['p2'] });
    await act(ofHost, 2, 'message', { data: 'for all' });
    expect((await ofBob.until(({ type }) => type === 'message')).data).toBe('for bob');
    for (const watcher of [ofCleo, ofHost]) expect((await watcher.until(({ type }) => type === 'message')).data).toBe('for all');
  });

  test('past forty at once is rate_limited, over HTTP and over the channel together', async () => {
    await using stopped = await start({ stoppedClock: true });
    const room = await open(stopped);
    const watcher = await seated(stopped, room, room.host, 'tab');
    const sent = await Promise.all(Array.from({ length: 30 }, () => room.act('message', room.host, { data: 1 })));
    expect(sent.filter(({ status }) => status !== 200)).toEqual([]);
    for (let order = 1; order <= 20; order++) watcher.send({ type: 'act', order, action: 'message', data: order });
    await acted(watcher, 20);
    expect(watcher.messages.filter(({ error }) => error?.code === 'rate_limited')).toHaveLength(10);
  });
});

const { token } = await makeServerKey(service, ['rooms']);

describe("a server's room", () => {
  const seatless = (more: object = {}) => service.post('/v1/rooms', { seatless: true, game: 'chess', ...more }, { bearer: token });
  /** A room of the server with one player. */
  const withPlayer = async (more?: object) => {
    const { code } = (await seatless(more)).body.room;
    const [player, watcher] = [freshId(), await watched(service, code)];
    await service.post(`/v1/rooms/${code}/join`, { installId: player });
    return { code, player, watcher };
  };

  test('is refused to a player, has no host, and stays when its players leave', async () => {
    const refused = await service.post('/v1/rooms', { installId: freshId(), seatless: true });
    expect(refusal(refused)).toEqual([403, 'server_only']);
    const { status, body } = await seatless();
    expect([status, body.room.hostId, body.room.players, body.you]).toEqual([200, null, [], { playerId: 'server', host: true }]);
    const [path, installId] = [`/v1/rooms/${body.room.code}`, freshId()];
    expect((await service.post(`${path}/join`, { installId })).body.you).toEqual({ playerId: 'p1', host: false });
    expect(refusal(await service.post(`${path}/start`, { installId }))).toEqual([403, 'not_host']);
    const transfer = await service.post(`${path}/transfer`, { playerId: 'p1' }, { bearer: token });
    expect([transfer.status, transfer.body.error.field]).toEqual([400, 'playerId']);
    await service.post(`${path}/leave`, { installId });
    expect((await service.get(path)).body.room).toMatchObject({ phase: 'lobby', hostId: null, players: [] });
    const ended = await service.post(`${path}/end`, {}, { bearer: token });
    expect(ended.body).toMatchObject({ room: { phase: 'ended' }, you: { playerId: 'server', host: true } });
  });

  test('has a server that acts over its channel, and alone hears messages to the server', async () => {
    const { token: serverKey } = await makeServerKey(service, ['rooms'], { game: 'chess' });
    const { code, player, watcher } = await withPlayer({ writers: 'server' });
    const server = await watched(service, code);
    const you = { playerId: 'server', host: true, order: 0 };
    expect(await server.hello({ serverKey }, 's')).toEqual({ type: 'welcome', you, order: 0, now: expect.any(Number) });
    await watcher.hello(player, 't');
    await act(watcher, 1, 'message', { data: 'move', to: ['server'] });
    expect(await server.until(({ type }) => type === 'message')).toMatchObject({ from: 'p1', data: 'move' });
    await act(server, 1, 'private', { seats: { p1: 'hand' }, state: { turn: 1 } });
    expect((await watcher.until(({ type }) => type === 'you')).private).toBe('hand');
    await act(server, 2, 'message', { data: 'go' });
    expect(await watcher.until(({ type }) => type === 'message')).toMatchObject({ from: 'server', data: 'go' });
    expect((await act(watcher, 2, 'state', { state: 1 })).error.code).toBe('not_writer');
    expect((await act(server, 3, 'data', { data: 1 })).error.code).toBe('forbidden');
  });

  test('lets one connection be the server, and then a player again', async () => {
    const { player, watcher } = await withPlayer();
    expect((await watcher.hello(player, 't')).you.playerId).toBe('p1');
    expect((await watcher.hello({ serverKey: token }, 't')).you.playerId).toBe('server');
    await watcher.until(({ type, room }) => type === 'room' && room.seq > 2 && !room.players[0].connected);
    expect((await watcher.hello(player, 't')).you.playerId).toBe('p1');
    expect((await act(watcher, 1, 'start')).error.code).toBe('not_host');
  });

  test('refuses a key of another game, a wrong one, and one that was revoked', async () => {
    const [other, unscoped] = [await makeServerKey(service, ['rooms'], { game: 'go' }), await makeServerKey(service, ['coins'])];
    const fleeting = await makeServerKey(service, ['rooms']);
    const { watcher } = await withPlayer();
    for (const [serverKey, answer] of [
      [other.token, 'forbidden'],
      [unscoped.token, 'forbidden'],
      ['coinop_sk_nothing', 'bad_key'],
      [fleeting.token, undefined],
    ])
      expect((await watcher.hello({ serverKey }, 's')).error?.code).toBe(answer);
    const before = watcher.messages.length;
    await keyChangesOf(service).revoke(fleeting.id);
    const { error } = await watcher.until((message) => message.type === 'error' && watcher.messages.indexOf(message) >= before);
    expect(error.code).toBe('bad_key');
    expect((await act(watcher, 1, 'start')).error.code).toMatch(/bad_key|not_in_room/);
  });
});
