import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { playRoom } from '../../src/client/rooms.ts';
import { forFile, freshId, start } from '../harness.ts';
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
    await expect.poll(() => ada.players[1]?.data).toEqual({ x: 3 });
  });
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
  const [, sample] = /```js\n([\s\S]*?)```/.exec(readFileSync(new URL('../../README.md', import.meta.url), 'utf8'))!;
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
