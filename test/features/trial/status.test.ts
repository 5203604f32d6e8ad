import { describe, expect, test } from 'vitest';
import { TokenSigner } from '../../../src/server/identity/signed-token.ts';
import { parseSessionKeys } from '../../../src/config.ts';
import { forFile, freshId, signIn, start, testKeys } from '../../harness.ts';

const DAY_MS = 86_400_000;
const NONE = { ok: true, active: false, state: 'none' };

const service = await forFile(start());

/** A device whose trial starts now. The devices of a test start one minute apart, so that their starts differ. */
const touched = async (): Promise<{ deviceId: string; cookies: string[]; startedAt: string }> => {
  service.advance(60_000);
  const deviceId = freshId('device');
  const { body, cookies } = await service.post('/v1/trial/touch', { deviceId });
  return { deviceId, cookies, startedAt: body.startedAt };
};

const status = (query: string, options = {}) => service.get(`/v1/trial/status${query}`, options);

describe('GET /v1/trial/status', () => {
  test('the state goes from none to active to expired', async () => {
    const { deviceId, startedAt } = await touched();
    const expiresAt = new Date(Date.parse(startedAt) + 7 * DAY_MS).toISOString();
    expect((await status(`?deviceId=${freshId('device')}`)).body).toEqual(NONE);
    expect((await status(`?deviceId=${deviceId}`)).body).toEqual({
      ok: true,
      active: true,
      state: 'active',
      startedAt,
      expiresAt,
      remainingSeconds: expect.any(Number),
    });
    service.advance(7 * DAY_MS - 60_000);
    expect((await status(`?deviceId=${deviceId}`)).body).toMatchObject({ active: true, remainingSeconds: 60 });
    service.advance(60_000);
    expect((await status(`?deviceId=${deviceId}`)).body).toEqual({ ok: true, active: false, state: 'expired', startedAt, expiresAt });
  });

  test('the state is none without a device and a session', async () => {
    expect((await status('')).body).toEqual(NONE);
  });

  test('starts no trial', async () => {
    const deviceId = freshId('device');
    await status(`?deviceId=${deviceId}`);
    service.advance(DAY_MS);
    const { body } = await service.post('/v1/trial/touch', { deviceId });
    expect(body.remainingSeconds).toBe(604_800);
  });

  test('?deviceId outranks x-device-id, which outranks svc_device, which outranks the session', async () => {
    const [byQuery, byHeader, byCookie, linked] = [await touched(), await touched(), await touched(), await touched()];
    const session = await signIn(service, freshId());
    await service.post('/v1/trial/link', {}, { cookies: [session, ...linked.cookies] });
    const headers = { 'x-device-id': byHeader.deviceId };
    const cookies = [session, ...byCookie.cookies];
    const startedAt = async (query: string, options: object): Promise<string> => (await status(query, options)).body.startedAt;
    expect(await startedAt(`?deviceId=${byQuery.deviceId}`, { headers, cookies })).toBe(byQuery.startedAt);
    expect(await startedAt('', { headers, cookies })).toBe(byHeader.startedAt);
    expect(await startedAt('', { cookies })).toBe(byCookie.startedAt);
    expect(await startedAt('', { cookies: session })).toBe(linked.startedAt);
  });

  test('a named device without a trial hides lower-ranked devices', async () => {
    const { cookies } = await touched();
    expect((await status(`?deviceId=${freshId('device')}`, { cookies })).body).toEqual(NONE);
    expect((await status('', { cookies, headers: { 'x-device-id': freshId('device') } })).body).toEqual(NONE);
  });

  test('the state is none for an account without a linked device and after logout', async () => {
    const session = await signIn(service, freshId());
    expect((await status('', { cookies: session })).body).toEqual(NONE);
    const { cookies, startedAt } = await touched();
    await service.post('/v1/trial/link', {}, { cookies: [session, ...cookies] });
    expect((await status('', { cookies: session })).body.startedAt).toBe(startedAt);
    await service.post('/v1/logout', {}, { cookies: session });
    expect((await status('', { cookies: session })).body).toEqual(NONE);
  });

  test('a signed-out session does not hide the device', async () => {
    const session = await signIn(service, freshId());
    const { deviceId, startedAt } = await touched();
    // Makes the process remember the session as verified.
    await status('', { cookies: session });
    await service.post('/v1/logout', {}, { cookies: session });
    expect((await status(`?deviceId=${deviceId}`, { cookies: session })).body.startedAt).toBe(startedAt);
  });

  test('a svc_device of another audience, of a foreign key or past its expiry counts as no device', async () => {
    const { cookies, startedAt } = await touched();
    expect((await status('', { cookies })).body.startedAt).toBe(startedAt);
    const { subject } = new TokenSigner(testKeys).verify('device', cookies[0]!.slice('svc_device='.length), service.now())!;
    const claims = { subject, id: 'x', issuedAt: service.now(), expiresAt: service.now() + DAY_MS };
    const own = new TokenSigner(testKeys).sign('device', claims);
    expect((await status('', { cookies: `svc_device=${own}` })).body.startedAt).toBe(startedAt);
    const session = new TokenSigner(testKeys).sign('session', claims);
    const foreign = new TokenSigner(parseSessionKeys(`test:${Buffer.alloc(32, 8).toString('base64url')}`)).sign('device', claims);
    for (const token of [session, foreign, 'forged', '']) {
      expect((await status('', { cookies: `svc_device=${token}` })).body).toEqual(NONE);
    }
    service.advance(2 * DAY_MS);
    expect((await status('', { cookies: `svc_device=${own}` })).body).toEqual(NONE);
  });

  test('a malformed deviceId is refused, and the error names the query parameter or the header', async () => {
    const query = await status('?deviceId=short');
    expect([query.status, query.body.error.code, query.body.error.field]).toEqual([400, 'invalid_request', 'deviceId']);
    const header = await status('', { headers: { 'x-device-id': 'short' } });
    expect([header.status, header.body.error.code, header.body.error.field]).toEqual([400, 'invalid_request', 'x-device-id']);
  });
});
