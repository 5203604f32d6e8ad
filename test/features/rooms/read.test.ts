import { describe, expect, test } from 'vitest';
import { forFile, freshId, start } from '../../harness.ts';
import { open, refusal } from './room.ts';

const service = await forFile(start({ settings: { ROOM_TTL_SECONDS: '100' } }));

describe('GET /v1/rooms/{code}', () => {
  test('shows anybody the same room that players see', async () => {
    const room = await open(service, { name: 'Ann', state: [1] });
    const joined = await room.act('join', freshId(), { name: 'Bob' });
    expect((await service.get(`/v1/rooms/${room.code}`)).body).toEqual({ ok: true, room: joined.body.room });
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

  test('answers room_not_found for a code that no room has or can have', async () => {
    for (const code of ['BCDF', 'BCDFGH', 'AEIOU', 'BCDF1', '-', '%00', 'B%2fDFG', 'x'.repeat(2000), '🦊'])
      expect([code, ...refusal(await service.get(`/v1/rooms/${code}`))]).toEqual([code, 404, 'room_not_found']);
  });

  test('a room disappears, and is deleted by Redis, ROOM_TTL_SECONDS after its last change', async () => {
    const room = await open(service);
    service.advance(60_000);
    const before = await room.read();
    const { createdAt, updatedAt, expiresAt } = (await room.act('lock', room.host)).body.room;
    expect([createdAt, Date.parse(expiresAt) - Date.parse(updatedAt)]).toEqual([before.createdAt, 100_000]);
    expect(Date.parse(updatedAt)).toBeGreaterThanOrEqual(Date.parse(before.updatedAt) + 60_000);
    const leftMs = await service.service.redis.pttl(`{room:${room.code}}`);
    expect([leftMs > 95_000, leftMs <= 100_000]).toEqual([true, true]);
    service.advance(60_000);
    // The room is locked already: no change, so its life is not extended.
    await room.act('lock', room.host);
    service.advance(40_000);
    for (const reply of [
      await service.get(`/v1/rooms/${room.code}`),
      await room.act('unlock', room.host),
      await room.act('join', freshId()),
    ])
      expect(refusal(reply)).toEqual([404, 'room_not_found']);
  });

  test('an address that sends too many wrong codes is rate-limited', async () => {
    await using limited = await start({ settings: { RATE_LIMIT: 'on', RATE_LIMIT_MISSES_PER_MINUTE: '2' } });
    const statuses = [];
    for (const code of ['AAAAA', 'AAAAB', 'AAAAC']) statuses.push((await limited.get(`/v1/rooms/${code}`)).status);
    expect(statuses).toEqual([404, 404, 429]);
  });
});
