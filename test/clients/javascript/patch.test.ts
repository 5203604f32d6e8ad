import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { WebSocket as WsSocket } from 'ws';
import type { Room } from '../../../src/clients/javascript/client.ts';
import { freeze, patched, type Operation } from '../../../src/clients/javascript/patch.ts';
import type { Message, SocketClass } from '../../../src/clients/javascript/watched.ts';
import { randomPatches } from '../../features/rooms/random-patches.ts';
import { forFile, start } from '../../harness.ts';
import { twoPlayers } from './played.ts';

const service = await forFile(start());

/** The value after operations on its members. */
const after = (value: object, ...ops: Operation[]): unknown => patched(value, { from: undefined, ops });

describe('a patch', () => {
  test.each<[string, Operation]>([
    ['replaces a member that is not there', { op: 'replace', path: '/b', value: 1 }],
    ['removes a member that is not there', { op: 'remove', path: '/toString' }],
    ['goes through a member that is not there', { op: 'add', path: '/b/c', value: 1 }],
    ['goes through what every object inherits', { op: 'add', path: '/__proto__/polluted', value: 1 }],
    ['goes through the constructor', { op: 'add', path: '/constructor/prototype/polluted', value: 1 }],
    ['replaces beyond the end of a list', { op: 'replace', path: '/list/1', value: 1 }],
    ['goes through a value', { op: 'replace', path: '/a/0', value: 1 }],
  ])('that %s does not fit', (_, operation) => {
    expect(() => after({ a: 1, list: [0] }, operation)).toThrow();
    expect(({} as { polluted?: 1 }).polluted).toBeUndefined();
  });

  test('sets a member with the name __proto__, and changes no prototype', () => {
    const value = after({ state: {} }, { op: 'add', path: '/state/__proto__', value: { a: 1 } }) as { state: object };
    expect(Object.getOwnPropertyNames(value.state)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(value.state)).toBe(Object.prototype);
    const changed = after(value, { op: 'replace', path: '/state/__proto__/a', value: 2 });
    expect(JSON.stringify(changed)).toBe('{"state":{"__proto__":{"a":2}}}');
    expect(JSON.stringify(after(value, { op: 'remove', path: '/state/__proto__' }))).toBe('{"state":{}}');
    expect(JSON.stringify(value)).toBe('{"state":{"__proto__":{"a":1}}}');
  });

  test('copies changed parts, and shares the rest with the room before', () => {
    const before = { state: { deck: [1], log: ['a'] }, players: [{ id: 'p1' }, { id: 'p2', data: null }] };
    const now = after(before, { op: 'add', path: '/state/log/1', value: 'b' }, { op: 'replace', path: '/players/1/data', value: 1 });
    expect(before).toEqual({ state: { deck: [1], log: ['a'] }, players: [{ id: 'p1' }, { id: 'p2', data: null }] });
    expect(now).toEqual({ state: { deck: [1], log: ['a', 'b'] }, players: [{ id: 'p1' }, { id: 'p2', data: 1 }] });
    expect((now as typeof before).state.deck).toBe(before.state.deck);
    expect((now as typeof before).players[0]).toBe(before.players[0]);
  });
});

test('patches of random changes result in exactly the whole room, and do not change earlier rooms', () => {
  let room: unknown;
  let from: number | undefined;
  for (const { ops, room: whole } of randomPatches(11)) {
    room = ops === undefined ? structuredClone(whole) : patched(room, { from, ops });
    from = whole.seq;
    // `expect` takes thirty times as long, which matters for a million changes.
    if (!isDeepStrictEqual(room, whole)) expect(room).toEqual(whole);
    // A write to it throws from now on.
    freeze(room);
  }
});

/** WebSockets that record the messages that they receive. */
function recording() {
  const received: Message[] = [];
  const urls: string[] = [];
  class Recording extends WsSocket {
    constructor(url: string) {
      super(url);
      urls.push(url);
      this.on('message', (data) => received.push(JSON.parse(String(data)) as Message));
    }
  }
  return { received, urls, WebSocket: Recording as SocketClass };
}

describe('a room', () => {
  test('with a playing client arrives as patches, and equals the room of the service after every change', async () => {
    const { received, urls, WebSocket } = recording();
    using table = await twoPlayers(service, { writers: 'players', state: { board: 'x'.repeat(2000) } }, { WebSocket });
    const { ada, bob } = table;
    const rooms: [unknown, string][] = [];
    for (const room of [ada, bob]) room.on('change', (each) => rooms.push([each, JSON.stringify(each)]));
    await expect.poll(() => [ada, bob].every(({ players }) => players.filter((each) => each.connected).length === 2)).toBe(true);
    const wholeAtFirst = received.filter(({ type }) => type === 'room').length;
    for (let n = 0; n < 10; n++) {
      await ada.merge({ x: n, list: [n, 'é"'] });
      await bob.mergeState({ [`m${n % 3}`]: { n }, [`m${(n + 1) % 3}`]: null });
    }
    await expect.poll(() => [ada.room, bob.room].map((room) => room?.seq)).toEqual(Array(2).fill((await readRoom(table.code)).seq));
    const whole = await readRoom(table.code);
    expect([ada.room, bob.room]).toEqual([whole, whole]);
    expect(received.filter(({ type }) => type === 'room').length).toBe(wholeAtFirst);
    expect(received.filter(({ type }) => type === 'patch').length).toBeGreaterThan(10);
    expect(urls.every((url) => url.endsWith('/live?patch=1'))).toBe(true);
    // A room that a listener kept is unchanged.
    expect(rooms.map(([room]) => JSON.stringify(room))).toEqual(rooms.map(([, text]) => text));
  });

  async function readRoom(code: string): Promise<Room> {
    return (await service.get(`/v1/rooms/${code}`)).body.room as Room;
  }
});
