import { EventEmitter } from 'node:events';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { roomFeed } from '../../../src/features/rooms/feed.ts';
import { roomJson, type RoomFields } from '../../../src/features/rooms/record.ts';
import type { ScriptRunner } from '../../../src/redis/script-runner.ts';
import type { Subscriber } from '../../../src/redis/subscriber.ts';
import { WatchedTopics } from '../../../src/server/live/watched-topics.ts';
import { seeded } from '../../seeded.ts';
import { sized } from '../../sized.ts';
import type { Topic } from '../../../src/server/live/topic.ts';
import { applyPatch } from './apply-patch.ts';
import { AnyRoom } from './random-patches.ts';
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
  readonly fields: RoomFields;
  readonly #random: () => number;
  readonly #room: AnyRoom;

  constructor(random: () => number, createdAt: number) {
    this.#random = random;
    this.#room = new AnyRoom(random);
    this.fields = this.#room.fields;
    for (const name of ['createdAt', 'updatedAt']) this.fields.set(name, String(createdAt));
    this.fields.set('expiresAt', String(createdAt + 7_200_000));
  }

  /** Takes the fields back to an earlier state. */
  goBack(fields: RoomFields): void {
    this.fields.clear();
    for (const [name, text] of fields) this.fields.set(name, text);
  }

  /** @returns the message that is published */
  change(now: number, isPrivate = this.#random() < 0.2): string {
    const before = new Map(this.fields);
    this.#room.change();
    const seq = this.fields.get('seq')!;
    if (isPrivate) this.fields.set('privateSeq', seq);
    this.fields.set('updatedAt', String(now)).set('expiresAt', String(now + 7_200_000));
    const changed = [...this.fields].filter(([name, text]) => text !== before.get(name));
    return `${seq}\n${before.get('updatedAt')}\n${changed.flat().join('\n')}${isPrivate ? '\nprivateOf\np1' : ''}`;
  }

  read(known: string): string[] {
    if (`${this.fields.get('seq')} ${this.fields.get('updatedAt')}` === known) return ['same', '0'];
    return ['found', '0', ...[...this.fields].flat()];
  }
}

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
let topics: WatchedTopics;
let subscriber: FakeSubscriber;

beforeEach(() => {
  vi.useFakeTimers();
  subscriber = new FakeSubscriber();
});
afterEach(() => {
  topics.close();
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
  topics = new WatchedTopics({
    publish(name, message) {
      if (!name.endsWith('#patches')) pushed.push(message);
      else if (player.watcher.isSubscribed) player.take(message);
    },
    subscriber: subscriber as unknown as Subscriber,
    log: pino({ level: 'silent' }),
    now: Date.now,
  });
  const opening = topics.watch(roomFeed(scripts), 'BCDFG');
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
      const { topic, watcher, player } = await watched(random);
      for (let step = 0; step < 20; step++) hear(redis.change(Date.now() + step));
      await vi.advanceTimersByTimeAsync(1000);
      const replica = new Map(redis.fields);
      for (let step = 0; step < 1 + random() * 3; step++) hear(redis.change(Date.now() + step));
      await vi.advanceTimersByTimeAsync(1000);
      redis.goBack(replica);
      for (let step = 0; step < random() * 6; step++) {
        const message = redis.change(Date.now() + step);
        if (random() < 0.5) hear(message);
      }
      await vi.advanceTimersByTimeAsync(10_000);
      if (watcher.ended !== undefined) return void expect(watcher.ended).toBe(4009);
      expect(topic.message).toBe(stateOf(redis.fields));
      expect({ type: 'room', seq: player.seq, room: player.room }).toEqual(JSON.parse(stateOf(redis.fields)));
    },
  );
});

test('a private part is read again if a failover may have put another hand at the same seq', async () => {
  const { watcher } = await watched(seeded(3));
  const replica = new Map(redis.fields);
  hear(redis.change(Date.now(), true));
  expect(watcher.privateChanges).toBe(1);
  await vi.advanceTimersByTimeAsync(100);
  // Both messages of the new primary are lost. The next comparison finds their changes.
  redis.goBack(replica);
  redis.change(Date.now(), true);
  redis.change(Date.now(), false);
  await vi.advanceTimersByTimeAsync(5000);
  expect([watcher.privateChanges, watcher.ended]).toEqual([2, undefined]);
});
