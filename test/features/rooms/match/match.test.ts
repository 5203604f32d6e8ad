import { describe, expect, test, vi } from 'vitest';
import { listKeys, writtenKeys } from '../../../../src/features/rooms/list/list-model.ts';
import { forFile, freshId, start, type TestReply } from '../../../harness.ts';
import { open, refusal, type TestRoom } from '../room.ts';
import { PATIENT } from '../../../patience.ts';

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
  }, PATIENT);

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

  test('opens a room with the options that a new room has, and joins it whatever the next caller wants of a new one', async () => {
    const game = freshGame();
    const options = { state: { turn: 'p1' }, writers: 'players', seatGraceSeconds: null, minPlayers: 2 };
    const { body } = await ask(game, options);
    expect([body.created, body.room]).toEqual([true, expect.objectContaining({ ...options, public: true })]);
    const set = await ask(game, { ...options, seatGraceSeconds: 60, tags: { a: 1 } });
    expect(set.body.room.seatGraceSeconds).toBe(60);
    const second = await ask(game, { state: { other: true } });
    expect([second.body.created, second.body.room]).toEqual([false, expect.objectContaining({ code: body.room.code, ...options })]);
    for (const [wrong, field] of [
      [{ writers: 'nobody' }, 'writers'],
      [{ state: 'x'.repeat(9000) }, 'state'],
      [{ seatGraceSeconds: 0 }, 'seatGraceSeconds'],
    ] as const)
      expect((await ask(game, wrong)).body.error).toMatchObject({ code: 'invalid_request', field });
  });

  test('takes the oldest room with exactly these tags, and these seats where they are sent', async () => {
    const game = freshGame();
    const codes: string[] = [];
    for (const settings of [
      { tags: { a: 1, b: 2 } },
      { tags: { a: '1' } },
      { tags: { a: 1 }, public: false },
      { tags: { a: 1 }, maxPlayers: 3 },
      { tags: { a: 1 }, maxPlayers: 4 },
      { tags: { a: 1 }, maxPlayers: 4 },
    ]) {
      codes.push((await openPublic(game, settings)).code);
      service.advance(2);
    }
    const [, text, , three, four] = codes;
    await expect.poll(async () => (await service.get(`/v1/rooms?game=${game}`)).body.rooms).toHaveLength(5);
    expect(await codeOf(ask(game, { tags: { a: 1 } }))).toBe(three);
    expect(await codeOf(ask(game, { tags: { a: 1 }, maxPlayers: 4 }))).toBe(four);
    expect(await codeOf(ask(game, { tags: { a: '1' } }))).toBe(text);
    for (const wanted of [{ tags: { a: 1 }, maxPlayers: 5 }, {}]) expect((await ask(game, wanted)).body.created).toBe(true);
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

  test('60 who ask at once on two processes fill rooms of four', async () => {
    const game = freshGame();
    const replies = await Promise.all(
      Array.from({ length: 60 }, (_, index) => ask(game, { maxPlayers: 4, startWhenFull: true }, index % 2 === 0 ? service : other)),
    );
    expect(new Set(replies.map(({ body }) => `${body.room.code} ${body.you.playerId}`)).size).toBe(60);
    const rooms = Object.values(Object.groupBy(replies, ({ body }) => body.room.code as string)).map((seats) => seats!.length);
    expect([Math.max(...rooms), rooms.length <= 17]).toEqual([4, true]);
    expect(replies.filter(({ body }) => body.created)).toHaveLength(rooms.length);
    await nothingReserved(game);
    await expect.poll(() => redis.zcard(listKeys(game).order)).toBe(rooms.length - 15);
  });

  test('refuses a bad field by its path', async () => {
    for (const [body, field] of [
      [{}, 'game'],
      [{ game: 'a', maxPlayers: 1 }, 'maxPlayers'],
      [{ game: 'a', minPlayers: 3, maxPlayers: 2 }, 'minPlayers'],
      [{ game: 'a', tags: { A: 1 } }, 'tags.A'],
    ] as const) {
      const reply = await service.post('/v1/rooms/match', { installId: freshId(), ...body });
      expect([reply.status, reply.body.error]).toMatchObject([400, { code: 'invalid_request', field }]);
    }
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
