import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { afterAll, afterEach, describe, expect, test, vi, type MockInstance } from 'vitest';
import { forFile, freshId, start } from '../../harness.ts';
import { refusal } from './room.ts';

// Room codes come from randomInt. `draw` below fixes its next values.
const drawn = vi.spyOn(crypto, 'randomInt') as unknown as MockInstance<(max: number) => number>;
// Modules that imported it see the spy.
syncBuiltinESMExports();

const service = await forFile(start({ settings: { ROOM_TTL_SECONDS: '100' } }));
// The real function again.
afterEach(() => void drawn.mockReset());
afterAll(() => {
  drawn.mockRestore();
  syncBuiltinESMExports();
});

const create = (body: object) => service.post('/v1/rooms', { installId: freshId(), ...body });

/** Fixes the next random numbers from which the service makes room codes. */
const draw = (...numbers: number[]): void => {
  for (const number of numbers) drawn.mockReturnValueOnce(number);
};

describe('POST /v1/rooms', () => {
  test('opens a lobby with the caller as host and first player', async () => {
    const before = Date.now();
    const { status, body } = await create({});
    expect(status).toBe(200);
    expect(body.room.code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{5}$/);
    const createdAt = Date.parse(body.room.createdAt);
    expect(createdAt).toBeGreaterThanOrEqual(before);
    expect(createdAt).toBeLessThanOrEqual(Date.now());
    const at = new Date(createdAt).toISOString();
    expect(body).toEqual({
      ok: true,
      room: {
        code: body.room.code,
        phase: 'lobby',
        seq: 1,
        hostId: 'p1',
        minPlayers: 1,
        maxPlayers: 8,
        locked: false,
        writers: 'host',
        public: false,
        tags: {},
        state: {},
        stateSeq: 1,
        players: [{ id: 'p1', name: 'Player 1', ready: false, connected: false, host: true, joinedAt: at, data: null }],
        createdAt: at,
        updatedAt: at,
        expiresAt: new Date(createdAt + 100_000).toISOString(),
      },
      you: { playerId: 'p1', host: true },
    });
  });

  test('accepts a name, a game, player counts and a state, and ignores other fields', async () => {
    const { body } = await create({
      name: '  Ame\u0301lie ',
      game: 'space-race_2',
      minPlayers: 2,
      maxPlayers: 64,
      state: { board: [] },
      other: 1,
    });
    expect(body.room).toMatchObject({ game: 'space-race_2', minPlayers: 2, maxPlayers: 64, state: { board: [] } });
    expect(body.room.players[0].name).toBe('Amélie');
  });

  test.each([
    [{ name: 'a\u202eb' }, 'name'],
    [{ game: 'Space' }, 'game'],
    [{ minPlayers: 0 }, 'minPlayers'],
    [{ minPlayers: 9 }, 'minPlayers'],
    [{ maxPlayers: 65 }, 'maxPlayers'],
    [{ maxPlayers: 0 }, 'maxPlayers'],
    [{ state: 'x'.repeat(8191) }, 'state'],
    [{ state: { n: '\ud800' } }, 'state.n'],
  ])('%j is refused, and the error names the field %s', async (body, field) => {
    const reply = await create(body);
    expect([...refusal(reply), reply.body.error.field]).toEqual([400, 'invalid_request', field]);
  });

  test.each(['👩‍👩‍👧', '❤️', 'می‌خواهم', '⠓⠊⠀⠞', 'ㅎㅏㄴ'])(
    'the name %s, visible though it holds joiners or blanks, is accepted',
    async (name) => {
      expect((await create({ name })).body.room.players[0].name).toBe(name);
    },
  );

  test.each([32, 8000])('a state nested %i levels deep is refused: with its body it exceeds 32 levels', async (depth) => {
    const response = await fetch(`${service.url}/v1/rooms`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: `{"installId":"${freshId()}","state":${'['.repeat(depth)}${']'.repeat(depth)}}`.slice(0, 16_384),
    });
    const { error } = (await response.json()) as { error: object };
    expect([response.status, error]).toEqual([400, expect.objectContaining({ code: 'invalid_request', field: 'state' })]);
  });

  test('a state nested 31 levels deep is accepted, and brackets in strings do not count', async () => {
    const state: unknown = JSON.parse('['.repeat(31) + ']'.repeat(31));
    expect((await create({ state, name: '[[[{{{"'.repeat(3) })).body.room.state).toEqual(state);
  });

  test('20 rooms that draw the same code at the same time get different codes', async () => {
    draw(...Array.from({ length: 20 }, () => 123_456));
    const replies = await Promise.all(Array.from({ length: 20 }, () => create({})));
    expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
    expect(new Set(replies.map(({ body }) => body.room.code)).size).toBe(20);
    // 123,456 = 16 + 12·20 + 8·20² + 15·20³, least digit first.
    expect(replies.filter(({ body }) => body.room.code === 'VQLTB')).toHaveLength(1);
  });

  test('a code is free again once its room has expired, even before Redis deletes the key', async () => {
    draw(77);
    const first = await create({ state: { old: true } });
    expect(first.body.room.code).toBe('WFBBB');
    service.advance(99_000);
    draw(77);
    expect((await create({})).body.room.code).not.toBe('WFBBB');
    service.advance(1000);
    draw(77);
    const second = await create({});
    expect(second.body.room).toMatchObject({ code: 'WFBBB', seq: 1, state: {} });
  });

  test('answers overloaded when it finds no free code', async () => {
    draw(99);
    await create({});
    draw(...Array.from({ length: 20 }, () => 99));
    const reply = await create({});
    expect(refusal(reply)).toEqual([503, 'overloaded']);
  });
});
