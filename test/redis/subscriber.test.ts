import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Reply } from '../../src/redis/resp.ts';
import { Subscriber } from '../../src/redis/subscriber.ts';
import { sleep } from '../harness.ts';
import { startRedis, type OwnRedis } from '../own-redis.ts';
import { RedisLink } from '../realtime/redis-link.ts';

let own: OwnRedis;
let way: RedisLink;
let redis: Redis;
let publisher: Redis;
let subscriber: Subscriber;
let heard: string[];
let events: string[];

beforeEach(async () => {
  own = await startRedis();
  const { socketPath } = own.location;
  way = await RedisLink.open(socketPath);
  publisher = new Redis({ path: socketPath });
  redis = new Redis({ path: way.location.socketPath, enableOfflineQueue: false, maxRetriesPerRequest: 0, retryStrategy: () => 20 });
  redis.on('error', () => {});
  subscriber = new Subscriber(redis);
  heard = [];
  events = [];
  subscriber.on('message', (channel, message) => heard.push(`${channel} ${message}`));
  subscriber.on('ready', () => events.push('ready'));
  subscriber.on('close', () => events.push('close'));
  await subscriber.opened();
});

afterEach(async () => {
  subscriber.disconnect();
  redis.disconnect();
  publisher.disconnect();
  await way[Symbol.asyncDispose]();
  await own[Symbol.asyncDispose]();
});

test('messages of subscribed channels are received whole and in order, those of other channels are not', async () => {
  await subscriber.subscribe('a', 'b');
  const long = 'Zoë 🎲 '.repeat(200);
  for (const [channel, message] of [
    ['a', '1'],
    ['c', '2'],
    ['b', long],
    ['a', ''],
  ] as const)
    await publisher.publish(channel, message);
  await expect.poll(() => heard).toEqual(['a 1', `b ${long}`, 'a ']);
  await subscriber.unsubscribe('a');
  expect(await publisher.publish('a', '3')).toBe(0);
  expect(await publisher.publish('b', '4')).toBe(1);
  await expect.poll(() => heard.at(-1)).toBe('b 4');
});

test('commands that leave together are each answered, with messages in between', async () => {
  const channels = Array.from({ length: 500 }, (_, index) => `channel-${index}`);
  const flood = Array.from({ length: 500 }, (_, index) => publisher.publish(channels[index]!, String(index)));
  await Promise.all([
    subscriber.subscribe(...channels),
    subscriber.ping(),
    subscriber.unsubscribe('channel-7'),
    subscriber.ping(),
    ...flood,
  ]);
  expect(await publisher.publish('channel-7', 'x')).toBe(0);
  expect(await publisher.publish('channel-8', 'x')).toBe(1);
});

test('a subscriber that breaks emits close, refuses commands, and emits ready when it is back, subscribed to nothing', async () => {
  await subscriber.subscribe('a');
  way.cut('subscriber');
  await expect.poll(() => events).toEqual(['ready', 'close']);
  expect(subscriber.isReady).toBe(false);
  await expect(subscriber.subscribe('b')).rejects.toThrow(/^Stream isn't writeable/);
  way.restore();
  await expect.poll(() => events).toEqual(['ready', 'close', 'ready']);
  expect(await publisher.publish('a', '1')).toBe(0);
  await subscriber.subscribe('a');
  await publisher.publish('a', '2');
  await expect.poll(() => heard).toEqual(['a 2']);
});

test('a subscriber that is silent for 3 s is closed and opened again if a command is under way, and else kept', async () => {
  await subscriber.subscribe('a');
  // Longer than the silence that closes a link with an unanswered command: nothing may happen in this time.
  await sleep(3500);
  expect(events).toEqual(['ready']);
  way.silence('subscriber');
  const askedAt = performance.now();
  await expect(subscriber.ping()).rejects.toThrow('Connection is closed.');
  expect(performance.now() - askedAt).toBeGreaterThan(2900);
  await expect.poll(() => events).toEqual(['ready', 'close', 'ready']);
});

/** A subscriber with replies that the test sets. */
class Fed extends Subscriber {
  protected override send(): void {}

  feed(...replies: Reply[]): void {
    for (const reply of replies) this.received(reply);
  }
}

test('a subscription to several channels counts once Redis has confirmed all of them', async () => {
  const fed = new Fed(redis);
  const confirmed: string[] = [];
  const subscribed = fed.subscribe('a', 'b').then(() => confirmed.push('a and b'));
  const answered = fed.ping().then(() => confirmed.push('ping'));
  fed.feed(['subscribe', 'a', 1]);
  await new Promise(setImmediate);
  expect(confirmed).toEqual([]);
  fed.feed(['subscribe', 'b', 2], 'PONG');
  await Promise.all([subscribed, answered]);
  expect(confirmed).toEqual(['a and b', 'ping']);
  fed.disconnect();
});

test('leaving a channel whose slot moves is refused, and confuses no later command', async () => {
  const fed = new Fed(redis);
  const ended: string[] = [];
  fed.on('sunsubscribed', (channel) => ended.push(channel));
  const left = fed.unsubscribeSharded(['{1}a']);
  const refused = expect(fed.subscribeSharded(['{1}c'])).rejects.toThrow('MOVED');
  const subscribed = fed.subscribeSharded(['{2}d']);
  // The node reports all channels of the slot, and then refuses both commands.
  fed.feed(['sunsubscribe', '{1}b', 1], ['sunsubscribe', '{1}a', 0]);
  fed.feed(new Error('MOVED 1 127.0.0.1:1'), 'PONG', new Error('MOVED 1 127.0.0.1:1'));
  await left;
  await refused;
  fed.feed(['ssubscribe', '{2}d', 1]);
  await subscribed;
  expect(ended).toEqual(['{1}b']);
  fed.disconnect();
});
