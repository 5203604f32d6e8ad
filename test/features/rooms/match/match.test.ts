import { createHash } from 'node:crypto';
import { describe, expect, test, vi } from 'vitest';
import { accountIdOf } from '../../../../src/accounts/ids.ts';
import { askedKey, listKeys, writtenKeys } from '../../../../src/features/rooms/list/list-model.ts';
import { forFile, freshId, start, type TestReply } from '../../../harness.ts';
import { open, refusal, type TestRoom } from '../room.ts';

const service = await forFile(start());
const other = await forFile(start());
const { redis } = service.service;

const freshGame = (): string => freshId('game').toLowerCase();
const ask = (game: string, more: object = {}, at = service): Promise<TestReply> =>
  at.post('/v1/rooms/match', { installId: freshId(), game, ...more });
const codeOf = async (reply: Promise<TestReply>): Promise<string> => {
  const { status, body } = await reply;
  expect([status, body.error]).toEqual([200, undefined]);
  return body.room.code;
};
const openPublic = (game: string, settings: object = {}): Promise<TestRoom> =>
  open(service, { game, public: true, maxPlayers: 4, ...settings });
const isListed = (game: string, ...codes: string[]): Promise<void> =>
  expect
    .poll(async () => (await service.get(`/v1/rooms?game=${game}`)).body.rooms.map(({ code }: { code: string }) => code))
    .toEqual(codes);
/** Finally no seat is reserved. */
const nothingReserved = (game: string): Promise<void> =>
  vi.waitFor(async () => {
    const { reserved, taken } = writtenKeys(game);
    expect([await redis.zcard(reserved), await redis.hgetall(taken)]).toEqual([0, {}]);
  });

/** Reserves a seat of two for an account in a room that does not exist yet, as a process that died did. @returns the entry in the list */
async function reserve(game: string, code: string, accountId: string, tags = '{}', { now } = service): Promise<string> {
  const { reserved, rooms, untils, taken } = writtenKeys(game);
  const entry = `${now()}${code}`;
  await redis.hset(rooms, entry, `0 0 2 ${game} ${tags}`);
  await redis.zadd(untils, now() + 10_000, entry);
  await redis.zadd(reserved, now() + 5000, `${entry} ${accountId}`);
  await redis.hset(taken, entry, 1);
  return entry;
}

describe('POST /v1/rooms/match', () => {
  test('opens a public room if none fits, and seats the next callers in it', async () => {
    const game = freshGame();
    const tags = { mode: 'duel', level: 3 };
    const { body } = await ask(game, { tags, name: 'Ann', maxPlayers: 3, minPlayers: 2 });
    expect(body).toMatchObject({
      created: true,
      you: { playerId: 'p1', host: true },
      room: { game, tags, public: true, phase: 'lobby', maxPlayers: 3, minPlayers: 2, players: [{ name: 'Ann' }], seq: 1 },
    });
    // The same tags in another order, on another process.
    const second = await ask(game, { tags: { level: 3, mode: 'duel' }, name: 'Bob' }, other);
    expect(second.body).toMatchObject({
      created: false,
      you: { playerId: 'p2', host: false },
      room: { code: body.room.code, seq: 2, players: [{ name: 'Ann' }, { name: 'Bob' }] },
    });
    await isListed(game, body.room.code);
    await nothingReserved(game);
  });

  test('takes the oldest room with exactly these tags, and these seats where they are sent', async () => {
    const game = freshGame();
    const rooms: Record<string, TestRoom> = {};
    for (const [name, settings] of Object.entries({
      more: { tags: { a: 1, b: 2 } },
      text: { tags: { a: '1' } },
      private: { tags: { a: 1 }, public: false },
      three: { tags: { a: 1 }, maxPlayers: 3 },
      four: { tags: { a: 1 }, maxPlayers: 4 },
      youngest: { tags: { a: 1 }, maxPlayers: 4 },
    })) {
      rooms[name] = await openPublic(game, settings);
      service.advance(2);
    }
    await isListed(game, ...['youngest', 'four', 'three', 'text', 'more'].map((name) => rooms[name]!.code));
    expect(await codeOf(ask(game, { tags: { a: 1 } }))).toBe(rooms['three']!.code);
    expect(await codeOf(ask(game, { tags: { a: 1 }, maxPlayers: 4 }))).toBe(rooms['four']!.code);
    expect(await codeOf(ask(game, { tags: { a: '1' } }))).toBe(rooms['text']!.code);
    const codes = Object.values(rooms).map(({ code }) => code);
    expect(codes).not.toContain(await codeOf(ask(game, { tags: { a: 1 }, maxPlayers: 5 })));
    expect(codes).not.toContain(await codeOf(ask(game)));
    await nothingReserved(game);
  });

  test('gives a caller who asks again within 10 s the same seat, from two tabs at once too, and after a lost answer', async () => {
    const game = freshGame();
    const installId = freshId();
    const wanted = { installId, maxPlayers: 2 };
    const both = await Promise.all([ask(game, wanted), ask(game, wanted, other), ask(game, wanted)]);
    expect(new Set(both.map(({ body }) => `${body.room.code} ${body.you.playerId} ${body.created}`)).size).toBe(1);
    expect(both[0]!.body).toMatchObject({ created: true, room: { players: [{ id: 'p1' }] } });
    const guest = freshId();
    const first = await ask(game, { installId: guest });
    const again = await ask(game, { installId: guest, tags: { other: true } }, other);
    expect(again.body).toMatchObject({ created: false, you: first.body.you, room: { code: first.body.room.code, seq: 2 } });
    await nothingReserved(game);
  });

  test.each<[string, (room: TestRoom, installId: string) => Promise<unknown>]>([
    ['has left it', (room, installId) => room.act('leave', installId)],
    ['was kicked by the host', (room) => room.act('kick', room.host, { playerId: 'p2' })],
    ['left it before it started', async (room, installId) => [await room.act('leave', installId), await room.act('start', room.host)]],
  ])('seats a caller who %s in another room', async (_, happens) => {
    const [game, installId] = [freshGame(), freshId()];
    const room = await openPublic(game);
    await isListed(game, room.code);
    expect(await codeOf(ask(game, { installId }))).toBe(room.code);
    await happens(room, installId);
    expect(await codeOf(ask(game, { installId }))).not.toBe(room.code);
    await nothingReserved(game);
  });

  test.each<[string, (room: TestRoom) => Promise<unknown>]>([
    ['has started', (room) => room.act('start', room.host)],
    ['is locked', (room) => room.act('lock', room.host)],
    ['has ended', (room) => room.act('end', room.host)],
    ['is private', (room) => room.act('settings', room.host, { public: false })],
    ['is full', (room) => Promise.all([room.join(), room.join(), room.join()])],
    ['does not exist', (room) => redis.del(`{room:${room.code}}`)],
    ['is another one', (room) => redis.hset(`{room:${room.code}}`, 'createdAt', '1')],
  ])('does not trust a list that still has a room that %s', async (_, change) => {
    const game = freshGame();
    const room = await openPublic(game);
    await isListed(game, room.code);
    const { rooms, order, untils, free } = writtenKeys(game);
    const [entry] = await redis.zrange(order, '0', '0');
    const [summary, members] = [await redis.hget(rooms, entry!), await redis.zrange(free, '0', '-1')];
    await change(room);
    // The state after the process of the change has died before it wrote the list.
    await redis.hset(rooms, entry!, summary!);
    await redis.zadd(order, '0', entry!);
    await redis.zadd(untils, service.now() + 10_000, entry!);
    await redis.zadd(free, ...members.flatMap((member) => ['0', member]));
    const { body } = await ask(game);
    expect(body).toMatchObject({ created: true });
    await isListed(game, body.room.code);
    await nothingReserved(game);
  });

  test('starts the room when a match or a join takes its last seat, if its creator wanted that', async () => {
    const game = freshGame();
    const first = (await ask(game, { maxPlayers: 3, startWhenFull: true })).body.room;
    expect(await codeOf(ask(game))).toBe(first.code);
    const { body } = await service.post(`/v1/rooms/${first.code}/join`, { installId: freshId() });
    expect(body.room).toMatchObject({ phase: 'playing', seq: 3 });
    expect(body.room.startedAt).toBeDefined();
    await isListed(game);
    const second = (await ask(game, { maxPlayers: 2 })).body.room;
    expect((await ask(game, { maxPlayers: 2, startWhenFull: true })).body.room).toMatchObject({ code: second.code, phase: 'lobby' });
  });

  test('a rematch starts when its last seat is taken too, if the match did', async () => {
    for (const startWhenFull of [true, false]) {
      const [game, host, guest] = [freshGame(), freshId(), freshId()];
      const { code } = (await ask(game, { installId: host, maxPlayers: 2, startWhenFull })).body.room;
      await ask(game, { installId: guest });
      const { nextCode } = (await service.post(`/v1/rooms/${code}/rematch`, { installId: host })).body.room;
      const { body } = await service.post(`/v1/rooms/${nextCode}/join`, { installId: guest });
      expect(body.room.phase).toBe(startWhenFull ? 'playing' : 'lobby');
    }
  });

  test('a reservation of a process that died ends by itself, and the room that it did not create is created by the next', async () => {
    await using own = await start();
    const game = freshGame();
    const entry = await reserve(game, 'BCDFG', accountIdOf('dead-install'), '{}', own);
    for (const of of ['{}', '2{}']) {
      const hash = createHash('sha1').update(of).digest('hex').slice(0, 16);
      await redis.zadd(writtenKeys(game).free, 0, `${hash}${entry}`);
    }
    const first = await ask(game, {}, own);
    expect(first.body).toMatchObject({ created: true, room: { code: 'BCDFG', maxPlayers: 2 } });
    // The seat of the dead process is not given to another player until its reservation ends.
    const second = await codeOf(ask(game, {}, own));
    expect(second).not.toBe('BCDFG');
    own.advance(5100);
    expect(await codeOf(ask(game, {}, own))).toBe('BCDFG');
    await redis.del('{room:BCDFG}');
  });

  test('a caller who asks for other tags before the first call has created the room creates it with the tags for which others wait', async () => {
    const [game, installId, code] = [freshGame(), freshId(), 'ZZXWV'];
    const entry = await reserve(game, code, accountIdOf(installId), '{"mode":"duel"}');
    await redis.set(askedKey(game, accountIdOf(installId)), entry, 'PX', 10_000);
    const { body } = await ask(game, { installId, tags: { mode: 'team' } });
    expect(body).toMatchObject({ created: true, room: { code, tags: { mode: 'duel' }, maxPlayers: 2 } });
    expect(await codeOf(ask(game, { tags: { mode: 'duel' } }))).toBe(code);
    await nothingReserved(game);
    await redis.del(`{room:${code}}`);
  });

  test('60 who ask at once on two processes fill rooms of four', async () => {
    const game = freshGame();
    const replies = await Promise.all(
      Array.from({ length: 60 }, (_, index) => ask(game, { maxPlayers: 4, startWhenFull: true }, index % 2 === 0 ? service : other)),
    );
    expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 60 }, () => 200));
    const seats = new Map<string, Set<string>>();
    for (const { body } of replies) seats.set(body.room.code, (seats.get(body.room.code) ?? new Set()).add(body.you.playerId));
    expect([...seats.values()].every((ids) => ids.size <= 4)).toBe(true);
    expect([...seats.values()].reduce((sum, ids) => sum + ids.size, 0)).toBe(60);
    expect(seats.size).toBeLessThanOrEqual(17);
    expect(replies.filter(({ body }) => body.created)).toHaveLength(seats.size);
    await nothingReserved(game);
    await expect.poll(() => redis.zcard(listKeys(game).order)).toBe(seats.size - 15);
  });

  test.each([
    [{}, 'game'],
    [{ game: 'a', maxPlayers: 1 }, 'maxPlayers'],
    [{ game: 'a', minPlayers: 3, maxPlayers: 2 }, 'minPlayers'],
    [{ game: 'a', tags: { A: 1 } }, 'tags.A'],
  ])('refuses %j', async (body, field) => {
    const reply = await service.post('/v1/rooms/match', { installId: freshId(), ...body });
    expect([...refusal(reply), reply.body.error.field]).toEqual([400, 'invalid_request', field]);
  });

  test('returns the seat of a caller who is refused', async () => {
    const game = freshGame();
    const installId = freshId();
    await service.post('/v1/rooms', { installId });
    const { confirm } = (await service.post('/v1/account/delete', { installId })).body;
    await service.post('/v1/account/delete', { installId, confirm });
    expect(refusal(await ask(game, { installId }))).toEqual([410, 'account_deleted']);
    await nothingReserved(game);
    expect((await ask(game)).body).toMatchObject({ created: true });
  });
});
