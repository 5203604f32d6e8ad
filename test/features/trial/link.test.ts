import { describe, expect, test } from 'vitest';
import { forFile, freshId, signIn, start } from '../../harness.ts';
import { touched, type Device } from './device.ts';

const DAY_MS = 86_400_000;

const service = await forFile(start());

/** Two devices whose trials started a day apart, the older one first. */
const olderAndNewer = async (): Promise<[Device, Device]> => {
  const older = await touched(service);
  service.advance(DAY_MS);
  return [older, await touched(service)];
};

const link = (session: string, device: Device) => service.post('/v1/trial/link', {}, { cookies: [session, ...device.cookies] });

const deviceStart = async ({ deviceId }: Device): Promise<string> =>
  (await service.get(`/v1/trial/status?deviceId=${deviceId}`)).body.startedAt;

const accountStart = async (session: string): Promise<string> =>
  (await service.get('/v1/trial/status', { cookies: session })).body.startedAt;

describe('POST /v1/trial/link', () => {
  test('gives the trial of the device to the account', async () => {
    const session = await signIn(service, freshId());
    const device = await touched(service);
    const { status, body } = await link(session, device);
    expect(status).toBe(200);
    expect(body).toEqual({
      ok: true,
      active: true,
      state: 'active',
      startedAt: device.startedAt,
      expiresAt: new Date(Date.parse(device.startedAt) + 7 * DAY_MS).toISOString(),
      remainingSeconds: expect.any(Number),
    });
    expect(await accountStart(session)).toBe(device.startedAt);
  });

  test('the account keeps the older of two starts, whichever is linked first, and the devices keep their own', async () => {
    for (const isOlderFirst of [true, false]) {
      const session = await signIn(service, freshId());
      const [older, newer] = await olderAndNewer();
      for (const device of isOlderFirst ? [older, newer] : [newer, older]) await link(session, device);
      expect([await accountStart(session), await deviceStart(older), await deviceStart(newer)]).toEqual([
        older.startedAt,
        older.startedAt,
        newer.startedAt,
      ]);
    }
  });

  test('an account with an expired trial cannot end the trial of another device by linking it', async () => {
    const session = await signIn(service, freshId());
    await link(session, await touched(service));
    service.advance(8 * DAY_MS);
    const victims = await touched(service);
    const byHeader = await service.post('/v1/trial/link', {}, { cookies: session, headers: { 'x-device-id': victims.deviceId } });
    for (const { body } of [byHeader, await link(session, victims)]) expect(body).toMatchObject({ active: false, state: 'expired' });
    expect((await service.post('/v1/trial/touch', { deviceId: victims.deviceId })).body).toMatchObject({
      active: true,
      startedAt: victims.startedAt,
    });
  });

  test('a repeated link with any linked device answers 200 and changes nothing', async () => {
    const installId = freshId();
    const session = await signIn(service, installId);
    const { accountId } = (await service.post('/v1/account/resolve', { installId })).body;
    const [older, newer] = await olderAndNewer();
    await link(session, newer);
    await link(session, older);
    const linked = await service.service.redis.hgetall(`{${accountId}}:account`);
    expect(Object.keys(linked).toSorted()).toEqual(['createdAt', 'trialDevice', 'trialStartedAt']);
    service.advance(DAY_MS);
    for (const device of [newer, older, newer]) expect((await link(session, device)).body.startedAt).toBe(older.startedAt);
    expect(await service.service.redis.hgetall(`{${accountId}}:account`)).toEqual(linked);
  });

  test('40 concurrent links of two devices leave the earliest start', async () => {
    const session = await signIn(service, freshId());
    const [older, newer] = await olderAndNewer();
    const replies = await Promise.all(Array.from({ length: 40 }, (_, index) => link(session, index % 2 === 0 ? newer : older)));
    expect(replies.every(({ status }) => status === 200)).toBe(true);
    expect((await link(session, newer)).body.startedAt).toBe(older.startedAt);
    const starts = [await accountStart(session), await deviceStart(older), await deviceStart(newer)];
    expect(starts).toEqual([older.startedAt, older.startedAt, newer.startedAt]);
  });

  test('x-device-id outranks svc_device', async () => {
    const [older, newer] = await olderAndNewer();
    const linked = async (cookies: string[], headers = {}): Promise<string> =>
      (await service.post('/v1/trial/link', {}, { cookies: [await signIn(service, freshId()), ...cookies], headers })).body.startedAt;
    const headers = { 'x-device-id': older.deviceId };
    expect([await linked([], headers), await linked(newer.cookies, headers), await linked(newer.cookies)]).toEqual([
      older.startedAt,
      older.startedAt,
      newer.startedAt,
    ]);
  });

  test('is refused with no_trial without a device and with a device that has no trial', async () => {
    const session = await signIn(service, freshId());
    const cases = [
      { cookies: session },
      { cookies: [session, 'svc_device=forged'] },
      { cookies: session, headers: { 'x-device-id': freshId('device') } },
    ];
    for (const options of cases) {
      const { status, body } = await service.post('/v1/trial/link', {}, options);
      expect([status, body.error.code]).toEqual([409, 'no_trial']);
    }
    expect((await service.get('/v1/trial/status', { cookies: session })).body.state).toBe('none');
  });
});
