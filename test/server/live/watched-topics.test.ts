import { EventEmitter } from 'node:events';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Subscriber } from '../../../src/redis/subscriber.ts';
import type { Feed, State } from '../../../src/server/live/feed-types.ts';
import { WatchedTopics } from '../../../src/server/live/watched-topics.ts';
import type { Topic } from '../../../src/server/live/topic.ts';
import { FakeWatcher, stateAt } from './fake-watcher.ts';

/** Stands in for the connection to Redis that subscribes. */
class FakeSubscriber extends EventEmitter {
  isReady = true;
  hears = (_channel?: string): boolean => this.isReady;
  readonly subscribed = new Set<string>();
  async subscribe(...channels: string[]): Promise<void> {
    if (!this.isReady) throw new Error('away');
    for (const channel of channels) this.subscribed.add(channel);
  }
  async unsubscribe(...channels: string[]): Promise<void> {
    if (!this.isReady) throw new Error('away');
    for (const channel of channels) this.subscribed.delete(channel);
  }
  async ping(): Promise<void> {}
}

let subscriber: FakeSubscriber;
let topics: WatchedTopics;
let published: string[];
/** The state of every thing in Redis; an error while Redis is down. */
let standing: State | undefined | Error;
let fetches: number;

const feed: Feed = {
  channel: (id) => `thing:${id}`,
  take: (message) => stateAt(Number(message)),
  async fetch(known) {
    fetches++;
    if (standing instanceof Error) throw standing;
    const found = standing;
    return known.map(({ state }) => found && { state: found.position === state?.position ? 'same' : found, relayed: 0 });
  },
};

beforeEach(() => {
  vi.useFakeTimers();
  [published, standing, fetches] = [[], stateAt(1), 0];
  subscriber = new FakeSubscriber();
  topics = new WatchedTopics({
    publish: (_, message) => void published.push(message),
    subscriber: subscriber as unknown as Subscriber,
    log: pino({ level: 'silent' }),
    now: Date.now,
  });
});

afterEach(() => {
  topics.close();
  vi.useRealTimers();
});

const pass = (milliseconds: number): Promise<void> => vi.advanceTimersByTimeAsync(milliseconds).then(() => {});
const turn = (): Promise<void> => pass(0);

const known = async (id = '1'): Promise<Topic> => (await topics.watch(feed, id))!;

async function watched(id = '1'): Promise<{ topic: Topic; watcher: FakeWatcher }> {
  const topic = await known(id);
  const watcher = new FakeWatcher(topic);
  topic.add(watcher);
  return { topic, watcher };
}

describe('watch', () => {
  test('reads the number of the last message, so that one that is lost after it is reported as missed', async () => {
    const relaying: Feed = {
      ...feed,
      take: (text) => ({ number: Number(text), to: undefined, message: text, changesAt: Infinity }),
      fetch: async (all) => (await feed.fetch(all)).map((found) => found && { ...found, relayed: 7 }),
    };
    const topic = (await topics.watch(relaying, '1'))!;
    const watcher = new FakeWatcher(topic);
    topic.add(watcher);
    subscriber.emit('message', 'thing:1', '9');
    await turn();
    expect(watcher.relayed).toEqual(['{"type":"missed","from":8,"to":8}', '9']);
  });

  test('subscribes before it reads, so that no change falls in between', async () => {
    let subscribedAtRead: boolean | undefined;
    const reading: Feed = {
      ...feed,
      async fetch(ids) {
        subscribedAtRead = subscriber.subscribed.has('thing:1');
        return feed.fetch(ids);
      },
    };
    expect((await topics.watch(reading, '1'))!.message).toBe('state 1');
    expect(subscribedAtRead).toBe(true);
  });

  test('keeps nothing if the thing does not exist, and fails and keeps nothing while Redis is away', async () => {
    standing = undefined;
    expect(await topics.watch(feed, '1')).toBeUndefined();
    standing = new Error('away');
    await expect(topics.watch(feed, '1')).rejects.toThrow('away');
    expect([topics.topicCount, subscriber.subscribed.size]).toEqual([0, 0]);
  });
});

test('a topic whose thing no longer exists ends its watchers with 4500, and is replaced once the thing exists again', async () => {
  const { topic, watcher } = await watched();
  standing = undefined;
  subscriber.emit('ready', () => true);
  await turn();
  expect([watcher.ended, topics.topicCount, subscriber.subscribed.size]).toEqual([4500, 0, 0]);
  standing = stateAt(1);
  expect([(await known()) === topic, topics.topicCount]).toEqual([false, 1]);
});

describe('comparison with Redis', () => {
  test('comes every 3 s, also after Redis was away, and brings a state whose message was lost', async () => {
    await watched();
    standing = new Error('away');
    await pass(3000);
    standing = stateAt(4);
    await pass(2999);
    expect(published).toEqual([]);
    await pass(1);
    expect(published).toEqual(['state 4']);
  });

  test('reads 200 things of a kind in one call', async () => {
    for (let id = 0; id < 250; id++) await known(String(id));
    fetches = 0;
    await pass(3000);
    expect(fetches).toBe(2);
  });
});

describe('while a part of Redis is away', () => {
  const away = new Set<string>();
  const partly: Feed = {
    ...feed,
    async fetch(ids) {
      if (ids.some(({ id }) => away.has(id))) throw new Error('away');
      return feed.fetch(ids);
    },
  };

  test('things on the other parts are still compared', async () => {
    away.clear();
    for (const id of ['1', '2', '3']) (await topics.watch(partly, id))!.add(new FakeWatcher((await topics.watch(partly, id))!));
    away.add('2');
    subscriber.hears = (channel?: string) => channel !== 'thing:2';
    standing = stateAt(4);
    await pass(3000);
    expect(published).toEqual(['state 4', 'state 4']);
    away.clear();
    await pass(3000);
    expect(published).toEqual(['state 4', 'state 4', 'state 4']);
  });

  test('a refused subscription does not keep other things from being subscribed to again', async () => {
    for (let id = 0; id <= 1000; id++) await known(String(id));
    subscriber.subscribed.clear();
    const subscribe = subscriber.subscribe.bind(subscriber);
    let calls = 0;
    subscriber.subscribe = (...channels) => (calls++ === 0 ? Promise.reject(new Error('MOVED')) : subscribe(...channels));
    subscriber.emit('ready', () => true);
    await turn();
    expect([...subscriber.subscribed]).toEqual(['thing:1000']);
  });

  test('no comparison begins while an earlier one outlasts the interval', async () => {
    const slow: Feed = { ...feed };
    await topics.watch(slow, '1');
    fetches = 0;
    slow.fetch = () => {
      fetches++;
      return new Promise(() => {});
    };
    await pass(9000);
    expect(fetches).toBe(1);
  });
});

test('a link that comes back is not subscribed to a thing that its last watcher left meanwhile', async () => {
  const topics: Topic[] = [];
  // One more than are subscribed to in one command.
  for (let id = 0; id <= 1000; id++) topics.push(await known(String(id)));
  subscriber.subscribed.clear();
  subscriber.emit('ready', () => true);
  topics.at(-1)!.release();
  await turn();
  expect([subscriber.subscribed.size, subscriber.subscribed.has('thing:1000')]).toEqual([1000, false]);
});

test('a feed that is polled is read at its interval, all its things together, as long as somebody watches', async () => {
  const polled: Feed = { ...feed, polledEveryMs: 500 };
  const both = [(await topics.watch(polled, '1'))!, (await topics.watch(polled, '2'))!];
  const watchers = both.map((topic) => new FakeWatcher(topic));
  for (const [index, topic] of both.entries()) topic.add(watchers[index]!);
  expect([fetches, subscriber.subscribed.size]).toEqual([2, 0]);
  // No comparison of every 3 s comes on top.
  await pass(3400);
  standing = stateAt(2);
  await pass(500);
  expect([fetches, ...both.map(({ position }) => position)]).toEqual([9, 2, 2]);
  // A new watcher gets the same state as the others.
  (await topics.watch(polled, '1'))!.release();
  for (const [index, topic] of both.entries()) topic.remove(watchers[index]!);
  both[0]!.release();
  await pass(3000);
  expect(fetches).toBe(9);
  // And again from its next watcher on.
  await topics.watch(polled, '1');
  await pass(500);
  expect(fetches).toBe(11);
});
