import { EventEmitter } from 'node:events';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { roomFeed } from '../../../src/features/rooms/feed.ts';
import { roomJson, type RoomFields } from '../../../src/features/rooms/record.ts';
import type { ScriptRunner } from '../../../src/redis/script-runner.ts';
import type { Subscriber } from '../../../src/redis/subscriber.ts';
import { Hub } from '../../../src/server/live/hub.ts';
import { seeded } from '../../seeded.ts';
import { sized } from '../../sized.ts';
import type { Topic } from '../../../src/server/live/topic.ts';
import { applyPatch } from './apply-patch.ts';
import { FakeWatcher } from '../../server/live/fake-watcher.ts';

class FakeSubscriber extends EventEmitter {
  hears = (): boolean => true;
  async subscribe(): Promise<void> {}
  async unsubscribe(): Promise<void> {}
  async ping(): Promise<void> {}
}

interface PatchMessage {
  readonly type: 'room' | 'patch';
  readonly seq: number;
  readonly room: unknown;
  readonly from: number;
  readonly ops: Parameters<typeof applyPatch>[1];
}

/** A model of a room in Redis: it changes like `settle` of `room.lua`, and answers like `read.lua`. */
class Redis {
  fields: RoomFields;
  readonly #random: () => number;
  #given = 1;

  constructor(random: () => number, createdAt: number) {
    this.#random = random;
    const at = String(createdAt);
    this.fields = new Map(
      Object.entries({
        ...{ code: 'BCDFG', phase: 'lobby', seq: '1', hostId: 'p1', players: 'p1', p1: record('Ann') },
        ...{ minPlayers: '1', maxPlayers: '8', locked: 'false', writers: 'host', public: 'false', tags: '{}' },
        ...{ state: '{}', stateSeq: '1', createdAt: at, updatedAt: at, expiresAt: String(createdAt + 7_200_000) },
      }),
    );
  }

  /** @returns the message that is published */
  change(now: number): string {
    const before = this.fields.get('updatedAt')!;
    const seq = String(Number(this.fields.get('seq')) + 1);
    const changed: [string, string][] = [
      ...this.#anything(seq),
      ['seq', seq],
      ['updatedAt', String(now)],
      ['expiresAt', String(now + 7_200_000)],
    ];
    const privateOf = changed.some(([name]) => name === 'privateSeq') ? '\nprivateOf\np1' : '';
    for (const [name, text] of changed) this.fields.set(name, text);
    const seated = new Set(this.fields.get('players')!.split(' '));
    for (const name of this.fields.keys()) if (/^p\d/.test(name) && !seated.has(name.split('.')[0]!)) this.fields.delete(name);
    return `${seq}\n${before}\n${changed.flat().join('\n')}${privateOf}`;
  }

  read(known: string): string[] {
    if (`${this.fields.get('seq')} ${this.fields.get('updatedAt')}` === known) return ['same', '0'];
    return ['found', '0', ...[...this.fields].flat()];
  }

  #anything(seq: string): [string, string][] {
    const ids = this.fields
      .get('players')!
      .split(' ')
      .filter((id) => id !== '');
    const id = ids[Math.floor(this.#random() * ids.length)];
    switch (Math.floor(this.#random() * 5)) {
      case 0: {
        const joining = `p${++this.#given}`;
        return [
          ['players', [...ids, joining].join(' ')],
          [joining, record('"\\\u2028 \n')],
        ];
      }
      case 1:
        return [['players', ids.filter((other) => other !== id).join(' ')]];
      case 2:
        return id === undefined ? [['locked', 'true']] : [[`${id}.data`, JSON.stringify({ at: seq, odd: 'privateOf\nupdatedAt\u2028' })]];
      case 3:
        return [['privateSeq', seq]];
      default:
        return [
          ['state', JSON.stringify(['players', '', seq])],
          ['stateSeq', seq],
        ];
    }
  }
}

const record = (name: string): string =>
  `"ready":false,"connected":false,"joinedAt":"2026-11-22T12:00:00.000Z","name":${JSON.stringify(name)}`;

/** A client that accepts patches. test/server/live/patched-lag.test.ts tests a socket that lags. */
class PatchedPlayer {
  watcher!: FakeWatcher;
  seq = 0;
  room: unknown;

  watch(topic: Topic): void {
    this.watcher = new FakeWatcher(topic, true);
    this.watcher.sendState = (message) => this.take(message);
    topic.hold();
    topic.add(this.watcher);
  }

  take(text: string): void {
    const { type, seq, room, from, ops } = JSON.parse(text) as PatchMessage;
    if (type === 'patch') expect(from).toBe(this.seq);
    expect(seq).toBeGreaterThan(this.seq);
    this.room = type === 'patch' ? applyPatch(this.room, ops) : room;
    this.seq = seq;
  }
}

let redis: Redis;
let hub: Hub;
let subscriber: FakeSubscriber;

beforeEach(() => {
  vi.useFakeTimers();
  subscriber = new FakeSubscriber();
});
afterEach(() => {
  hub.close();
  vi.useRealTimers();
});

async function watched(random: () => number) {
  redis = new Redis(random, Date.now());
  const scripts = {
    async run(_script: unknown, _keys: unknown, { known }: { known: string }) {
      // The read happens some time after its request, and the answer arrives some time later.
      await new Promise((resolve) => setTimeout(resolve, random() * 5));
      const answer = redis.read(known);
      await new Promise((resolve) => setTimeout(resolve, random() * 5));
      return answer;
    },
  } as unknown as ScriptRunner;
  const pushed: string[] = [];
  const player = new PatchedPlayer();
  hub = new Hub({
    publish(name, message) {
      if (!name.endsWith('#patches')) pushed.push(message);
      else if (player.watcher.isSubscribed) player.take(message);
    },
    subscriber: subscriber as unknown as Subscriber,
    log: pino({ level: 'silent' }),
    now: Date.now,
  });
  const opening = hub.watch(roomFeed(scripts), 'BCDFG');
  await vi.advanceTimersByTimeAsync(20);
  const topic = (await opening)!;
  const watcher = new FakeWatcher(topic);
  topic.add(watcher);
  topic.name(watcher, 'p1');
  player.watch(topic);
  return { topic, watcher, pushed, player };
}

const hear = (message: string): void => void subscriber.emit('message', '{room:BCDFG}', message);
const stateOf = (fields: RoomFields): string => `{"type":"room","seq":${fields.get('seq')},"room":${roomJson(fields)}}`;

describe('the fields that a process keeps of a room', () => {
  test.each(Array.from({ length: sized(10, 40) }, (_, seed) => seed))(
    'are those of Redis in the end, or their watchers start again, whatever becomes of the messages (%i)',
    async (seed) => {
      const random = seeded(seed);
      const { topic, watcher, pushed, player } = await watched(random);
      for (let step = 0; step < 200 && watcher.ended === undefined; step++) {
        // Clocks of processes differ, and may be set back.
        const message = redis.change(Date.now() + Math.floor(random() * 2000) - 1000);
        const fate = random();
        if (fate < 0.1) continue;
        if (fate < 0.2) setTimeout(() => hear(message), random() * 30);
        else hear(message);
        if (fate > 0.9) hear(message);
        if (random() < 0.3) await vi.advanceTimersByTimeAsync(random() * 20);
      }
      await vi.advanceTimersByTimeAsync(10_000);
      if (watcher.ended === undefined) expect(topic.message).toBe(stateOf(redis.fields));
      const seqs = pushed.map((message) => Number(/^{"type":"room","seq":(\d+)/.exec(message)![1]));
      expect(seqs).toEqual([...new Set(seqs)].toSorted((one, other) => one - other));
      for (const message of pushed) JSON.parse(message);
      expect(watcher.ended).toBeUndefined();
      expect({ type: 'room', seq: player.seq, room: player.room }).toEqual(JSON.parse(stateOf(redis.fields)));
    },
  );

  test.each(Array.from({ length: sized(10, 40) }, (_, seed) => seed))(
    'are those of Redis after a failover too, or their watchers start again (%i)',
    async (seed) => {
      const random = seeded(seed + 1000);
      const { topic, watcher } = await watched(random);
      for (let step = 0; step < 20; step++) hear(redis.change(Date.now() + step));
      await vi.advanceTimersByTimeAsync(1000);
      const replica = new Map(redis.fields);
      for (let step = 0; step < 1 + random() * 3; step++) hear(redis.change(Date.now() + step));
      await vi.advanceTimersByTimeAsync(1000);
      redis.fields = replica;
      for (let step = 0; step < random() * 6; step++) {
        const message = redis.change(Date.now() + step);
        if (random() < 0.5) hear(message);
      }
      await vi.advanceTimersByTimeAsync(10_000);
      if (watcher.ended === undefined) expect(topic.message).toBe(stateOf(redis.fields));
      else expect(watcher.ended).toBe(4009);
    },
  );
});

test('a room that got the code of an expired one is shown to none of its watchers', async () => {
  const { topic, watcher } = await watched(seeded(1));
  hear(redis.change(Date.now()));
  await vi.advanceTimersByTimeAsync(100);
  redis = new Redis(seeded(2), Date.now());
  for (let step = 0; step < 10; step++) redis.change(Date.now());
  hear(redis.change(Date.now()));
  await vi.advanceTimersByTimeAsync(10_000);
  expect([watcher.ended, topic.isKnown]).toEqual([4500, false]);
});

test('a private part is read again if a failover may have put another hand at the same seq', async () => {
  const { watcher } = await watched(seeded(3));
  const deal = (): string => {
    const [seq, before] = [String(Number(redis.fields.get('seq')) + 1), redis.fields.get('updatedAt')!];
    const at = String(Date.now());
    for (const [name, text] of [
      ['privateSeq', seq],
      ['seq', seq],
      ['updatedAt', at],
    ] as const)
      redis.fields.set(name, text);
    return `${seq}\n${before}\nprivateSeq\n${seq}\nseq\n${seq}\nupdatedAt\n${at}\nprivateOf\np1`;
  };
  const replica = new Map(redis.fields);
  hear(deal());
  expect(watcher.privateChanges).toBe(1);
  await vi.advanceTimersByTimeAsync(100);
  // Both messages of the new primary are lost. The next comparison finds their changes.
  redis.fields = replica;
  deal();
  redis.change(Date.now());
  await vi.advanceTimersByTimeAsync(5000);
  expect([watcher.privateChanges, watcher.ended]).toEqual([2, undefined]);
});
