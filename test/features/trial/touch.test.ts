import { decodeJwt } from 'jose';
import { describe, expect, test } from 'vitest';
import { forFile, freshId, start } from '../../harness.ts';

const DAY_MS = 86_400_000;

const service = await forFile(start({ stoppedClock: true }));

const touch = (deviceId: unknown, cookies: string[] = []) => service.post('/v1/trial/touch', { deviceId }, { cookies });

describe('POST /v1/trial/touch', () => {
  test("starts a trial of seven days on the server's clock, which no later touch restarts", async () => {
    const deviceId = freshId('device');
    const startedAt = new Date(service.now()).toISOString();
    const expiresAt = new Date(service.now() + 7 * DAY_MS).toISOString();
    const active = { ok: true, active: true, state: 'active', startedAt, expiresAt };
    const expired = { ok: true, active: false, state: 'expired', startedAt, expiresAt };
    expect((await touch(deviceId)).body).toEqual({ ...active, remainingSeconds: 604_800 });
    service.advance(7 * DAY_MS - 1);
    expect((await touch(deviceId)).body).toEqual({ ...active, remainingSeconds: 1 });
    for (const later of [1, 1000 * DAY_MS]) {
      service.advance(later);
      expect((await touch(deviceId)).body).toEqual(expired);
    }
  });

  test('20 concurrent touches set one start', async () => {
    const deviceId = freshId('device');
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => {
        service.advance(1000);
        return touch(deviceId);
      }),
    );
    const { startedAt } = (await touch(deviceId)).body;
    expect(new Set(replies.map(({ body }) => body.startedAt))).toEqual(new Set([startedAt]));
  });

  test('Redis keeps the trial without expiry and without the deviceId', async () => {
    const deviceId = freshId('device');
    const { cookies } = await touch(deviceId);
    const device = decodeJwt(cookies[0]!).sub!;
    expect(device).toMatch(/^[\w-]{22}$/);
    expect(await service.service.redis.ttl(`{device:${device}}`)).toBe(-1);
    expect(await service.service.redis.keys(`*${deviceId}*`)).toEqual([]);
  });

  test('sets svc_device once, and again for another device, for a forged cookie and in the second half of its life', async () => {
    const deviceId = freshId('device');
    const { cookies, setCookies } = await touch(deviceId);
    expect(setCookies).toEqual([expect.stringMatching(/^svc_device=[\w.-]+; Path=\/; Max-Age=34560000; HttpOnly; SameSite=Lax$/)]);
    expect((await touch(deviceId, cookies)).setCookies).toEqual([]);
    expect((await touch(freshId('device'), cookies)).setCookies).toHaveLength(1);
    expect((await touch(deviceId, ['svc_device=forged'])).setCookies).toHaveLength(1);
    service.advance(201 * DAY_MS);
    expect((await touch(deviceId, cookies)).setCookies).toHaveLength(1);
  });

  test('TRIAL_DAYS sets the length of the trial, and extends one that has started', async () => {
    const deviceId = freshId('device');
    await touch(deviceId);
    await using long = await start({ settings: { TRIAL_DAYS: '30' }, stoppedClock: true });
    long.setClock(service.now() - long.now());
    expect((await long.post('/v1/trial/touch', { deviceId })).body.remainingSeconds).toBe(2_592_000);
  });

  test.each([undefined, 'short', 'has blanks', 'x'.repeat(129)])('refuses the deviceId %j', async (deviceId) => {
    const { status, body } = await touch(deviceId);
    expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', 'deviceId']);
  });
});
