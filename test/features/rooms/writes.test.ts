import { describe, expect, test } from 'vitest';
import { signedOutKey } from '../../../src/accounts/account-keys.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { forFile, freshId, signIn, start, type TestService } from '../../harness.ts';
import { watchRoom } from '../../realtime/watcher.ts';
import { open, refusal, type TestRoom } from './room.ts';

const service = await forFile(start());

const dataOf = (room: { players: { id: string; data: unknown }[] }, id: string) => room.players.find((player) => player.id === id)!.data;
const ofSize = (bytes: number): string => 'x'.repeat(bytes - 2);
const statusAndField = ({ status, body }: Awaited<ReturnType<TestRoom['act']>>) => [status, body.error?.code, body.error?.field];

describe('data', () => {
  test('is null at first, set by its own player, and shown to all', async () => {
    const room = await open(service);
    const guest = await room.join('Bob');
    expect((await room.read()).players.map((player: { data: unknown }) => player.data)).toEqual([null, null]);
    const { status, body } = await room.act('data', guest, { data: { x: 1, list: [], big: 1e21 } });
    expect([status, body.you]).toEqual([200, { playerId: 'p2', host: false }]);
    expect(dataOf(await room.read(), 'p2')).toEqual({ x: 1, list: [], big: 1e21 });
    expect((await room.read()).seq).toBe(3);
    expect((await room.read()).stateSeq).toBe(1);
  });

  test('merges deeply, null removes, and a list is replaced whole', async () => {
    const room = await open(service);
    await room.act('data', room.host, { data: { a: { b: 1, c: 2 }, list: [1, 2] } });
    await room.act('data', room.host, { merge: { a: { c: null, d: [] }, list: [3] } });
    expect(dataOf(await room.read(), 'p1')).toEqual({ a: { b: 1, d: [] }, list: [3] });
  });

  test.each([
    [8, 1024],
    [16, 1024],
    [64, 256],
  ])('in a room of %i seats may have %i bytes, and not one more', async (maxPlayers, limit) => {
    const room = await open(service, { maxPlayers });
    expect((await room.act('data', room.host, { data: ofSize(limit) })).status).toBe(200);
    expect(statusAndField(await room.act('data', room.host, { data: ofSize(limit + 1) }))).toEqual([400, 'invalid_request', 'data']);
    expect(dataOf(await room.read(), 'p1')).toBe(ofSize(limit));
  });

  test('that grows beyond the limit by a merge is refused, and nothing changes', async () => {
    const room = await open(service);
    await room.act('data', room.host, { data: { a: ofSize(600) } });
    expect(statusAndField(await room.act('data', room.host, { merge: { b: ofSize(600) } }))).toEqual([400, 'invalid_request', 'merge']);
    expect(dataOf(await room.read(), 'p1')).toEqual({ a: ofSize(600) });
  });

  test.each([{}, { data: 1, merge: {} }])('with %j is refused', async (more) => {
    const room = await open(service);
    expect(refusal(await room.act('data', room.host, more))).toEqual([400, 'invalid_request']);
  });

  test('ignores ifStateSeq, which is of the state', async () => {
    const room = await open(service);
    expect((await room.act('data', room.host, { data: 1, ifStateSeq: 99 })).status).toBe(200);
  });

  test('stays while the game plays, and goes with its player', async () => {
    const room = await open(service);
    const guest = await room.join();
    await room.act('start', room.host);
    await room.act('data', guest, { data: 'mine' });
    await room.act('leave', guest);
    expect((await room.read()).players).toHaveLength(1);
    const keys = await service.service.redis.hkeys(`{room:${room.code}}`);
    expect(keys.filter((key) => key.startsWith('p2'))).toEqual([]);
  });
});

describe('state', () => {
  test('of a room of players is written by every player', async () => {
    const room = await open(service, { writers: 'players' });
    const guest = await room.join();
    expect((await room.act('state', guest, { state: { by: 'guest' } })).status).toBe(200);
    expect((await room.act('state', guest, { merge: { also: [] } })).body.room).toMatchObject({
      state: { by: 'guest', also: [] },
      writers: 'players',
    });
  });

  test('of a server room is written by no player, not even by the host', async () => {
    const room = await open(service, { writers: 'server' });
    const guest = await room.join();
    expect(refusal(await room.act('state', room.host, { state: 1 }))).toEqual([403, 'not_writer']);
    expect(refusal(await room.act('state', guest, { merge: {} }))).toEqual([403, 'not_writer']);
    expect(refusal(await room.act('private', room.host, { seats: {}, state: 1 }))).toEqual([403, 'not_writer']);
    expect((await room.read()).state).toEqual({});
  });

  test('with an outdated ifStateSeq is stale_state, with the current state', async () => {
    const room = await open(service);
    const first = await room.act('state', room.host, { state: { n: 1 }, ifStateSeq: 1 });
    expect([first.status, first.body.room.stateSeq]).toEqual([200, 2]);
    const second = await room.act('state', room.host, { state: { n: 2 }, ifStateSeq: 1 });
    expect([second.status, second.body.error]).toMatchObject([409, { code: 'stale_state', stateSeq: 2, state: { n: 1 } }]);
    expect((await room.act('state', room.host, { merge: { m: 1 }, ifStateSeq: 2 })).body.room.state).toEqual({ n: 1, m: 1 });
    await room.act('data', room.host, { data: 1 });
    expect((await room.read()).stateSeq).toBe(3);
  });

  test('twenty merges on each of two processes all take effect', async () => {
    await using other = await start();
    const room = await open(service);
    const merge = (at: TestService, name: string) =>
      at.post(`/v1/rooms/${room.code}/state`, { installId: room.host, merge: { [name]: 1 } });
    const all = Array.from({ length: 20 }, (_, index) => [merge(service, `a${index}`), merge(other, `b${index}`)]).flat();
    expect((await Promise.all(all)).filter(({ status }) => status !== 200).map(({ body }) => body)).toEqual([]);
    expect(Object.keys((await room.read()).state)).toHaveLength(40);
  });

  test('is not merged for a caller who may not write it', async () => {
    const room = await open(service);
    const guest = await room.join();
    expect(refusal(await room.act('state', guest, { merge: { a: ofSize(9000) } }))).toEqual([403, 'not_host']);
  });

  test('that was replaced after a merge is the base of the next merge, also after a longer state', async () => {
    const room = await open(service);
    await room.act('state', room.host, { merge: { a: ofSize(8000) } });
    await room.act('state', room.host, { state: { b: 1 } });
    const { status, body } = await room.act('state', room.host, { merge: { c: ofSize(500) } });
    expect([status, body.room?.state.b, body.error]).toEqual([200, 1, undefined]);
  });

  test('by a repeated merge is replayed, and by a stranger refused as such, even if the result would be too large', async () => {
    const room = await open(service);
    const act = { merge: { a: ofSize(4000) }, order: 1, tab: 'a' };
    await room.act('state', room.host, act);
    await room.act('state', room.host, { merge: { a: null, b: ofSize(8000) } });
    expect((await room.act('state', room.host, act)).body).toMatchObject({ ok: true, replayed: true });
    expect(refusal(await room.act('state', freshId(), act))).toEqual([403, 'not_in_room']);
  });

  test('that grows above 8 KiB by a merge is refused, and nothing changes', async () => {
    const room = await open(service);
    await room.act('state', room.host, { state: { a: ofSize(5000) } });
    expect(statusAndField(await room.act('state', room.host, { merge: { b: ofSize(5000) } }))).toEqual([400, 'invalid_request', 'merge']);
    expect((await room.read()).seq).toBe(2);
  });
});

describe('private', () => {
  test('reaches its player alone: in answers, in the welcome and on the channel', async () => {
    const room = await open(service);
    const [bob, cleo] = [await room.join('Bob'), await room.join('Cleo')];
    const ofBob = await watchRoom(service, room.code);
    const ofCleo = await watchRoom(service, room.code);
    const nobody = await watchRoom(service, room.code);
    await ofBob.hello(bob);
    await ofCleo.hello(cleo);
    const { body } = await room.act('private', room.host, { seats: { p1: ['king'], p2: ['ace-of-bob'] }, state: { deck: 50 } });
    expect([body.you, body.room.state]).toEqual([{ playerId: 'p1', host: true, private: ['king'] }, { deck: 50 }]);
    const { seq } = body.room;
    expect(await ofBob.until(({ type }) => type === 'you')).toEqual({ type: 'you', seq, playerId: 'p2', private: ['ace-of-bob'] });
    await nobody.reaches(seq);
    await ofCleo.reaches(seq);
    expect((await room.act('ready', bob)).body.you).toEqual({ playerId: 'p2', host: false, private: ['ace-of-bob'] });
    expect((await room.act('ready', cleo)).body.you).toEqual({ playerId: 'p3', host: false });
    const again = await watchRoom(service, room.code);
    expect((await again.hello(bob)).you.private).toEqual(['ace-of-bob']);
    expect(JSON.stringify([nobody.messages, ofCleo.messages, await room.read()])).not.toContain('ace-of-bob');
    for (const watcher of [ofBob, ofCleo, nobody, again]) await watcher.close();
  });

  test('reaches its player on another process', async () => {
    await using other = await start();
    const room = await open(service);
    const bob = await room.join();
    const watcher = await watchRoom(other, room.code);
    await watcher.hello(bob);
    for (let hand = 1; hand <= 3; hand++) await room.act('private', room.host, { seats: { p2: { hand } } });
    await watcher.until(({ type, private: own }) => type === 'you' && own.hand === 3);
    await watcher.close();
  });

  // The notice that a session has ended reaches a process by Pub/Sub, which may lose it.
  test('does not reach a connection whose session has ended, whether its process knows or not', async () => {
    const room = await open(service);
    const bob = await room.join();
    const cookies = await signIn(service, bob);
    const watcher = await watchRoom(service, room.code, { cookies });
    await watcher.until(({ type }) => type === 'welcome');
    const [{ id }] = (await service.get('/v1/sessions', { cookies })).body.sessions;
    await service.service.redis.set(signedOutKey(accountIdOf(bob), id), '0');
    await room.act('private', room.host, { seats: { p2: 'ace-of-bob' } });
    expect((await watcher.until(({ type }) => type === 'error' || type === 'you')).error?.code).toBe('session_required');
    expect(JSON.stringify(watcher.messages)).not.toContain('ace-of-bob');
    await watcher.close();
  });

  test('is refused to a guest, for a seat that nobody has, and above 1 KiB a seat', async () => {
    const room = await open(service);
    const guest = await room.join();
    expect(refusal(await room.act('private', guest, { seats: { p2: 1 } }))).toEqual([403, 'not_host']);
    expect(statusAndField(await room.act('private', room.host, { seats: { p1: 1, p9: 1 } }))).toEqual([400, 'invalid_request', 'seats.p9']);
    expect(statusAndField(await room.act('private', room.host, { seats: { p2: ofSize(1025) } }))).toEqual([
      400,
      'invalid_request',
      'seats.p2',
    ]);
    expect(statusAndField(await room.act('private', room.host, {}))).toEqual([400, 'invalid_request', 'seats']);
    expect((await room.read()).seq).toBe(2);
  });
});

// Scripts get player ids on lines and between blanks.
describe('a text that is no player id', () => {
  test.each(['p1\n"forged"\np2', 'p1 p2', '', 'server'])('as the seat %j of private is refused', async (id) => {
    const room = await open(service);
    const guest = await room.join();
    const reply = await room.act('private', room.host, { seats: { [id]: 'x' } });
    expect(statusAndField(reply)).toEqual([400, 'invalid_request', `seats.${id}`]);
    expect((await room.act('ready', guest)).body.you).toEqual({ playerId: 'p2', host: false });
  });

  test.each(['', 'p1 p2', 'p1\n', 'Server'])('as the receiver %j of a message is refused', async (id) => {
    const room = await open(service);
    await room.join();
    const reply = await room.act('message', room.host, { data: 1, to: [id] });
    expect(statusAndField(reply)).toEqual([400, 'invalid_request', 'to.0']);
  });
});

describe('settings', () => {
  test('change the lobby, and those left out stay', async () => {
    const room = await open(service, { tags: { mode: 'duel' } });
    const { body } = await room.act('settings', room.host, { maxPlayers: 3, public: true, writers: 'players' });
    expect(body.room).toMatchObject({ minPlayers: 1, maxPlayers: 3, public: true, writers: 'players', tags: { mode: 'duel' } });
  });

  test.each([
    [{ minPlayers: 9 }, 'minPlayers'],
    [{ maxPlayers: 1 }, 'maxPlayers'],
    [{}, 'public'],
    [{ tags: { Bad: 1 } }, 'tags.Bad'],
    [{ tags: { a: 'x'.repeat(65) } }, 'tags.a'],
    [{ writers: 'me' }, 'writers'],
  ])('%j is refused', async (settings, field) => {
    const room = await open(service);
    await room.join();
    expect(statusAndField(await room.act('settings', room.host, settings))).toEqual([400, 'invalid_request', field]);
    expect((await room.read()).seq).toBe(2);
  });

  test('do not leave a player less data than it has', async () => {
    const room = await open(service);
    await room.act('data', room.host, { data: ofSize(1000) });
    expect(statusAndField(await room.act('settings', room.host, { maxPlayers: 64 }))).toEqual([400, 'invalid_request', 'maxPlayers']);
  });

  test('can be changed only in the lobby', async () => {
    const room = await open(service);
    await room.act('start', room.host);
    expect(refusal(await room.act('settings', room.host, { public: true }))).toEqual([409, 'room_started']);
  });
});

describe('order', () => {
  test('lets an act happen once, and a late one not at all', async () => {
    const room = await open(service);
    const act = (order: number, state: unknown, tab = 'tab-a') => room.act('state', room.host, { state, order, tab });
    expect((await act(1, 'one')).body.replayed).toBeUndefined();
    expect((await act(3, 'three')).body.room.state).toBe('three');
    const late = await act(2, 'two');
    expect([late.status, late.body.replayed, late.body.room.state]).toEqual([200, true, 'three']);
    expect((await act(3, 'again')).body.replayed).toBe(true);
    expect((await act(1, 'other tab', 'tab-b')).body.room.state).toBe('other tab');
    expect((await room.act('state', room.host, { state: 'no tab', order: 1 })).body.room.state).toBe('no tab');
    expect((await room.act('state', room.host, { state: 'again', order: 1 })).body.replayed).toBe(true);
  });

  test('is used up by an act that changes nothing, but not by a refused one', async () => {
    const room = await open(service);
    const stale = await room.act('state', room.host, { state: 1, ifStateSeq: 99, order: 1, tab: 't' });
    expect(stale.status).toBe(409);
    expect((await room.act('state', room.host, { state: 1, order: 1, tab: 't' })).body.room.state).toBe(1);
    await room.act('ready', room.host, { order: 2, tab: 't' });
    expect((await room.act('ready', room.host, { order: 3, tab: 't' })).body.replayed).toBeUndefined();
    await room.act('unready', room.host, { order: 4, tab: 't' });
    expect((await room.act('ready', room.host, { order: 3, tab: 't' })).body.replayed).toBe(true);
  });

  test('is remembered for the newest eight tabs of a seat', async () => {
    const room = await open(service);
    for (let tab = 0; tab < 9; tab++) await room.act('data', room.host, { data: tab, order: 5, tab: `t${tab}` });
    expect((await room.act('data', room.host, { data: 'late', order: 5, tab: 't1' })).body.replayed).toBe(true);
    expect((await room.act('data', room.host, { data: 'forgotten', order: 5, tab: 't0' })).body.replayed).toBeUndefined();
  });

  test.each([0, 1.5, -1, '1', 2 ** 53])('%j is refused', async (order) => {
    const room = await open(service);
    expect(statusAndField(await room.act('ready', room.host, { order, tab: 't' }))).toEqual([400, 'invalid_request', 'order']);
  });
});

describe('free JSON that cannot be kept', () => {
  const LONG = '9007199254740993';
  test.each([
    ['state', `"state":{"deep":[0,${LONG}]}`, 'state.deep.1'],
    ['state', `"state":${LONG}`, 'state'],
    ['state', '"merge":{"n":-1e400}', 'merge.n'],
    ['data', '"merge":{"t":"\\udc00\\ud800"}', 'merge.t'],
    ['message', `"data":[${LONG}]`, 'data.0'],
    ['private', `"seats":{"p1":{"hand":${LONG}}}`, 'seats.p1.hand'],
    ['settings', '"tags":{"mode":"\\ud800"}', 'tags.mode'],
    ['settings', '"tags":{"__proto__":"duel"}', 'tags.__proto__'],
    ['private', '"seats":{"__proto__":{},"p1":1}', 'seats.__proto__'],
  ])('%s with %s is refused by its path over HTTP and over the channel, and changes nothing', async (action, fields, path) => {
    const room = await open(service);
    const url = `${service.url}/v1/rooms/${room.code}/${action}`;
    const headers = { 'content-type': 'application/json' };
    const reply = await fetch(url, { method: 'POST', headers, body: `{"installId":"${room.host}",${fields}}` });
    const { error } = (await reply.json()) as { error: { code: string; field: string; issues: { path: string }[] } };
    expect([reply.status, error.code, error.field, error.issues.map((issue) => issue.path)]).toEqual([
      400,
      'invalid_request',
      path,
      [path],
    ]);
    const channel = await watchRoom(service, room.code);
    await channel.hello(room.host);
    await channel.until(({ type }) => type === 'welcome');
    channel.send(`{"type":"act","order":1,"tab":"a","action":"${action}",${fields}}`);
    const acted = await channel.until(({ type }) => type === 'acted');
    expect([acted['error'].code, acted['error'].field]).toEqual(['invalid_request', path]);
    const { state, tags, players } = await room.read();
    expect([state, tags, players[0].data]).toEqual([{}, {}, null]);
    await channel.close();
  });
});
