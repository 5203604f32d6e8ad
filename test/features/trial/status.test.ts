import { describe, expect, test } from 'vitest';
import { TokenSigner } from '../../../src/server/identity/signed-token.ts';
import { forFile, freshId, signIn, start, testKeys } from '../../harness.ts';
import { touched } from './device.ts';

const DAY_MS = 86_400_000;
const NONE = { ok: true, active: false, state: 'none' };

const service = await forFile(start());

const status = (query: string, options = {}) => service.get(`/v1/trial/status${query}`, options);
const startedAt = async (query: string, options: object): Promise<string> => (await status(query, options)).body.startedAt;

describe('GET /v1/trial/status', () => {
  test('answers with the state of a touched device, and starts no trial for another', async () => {
    const { deviceId, startedAt: at } = await touched(service);
    const expiresAt = new Date(Date.parse(at) + 7 * DAY_MS).toISOString();
    const active = { ok: true, active: true, state: 'active', startedAt: at, expiresAt, remainingSeconds: expect.any(Number) };
    expect((await status(`?deviceId=${deviceId}`)).body).toEqual(active);
    const other = freshId('device');
    expect((await status(`?deviceId=${other}`)).body).toEqual(NONE);
    service.advance(DAY_MS);
    expect((await service.post('/v1/trial/touch', { deviceId: other })).body.remainingSeconds).toBe(604_800);
    expect((await status('')).body).toEqual(NONE);
  });

  test('?deviceId outranks x-device-id, which outranks svc_device, which outranks the session, even without a trial', async () => {
    const [byQuery, byHeader, byCookie, linked] = [
      await touched(service),
      await touched(service),
      await touched(service),
      await touched(service),
    ];
    const session = await signIn(service, freshId());
    await service.post('/v1/trial/link', {}, { cookies: [session, ...linked.cookies] });
    const headers = { 'x-device-id': byHeader.deviceId };
    const cookies = [session, ...byCookie.cookies];
    expect(await startedAt(`?deviceId=${byQuery.deviceId}`, { headers, cookies })).toBe(byQuery.startedAt);
    expect(await startedAt('', { headers, cookies })).toBe(byHeader.startedAt);
    expect(await startedAt('', { cookies })).toBe(byCookie.startedAt);
    expect(await startedAt('', { cookies: session })).toBe(linked.startedAt);
    expect((await status(`?deviceId=${freshId('device')}`, { cookies })).body).toEqual(NONE);
    expect((await status('', { cookies, headers: { 'x-device-id': freshId('device') } })).body).toEqual(NONE);
  });

  test('a session counts once a device is linked and until its logout, which hides no device', async () => {
    const session = await signIn(service, freshId());
    expect((await status('', { cookies: session })).body).toEqual(NONE);
    const device = await touched(service);
    await service.post('/v1/trial/link', {}, { cookies: [session, ...device.cookies] });
    expect(await startedAt('', { cookies: session })).toBe(device.startedAt);
    await service.post('/v1/logout', {}, { cookies: session });
    expect((await status('', { cookies: session })).body).toEqual(NONE);
    expect(await startedAt(`?deviceId=${device.deviceId}`, { cookies: session })).toBe(device.startedAt);
  });

  test('a svc_device that is a session, forged or past its expiry counts as no device', async () => {
    const device = await touched(service);
    const signer = new TokenSigner(testKeys);
    const { subject } = signer.verify('device', device.cookies[0]!.slice('svc_device='.length), service.now())!;
    const claims = { subject, id: 'x', issuedAt: service.now(), expiresAt: service.now() + DAY_MS };
    const own = signer.sign('device', claims);
    expect(await startedAt('', { cookies: `svc_device=${own}` })).toBe(device.startedAt);
    for (const token of [signer.sign('session', claims), 'forged', ''])
      expect((await status('', { cookies: `svc_device=${token}` })).body).toEqual(NONE);
    service.advance(2 * DAY_MS);
    expect((await status('', { cookies: `svc_device=${own}` })).body).toEqual(NONE);
  });

  test('a malformed deviceId is refused, and the error names the query parameter or the header', async () => {
    const query = await status('?deviceId=short');
    const header = await status('', { headers: { 'x-device-id': 'short' } });
    for (const [{ status: code, body }, field] of [
      [query, 'deviceId'],
      [header, 'x-device-id'],
    ] as const)
      expect([code, body.error.code, body.error.field]).toEqual([400, 'invalid_request', field]);
  });
});
