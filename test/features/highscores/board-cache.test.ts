import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, inject, test, vi } from 'vitest';
import { Subscriber } from '../../../src/redis/subscriber.ts';
import { BoardCache } from '../../../src/features/highscores/board-cache.ts';
import { Encoded } from '../../../src/server/http/endpoint.ts';

const older = new Encoded('older');
const newer = new Encoded('newer');

let boards: BoardCache;
let redis: Redis;
let subscriber: Subscriber;
beforeEach(async () => {
  redis = new Redis({ path: inject('redisSocket') });
  subscriber = new Subscriber(redis);
  boards = new BoardCache(subscriber, false);
  await vi.waitUntil(() => boards.hearsOthers);
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
  subscriber.disconnect();
  redis.disconnect();
});

/** A request to Redis whose answer the test controls. */
function pending() {
  const { promise, resolve, reject } = Promise.withResolvers<Encoded>();
  return { ask: () => promise, resolve, reject };
}

test('a board is shown from the cache for 100 ms after its read began', async () => {
  const read = pending();
  const asked = boards.read('g', read.ask);
  vi.advanceTimersByTime(60);
  expect(boards.find('g')).toBe(asked);
  read.resolve(older);
  await asked;
  vi.advanceTimersByTime(39);
  expect(boards.find('g')).toBe(older);
  vi.advanceTimersByTime(1);
  expect(boards.find('g')).toBeUndefined();
});

test('a read that takes longer than 100 ms is neither joined nor cached', async () => {
  const read = pending();
  const asked = boards.read('g', read.ask);
  vi.advanceTimersByTime(100);
  expect(boards.find('g')).toBeUndefined();
  read.resolve(older);
  expect(await asked).toBe(older);
  expect(boards.find('g')).toBeUndefined();
});

test('a failed read rejects for its waiters, and the next request reads again', async () => {
  const read = pending();
  const asked = boards.read('g', read.ask);
  read.reject(new Error('away'));
  await expect(asked).rejects.toThrow('away');
  expect(boards.find('g')).toBeUndefined();
});

test('a submission replaces the cached board for 100 ms after it was sent', async () => {
  await boards.read('g', async () => older);
  const sent = pending();
  const submitted = boards.submit('g', sent.ask, (top) => top);
  vi.advanceTimersByTime(40);
  expect(boards.find('g')).toBe(older);
  sent.resolve(newer);
  expect(await submitted).toBe(newer);
  expect(boards.find('g')).toBe(newer);
  vi.advanceTimersByTime(60);
  expect(boards.find('g')).toBeUndefined();
});

test('a read that began before a submission ended is not cached', async () => {
  const read = pending();
  const asked = boards.read('g', read.ask);
  await boards.submit(
    'g',
    async () => newer,
    (top) => top,
  );
  expect(boards.find('g')).toBe(newer);
  read.resolve(older);
  expect(await asked).toBe(older);
  expect(boards.find('g')).toBe(newer);
});

test('a read that began during a submission is not cached', async () => {
  const sent = pending();
  const submitted = boards.submit('g', sent.ask, (top) => top);
  const read = pending();
  const asked = boards.read('g', read.ask);
  sent.resolve(newer);
  await submitted;
  expect(boards.find('g')).toBeUndefined();
  read.resolve(older);
  await asked;
  expect(boards.find('g')).toBeUndefined();
});

test('the later of two concurrent submissions to end is not cached, because its board may lack the other score', async () => {
  const first = pending();
  const second = pending();
  const firstSubmitted = boards.submit('g', first.ask, (top) => top);
  const secondSubmitted = boards.submit('g', second.ask, (top) => top);
  second.resolve(newer);
  await secondSubmitted;
  expect(boards.find('g')).toBe(newer);
  first.resolve(older);
  await firstSubmitted;
  expect(boards.find('g')).toBeUndefined();
});

test('a submission removes the cached board even when the cache evicted its entry meanwhile', async () => {
  const sent = pending();
  const submitted = boards.submit('g', sent.ask, (top) => top);
  for (let index = 0; index < 3000; index++) void boards.read(`other-${index}`, async () => older);
  await boards.read('g', async () => older);
  sent.resolve(newer);
  await submitted;
  expect(boards.find('g')).toBeUndefined();
});

test('a failed submission keeps the cached board', async () => {
  await boards.read('g', async () => older);
  await expect(
    boards.submit(
      'g',
      () => Promise.reject(new Error('away')),
      () => newer,
    ),
  ).rejects.toThrow('away');
  expect(boards.find('g')).toBe(older);
});

test('a submission on another process removes the cached board, an own one does not', async () => {
  const publisher = new Redis({ path: inject('redisSocket') });
  // vi.waitUntil would move the fake clock, and the boards would expire.
  const isRemoved = async (game: string): Promise<void> => {
    while (boards.find(game) !== undefined) await new Promise((resolve) => setImmediate(resolve));
  };
  for (const game of ['g', 'other-game']) await boards.read(game, () => Promise.resolve(older));
  await publisher.publish('boards', `${boards.publisher} g`);
  await publisher.publish('boards', 'somebody-else other-game');
  // Messages arrive in order: once the second has taken effect, the first has been handled.
  await isRemoved('other-game');
  expect(boards.find('g')).toBe(older);
  await publisher.publish('boards', 'somebody-else g');
  await isRemoved('g');
  publisher.disconnect();
});

test('nothing is cached while the subscription to other processes is down', async () => {
  vi.useRealTimers();
  await boards.read('g', () => Promise.resolve(older));
  subscriber.disconnect();
  await vi.waitUntil(() => !boards.hearsOthers);
  expect(boards.find('g')).toBeUndefined();
  await boards.read('g', () => Promise.resolve(newer));
  expect(boards.find('g')).toBeUndefined();
});
