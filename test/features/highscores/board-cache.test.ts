import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, inject, test, vi } from 'vitest';
import { placeText } from '../../../src/features/highscores/entry-format.ts';
import { Subscriber } from '../../../src/redis/subscriber.ts';
import { BoardCache } from '../../../src/features/highscores/board-cache.ts';
import type { Encoded } from '../../../src/server/http/endpoint.ts';
import { PATIENT } from '../../patience.ts';

type Figures = [season: string, endsAt: string, version: string, member: string, score: string];

/** The scripts' answer for a board without seasons and with one entry: its version, then member and score. */
const arrival = 17_900_000_000_000;
const board = (version: string, name: string): Figures => ['', '', version, `${placeText(arrival, false)}player-id0${name}`, '7'];
const older = board('1', 'older');
const newer = board('2', 'newer');

/** The older version in the tests. */
const UNCHANGED = ['', '', '1'];

const listOf = (name: string): string =>
  `[{"rank":1,"playerId":"player-id0","name":"${name}","score":7,"at":"${new Date(arrival / 10).toISOString()}"}]`;
const answerOf = (name: string): string => `{"ok":true,"game":"g","top":${listOf(name)}}`;

let boards: BoardCache;
let redis: Redis;
let subscriber: Subscriber;
beforeEach(async () => {
  redis = new Redis({ path: inject('redisSocket') });
  subscriber = new Subscriber(redis);
  boards = new BoardCache(subscriber, false);
  await listenTo('g');
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
  subscriber.disconnect();
  redis.disconnect();
});

/** The second use of a board subscribes to its channel. */
async function listenTo(game: string): Promise<void> {
  // vi.waitUntil would move the fake clock, and the boards would expire.
  do {
    boards.call(game, 'desc');
    await new Promise((resolve) => setImmediate(resolve));
  } while (!boards.hears(game));
}

/** A read whose answer the test controls. */
function pendingRead(game = 'g') {
  const { promise, resolve, reject } = Promise.withResolvers<['top', ...Figures]>();
  const answer = boards.read(game, 'desc', () => promise);
  return { answer, arrives: (figures: Figures) => (resolve(['top', ...figures]), answer), reject };
}

async function found(): Promise<string | undefined> {
  return (await (boards.find('g') as Encoded | Promise<Encoded> | undefined))?.text;
}

test('a board is shown from the cache for 100 ms after its read began', async () => {
  const read = pendingRead();
  vi.advanceTimersByTime(60);
  expect(boards.find('g')).toBe(read.answer);
  expect((await read.arrives(older)).text).toBe(answerOf('older'));
  vi.advanceTimersByTime(39);
  expect(await found()).toBe(answerOf('older'));
  vi.advanceTimersByTime(1);
  expect(boards.find('g')).toBeUndefined();
});

test('a read that fails or takes longer than 100 ms is neither joined nor cached', async () => {
  const failed = pendingRead();
  failed.reject(new Error('away'));
  await expect(failed.answer).rejects.toThrow('away');
  expect(boards.find('g')).toBeUndefined();
  const slow = pendingRead();
  vi.advanceTimersByTime(100);
  expect(boards.find('g')).toBeUndefined();
  expect((await slow.arrives(older)).text).toBe(answerOf('older'));
  expect(boards.find('g')).toBeUndefined();
});

test('a submission whose answer holds a list replaces the cached board for 100 ms after it was sent', async () => {
  await pendingRead().arrives(older);
  const submission = boards.call('g', 'desc');
  vi.advanceTimersByTime(40);
  expect(await found()).toBe(answerOf('older'));
  expect(submission.listOf(newer).text).toBe(listOf('newer'));
  expect(await found()).toBe(answerOf('newer'));
  vi.advanceTimersByTime(60);
  expect(boards.find('g')).toBeUndefined();
});

test('a submission knows the version of the cached list, and shows that list if the version has not changed. It knows none in the other order', async () => {
  expect(boards.call('g', 'desc').known).toBe('');
  await pendingRead().arrives(older);
  const submission = boards.call('g', 'desc');
  expect([submission.known, boards.call('g', 'asc').known]).toEqual(['1', '']);
  // The answer to another submission comes first, with a newer list.
  boards.call('g', 'desc').listOf(newer);
  expect(submission.listOf(UNCHANGED).text).toBe(listOf('older'));
  expect(await found()).toBe(answerOf('newer'));
  // It makes the cached list no fresher.
  vi.advanceTimersByTime(100);
  expect([boards.find('g'), boards.call('g', 'desc').known]).toEqual([undefined, '']);
});

test('the list that arrives last is cached, because answers arrive in the order in which the scripts ran', async () => {
  const [first, second] = [boards.call('g', 'desc'), boards.call('g', 'desc')];
  const read = pendingRead();
  second.listOf(older);
  expect(await found()).toBe(answerOf('older'));
  first.listOf(newer);
  expect(await found()).toBe(answerOf('newer'));
  await read.arrives(board('3', 'newest'));
  expect(await found()).toBe(answerOf('newest'));
});

test('a list of a lower version does not replace a fresh one: on a Cluster submissions may overtake each other', async () => {
  const [first, second] = [boards.call('g', 'desc'), boards.call('g', 'desc')];
  second.listOf(newer);
  expect(first.listOf(older).text).toBe(listOf('older'));
  expect(await found()).toBe(answerOf('newer'));
  vi.advanceTimersByTime(100);
  boards.call('g', 'desc').listOf(older);
  expect(await found()).toBe(answerOf('older'));
});

test('a read that began before a submission was answered is joined, because it runs after the submission', async () => {
  const submission = boards.call('g', 'desc');
  vi.advanceTimersByTime(60);
  const read = pendingRead();
  vi.advanceTimersByTime(60);
  submission.listOf(newer);
  expect(boards.find('g')).toBe(read.answer);
  await read.arrives(newer);
});

/** Publishes as another process, and waits until this process has handled the message. */
async function changedElsewhere(game: string, publisher = 'another-process'): Promise<void> {
  const other = new Redis({ path: inject('redisSocket') });
  const mark = `mark-${Math.random()}`;
  await listenTo(mark);
  await pendingRead(mark).arrives(older);
  await other.publish(`{board:${game}}`, publisher);
  await other.publish(`{board:${mark}}`, 'another-process');
  // Messages arrive in order.
  while (boards.find(mark) !== undefined) await new Promise((resolve) => setImmediate(resolve));
  other.disconnect();
}

test('a change on another process removes the cached board, a change on this one does not', async () => {
  await pendingRead().arrives(older);
  await changedElsewhere('g', boards.publisher);
  expect(await found()).toBe(answerOf('older'));
  await changedElsewhere('g');
  expect(boards.find('g')).toBeUndefined();
});

test('a read or a submission that began before a change on another process is not cached, and the read not joined', async () => {
  const read = pendingRead();
  const submission = boards.call('g', 'desc');
  await changedElsewhere('g');
  expect(boards.find('g')).toBeUndefined();
  await read.arrives(older);
  expect(submission.listOf(older).text).toBe(listOf('older'));
  expect(boards.find('g')).toBeUndefined();
});

test('a submission that ends after a change on another process removes a board read since, which may lack its score', async () => {
  const submission = boards.call('g', 'desc');
  await changedElsewhere('g');
  const underWay = pendingRead();
  await pendingRead().arrives(older);
  submission.listOf(newer);
  expect(boards.find('g')).toBeUndefined();
  await underWay.arrives(older);
  expect(boards.find('g')).toBeUndefined();
});

test('nothing is cached while the subscription to other processes is down', async () => {
  vi.useRealTimers();
  await pendingRead().arrives(older);
  subscriber.disconnect();
  await vi.waitUntil(() => !boards.hears('g'), PATIENT);
  expect(boards.find('g')).toBeUndefined();
  await pendingRead().arrives(newer);
  expect(boards.find('g')).toBeUndefined();
  expect(boards.call('g', 'desc').known).toBe('');
});

/** The subscribers of a board's channel. */
async function listeners(game: string): Promise<number> {
  const other = new Redis({ path: inject('redisSocket') });
  const [, count] = await other.pubsub('NUMSUB', `{board:${game}}`);
  other.disconnect();
  return Number(count);
}

test('a read that began before the subscription was confirmed is neither joined nor cached', async () => {
  const game = `early-${Math.random()}`;
  boards.call(game, 'desc');
  const read = pendingRead(game);
  const submission = boards.call(game, 'desc');
  await listenTo(game);
  expect(boards.find(game)).toBeUndefined();
  await read.arrives(older);
  submission.listOf(newer);
  expect(boards.find(game)).toBeUndefined();
  await pendingRead(game).arrives(newer);
  expect(boards.find(game)).toBeDefined();
});

test('a board that was used once is not subscribed to. One that others push out of the cache is unsubscribed from, until it is used again', async () => {
  const game = `pushed-${Math.random()}`;
  await pendingRead(game).arrives(older);
  expect([boards.find(game), boards.hears(game), await listeners(game)]).toEqual([undefined, false, 0]);
  await listenTo(game);
  expect(await listeners(game)).toBe(1);
  // Another process's submissions do not keep it.
  for (let other = 0; other < 3000; other++) boards.call(`other-${other}`, 'desc');
  subscriber.emit('message', `{board:${game}}`, 'another-process');
  await subscriber.ping();
  expect([boards.hears(game), await listeners(game)]).toEqual([false, 0]);
  await listenTo(game);
  expect(await listeners(game)).toBe(1);
});

test('a lost subscription drops the board, and its late confirmation confirms nothing', async () => {
  await pendingRead().arrives(older);
  subscriber.emit('close', (channel) => channel === '{board:g}');
  expect([boards.hears('g'), boards.find('g')]).toEqual([false, undefined]);
  boards.call('g', 'desc');
  subscriber.emit('close', (channel) => channel === '{board:g}');
  await subscriber.ping();
  expect(boards.hears('g')).toBe(false);
  await listenTo('g');
  await pendingRead().arrives(newer);
  expect(await found()).toBe(answerOf('newer'));
});
