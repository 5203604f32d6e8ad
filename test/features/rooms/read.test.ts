import { describe, expect, test } from 'vitest';
import { forFile, freshId, start } from '../../harness.ts';
import { open, refusal } from './room.ts';

const service = await forFile(start({ settings: { ROOM_TTL_SECONDS: '100' } }));

describe('GET /v1/rooms/{code}', () => {
  test('shows anybody the same room that players see', async () => {
    const room = await open(service, { name: 'Ann', state: [1] });
    const joined = await room.act('join', freshId(), { name: 'Bob' });
    const { status, body } = await service.get(`/v1/rooms/${room.code}`);
    expect(status).toBe(200);
    expect(body).toEqual({ ok: true, room: joined.body.room });
    expect(body.room.players.map(({ id, name, host }: { id: string; name: string; host: boolean }) => [id, name, host])).toEqual([
      ['p1', 'Ann', true],
      ['p2', 'Bob', false],
    ]);
  });

  test('accepts a code in lower case, with spaces and dashes, and percent-encoded', async () => {
    const { code } = await open(service);
    const [a, b, c, d, e] = code.toLowerCase();
    for (const typed of [
      code.toLowerCase(),
      `${a}${b}-${c}${d}${e}`,
      `%20${code}%20`,
      `${a}%20${b}%2D${c}%e2%80%93${d}${e}`,
      `%${code.charCodeAt(0).toString(16)}${code.slice(1)}`,
    ]) {
      const { status, body } = await service.get(`/v1/rooms/${typed}`);
      expect([typed, status, body.room?.code]).toEqual([typed, 200, code]);
    }
  });

  test.each(['BCDF', 'BCDFGH', 'AEIOU', 'BCDF1', '-', '%00', 'B%2fDFG', 'x'.repeat(2000), '🦊'])(
    'answers room_not_found for the code %j',
    async (code) => {
      expect(refusal(await service.get(`/v1/rooms/${code}`))).toEqual([404, 'room_not_found']);
    },
  );

  test('a room disappears ROOM_TTL_SECONDS after its last change', async () => {
    const room = await open(service);
    service.advance(60_000);
    await room.act('lock', room.host);
    service.advance(60_000);
    // The room is locked already: no change, so its life is not extended.
    await room.act('lock', room.host);
    const { expiresAt, updatedAt } = await room.read();
    expect(Date.parse(expiresAt) - Date.parse(updatedAt)).toBe(100_000);
    service.advance(40_000);
    expect(refusal(await service.get(`/v1/rooms/${room.code}`))).toEqual([404, 'room_not_found']);
    expect(refusal(await room.act('unlock', room.host))).toEqual([404, 'room_not_found']);
    expect(refusal(await room.act('join', freshId()))).toEqual([404, 'room_not_found']);
  });

  test('Redis deletes a room after ROOM_TTL_SECONDS', async () => {
    const room = await open(service);
    const leftMs = await service.service.redis.pttl(`{room:${room.code}}`);
    expect(leftMs).toBeGreaterThan(95_000);
    expect(leftMs).toBeLessThanOrEqual(100_000);
  });

  test('an address that sends too many wrong codes is rate-limited', async () => {
    await using limited = await start({ settings: { RATE_LIMIT: 'on', RATE_LIMIT_MISSES_PER_MINUTE: '2' } });
    const statuses = [];
    for (const code of ['AAAAA', 'AAAAB', 'AAAAC']) statuses.push((await limited.get(`/v1/rooms/${code}`)).status);
    expect(statuses).toEqual([404, 404, 429]);
  });
});
