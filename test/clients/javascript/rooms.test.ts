import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { playRoom } from '../../../src/clients/javascript/rooms.ts';
import { forFile, freshId, start } from '../../harness.ts';
import { player } from './player.ts';
import { openRoom, seat, twoPlayers } from './played.ts';
import { issue } from './sandbox.ts';

const service = await forFile(start({ settings: { STORE: 'sandbox' } }));

describe('a room with two players', () => {
  test('shows own data, the state, and the lobby to both', async () => {
    using table = await twoPlayers(service, { writers: 'players' });
    const { ada, bob } = table;
    expect(await ada.set({ x: 1 })).toMatchObject({ ok: true });
    expect(await bob.merge({ y: 2 })).toMatchObject({ ok: true });
    expect(await bob.mergeState({ board: { a1: 'x' } })).toMatchObject({ ok: true });
    expect(await ada.mergeState({ board: { b2: 'o' } })).toMatchObject({ ok: true });
    expect(await ada.act('start')).toMatchObject({ ok: true });
    await expect.poll(() => bob.room?.phase).toBe('playing');
    expect(bob.state).toEqual({ board: { a1: 'x', b2: 'o' } });
    expect(bob.players.map(({ id, name, data }) => [id, name, data])).toEqual([
      ['p1', 'Ada', { x: 1 }],
      ['p2', 'Bob', { y: 2 }],
    ]);
    expect([ada.me?.id, bob.me?.id, bob.me?.data]).toEqual(['p1', 'p2', { y: 2 }]);
    expect(ada.unanswered).toBe(0);
  });

  test('shows an act at once, and reverts it if the service refuses it', async () => {
    using table = await twoPlayers(service);
    const { ada, bob } = table;
    await expect.poll(() => bob.me?.id).toBe('p2');
    const refused: string[] = [];
    bob.on('refused', ({ code }, { action }) => refused.push(`${action} ${code}`));
    const changing = bob.setState({ mine: true });
    const setting = bob.set({ x: 3 });
    await Promise.resolve();
    expect([bob.state, bob.me?.data]).toEqual([{ mine: true }, { x: 3 }]);
    expect(await changing).toMatchObject({ ok: false, error: { code: 'not_host' } });
    expect(await setting).toMatchObject({ ok: true });
    expect([bob.state, bob.me?.data, refused]).toEqual([{}, { x: 3 }, ['state not_host']]);
    expect([await ada.act('kick', { playerId: 'p9' }), table.clients[0].warnings]).toMatchObject([
      { error: { code: 'invalid_request' } },
      ['kick was refused: playerId: Must be another player in the room (invalid_request)'],
    ]);
    expect(table.clients[1].warnings).toEqual([]);
    await expect.poll(() => ada.players[1]?.data).toEqual({ x: 3 });
  });
});

describe('the events of a room', () => {
  test.each([{ WebSocket }, { WebSocket: null }])('tell of a room that does not exist as of an error', async (options) => {
    using ada = player(service.url, options);
    const errors: object[] = [];
    const room = playRoom(ada, 'BBBBB');
    room.on('error', (error) => errors.push(error));
    await room.ended;
    expect(errors).toEqual([{ code: 'room_not_found', message: 'This room does not exist.' }]);
  });

  test('hand over what a game draws with, the own player included, also to a listener that comes late', async () => {
    using table = await twoPlayers(service);
    const { ada, bob } = table;
    const early: unknown[] = [];
    bob.on('change', ({ me }) => early.push(me?.private));
    expect(early).toEqual([]);
    await ada.deal({ p2: 'hand' }, { state: { round: 1 } });
    await expect.poll(() => early.at(-1)).toBe('hand');
    const late: unknown[] = [];
    const stop = bob.on('change', ({ state, players, phase, me }) => late.push([state, players.length, phase, me?.id, me?.private]));
    expect(late).toEqual([[{ round: 1 }, 2, 'lobby', 'p2', 'hand']]);
    stop();
    await bob.set(1);
    expect(late).toHaveLength(1);
  });

  test('do not report the own leave as an error, and say in a sentence why a seat is lost', async () => {
    using table = await twoPlayers(service);
    const { ada, bob } = table;
    const errors: unknown[] = [];
    for (const room of [ada, bob]) room.on('error', (error) => errors.push(error));
    await expect.poll(() => [ada.me?.id, bob.me?.id]).toEqual(['p1', 'p2']);
    await ada.act('kick', { playerId: 'p2' });
    await expect.poll(() => errors).toEqual([{ code: 'not_in_room', message: expect.stringContaining('no seat in this room any more') }]);
    expect(await ada.act('leave')).toMatchObject({ ok: true });
    expect(await ada.ended).toEqual({ code: 'finished' });
    expect(errors).toHaveLength(1);
  });

  test('tell the same time on all pages', async () => {
    using table = await twoPlayers(service);
    const { ada, bob } = table;
    await expect.poll(() => [ada.me?.id, bob.me?.id]).toEqual(['p1', 'p2']);
    service.advance(3_600_000);
    // Bob connects again, to a service whose clock is an hour ahead.
    const again = playRoom(table.clients[1], table.code);
    await expect.poll(() => again.me?.id).toBe('p2');
    expect(again.now() - ada.now()).toBeGreaterThan(3_590_000);
    expect(Math.abs(again.now() - service.now())).toBeLessThan(60_000);
    service.advance(-3_600_000);
  });

  test('name the receivers who miss a message', async () => {
    using table = await twoPlayers(service);
    const { ada, bob } = table;
    await expect.poll(() => [ada.me?.id, bob.me?.id]).toEqual(['p1', 'p2']);
    const first = await ada.send('hi');
    expect(first).toEqual({ ok: true, seq: expect.any(Number) });
    bob.close();
    await expect.poll(() => ada.players[1]?.connected).toBe(false);
    expect(await ada.send('hi', ['p2', 'server'])).toMatchObject({ ok: true, away: ['p2', 'server'] });
  });
});

describe('one page', () => {
  test('plays in several rooms at once, each with its own acts and seat', async () => {
    using ada = player(service.url);
    using bob = player(service.url);
    const codes = [await openRoom(ada), await openRoom(ada), await openRoom(bob)] as const;
    await seat(ada, codes[2]);
    const rooms = codes.map((code) => playRoom(ada, code));
    const results = await Promise.all(rooms.flatMap((room, n) => [room.set(n), room.send(n), room.merge({ n })]));
    expect(results.filter(({ ok }) => !ok)).toEqual([]);
    expect(rooms.map(({ me }) => [me?.id, me?.data])).toEqual([
      ['p1', { n: 0 }],
      ['p1', { n: 1 }],
      ['p2', { n: 2 }],
    ]);
    await rooms[0]!.act('end');
    expect(await rooms[1]!.set('goes on')).toMatchObject({ ok: true });
  });

  test('watches a room and then takes a seat in it, on the same connection', async () => {
    using ada = player(service.url);
    using bob = player(service.url);
    const code = await openRoom(ada);
    const [playing, watching] = [playRoom(ada, code), playRoom(bob, code)];
    const [heard, errors]: [unknown[], string[]] = [[], []];
    watching.on('message', ({ data }) => heard.push(data));
    watching.on('error', ({ code: why }) => errors.push(why));
    await expect.poll(() => errors).toEqual(['not_in_room']);
    await playing.setState({ round: 1 });
    await playing.send('for all');
    await expect.poll(() => [watching.state, heard, watching.me]).toEqual([{ round: 1 }, ['for all'], undefined]);
    await seat(bob, code);
    await expect.poll(() => watching.me?.connected).toBe(true);
    expect(await watching.set('sits')).toMatchObject({ ok: true });
    // It gives the seat up, and watches again.
    expect(await watching.act('leave')).toMatchObject({ ok: true });
    await playing.setState({ round: 2 });
    await expect.poll(() => [watching.state, watching.me]).toEqual([{ round: 2 }, undefined]);
    expect(errors).toEqual(['not_in_room']);
  });
});

test('a seat continues on another device of the same account, and each act of both devices is done once', async () => {
  const user = freshId('user');
  using phone = player(service.url, { installId: undefined });
  using desk = player(service.url, { installId: undefined });
  for (const device of [phone, desk]) await device.store.provision({ token: await issue(service, user) });
  const code = await openRoom(phone);
  const first = playRoom(phone, code);
  await first.deal({ p1: 'hand' });
  await first.set({ from: 'phone' });
  const second = playRoom(desk, code);
  await expect.poll(() => [second.me?.private, second.me?.data]).toEqual(['hand', { from: 'phone' }]);
  await Promise.all([first.merge({ a: 1 }), second.merge({ b: 1 })]);
  first.close();
  expect(await second.merge({ from: 'desk' })).toMatchObject({ ok: true });
  await expect.poll(() => second.me).toMatchObject({ id: 'p1', connected: true, data: { a: 1, b: 1, from: 'desk' } });
});

describe('a seat', () => {
  test('refuses acts before its player joins, and accepts them after the join', async () => {
    using ada = player(service.url);
    using bob = player(service.url);
    const code = await openRoom(ada);
    const room = playRoom(bob, code);
    const errors: string[] = [];
    room.on('error', ({ code: why }) => errors.push(why));
    expect(await room.set(1)).toMatchObject({ ok: false, error: { code: 'not_in_room' } });
    expect([errors, room.me]).toEqual([['not_in_room'], undefined]);
    await seat(bob, code);
    await expect.poll(() => room.me?.name).toBe('Bob');
    expect(await room.set(1)).toMatchObject({ ok: true });
  });

  test('reports that its player was kicked, and refuses later acts', async () => {
    using table = await twoPlayers(service);
    const { ada, bob } = table;
    const errors: string[] = [];
    bob.on('error', ({ code }) => errors.push(code));
    await expect.poll(() => bob.me?.id).toBe('p2');
    expect(await ada.act('kick', { playerId: 'p2' })).toMatchObject({ ok: true });
    await expect.poll(() => [bob.me, errors]).toEqual([undefined, ['not_in_room']]);
    expect(await bob.set(1)).toMatchObject({ ok: false, error: { code: 'not_in_room' } });
    expect(ada.players).toHaveLength(1);
  });

  test('stays the same when the guest signs in, and its acts continue', async () => {
    using table = await twoPlayers(service, {}, { installId: undefined });
    const { ada, bob, clients } = table;
    expect(await bob.set(1)).toMatchObject({ ok: true });
    const provisioned = clients[1].store.provision({ token: await issue(service, freshId('user')) });
    const during = [2, 3, 4].map((n) => bob.set(n));
    expect(await provisioned).toMatchObject({ moved: true });
    expect(await bob.set(5)).toMatchObject({ ok: true });
    expect((await Promise.all(during)).filter(({ ok }) => !ok)).toEqual([]);
    await expect.poll(() => ada.players[1]?.data).toBe(5);
    expect(bob.me?.id).toBe('p2');
  });

  test('is lost with the session: the new caller does not send the acts of the old caller', async () => {
    using ada = player(service.url);
    using bob = player(service.url, { installId: undefined });
    const code = await openRoom(ada);
    await bob.store.provision({ token: await issue(service, freshId('one')) });
    await seat(bob, code, 'One');
    const room = playRoom(bob, code);
    expect(await room.set('of one')).toMatchObject({ ok: true });
    await bob.sessions.logout();
    const held = room.set('held');
    await bob.store.provision({ token: await issue(service, freshId('two')) });
    await seat(bob, code, 'Two');
    expect(await held).toMatchObject({ ok: false, error: { code: 'not_in_room' } });
    await expect.poll(() => room.me?.name).toBe('Two');
    expect(await room.set('of two')).toMatchObject({ ok: true });
    await expect.poll(() => room.players.map(({ data }) => data)).toEqual([null, 'of one', 'of two']);
  });
});

describe('a room that has ended', () => {
  test('answers the act that ended it, and accepts a rematch', async () => {
    using table = await twoPlayers(service);
    const { ada, bob } = table;
    await expect.poll(() => bob.me?.id).toBe('p2');
    expect(await ada.act('end')).toMatchObject({ ok: true });
    expect(await bob.ended).toEqual({ code: 'finished' });
    expect(bob.room?.phase).toBe('ended');
    expect(await bob.set(1)).toMatchObject({ ok: false, error: { code: 'room_ended' } });
    expect(await ada.act('rematch')).toMatchObject({ ok: true });
    expect(ada.room?.nextCode).toMatch(/^[A-Z]{5}$/);
  });
});

test('without WebSockets the client sends acts by HTTP in their order', async () => {
  using table = await twoPlayers(service, { writers: 'players' }, { WebSocket: null });
  const { ada, bob } = table;
  const results = await Promise.all([ada.mergeState({ a: 1 }), bob.mergeState({ b: 1 }), ada.set(1), ada.set(2), ada.send('hi')]);
  expect(results.filter(({ ok }) => !ok)).toEqual([]);
  await expect.poll(() => bob.state).toEqual({ a: 1, b: 1 });
  await expect.poll(() => bob.players[0]?.data).toBe(2);
  expect([ada.me?.id, bob.me?.id]).toEqual(['p1', 'p2']);
});

test('a room that the client closes aborts its acts and leaves no timer', async () => {
  const table = await twoPlayers(service);
  const setting = table.ada.set(1);
  table.ada.close();
  expect(await setting).toMatchObject({ ok: false, error: { code: 'aborted' } });
  expect(await table.ada.set(2)).toMatchObject({ ok: false, error: { code: 'aborted' } });
  table[Symbol.dispose]();
});

test('the sample at the top of the README does what it says', async () => {
  const [, sample] = /```js\n([\s\S]*?)```/.exec(readFileSync(new URL('../../../README.md', import.meta.url), 'utf8'))!;
  using ada = player(service.url);
  using bob = player(service.url);
  const code = await openRoom(ada);
  await seat(bob, code);
  const other = playRoom(bob, code);
  const heard: unknown[] = [];
  other.on('message', (message) => heard.push(message.data));
  await expect.poll(() => other.me?.id).toBe('p2');
  const drawn: unknown[] = [];
  const run = new Function('playRoom', 'client', 'code', 'draw', 'say', sample!) as (...given: unknown[]) => void;
  run(
    playRoom,
    ada,
    code,
    (players: unknown, state: unknown) => drawn.push(state),
    () => {},
  );
  await expect
    .poll(() => [other.state, heard, other.players[0]?.data, other.me?.private, drawn.at(-1)])
    .toEqual([{ board: { e4: 'pawn' } }, [{ text: 'your turn' }], { x: 3, y: 4 }, ['ace'], { board: { e4: 'pawn' } }]);
});
