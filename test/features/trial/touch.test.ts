import { decodeJwt } from 'jose';
import { describe, expect, test } from 'vitest';
import { forFile, freshId, start } from '../../harness.ts';

const DAY_MS = 86_400_000;

const service = await forFile(start());

const touch = (deviceId: unknown, cookies: string[] = []) => service.post('/v1/trial/touch', { deviceId }, { cookies });

describe('POST /v1/trial/touch', () => {
  test("starts a trial of seven days on the server's clock", async () => {
    const before = service.now();
    const { status, body } = await touch(freshId('device'));
    const startedAt = Date.parse(body.startedAt);
    expect(status).toBe(200);
    expect(body).toEqual({
      ok: true,
      active: true,
      state: 'active',
      startedAt: expect.any(String),
      expiresAt: new Date(startedAt + 7 * DAY_MS).toISOString(),
      remainingSeconds: 604_800,
    });
    expect(startedAt).toBeGreaterThanOrEqual(before);
    expect(startedAt).toBeLessThanOrEqual(service.now());
  });

  test('a repeated touch, as after a reinstall, does not restart the trial', async () => {
    const deviceId = freshId('device');
    const first = await touch(deviceId);
    service.advance(2 * DAY_MS);
    const again = await touch(deviceId);
    expect(again.body).toMatchObject({ active: true, state: 'active', startedAt: first.body.startedAt, expiresAt: first.body.expiresAt });
    expect(again.body.remainingSeconds).toBeLessThanOrEqual(432_000);
    expect(again.body.remainingSeconds).toBeGreaterThan(431_990);
  });

  test('an expired trial stays expired', async () => {
    const deviceId = freshId('device');
    const { startedAt, expiresAt } = (await touch(deviceId)).body;
    service.advance(7 * DAY_MS);
    const expired = { ok: true, active: false, state: 'expired', startedAt, expiresAt };
    expect((await touch(deviceId)).body).toEqual(expired);
    service.advance(1000 * DAY_MS);
    expect((await touch(deviceId)).body).toEqual(expired);
  });

  test('20 concurrent touches set one start', async () => {
    const deviceId = freshId('device');
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => {
        service.advance(1000);
        return touch(deviceId);
      }),
    );
    expect(new Set(replies.map(({ body }) => body.startedAt)).size).toBe(1);
    expect((await touch(deviceId)).body.startedAt).toBe(replies[0]!.body.startedAt);
  });

  test('Redis keeps the trial without expiry and without the deviceId', async () => {
    const deviceId = freshId('device');
    const { cookies } = await touch(deviceId);
    const device = decodeJwt(cookies[0]!).sub!;
    expect(device).toMatch(/^[\w-]{22}$/);
    expect(await service.service.redis.ttl(`{device:${device}}`)).toBe(-1);
    expect(await service.service.redis.keys(`*${deviceId}*`)).toEqual([]);
  });

  test('sets svc_device once', async () => {
    const deviceId = freshId('device');
    const first = await touch(deviceId);
    expect(first.setCookies).toEqual([expect.stringMatching(/^svc_device=[\w.-]+; Path=\/; Max-Age=34560000; HttpOnly; SameSite=Lax$/)]);
    expect((await touch(deviceId, first.cookies)).setCookies).toEqual([]);
  });

  test('sets svc_device again for another device, for a forged cookie and in the second half of its life', async () => {
    const deviceId = freshId('device');
    const { cookies } = await touch(deviceId);
    expect((await touch(freshId('device'), cookies)).setCookies).toHaveLength(1);
    expect((await touch(deviceId, ['svc_device=forged'])).setCookies).toHaveLength(1);
    service.advance(201 * DAY_MS);
    expect((await touch(deviceId, cookies)).setCookies).toHaveLength(1);
  });

  test('TRIAL_DAYS sets the length of the trial', async () => {
    await using long = await start({ settings: { TRIAL_DAYS: '30' } });
    expect((await long.post('/v1/trial/touch', { deviceId: freshId('device') })).body.remainingSeconds).toBe(2_592_000);
  });

  test.each([undefined, 'short', 'has blanks', 'x'.repeat(129)])('refuses the deviceId %j', async (deviceId) => {
    const { status, body } = await touch(deviceId);
    expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', 'deviceId']);
  });

  test('counts against the creation limit of the address', async () => {
    await using limited = await start({ settings: { RATE_LIMIT: 'on', RATE_LIMIT_CREATIONS_PER_MINUTE: '1' } });
    expect((await limited.post('/v1/trial/touch', { deviceId: freshId('device') })).status).toBe(200);
    const refused = await limited.post('/v1/trial/touch', { deviceId: freshId('device') });
    expect([refused.status, refused.body.error.code]).toEqual([429, 'rate_limited']);
  });
});
