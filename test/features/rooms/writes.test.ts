import { describe, expect, test } from 'vitest';
import { signedOutKey } from '../../../src/accounts/account-keys.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { forFile, freshId, signIn, start, type TestReply, type TestService } from '../../harness.ts';
import { open, refusal, seated, watched } from './room.ts';

const service = await forFile(start());

const ofSize = (bytes: number): string => 'x'.repeat(bytes - 2);

/** Expects that the reply refuses this field. */
const expectInvalid = ({ status, body }: TestReply, field: string): void =>
  expect([status, body.error]).toMatchObject([400, { code: 'invalid_request', field }]);

describe('data', () => {
  test('is null at first, set by its own player, and shown to all; a merge is deep, null removes, and a list is replaced whole', async () => {
    const room = await open(service);
    const guest = await room.join('Bob');
    expect((await room.read()).players).toMatchObject([{ data: null }, { data: null }]);
    // `ifStateSeq` is of the state.
    const { body } = await room.act('data', guest, { data: { a: { b: 1, c: 2 }, list: [1, 2], big: 1e21 }, ifStateSeq: 99 });
    expect(body.you).toEqual({ playerId: 'p2', host: false });
    await room.act('data', guest, { merge: { a: { c: null, d: [] }, list: [3] } });
    const after = await room.read();
    expect(after.players.map(({ data }: { data: unknown }) => data)).toEqual([null, { a: { b: 1, d: [] }, list: [3], big: 1e21 }]);
    expect([after.seq, after.stateSeq]).toEqual([4, 1]);
  });

  test.each([
    [16, 1024],
    [64, 256],
  ])('in a room of %i seats may have %i bytes, and not one more, also by a merge', async (maxPlayers, limit) => {
    const room = await open(service, { maxPlayers });
    const fits = { a: ofSize(limit - '{"a":}'.length) };
    expect((await room.act('data', room.host, { data: fits })).status).toBe(200);
    expectInvalid(await room.act('data', room.host, { data: ofSize(limit + 1) }), 'data');
    expectInvalid(await room.act('data', room.host, { merge: { b: 1 } }), 'merge');
    for (const more of [{}, { data: 1, merge: {} }])
      expect(refusal(await room.act('data', room.host, more))).toEqual([400, 'invalid_request']);
    expect((await room.read()).players[0].data).toEqual(fits);
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
  test('of a room of players is written by every player, of a host by the host, and of a server by no player', async () => {
    const [ofPlayers, ofHost, ofServer] = await Promise.all(['players', 'host', 'server'].map((writers) => open(service, { writers })));
    const guest = await ofPlayers!.join();
    expect((await ofPlayers!.act('state', guest, { state: { by: 'guest' } })).status).toBe(200);
    expect((await ofPlayers!.act('state', guest, { merge: { also: [] } })).body.room.state).toEqual({ by: 'guest', also: [] });
    // It is not merged for a caller who may not write it.
    expect(refusal(await ofHost!.act('state', await ofHost!.join(), { merge: { a: ofSize(9000) } }))).toEqual([403, 'not_host']);
    for (const [action, more] of [
      ['state', { state: 1 }],
      ['state', { merge: {} }],
      ['private', { seats: {}, state: 1 }],
    ] as const)
      expect(refusal(await ofServer!.act(action, ofServer!.host, more))).toEqual([403, 'not_writer']);
    expect((await ofServer!.read()).state).toEqual({});
  });

  test('with an outdated ifStateSeq is stale_state, with the current state', async () => {
    const room = await open(service);
    expect((await room.act('state', room.host, { state: { n: 1 }, ifStateSeq: 1 })).body.room.stateSeq).toBe(2);
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
    expectInvalid(await room.act('state', room.host, { merge: { b: ofSize(5000) } }), 'merge');
    expect((await room.read()).seq).toBe(2);
  });
});

describe('private', () => {
  test('reaches its player alone: in answers, in the welcome and on the channel of another process', async () => {
    const room = await open(service);
    const [bob, cleo] = [await room.join('Bob'), await room.join('Cleo')];
    await using other = await start();
    const ofBob = await watched(other, room.code);
    const ofCleo = await watched(service, room.code);
    const nobody = await watched(service, room.code);
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
    const again = await watched(service, room.code);
    expect((await again.hello(bob)).you.private).toEqual(['ace-of-bob']);
    expect(JSON.stringify([nobody.messages, ofCleo.messages, await room.read()])).not.toContain('ace-of-bob');
  });

  // The notice that a session has ended reaches a process by Pub/Sub, which may lose it.
  test('does not reach a connection whose session has ended, whether its process knows or not', async () => {
    const room = await open(service);
    const bob = await room.join();
    const cookies = await signIn(service, bob);
    const watcher = await watched(service, room.code, '', { cookies });
    await watcher.until(({ type }) => type === 'welcome');
    const [{ id }] = (await service.get('/v1/sessions', { cookies })).body.sessions;
    await service.service.redis.set(signedOutKey(accountIdOf(bob), id), '0');
    await room.act('private', room.host, { seats: { p2: 'ace-of-bob' } });
    expect((await watcher.until(({ type }) => type === 'error' || type === 'you')).error?.code).toBe('session_required');
    expect(JSON.stringify(watcher.messages)).not.toContain('ace-of-bob');
  });

  test('is refused to a guest, for a seat that nobody has, and above 1 KiB a seat', async () => {
    const room = await open(service);
    const guest = await room.join();
    expect(refusal(await room.act('private', guest, { seats: { p2: 1 } }))).toEqual([403, 'not_host']);
    expectInvalid(await room.act('private', room.host, { seats: { p1: 1, p9: 1 } }), 'seats.p9');
    expectInvalid(await room.act('private', room.host, { seats: { p2: ofSize(1025) } }), 'seats.p2');
    expectInvalid(await room.act('private', room.host, {}), 'seats');
    expect((await room.read()).seq).toBe(2);
  });
});

// Scripts get player ids on lines and between blanks.
test('a text that is no player id is refused as a seat of private and as a receiver of a message', async () => {
  const room = await open(service);
  const guest = await room.join();
  for (const id of ['p1\n"forged"\np2', 'p1 p2', '', 'server']) {
    expectInvalid(await room.act('private', room.host, { seats: { [id]: 'x' } }), `seats.${id}`);
    if (id !== 'server') expectInvalid(await room.act('message', room.host, { data: 1, to: [id] }), 'to.0');
  }
  expect((await room.act('ready', guest)).body.you).toEqual({ playerId: 'p2', host: false });
});

describe('settings', () => {
  test('change the lobby, and those left out stay', async () => {
    const room = await open(service, { tags: { mode: 'duel' } });
    const { body } = await room.act('settings', room.host, { maxPlayers: 3, public: true, writers: 'players' });
    expect(body.room).toMatchObject({ minPlayers: 1, maxPlayers: 3, public: true, writers: 'players', tags: { mode: 'duel' } });
  });

  test('are refused by the field', async () => {
    const room = await open(service);
    await room.join();
    for (const [settings, field] of [
      [{ minPlayers: 9 }, 'minPlayers'],
      [{ maxPlayers: 1 }, 'maxPlayers'],
      [{}, 'public'],
      [{ tags: { Bad: 1 } }, 'tags.Bad'],
      [{ tags: { a: 'x'.repeat(65) } }, 'tags.a'],
      [{ writers: 'me' }, 'writers'],
    ] as const)
      expectInvalid(await room.act('settings', room.host, settings), field);
    expect((await room.read()).seq).toBe(2);
  });

  test('do not leave a player less data than it has, and change only in the lobby', async () => {
    const room = await open(service);
    await room.act('data', room.host, { data: ofSize(1000) });
    expectInvalid(await room.act('settings', room.host, { maxPlayers: 64 }), 'maxPlayers');
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

  test('is a whole number from 1', async () => {
    const room = await open(service);
    for (const order of [0, 1.5, -1, '1', 2 ** 53]) expectInvalid(await room.act('ready', room.host, { order, tab: 't' }), 'order');
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
    const { error } = (await reply.json()) as { error: object };
    expect([reply.status, error]).toMatchObject([400, { code: 'invalid_request', field: path, issues: [{ path }] }]);
    const channel = await seated(service, room, room.host);
    channel.send(`{"type":"act","order":1,"tab":"a","action":"${action}",${fields}}`);
    const acted = await channel.until(({ type }) => type === 'acted');
    expect(acted.error).toMatchObject({ code: 'invalid_request', field: path });
    const { state, tags, players } = await room.read();
    expect([state, tags, players[0].data]).toEqual([{}, {}, null]);
  });
});
