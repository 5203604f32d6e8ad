import { readdirSync, readFileSync } from 'node:fs';
import { afterEach, beforeAll, expect, test, vi } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { accountKey, standingKey } from '../../src/accounts/account-keys.ts';
import { eventKeys } from '../../src/features/events/model.ts';
import { boardKeys } from '../../src/features/highscores/model.ts';
import { roomKeys } from '../../src/features/rooms/model.ts';
import { subscriptionKeys } from '../../src/features/purchases/subscription/model.ts';
import { forFile, freshId, start } from '../harness.ts';
import { startRedis } from '../own-redis.ts';
import { audited } from './audited.ts';
import { accountWith, bought, player, redis, rewrite, service, useData } from './damages/data.ts';
import { nameOf } from './damages/mend.ts';
import { PATIENT } from '../patience.ts';

/** The data has times of Redis's clock. The machine of the audit may have another one. */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const own = await forFile(startRedis());
let now: number;
/** The findings, whatever the clock of the machine is. */
const expected: string[] = [];
let expiring: string;
/** In the middle of a minute, so that the finding names the minute whatever the milliseconds. */
let expiresAt: number;

beforeAll(async () => {
  useData(await start({ redis: own.location, settings: { EVENTS: 'on' } }), own.redis);
  const accounts = await Promise.all(Array.from({ length: 5 }, () => accountWith([5, 6])));
  const [banned, unbanned] = [await player('clock'), await player('clock')];
  const [canceled, ended] = [await bought(), await bought()];
  const [lateRoom, dueRoom] = [await openRoom(), await openRoom()];
  await vi.waitFor(async () => expect((await eventLines()).filter((line) => line.startsWith('c ')).length).toBe(10), PATIENT);
  await service[Symbol.asyncDispose]();

  now = Date.now();
  const [future, nearer, untold, fresh, last] = accounts as [string, string, string, string, string];
  // Of each pair of lines the first is damage, and the second would be with a clock that is an hour ahead, or an hour behind.
  expected.push(`wrong_time account ${future}`);
  await stamp(future, 1, now + 30 * MINUTE_MS);
  for (const place of [0, 1]) await stamp(nearer, place, now - 30 * MINUTE_MS);

  expected.push(`entry_without_event account ${untold}`);
  await redis.hset(eventKeys.state, 'onSince', now - 2 * HOUR_MS);
  for (const place of [0, 1]) {
    await stamp(untold, place, now - 30 * MINUTE_MS);
    await stamp(fresh, place, now + MINUTE_MS / 2);
  }
  for (const id of [untold, fresh]) await dropEvent(id, 2);

  expected.push(`shown_entry account ${banned}`);
  await redis.set(standingKey(banned), `!${now + 30 * MINUTE_MS} 1 -\n`);
  await redis.set(standingKey(unbanned), `!${now - 30 * MINUTE_MS} 1 -\n`);
  await redis.zadd('bans:due', now + 30 * MINUTE_MS, banned);
  expected.push('document_without_queue account ends-late');
  await redis.set(standingKey('ends-late'), `!${now + 30 * MINUTE_MS} 1 -\n`);
  await redis.set(standingKey('ends-now'), `!${now + MINUTE_MS / 2} 1 -\n`);

  expected.push('document_without_queue account erased-late');
  await redis.set(standingKey('erased-late'), `=${now - 30 * MINUTE_MS}\n`);
  await redis.set(standingKey('erased-now'), `=${now + 10 * MINUTE_MS}\n`);

  expected.push(`document_without_queue purchase ${canceled.hash}`);
  await cancel(canceled, now + 30 * MINUTE_MS);
  await cancel(ended, now - 30 * MINUTE_MS);

  expected.push(`seat_not_listed account ${lateRoom.owner}`);
  await seat(lateRoom, now - (15 * DAY_MS - 31 * MINUTE_MS));
  await seat(dueRoom, now - (15 * DAY_MS + 29 * MINUTE_MS));

  expected.push(`document_without_queue room ${lateRoom.code}`);
  for (const { code } of [lateRoom, dueRoom]) await redis.zadd(roomKeys.leases(code), now - 1000, 'p1:connection');
  await redis.zadd('rooms:due', now + 30 * MINUTE_MS, lateRoom.code, now, dueRoom.code);

  for (const [queue, damaged, right, finding = `queue_without_document queue ${queue}`] of [
    ['bans:due', 30, 1],
    ['moves:due', 30, 1],
    ['deletions:due', 30, 1],
    ['rooms:due', 90, 30],
    ['purchases:due', 30, 1, 'lost_purchase purchase late'],
    ['purchases:unowned', 30, 1],
    ['product-purchases:due', 30, 1, 'lost_purchase coin-purchase late'],
    ['product-notices:due', 30, 1],
    ['seasons:due', -30, 30],
  ] as const) {
    expected.push(finding);
    await redis.zadd(queue, now + damaged * MINUTE_MS, 'late', now + right * MINUTE_MS, 'soon#act');
  }

  // The time that a finding or its command has.
  expiring = accountKey(last);
  expected.push(`expires key ${expiring}`, 'wrong_counter board clock');
  expiresAt = (Math.floor(now / MINUTE_MS) + 100) * MINUTE_MS + MINUTE_MS / 2;
  await redis.pexpireat(expiring, expiresAt);
  await redis.set(boardKeys.version('clock'), 'none');
});
afterEach(() => void vi.useRealTimers());

test.each([
  ['is right', 0],
  ['is an hour ahead', HOUR_MS],
  ['is an hour behind', -HOUR_MS],
])('the audit has the same findings if the clock of its machine %s', async (_, aheadMs) => {
  vi.setSystemTime(Date.now() + aheadMs);
  const { findings } = await audited(own.location);
  expect(findings.map(nameOf).toSorted()).toEqual(expected.toSorted());
  const find = (name: string) => findings.find((finding) => nameOf(finding) === name)!;
  expect(find(`expires key ${expiring}`).text).toContain(new Date(expiresAt).toISOString().slice(0, 'yyyy-mm-ddThh:mm'.length));
  const [[, key, version]] = find('wrong_counter board clock').commands as [[string, string, number]];
  expect([key, version - now < 10 * MINUTE_MS, version >= now]).toEqual([boardKeys.version('clock'), true, true]);
});

test('no check asks for the time of its machine', () => {
  const folder = new URL('../../src/', import.meta.url);
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'));
  const texts = files.map((path) => ({ path, text: readFileSync(new URL(path, folder), 'utf8') }));
  const checks = texts.filter(({ path, text }) => path.startsWith('consistency/') || /\bProbe\b.*consistency\/auditor\.ts/.test(text));
  expect(checks.length).toBeGreaterThan(40);
  expect(checks.filter(({ text }) => /\bDate\.now\b|\bnew Date\(\)/.test(text)).map(({ path }) => path)).toEqual([]);
});

type Bought = Awaited<ReturnType<typeof bought>>;
type Room = Awaited<ReturnType<typeof openRoom>>;

async function openRoom(): Promise<{ code: string; owner: string }> {
  const installId = freshId();
  const { code } = (await service.post('/v1/rooms', { installId })).body.room;
  return { code, owner: accountIdOf(installId) };
}

/** Gives an entry of a ledger another time. */
const stamp = (id: string, place: number, at: number) =>
  rewrite(id, place, (entry) => entry.replace(/^(\S+ \S+) \w+/, `$1 ${at.toString(36)}`));

const eventLines = (): Promise<string[]> => redis.lrange(eventKeys.chunk(0), '0', '-1');

/** Removes the event of an entry from the log. */
async function dropEvent(id: string, seq: number): Promise<void> {
  const [line] = (await eventLines()).filter(
    (each) => each.startsWith('c ') && each.split(' ')[2] === id && each.split(' ')[4]!.startsWith(`${seq}:`),
  );
  expect(await redis.lrem(eventKeys.chunk(0), 1, line!)).toBe(1);
}

/** Cancels a subscription, and takes it out of the queue. @param end of the paid time */
async function cancel({ hash, id }: Bought, end: number): Promise<void> {
  const before = (await redis.hmget(subscriptionKeys.purchase(hash), 'state', 'expiresAt')) as string[];
  await redis.hset(subscriptionKeys.purchase(hash), { state: 'canceled', expiresAt: end });
  const line = (await redis.hget(accountKey(id), 'purchases'))!;
  expect(line).toContain(before.join(' '));
  await redis.hset(accountKey(id), 'purchases', line.replace(before.join(' '), `canceled ${end}`));
  await redis.zrem(subscriptionKeys.due, hash);
}

/** Lets the owner of a room have joined at this time, and takes the room off the owner's list. */
async function seat({ code, owner }: Room, joinedAt: number): Promise<void> {
  const player = (await redis.hget(roomKeys.room(code), 'p1'))!;
  await redis.hset(roomKeys.room(code), 'p1', player.replace(/"joinedAt":"[^"]+"/, `"joinedAt":"${new Date(joinedAt).toISOString()}"`));
  expect(await redis.srem(roomKeys.seats(owner, Date.now()), code)).toBe(1);
}
