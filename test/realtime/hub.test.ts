import { EventEmitter } from 'node:events';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Subscriber } from '../../src/redis/subscriber.ts';
import type { Feed, State } from '../../src/server/live/feed.ts';
import { Hub } from '../../src/server/live/hub.ts';
import type { Topic, Watcher } from '../../src/server/live/topic.ts';

/** Stands in for a connection with subscriptions. */
class FakeSubscriber extends EventEmitter {
  isReady = true;
  readonly subscribed = new Set<string>();
  async subscribe(...channels: string[]): Promise<void> {
    for (const channel of channels) this.subscribed.add(channel);
  }
  async unsubscribe(...channels: string[]): Promise<void> {
    for (const channel of channels) this.subscribed.delete(channel);
  }
  async ping(): Promise<void> {}
}

class FakeWatcher implements Watcher {
  readonly sent: string[] = [];
  ended: number | undefined;
  subscribe(): void {}
  sendState(message: string): void {
    this.sent.push(message);
  }
  end(code: number): void {
    this.ended = code;
    topic.remove(this);
  }
}

let subscriber: FakeSubscriber;
let hub: Hub;
let topic: Topic;
/** What was published to all sockets, and how often a state was encoded. */
let published: string[];
let encoded: number;
/** What Redis has. */
let standing: State | undefined;

const state = (position: number, isFinal = false): State => ({
  position,
  encode() {
    encoded++;
    return { message: `state ${position}`, isFinal };
  },
});

const feed: Feed = {
  channel: (id) => `thing:${id}`,
  parse: (message) => state(Number(message)),
  fetch: async (known) => known.map(({ position }) => (standing?.position === position ? 'same' : standing)),
};

/** A turn of the event loop, and then some: whatever was due at once is done. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
const tell = (position: number): boolean => subscriber.emit('message', 'thing:1', String(position));

beforeEach(async () => {
  [published, encoded, standing] = [[], 0, state(1)];
  subscriber = new FakeSubscriber();
  hub = new Hub({
    publish: (_, message) => void published.push(message),
    subscriber: subscriber as unknown as Subscriber,
    log: pino({ level: 'silent' }),
    now: () => 0,
  });
  topic = (await hub.watch(feed, '1'))!;
});

afterEach(() => hub.close());

test('several states of one turn go out as the last of them, encoded once however many watch', async () => {
  const watchers = Array.from({ length: 100 }, () => new FakeWatcher());
  for (const watcher of watchers) topic.add(watcher);
  expect(encoded).toBe(1);
  for (let position = 2; position <= 50; position++) tell(position);
  expect(published).toEqual([]);
  await turn();
  expect(published).toEqual(['state 50']);
  expect(encoded).toBe(2);
  for (const watcher of watchers) expect(watcher.sent).toEqual(['state 1']);
});

test('an older state, and the same one again, are not news', async () => {
  topic.add(new FakeWatcher());
  for (const position of [3, 2, 3, 1]) tell(position);
  await turn();
  tell(3);
  await turn();
  expect(published).toEqual(['state 3']);
});

test('who comes while a push is due gets the state once', async () => {
  const [first, late] = [new FakeWatcher(), new FakeWatcher()];
  topic.add(first);
  tell(2);
  topic.add(late);
  await turn();
  // Published before the late one subscribed, and to nobody after.
  expect([published, late.sent]).toEqual([['state 2'], ['state 2']]);
});

test('who comes while a push has to wait does not hurry it, and misses nothing', async () => {
  const [first, late, later] = [new FakeWatcher(), new FakeWatcher(), new FakeWatcher()];
  topic.add(first);
  tell(2);
  await turn();
  tell(3);
  topic.add(late);
  tell(4);
  topic.add(later);
  await turn();
  expect([published, late.sent, later.sent]).toEqual([['state 2'], ['state 3'], ['state 4']]);
  // Neither was subscribed when it was published: what came after the state they were sent, they are sent by themselves.
  await expect.poll(() => published).toEqual(['state 2', 'state 4']);
  expect([late.sent, later.sent]).toEqual([['state 3', 'state 4'], ['state 4']]);
});

test('who comes on a final state that has to wait gets it once, and the others too', async () => {
  const [first, late] = [new FakeWatcher(), new FakeWatcher()];
  topic.add(first);
  tell(2);
  await turn();
  standing = state(3, true);
  subscriber.emit('ready');
  await turn();
  topic.hold();
  topic.add(late);
  expect([late.sent, late.ended]).toEqual([['state 3'], 4501]);
  await expect.poll(() => first.ended).toBe(4501);
  expect([first.sent, late.sent]).toEqual([['state 1', 'state 3'], ['state 3']]);
});

test('who was full gets the latest state, unless it is on its way', async () => {
  const watcher = new FakeWatcher();
  topic.add(watcher);
  tell(2);
  await turn();
  const missed = topic.pushCount;
  topic.catchUp(watcher, missed);
  expect(watcher.sent).toEqual(['state 1', 'state 2']);
  // A push is due: it brings the state.
  tell(3);
  topic.catchUp(watcher, missed);
  // One was made after the one it missed: that brings it.
  topic.catchUp(watcher, missed - 1);
  expect(watcher.sent).toEqual(['state 1', 'state 2']);
});

test('a final state is sent to each and ends it; nothing is pushed after it', async () => {
  const watcher = new FakeWatcher();
  topic.add(watcher);
  standing = state(5, true);
  subscriber.emit('ready');
  await turn();
  expect([watcher.sent, watcher.ended, published]).toEqual([['state 1', 'state 5'], 4501, []]);
});

test('what is gone ends its watchers, and is looked for anew the next time', async () => {
  const watcher = new FakeWatcher();
  topic.add(watcher);
  standing = undefined;
  subscriber.emit('ready');
  await turn();
  expect([watcher.ended, hub.topicCount]).toEqual([4500, 0]);
  expect(await hub.watch(feed, '1')).toBeUndefined();
  expect([hub.topicCount, subscriber.subscribed.size]).toEqual([0, 0]);
  standing = state(1);
  const again = (await hub.watch(feed, '1'))!;
  expect([again === topic, hub.topicCount]).toEqual([false, 1]);
  again.release();
});

test('a store that went back ends its watchers so that they start again', async () => {
  const watcher = new FakeWatcher();
  topic.add(watcher);
  tell(9);
  await turn();
  subscriber.emit('ready');
  await turn();
  expect([watcher.ended, hub.topicCount]).toEqual([4009, 0]);
});

test('is held as long as somebody watches or waits, and no longer', async () => {
  const watcher = new FakeWatcher();
  topic.add(watcher);
  const waiting = (await hub.watch(feed, '1'))!;
  expect(waiting).toBe(topic);
  topic.remove(watcher);
  topic.remove(watcher);
  expect([hub.topicCount, subscriber.subscribed.size]).toEqual([1, 1]);
  waiting.release();
  expect([hub.topicCount, subscriber.subscribed.size]).toEqual([0, 0]);
  // A state that comes too late sets nothing going again.
  const before = encoded;
  topic.advance(state(7));
  expect(encoded).toBe(before);
});

test('after a drain has begun nobody waits', async () => {
  const changed = topic.changed(1, 60_000, () => {});
  hub.drain();
  await changed;
  await topic.changed(1, 60_000, () => {});
  expect(topic.position).toBe(1);
});

test('subscribes again to what is watched, and to nothing else, when the link is back', async () => {
  subscriber.isReady = false;
  subscriber.subscribed.clear();
  subscriber.unsubscribe = () => Promise.reject(new Error('away'));
  subscriber.subscribe = () => Promise.reject(new Error('away'));
  const other = (await hub.watch(feed, '2'))!;
  const third = (await hub.watch(feed, '3'))!;
  third.release();
  subscriber.subscribe = FakeSubscriber.prototype.subscribe;
  subscriber.isReady = true;
  subscriber.emit('ready');
  await turn();
  expect([...subscriber.subscribed]).toEqual(['thing:1', 'thing:2']);
  other.release();
});

test('after a push as many bytes as it sent have to be paid for with time before the next, and it brings the latest state', async () => {
  hub.close();
  const pushes: { message: string; at: number }[] = [];
  hub = new Hub({
    publish: (_, message) => void pushes.push({ message, at: performance.now() }),
    // "state 2" to 100 watchers is 700 bytes.
    bytesPerSecond: 7000,
    subscriber: subscriber as unknown as Subscriber,
    log: pino({ level: 'silent' }),
    now: () => 0,
  });
  topic = (await hub.watch(feed, '1'))!;
  for (let count = 0; count < 100; count++) topic.add(new FakeWatcher());
  for (const position of [2, 3, 4]) {
    tell(position);
    await turn();
  }
  await expect.poll(() => pushes.map(({ message }) => message)).toEqual(['state 2', 'state 4']);
  expect(pushes[1]!.at - pushes[0]!.at).toBeGreaterThanOrEqual(99);
});

test('a crowd of more than 1,024 waits for the size of the state alone', async () => {
  hub.close();
  const pushes: number[] = [];
  hub = new Hub({
    publish: () => void pushes.push(performance.now()),
    // "state 2" to 1,024 watchers is 7,168 bytes: 100 ms.
    bytesPerSecond: 71_680,
    subscriber: subscriber as unknown as Subscriber,
    log: pino({ level: 'silent' }),
    now: () => 0,
  });
  topic = (await hub.watch(feed, '1'))!;
  for (let count = 0; count < 20_480; count++) topic.add(new FakeWatcher());
  tell(2);
  await turn();
  tell(3);
  await expect.poll(() => pushes.length, { timeout: 1500 }).toBe(2);
  expect(pushes[1]! - pushes[0]!).toBeGreaterThanOrEqual(99);
});
