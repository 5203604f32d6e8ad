import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { afterAll, afterEach, describe, expect, test, vi, type MockInstance } from 'vitest';
import { forFile, freshId, request, start } from '../../harness.ts';
import { refusal } from './room.ts';

// Room codes come from randomInt. `draw` below fixes its next values.
const drawn = vi.spyOn(crypto, 'randomInt') as unknown as MockInstance<(max: number) => number>;
// Modules that imported it see the spy.
syncBuiltinESMExports();

const service = await forFile(start({ settings: { ROOM_TTL_SECONDS: '100' }, stoppedClock: true }));
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
    const { body } = await create({});
    const at = body.room.createdAt;
    expect(body).toEqual({
      ok: true,
      room: {
        code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{5}$/),
        ...{ phase: 'lobby', seq: 1, hostId: 'p1', minPlayers: 1, maxPlayers: 8, locked: false, writers: 'host', public: false },
        seatGraceSeconds: null,
        ...{ tags: {}, state: {}, stateSeq: 1, createdAt: at, updatedAt: at, expiresAt: new Date(Date.parse(at) + 100_000).toISOString() },
        players: [{ id: 'p1', name: 'Player 1', ready: false, connected: false, host: true, joinedAt: at, data: null }],
      },
      you: { playerId: 'p1', host: true },
    });
  });

  test('accepts a name, a game, player counts and a state, and ignores other fields', async () => {
    const settings = { game: 'space-race_2', minPlayers: 2, maxPlayers: 64, state: { board: [] } };
    const { body } = await create({ name: '  Ame\u0301lie ', ...settings, other: 1 });
    expect(body.room).toMatchObject({ ...settings, players: [{ name: 'Amélie' }] });
    // These are visible though they hold joiners or blanks.
    for (const name of ['👩‍👩‍👧', '❤️', 'می‌خواهم', '⠓⠊⠀⠞', 'ㅎㅏㄴ']) expect((await create({ name })).body.room.players[0].name).toBe(name);
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

  test('a state is nested 31 levels deep at most, and brackets in strings do not count', async () => {
    const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
    for (const depth of [32, 8000]) {
      const text = `{"installId":"${freshId()}","state":${nested(depth)}}`.slice(0, 16_384);
      const { status, body } = await request(service.url, '/v1/rooms', { method: 'POST' }, text);
      expect([status, body.error]).toMatchObject([400, { code: 'invalid_request', field: 'state' }]);
    }
    const state: unknown = JSON.parse(nested(31));
    expect((await create({ state, name: '[[[{{{"'.repeat(3) })).body.room.state).toEqual(state);
  });

  test('20 rooms that draw the same code at the same time get different codes', async () => {
    draw(...Array.from({ length: 20 }, () => 123_456));
    const replies = await Promise.all(Array.from({ length: 20 }, () => create({})));
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
