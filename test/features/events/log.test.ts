import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { eventKeys, MOST_AHEAD } from '../../../src/features/events/model.ts';
import { OUTBOX } from '../../../src/redis/outbox.ts';
import { forFile, freshId, start, type TestService } from '../../harness.ts';
import { startRedis, type OwnRedis } from '../../own-redis.ts';
import { openParts } from '../../operator/parts.ts';
import { EventsOf, told } from './reading.ts';

const own = await forFile(startRedis());
const service = await forFile(start({ redis: own.location, settings: { EVENTS: 'on', EVENTS_DAYS: '2' } }));
const events = await EventsOf.from(service);

const credit = (installId: string, key = freshId(), by: TestService = service) => by.post('/v1/coins/credit', { installId, coins: 1, key });

test('the events of a deleted account lose their data for readers at once, and the log loses it a little later', async () => {
  const [installId, other] = [freshId(), freshId()];
  const { cursor } = events;
  await credit(other);
  await credit(installId);
  await events.of([accountIdOf(installId), accountIdOf(other)], 4);
  const { confirm } = (await service.post('/v1/account/delete', { installId })).body;
  expect((await service.post('/v1/account/delete', { installId, confirm })).status).toBe(200);
  await events.of([accountIdOf(installId)], 1);
  events.cursor = cursor;
  const found = await events.of([accountIdOf(installId), accountIdOf(other)], 5);
  expect(found.map(told)).toEqual([
    'account.created 1 {}',
    'coins.changed 2 {"entryId":"1","type":"credit","coins":1,"balanceAfterCoins":1}',
    'account.created 1 {}',
    'coins.changed 2 {}',
    'account.deleted 3 {}',
  ]);
  await expect.poll(() => own.redis.exists(eventKeys.forgotten)).toBe(0);
  const log = await own.redis.lrange(eventKeys.chunk(0), 0, -1);
  expect(log.filter((entry) => entry.includes(accountIdOf(installId))).map((entry) => entry.split(' ').length)).toEqual([4, 4, 4]);
});

test('a relay that died before it removed logged events from the outbox appends nothing twice', async () => {
  const installId = freshId();
  await credit(installId);
  await events.of([accountIdOf(installId)], 2);
  // The state of an outbox that was not trimmed: its last element exists again.
  const state = await own.redis.hgetall(eventKeys.state);
  await own.redis.lpush(OUTBOX, state['from:']!);
  await expect.poll(() => own.redis.llen(OUTBOX)).toBe(0);
  await sleep(100);
  expect(await own.redis.hget(eventKeys.state, 'next')).toBe(state['next']);
});

test('many events are read by pages without a gap, across the chunks of the log', async () => {
  const installId = freshId();
  const before = events.cursor;
  // The chunk is nearly full. Its events are new: the upkeep of the log would drop a chunk that ends with an old one.
  const next = Number(await own.redis.hget(eventKeys.state, 'next'));
  const now = (Date.now() * 1000).toString(36);
  const filling = Array.from({ length: 970 - next }, (_, index) => `n ${now}-0-${index.toString(36)} filling 1`);
  await own.redis.rpush(eventKeys.chunk(0), ...filling);
  await own.redis.hset(eventKeys.state, { next: 970, readable: 970 });
  await Promise.all(Array.from({ length: 60 }, (_, key) => credit(installId, `key-${key}`)));
  const whole = await events.of([accountIdOf(installId)], 61);
  expect(whole.map(({ number }) => number)).toEqual(Array.from({ length: 61 }, (_, index) => index + 1));
  let after = before;
  const numbers: number[] = [];
  while (numbers.length < 61) {
    const { body } = await events.get(`?limit=7&after=${after}`);
    after = body.cursor;
    for (const { accountId, number } of body.events) if (accountId === accountIdOf(installId)) numbers.push(number);
  }
  expect(numbers).toEqual(whole.map(({ number }) => number));
});

test('after a restore of Redis’s data an older cursor reads on with the first event after it', async () => {
  const { cursor } = events;
  // The log from a backup, with another id of the data: events before the cursor are missing.
  const kept = Number.parseInt(cursor, 36) - 100;
  const chunk = Math.floor(kept / 1000);
  await own.redis.ltrim(eventKeys.chunk(chunk), 0, (kept % 1000) - 1);
  await own.redis.hset(eventKeys.state, { next: kept, readable: kept, data: 'A'.repeat(22) });
  const installId = freshId();
  await credit(installId);
  events.cursor = cursor;
  const found = await events.of([accountIdOf(installId)], 2);
  expect(found.map(({ number }) => number)).toEqual([1, 2]);
  expect(Number.parseInt(events.cursor, 36)).toBeGreaterThan(MOST_AHEAD);
});

test('the log is read backwards over its gaps, a bounded part of it at a time, and events of deleted accounts have no data', async () => {
  using operated = openParts(service);
  const { events: log } = operated.parts;
  const [accountId, other] = [accountIdOf(freshId()), accountIdOf(freshId())];
  // An unusual log: a chunk that lost its end, a gap, and 21,000 events of other accounts.
  const begin = Math.ceil(Date.now() / 1000) + 60;
  const last = Number(await own.redis.hget(eventKeys.state, 'next'));
  const base = Math.ceil(last / 1000) * 1000 + 5000;
  const at = (seconds: number): string => ((begin + seconds) * 1_000_000).toString(36);
  const write = (chunk: number, lines: string[]) =>
    own.redis
      .multi()
      .rpush(eventKeys.chunk(chunk), ...lines)
      .zadd(eventKeys.chunks, chunk, chunk)
      .exec();
  await write(base / 1000, [`n ${at(0)}-0-0 ${accountId} 5`, `c ${at(1)}-0-0 ${accountId} 6 1:7 c7`, `n ${at(2)}-0-0 ${other} 1`]);
  for (let chunk = 10; chunk < 31; chunk++)
    await write(
      base / 1000 + chunk,
      Array.from({ length: 1000 }, (_, index) => `n ${at(chunk)}-0-${index.toString(36)} filling 1`),
    );
  await write(base / 1000 + 31, [`c ${at(31)}-0-0 ${accountId} 7 2:9 c2`]);
  const end = base + 31_001;
  await own.redis.hset(eventKeys.state, { next: end, readable: end });
  const first = await log!.readBack([accountId, other], 10);
  expect([first.events.map(told), first.looked, first.since]).toEqual([
    ['coins.changed 7 {"entryId":"2","type":"credit","coins":2,"balanceAfterCoins":9}'],
    20_000,
    new Date((begin + 11) * 1000).toISOString(),
  ]);
  const second = await log!.readBack([accountId, other], 2, first.next);
  expect(second.events.map(told)).toEqual([
    'account.created 1 {}',
    'coins.changed 6 {"entryId":"1","type":"credit","coins":7,"balanceAfterCoins":7}',
  ]);
  const beforeGap = await log!.positionAfter((begin + 1) * 1000);
  await own.redis.zadd(eventKeys.forgotten, end, accountId);
  const third = await log!.readBack([accountId], 10, beforeGap);
  expect(third.events.map(told)).toEqual(['coins.changed 6 {}', 'account.created 5 {}']);
  expect(third.next).toBe(0);
});

test('events older than EVENTS_DAYS are dropped, and a cursor from before reads on with what is kept', async () => {
  const installId = freshId();
  await credit(installId);
  await events.of([accountIdOf(installId)], 2);
  service.advance(3 * 86_400_000);
  await expect.poll(() => own.redis.zcard(eventKeys.chunks)).toBe(0);
  expect(await own.redis.keys('{events}:chunk:*')).toEqual([]);
  const { body } = await events.get();
  expect(body.events).toEqual([]);
  service.advance(-3 * 86_400_000);
  await credit(installId);
  expect((await events.get('?after=1&wait=10')).body.events.map(told)).toEqual([
    'coins.changed 3 {"entryId":"2","type":"credit","coins":1,"balanceAfterCoins":2}',
  ]);
});
