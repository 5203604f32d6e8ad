import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { patchOps } from '../../../src/features/rooms/patch.ts';
import { leastLengthOf, playerRecord, roomJson, type RoomFields } from '../../../src/features/rooms/record.ts';
import { start, type TestService } from '../../harness.ts';
import { Watcher, type Message } from '../../realtime/watcher.ts';
import { seeded } from '../../seeded.ts';
import { applyPatch } from './apply-patch.ts';
import { open } from './room.ts';

const CHANGES = Number(process.env['PATCH_CHANGES'] ?? 4000);

/** A room and what may happen to it, at random. */
class AnyRoom {
  readonly fields: RoomFields = new Map(
    Object.entries({
      ...{ code: 'BCDFG', phase: 'lobby', seq: '1', hostId: 'p1', players: 'p1', minPlayers: '1', maxPlayers: '8', locked: 'false' },
      ...{ writers: 'host', public: 'false', tags: '{}', state: '{}', stateSeq: '1', p1: playerRecord('Ada', '2026-11-23T00:00:00.000Z') },
      ...{ createdAt: '1700000000000', updatedAt: '1700000000000', expiresAt: '1700007200000' },
    }),
  );
  #given = 1;
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count);
  }

  #value(depth = 0): unknown {
    const kinds = [1, 'é"\\\u2028', true, null, -0.5, [], {}] as const;
    if (depth > 3 || this.#random() < 0.5) return kinds[this.#below(kinds.length)];
    if (this.#random() < 0.5) return Array.from({ length: this.#below(5) }, () => this.#value(depth + 1));
    const names = ['a', 'b/c', 'd~e', '', '__proto__', 'constructor', '0'];
    return Object.fromEntries(Array.from({ length: this.#below(5) }, () => [names[this.#below(names.length)], this.#value(depth + 1)]));
  }

  get #ids(): string[] {
    return this.fields.get('players')!.split(' ').filter(Boolean);
  }

  change(): void {
    const { fields } = this;
    const id = this.#ids[this.#below(this.#ids.length)];
    const kinds = [
      () => fields.set('state', JSON.stringify(this.#value())),
      () => id && fields.set(`${id}.data`, JSON.stringify(this.#value())),
      () =>
        id &&
        fields.set(id, playerRecord(`Player ${this.#below(3)}`, '2026-11-23T00:00:00.000Z').replace('false', String(this.#random() < 0.5))),
      () => id && fields.set('hostId', id),
      () => fields.set('tags', JSON.stringify({ mode: this.#below(3) })),
      () => fields.set('startedAt', String(1_700_000_000_000 + this.#below(9))),
      () => {
        if (this.#ids.length === 8) return;
        const joined = `p${++this.#given}`;
        fields.set('players', [...this.#ids, joined].join(' ')).set(joined, playerRecord('New', '2026-11-23T00:00:00.000Z'));
      },
      () => {
        if (id === undefined) return;
        fields.set('players', this.#ids.filter((each) => each !== id).join(' '));
        for (const name of [id, `${id}.data`]) fields.delete(name);
      },
    ];
    kinds[this.#below(kinds.length)]!();
    fields.set('seq', String(Number(fields.get('seq')) + 1));
  }
}

test('patches of random changes, one or several at a time, give the whole room exactly', () => {
  const random = seeded(7);
  const any = new AnyRoom(random);
  let copy: unknown = JSON.parse(roomJson(any.fields));
  for (let changes = 0; changes < CHANGES;) {
    const before = new Map(any.fields);
    const count = 1 + Math.floor(random() * 3);
    for (let index = 0; index < count; index++) any.change();
    changes += count;
    const changed = [...new Set([...before.keys(), ...any.fields.keys()])].filter((name) => before.get(name) !== any.fields.get(name));
    const ops = JSON.parse(patchOps(new Map(changed.map((name) => [name, before.get(name)])), any.fields)) as never[];
    copy = applyPatch(copy, ops);
    const text = roomJson(any.fields);
    // `expect` takes thirty times as long, which matters for a million changes.
    if (!isDeepStrictEqual(copy, JSON.parse(text))) expect(copy).toEqual(JSON.parse(text));
    if (leastLengthOf(any.fields) > text.length) expect(leastLengthOf(any.fields)).toBeLessThanOrEqual(text.length);
  }
});

describe('a channel with patch=1', () => {
  let service: TestService;
  beforeAll(async () => void (service = await start()));
  afterAll(() => service[Symbol.asyncDispose]());

  /** The rooms that a watcher has, one after the other. */
  function roomsOf(messages: readonly Message[]): unknown[] {
    const rooms: unknown[] = [];
    for (const message of messages) {
      if (message.type === 'room') rooms.push(message.room);
      if (message.type !== 'patch') continue;
      const last = rooms.at(-1) as { seq: number };
      expect(message.from).toBe(last.seq);
      rooms.push(applyPatch(structuredClone(last), message.ops));
    }
    return rooms;
  }

  test('sends the whole room at first, and then what changed', async () => {
    const room = await open(service, { state: { board: 'x'.repeat(4000), n: 0 } });
    const patched = await Watcher.open(service.url, `/v1/rooms/${room.code}/live?patch=1`);
    const whole = await Watcher.open(service.url, `/v1/rooms/${room.code}/live`);
    await patched.until(({ type }) => type === 'room');
    for (let n = 1; n <= 5; n++) {
      const { seq } = (await room.act('state', room.host, { merge: { n } })).body.room;
      await patched.until((message) => message.seq >= seq);
      await whole.reaches(seq);
    }
    expect(patched.messages.map(({ type }) => type)).toEqual(['room', 'patch', 'patch', 'patch', 'patch', 'patch']);
    expect(patched.messages[1].ops).toContainEqual({ op: 'replace', path: '/state/n', value: 1 });
    expect(roomsOf(patched.messages).at(-1)).toEqual(whole.last.room);
    expect(Math.max(...patched.messages.slice(1).map((message) => JSON.stringify(message).length))).toBeLessThan(450);
    const joined = await Watcher.open(service.url, `/v1/rooms/${room.code}/live?patch=1`);
    expect((await joined.until(({ type }) => type === 'room')).room).toEqual(whole.last.room);
    await room.join();
    await joined.until(({ type }) => type === 'patch');
    expect(roomsOf(joined.messages).at(-1)).toEqual(await room.read());
    for (const watcher of [patched, whole, joined]) await watcher.close();
  });

  test('sends the whole room where the change is more than half of it', async () => {
    const room = await open(service);
    const patched = await Watcher.open(service.url, `/v1/rooms/${room.code}/live?patch=1`);
    await room.act('state', room.host, { state: 'y'.repeat(4000) });
    await patched.until(({ type, seq }) => type === 'room' && seq === 2);
    expect(patched.messages.map(({ type }) => type)).toEqual(['room', 'room']);
    await patched.close();
  });

  test('keeps up with a burst, and ends with the last room', async () => {
    const room = await open(service, { state: { board: 'x'.repeat(2000), n: 0 } });
    const patched = await Watcher.open(service.url, `/v1/rooms/${room.code}/live?patch=1`);
    await Promise.all(Array.from({ length: 100 }, (_, n) => room.act('state', room.host, { merge: { [`k${n}`]: n } })));
    const last = await room.read();
    await patched.until(({ seq }) => seq === last.seq);
    expect(roomsOf(patched.messages).at(-1)).toEqual(last);
    await patched.close();
  });
});
