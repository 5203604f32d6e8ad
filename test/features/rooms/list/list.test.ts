import { describe, expect, test, vi } from 'vitest';
import { listKeys } from '../../../../src/features/rooms/list/list-model.ts';
import { forFile, freshId, start, type TestReply } from '../../../harness.ts';
import { watchRoom, Watcher } from '../../../realtime/watcher.ts';
import { makeServerKey } from '../../../server-keys.ts';
import { open, type TestRoom } from '../room.ts';
import { PATIENT } from '../../../patience.ts';

const service = await forFile(start());

const freshGame = (): string => freshId('game').toLowerCase();
const openPublic = (game: string, settings: object = {}, at = service): Promise<TestRoom> =>
  open(at, { game, public: true, maxPlayers: 4, ...settings });
const page = async (game: string, more = '', at = service) => (await at.get(`/v1/rooms?game=${game}${more}`)).body;
const codes = async (game: string, more = '', at = service): Promise<string[]> =>
  (await page(game, more, at)).rooms.map(({ code }: { code: string }) => code);
/** A list is at most one call behind its rooms. */
const listed = (game: string, expected: readonly string[], more = '', at = service): Promise<void> =>
  expect.poll(() => codes(game, more, at)).toEqual(expected);

describe('GET /v1/rooms', () => {
  test('shows public rooms, newest first, and nothing that names a player', async () => {
    const game = freshGame();
    const first = await openPublic(game, { name: 'Ann', tags: { mode: 'duel', level: 3 } });
    await open(service, { game });
    service.advance(5);
    const second = await openPublic(game);
    await listed(game, [second.code, first.code]);
    const { createdAt } = await first.read();
    const shown = { code: first.code, game, players: 1, maxPlayers: 4, tags: { level: 3, mode: 'duel' }, createdAt };
    expect((await page(game)).rooms[1]).toEqual(shown);
    expect(await page(freshGame())).toEqual({ ok: true, rooms: [] });
  });

  test('without a game shows rooms of all games, and those of none', async () => {
    const tag = freshId('').slice(1);
    const rooms: string[] = [];
    // Tests whose clock is ahead share this list, and remove rooms from it.
    await vi.waitFor(async () => {
      rooms.push((await openPublic(freshGame(), { tags: { tag } })).code, (await open(service, { public: true, tags: { tag } })).code);
      const { body } = await service.get(`/v1/rooms?tag.tag=${tag}`);
      const found = body.rooms.map(({ code }: { code: string }) => code);
      expect(rooms.slice(-2).every((code) => found.includes(code))).toBe(true);
      expect(body.rooms.find(({ code }: { code: string }) => code === rooms.at(-1))).not.toHaveProperty('game');
    }, PATIENT);
  });

  test.each<[string, (room: TestRoom) => Promise<unknown>]>([
    ['is full', (room) => Promise.all([room.join(), room.join(), room.join()])],
    ['is locked', (room) => room.act('lock', room.host)],
    ['has started', (room) => room.act('start', room.host)],
    ['has ended', (room) => room.act('end', room.host)],
    ['was left by all players', (room) => room.act('leave', room.host)],
    ['became private', (room) => room.act('settings', room.host, { public: false })],
  ])('does not show a room that %s', async (_, close) => {
    const game = freshGame();
    const room = await openPublic(game);
    await listed(game, [room.code]);
    await close(room);
    await listed(game, []);
  });

  test('shows a room again that is open again, with its players, tags and seats as they are', async () => {
    const game = freshGame();
    const room = await openPublic(game, { maxPlayers: 2 });
    const guest = await room.join();
    await listed(game, []);
    await room.act('leave', guest);
    await room.act('settings', room.host, { maxPlayers: 5, tags: { mode: 'duel' } });
    const { code } = room;
    await expect.poll(async () => (await page(game)).rooms).toMatchObject([{ code, players: 1, maxPlayers: 5, tags: { mode: 'duel' } }]);
  });

  test('compares tags as texts, and asks for all of them', async () => {
    const game = freshGame();
    const text = await openPublic(game, { tags: { level: '3', mode: 'a "b", c', on: 'true' } });
    service.advance(5);
    const number = await openPublic(game, { tags: { level: 3, on: true } });
    await listed(game, [number.code, text.code]);
    await listed(game, [number.code, text.code], '&tag.level=3&tag.on=true');
    await listed(game, [text.code], '&tag.mode=a%20%22b%22,%20c&tag.level=3');
    for (const none of ['level=30', 'level=', 'level=3.0', 'mode=a', 'mode=b', 'on=True', 'other=3'])
      expect(await codes(game, `&tag.${none}`), none).toEqual([]);
  });

  test('accepts any text as a tag, even the line ends of JavaScript', async () => {
    const game = freshGame();
    const [separators, controls, pair] = ['a\u2028b\u2029c', '\u0000\t\r\n\u0085', '😀"\\'];
    const room = await openPublic(game, { tags: { separators, controls, pair } });
    const query = (name: string, text: string): string => `&tag.${name}=${encodeURIComponent(text)}`;
    await listed(game, [room.code], query('separators', separators) + query('controls', controls) + query('pair', pair));
    const watcher = await Watcher.open(service.url, `/v1/lobby/live?game=${game}${query('separators', separators)}`);
    expect((await watcher.until(() => true)).rooms).toMatchObject([{ code: room.code, tags: { separators, controls, pair } }]);
    await watcher.close();
    const matched = await service.post('/v1/rooms/match', { installId: freshId(), game, tags: { separators, controls, pair } });
    expect(matched.body.room.code).toBe(room.code);
  });

  test('goes on from page to page without losing or repeating a room', async () => {
    const game = freshGame();
    for (let count = 0; count < 5; count++) await openPublic(game);
    await expect.poll(() => codes(game)).toHaveLength(5);
    const found: string[][] = [];
    for (let cursor: string | undefined = '9999999999999ZZZZZ'; cursor !== undefined;) {
      const { rooms, nextCursor } = await page(game, `&limit=2&cursor=${cursor}`);
      found.push(rooms.map(({ code }: { code: string }) => code));
      cursor = nextCursor;
    }
    expect(found.map(({ length }) => length)).toEqual([2, 2, 1]);
    expect(found.flat()).toEqual(await codes(game));
  });

  test('refuses a bad query by its field', async () => {
    for (const [query, field] of [
      ['limit=0', 'limit'],
      ['limit=101', 'limit'],
      ['game=*', 'game'],
      ['cursor=', 'cursor'],
      [`cursor=${'1'.repeat(300)}`, 'cursor'],
      ['tag.A=1', 'tag'],
      [`tag.a=${'x'.repeat(65)}`, 'tag.a'],
      [Array.from({ length: 9 }, (_, index) => `tag.t${index}=1`).join('&'), 'tag'],
    ] as const) {
      const { status, body } = await service.get(`/v1/rooms?${query}`);
      expect([query, status, body.error]).toMatchObject([query, 400, { code: 'invalid_request', field }]);
    }
  });

  test('examines 1,000 rooms for a page and has 32 KiB of them, or 200 and 16 KiB for an address that may not pay for more', async () => {
    const game = freshGame();
    const { redis } = service.service;
    const { order, untils, rooms } = listKeys(game);
    const entries = Array.from({ length: 1203 }, (_, index) => `${1_700_000_000_000 + index}BBBBB`);
    const until = service.now() + 60_000;
    await redis.zadd(order, ...entries.flatMap((entry) => [0, entry]));
    await redis.zadd(untils, ...entries.flatMap((entry) => [until, entry]));
    const summary = (index: number) => `1 1 4 ${game} {"n":${index < 2 ? 1 : 2}}`;
    await redis.hset(rooms, ...entries.flatMap((entry, index) => [entry, summary(index)]));
    const first = await page(game, '&tag.n=1');
    expect(first).toMatchObject({ rooms: [], nextCursor: entries[203] });
    expect(await page(game, `&tag.n=1&cursor=${first.nextCursor}`)).toMatchObject({ rooms: [{ tags: { n: 1 } }, { tags: { n: 1 } }] });
    await using poor = await start({
      settings: { RATE_LIMIT: 'on', RATE_LIMIT_PER_SECOND: '1', RATE_LIMIT_BURST: '8' },
      stoppedClock: true,
    });
    expect((await page(game, '&tag.n=1', poor)).nextCursor).toBe(entries[203]);
    expect((await page(game, '&tag.n=1', poor)).nextCursor).toBe(entries[1003]);
    // The channel brings the newest fifty.
    const watcher = await Watcher.open(service.url, `/v1/lobby/live?game=${game}`);
    expect((await watcher.until(() => true)).rooms).toHaveLength(50);
    await watcher.close();
    // Long summaries end a page too.
    const tags = JSON.stringify(Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`t${index}`, '\u0001'.repeat(64)])));
    await redis.hset(rooms, ...entries.slice(-30).flatMap((entry) => [entry, `1 1 4 ${game} ${tags}`]));
    // The remaining budget of the poor address pays for 16 KiB only.
    for (const [at, bytes] of [[service, 32 * 1024] as const, [poor, 16 * 1024] as const]) {
      const { rooms: shown, nextCursor } = await page(game, '&limit=100', at);
      expect(shown).toHaveLength(Math.ceil(bytes / `1 1 4 ${game} ${tags}`.length));
      expect(nextCursor).toBe(entries.at(-shown.length));
    }
  });
});

test('a request after the answer of a change by another process has the change, however often the list was read', async () => {
  await using there = await start();
  const game = freshGame();
  const room = await openPublic(game);
  const players = async (at = service) => (await page(game, '', at)).rooms[0]?.players;
  await expect.poll(() => players()).toBe(1);
  for (let seats = 2; seats < 4; seats++) {
    await there.post(`/v1/rooms/${room.code}/join`, { installId: freshId() });
    // The write of the list follows the answer of the join, on the same connection as the next request of that process.
    expect([await players(there), await players()]).toEqual([seats, seats]);
  }
});

describe('a room with nobody present', () => {
  test('leaves the list 15 s after the last act, and comes back with the next one', async () => {
    await using own = await start();
    const game = freshGame();
    const room = await openPublic(game, {}, own);
    await listed(game, [room.code], '', own);
    own.advance(14_000);
    expect(await codes(game, '', own)).toEqual([room.code]);
    await room.act('data', room.host, { data: 1 });
    own.advance(14_000);
    expect(await codes(game, '', own)).toEqual([room.code]);
    const { version } = listKeys(game);
    const before = await own.service.redis.get(version);
    own.advance(1500);
    // It leaves a cached page without a change of the list.
    expect([await codes(game, '', own), await own.service.redis.get(version)]).toEqual([[], before]);
    // The reader had the entry swept.
    await expect.poll(() => own.service.redis.zcard(listKeys(game).untils)).toBe(0);
    await room.act('message', room.host, { data: 1 });
    await listed(game, [room.code], '', own);
  });

  test('stays while a welcomed channel of a player is open, and leaves as soon as the last one has closed', async () => {
    await using own = await start();
    const game = freshGame();
    const room = await openPublic(game, {}, own);
    const watcher = await watchRoom(own, room.code);
    own.advance(20_000);
    expect(await codes(game, '', own)).toEqual([]);
    await watcher.hello(room.host);
    await listed(game, [room.code], '', own);
    own.advance(11_000);
    expect(await codes(game, '', own)).toEqual([room.code]);
    await watcher.close();
    await listed(game, [], '', own);
  });

  test('is not a room whose host has just made it public', async () => {
    await using own = await start();
    const game = freshGame();
    const room = await openPublic(game, { public: false }, own);
    own.advance(20_000);
    await room.act('settings', room.host, { public: true });
    await listed(game, [room.code], '', own);
  });

  // The clock stands still, so no entry leaves a list by its time.
  test('is a room whose players had channels that have closed, on all processes, and have not acted since', async () => {
    await using own = await start({ stoppedClock: true });
    const game = freshGame();
    const room = await openPublic(game, {}, own);
    const guest = await room.join();
    const [ofHost, ofGuest] = [await watchRoom(own, room.code), await watchRoom(service, room.code)];
    await ofHost.hello(room.host);
    await ofGuest.hello(guest);
    // An act over HTTP while a channel is open does not outlast the channel.
    await room.act('ready', room.host);
    await ofHost.close();
    await expect.poll(async () => (await room.read()).players[0].connected).toBe(false);
    expect(await codes(game, '', own)).toEqual([room.code]);
    await ofGuest.close();
    await listed(game, [], '', own);
    const match = (): Promise<TestReply> => own.post('/v1/rooms/match', { installId: freshId(), game });
    expect((await match()).body.created).toBe(true);
    // An act after the channel has closed counts at once, and so does the act of a player who never had one.
    await room.act('unready', room.host);
    expect(await codes(game, '', own)).toContain(room.code);
    await room.act('leave', room.host);
    await expect.poll(() => codes(game, '', own)).not.toContain(room.code);
    // The host has left, and the player who stays had a channel.
    await room.act('join', room.host);
    await expect.poll(() => codes(game, '', own)).toContain(room.code);
  });

  test('that belongs to a server stays for 60 s after an act of the server, and its players do not count', async () => {
    await using own = await start();
    const game = freshGame();
    const { token: key } = await makeServerKey(own, ['rooms']);
    const { body } = await own.post('/v1/rooms', { seatless: true, public: true, game }, { bearer: key });
    const { code } = body.room;
    await listed(game, [code], '', own);
    own.advance(55_000);
    expect(await codes(game, '', own)).toEqual([code]);
    await own.post(`/v1/rooms/${code}/join`, { installId: freshId() });
    own.advance(6000);
    expect(await codes(game, '', own)).toEqual([]);
    const watcher = await watchRoom(own, code);
    await watcher.hello({ serverKey: key });
    await expect.poll(async () => (await page(game, '', own)).rooms).toMatchObject([{ code, players: 1 }]);
    await watcher.close();
    await listed(game, [], '', own);
    await own.post(`/v1/rooms/${code}/state`, { state: 1 }, { bearer: key });
    await listed(game, [code], '', own);
  });
});
