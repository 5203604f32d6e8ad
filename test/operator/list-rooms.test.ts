import { expect, test } from 'vitest';
import { pino } from 'pino';
import { RoomIndex } from '../../src/features/rooms/room-index.ts';
import { roomKeys } from '../../src/features/rooms/model.ts';
import { pairsOf } from '../../src/redis/reply-pairs.ts';
import { open as openRoom, seated } from '../features/rooms/room.ts';
import { forFile, freshId, isOnCluster } from '../harness.ts';
import { monitored } from '../monitor.ts';
import { startRedis } from '../own-redis.ts';
import { eventually } from '../realtime/watcher.ts';
import { makeServerKey } from '../server-keys.ts';
import { testConfig } from '../environment.ts';
import { openDesk, openParts } from './parts.ts';

/** `rooms list`, and the index of all rooms behind it. */

const TTL_SECONDS = 7200;
const own = isOnCluster() ? undefined : await forFile(startRedis());
const { service, read, bearer, change } = await forFile(openDesk({ ...(own && { redis: own.location }), role: 'support' }));
const redis = own?.redis ?? service.service.redis;
/** For tests that read or write the index itself, which has many sorted sets on a Cluster. */
const onOneRedis = test.skipIf(isOnCluster());

interface Listed {
  readonly code: string;
  readonly [field: string]: unknown;
}

/** All pages. */
async function list(query = '', key = bearer): Promise<{ rooms: Listed[]; pages: number; looked: number }> {
  const rooms: Listed[] = [];
  let [pages, looked] = [0, 0];
  for (let cursor = ''; ;) {
    const { status, body } = await read(`/rooms?${query}${cursor === '' ? '' : `&cursor=${cursor}`}`, key);
    expect(status).toBe(200);
    rooms.push(...body.rooms);
    [pages, looked] = [pages + 1, looked + body.looked];
    if (body.nextCursor === undefined) return { rooms, pages, looked };
    cursor = body.nextCursor;
  }
}

const codesOf = async (query: string): Promise<string[]> => (await list(query)).rooms.map(({ code }) => code).toSorted();

const open = (settings: object) => openRoom(service, settings);

/** The members of the index, with the times at which they are due. */
const index = async (): Promise<Map<string, number>> => {
  const pairs = pairsOf(await redis.zrange(roomKeys.expiry, '0', '-1', 'WITHSCORES'));
  return new Map(pairs.map(([member, time]) => [member, Number(time)]));
};

test('rooms are listed newest first with their figures, and no text of a player, of the state or of a seat is among them', async () => {
  const game = freshId('game').toLowerCase();
  const first = await open({ game, name: 'secretName', tags: { mode: 'secretTag' }, state: { text: 'secretState' }, maxPlayers: 2 });
  await first.act('private', first.host, { seats: { p1: 'secretHand' } });
  const second = await open({ game, public: true });
  const { status, body } = await read(`/rooms?game=${game}`);
  expect(status).toBe(200);
  const times = { createdAt: expect.any(String), updatedAt: expect.any(String), expiresAt: expect.any(String) };
  expect(body).toEqual({
    ok: true,
    rooms: [
      { code: second.code, game, phase: 'lobby', players: 1, present: 0, maxPlayers: 8, locked: false, private: false, ...times },
      { code: first.code, game, phase: 'lobby', players: 1, present: 0, maxPlayers: 2, locked: false, private: true, ...times },
    ],
    looked: 2,
  });
  expect(JSON.stringify(body)).not.toContain('secret');
  const shown = (await service.get(`/v1/rooms/${first.code}`)).body.room;
  expect(body.rooms[1]).toMatchObject({ createdAt: shown.createdAt, updatedAt: shown.updatedAt, expiresAt: shown.expiresAt });
});

test('each filter finds its rooms', async () => {
  const game = freshId('game').toLowerCase();
  const lobby = await open({ game, public: true });
  const full = await open({ game, maxPlayers: 1 });
  await full.act('start', full.host);
  const ended = await open({ game });
  await ended.act('leave', ended.host);
  const { token } = await makeServerKey(service, ['rooms']);
  const servers = (await service.post('/v1/rooms', { seatless: true, game }, { bearer: token })).body.room.code as string;
  const matched = (await service.post('/v1/rooms/match', { installId: freshId(), game, tags: { mode: 'x' } })).body.room.code as string;
  await seated(service, lobby, lobby.host);
  const of = (query: string) => codesOf(`game=${game}${query}`);
  const all = [lobby.code, full.code, ended.code, servers, matched].toSorted();
  expect(await of('')).toEqual(all);
  expect(await of('&phase=playing')).toEqual([full.code]);
  expect(await of('&phase=ended')).toEqual([ended.code]);
  expect(await of('&seats=full')).toEqual([full.code]);
  expect(await of('&seats=empty')).toEqual([ended.code, servers].toSorted());
  expect(await of('&seats=free&phase=lobby')).toEqual([lobby.code, servers, matched].toSorted());
  expect(await of('&present=true')).toEqual([lobby.code]);
  expect(await of('&present=false')).toEqual(all.filter((code) => code !== lobby.code));
  expect(await of('&private=false')).toEqual([lobby.code, matched].toSorted());
  expect(await of('&private=true&phase=lobby')).toEqual([servers]);
  const { rooms } = await list(`game=${game}`);
  expect(rooms.find(({ code }) => code === lobby.code)).toMatchObject({ players: 1, present: 1 });
  expect(rooms.find(({ code }) => code === servers)).toMatchObject({ players: 0, server: 'away' });
});

test('a key of one game sees the rooms of its game, whatever it asks for, and nothing of others in a cursor', async () => {
  const [game, other] = [freshId('game').toLowerCase(), freshId('other').toLowerCase()];
  const mine = await open({ game });
  const [foreign, none] = [await open({ game: other }), await open({})];
  const { token } = await makeServerKey(service, ['admin'], { role: 'viewer', game });
  expect((await list('', token)).rooms.map(({ code }) => code)).toEqual([mine.code]);
  expect((await list(`game=${game}`, token)).rooms.map(({ code }) => code)).toEqual([mine.code]);
  expect((await read(`/rooms?game=${other}`, token)).body.error).toMatchObject({ code: 'forbidden', field: 'game' });
  if (isOnCluster()) return;
  // The code of a room of this game was given to a room of another game. The index still has the old entry.
  for (const { code } of [foreign, none]) await redis.zadd(roomKeys.expiry, service.now() + 60_000, `${code} ${game}`);
  const { body } = await read('/rooms?limit=1', token);
  expect(body.rooms.map(({ code }: Listed) => code)).toEqual([mine.code]);
  expect(body.nextCursor).toMatch(/^\d+\.\d+$/);
  expect((await read(`/rooms?cursor=${body.nextCursor}`, token)).body.rooms).toEqual([]);
});

test('pages of any length have each room once, also rooms of the same millisecond, and a filter that finds nothing ends', async () => {
  const game = freshId('game').toLowerCase();
  const made = await Promise.all(Array.from({ length: 230 }, () => open({ game })));
  const codes = made.map(({ code }) => code).toSorted();
  for (const limit of [30, 100]) {
    const { rooms, pages } = await list(`game=${game}&limit=${limit}`);
    expect(rooms.map(({ code }) => code).toSorted()).toEqual(codes);
    expect(pages).toBeGreaterThanOrEqual(Math.ceil(230 / limit));
  }
  expect(await list(`game=${game}&phase=ended`)).toMatchObject({ rooms: [], looked: 230, pages: 1 });
  if (isOnCluster()) return;
  // As after an operator has repaired a lost index: all entries have the same time.
  await redis.zadd(roomKeys.expiry, ...codes.flatMap((code) => [String(service.now() + 1_000_000), `${code} ${game}`]));
  const { rooms } = await list(`game=${game}&limit=40`);
  expect(rooms.map(({ code }) => code).toSorted()).toEqual(codes);
});

onOneRedis('a page is bounded where no room fits, and the next one goes on', async () => {
  const [game, other] = [freshId('game').toLowerCase(), freshId('other').toLowerCase()];
  const { code } = await open({ game });
  const dueAt = service.now() + TTL_SECONDS * 1000 + 60_000;
  const entries = Array.from({ length: 12_000 }, (_, number) => [dueAt + number, `BBBBB ${other}${number}`]).flat();
  for (let start = 0; start < entries.length; start += 4000)
    await redis.zadd(roomKeys.expiry, ...entries.slice(start, start + 4000).map(String));
  const { rooms, pages, looked } = await list(`game=${game}`);
  expect([rooms.map((row) => row.code), pages, looked]).toEqual([[code], 3, 1]);
  // Without the filter 5,000 entries of rooms that do not exist are five pages of 1,000 reads.
  expect((await read('/rooms')).body).toMatchObject({ rooms: [], looked: 1000 });
  await redis.zremrangebyscore(roomKeys.expiry, dueAt, '+inf');
});

onOneRedis('a room costs one write of the index, before the room exists', async () => {
  /** The keys that scripts wrote. */
  const written: string[] = [];
  await redis.ping();
  using _ = await monitored(redis, ([command = '', key = ''], isOfScript) => {
    if (isOfScript && /^(zadd|hset)$/i.test(command)) written.push(key);
  });
  const { code } = await open({});
  const room = roomKeys.room(code);
  await eventually(() => written.includes(room));
  expect(written.filter((key) => key === room || key === roomKeys.expiry).slice(0, 2)).toEqual([roomKeys.expiry, room]);
  expect(written.filter((key) => key === roomKeys.expiry)).toHaveLength(1);
});

onOneRedis('a room that has expired leaves the index and the list, and a room that changed stays', async () => {
  const game = freshId('game').toLowerCase();
  const [gone, kept] = [await open({ game }), await open({ game })];
  const before = await index();
  expect([gone, kept].map(({ code }) => before.has(`${code} ${game}`))).toEqual([true, true]);
  service.advance((TTL_SECONDS - 60) * 1000);
  await kept.act('ready', kept.host);
  service.advance(61_000);
  // The list is right before the index is: nothing has checked the rooms yet.
  expect(await codesOf(`game=${game}`)).toEqual([kept.code]);
  using tool = openParts(service);
  const { scripts } = tool.parts;
  const checking = new RoomIndex({ scripts, config: testConfig(), log: pino({ level: 'silent' }), now: service.now, pollIntervalMs: 10 });
  await eventually(async () => !(await index()).has(`${gone.code} ${game}`));
  await eventually(async () => ((await index()).get(`${kept.code} ${game}`) ?? 0) > before.get(`${kept.code} ${game}`)!);
  await checking.close();
  expect(await codesOf(`game=${game}`)).toEqual([kept.code]);
});

test.each([
  ['a key of another type', (key: string) => redis.multi().del(key).set(key, 'x').exec()],
  ['a phase that does not exist', (key: string) => redis.hset(key, 'phase', '<script>')],
  ['no number of seats', (key: string) => redis.hdel(key, 'maxPlayers')],
  ['no record of a seat', (key: string) => redis.hdel(key, 'p1')],
])('a room with %s hides no other room, and its row names the audit', async (_, damage) => {
  const game = freshId('game').toLowerCase();
  const [broken, other] = [await open({ game }), await open({ game })];
  await damage(roomKeys.room(broken.code));
  for (const query of ['', '&phase=ended', '&present=true']) {
    const { rooms } = await list(`game=${game}${query}`);
    expect(rooms.find(({ code }) => code === broken.code)).toEqual({
      ...{ code: broken.code, game, problem: expect.stringContaining('npm run audit') },
    });
  }
  expect(await codesOf(`game=${game}`)).toEqual([broken.code, other.code].toSorted());
  await redis.del(roomKeys.room(broken.code));
});

test('a room whose key has another type is shown as one that cannot be read, and takes no change', async () => {
  const game = freshId('game').toLowerCase();
  const { code } = await open({ game });
  await redis.multi().del(roomKeys.room(code)).set(roomKeys.room(code), 'x').exec();
  const { token } = await makeServerKey(service, ['admin'], { role: 'support', game });
  expect((await read(`/rooms/${code}`)).body).toEqual({ ok: true, room: { code }, seats: [], unreadable: [`room ${code}`] });
  // Nobody knows the game of the room.
  expect((await read(`/rooms/${code}`, token)).body.error).toMatchObject({
    ...{ code: 'room_not_found', message: expect.stringContaining('npm run audit') },
  });
  expect((await change(`/rooms/${code}/end`)).status).toBe(404);
  await redis.del(roomKeys.room(code));
});

test('a filter or a cursor of another form is refused by the name of its field', async () => {
  for (const [field, value] of [
    ['phase', 'open'],
    ['seats', 'some'],
    ['present', 'yes'],
    ['private', '1'],
    ['limit', '101'],
    ['cursor', 'BCDFG'],
    ['cursor', `${'9'.repeat(16)}.1`],
    ['game', '*'],
  ])
    expect((await read(`/rooms?${field}=${value}`)).body.error).toMatchObject({ code: 'invalid_request', field });
});
