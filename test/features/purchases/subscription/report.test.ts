import { describe, expect, test } from 'vitest';
import { forFile, freshId, signIn, start } from '../../../harness.ts';

const service = await forFile(start({ stoppedClock: true }));
const ignoring = await forFile(start({ settings: { SUBSCRIPTION_REPORTS: 'ignore' } }));

const report = (installId: string, subscribed: unknown, at = service) => at.post('/v1/subscription/report', { installId, subscribed });
const subscription = async (installId: string, at = service) => (await at.get(`/v1/subscription?installId=${installId}`)).body;

describe('POST /v1/subscription/report', () => {
  test('the last report counts', async () => {
    const installId = freshId();
    for (const [subscribed, state] of [
      [true, 'active'],
      [false, 'none'],
    ] as const) {
      expect((await report(installId, subscribed)).body).toEqual({ ok: true, recorded: true });
      expect(await subscription(installId)).toMatchObject({ subscribed, state, source: 'report', verified: false });
    }
  });

  test('a report counts for 72 hours, and again after another one', async () => {
    const installId = freshId();
    await report(installId, true);
    service.advance(48 * 3_600_000);
    await report(installId, true);
    const expiresAt = new Date(service.now() + 72 * 3_600_000).toISOString();
    service.advance(72 * 3_600_000 - 1);
    expect(await subscription(installId)).toMatchObject({ subscribed: true, expiresAt });
    service.advance(1);
    expect(await subscription(installId)).toMatchObject({ subscribed: false, source: 'none' });
  });

  test.each([undefined, 'true', 1])('is refused unless subscribed is a boolean: %j', async (subscribed) => {
    const reply = await report(freshId(), subscribed);
    expect([reply.status, reply.body.error.code, reply.body.error.field]).toEqual([400, 'invalid_request', 'subscribed']);
  });
});

describe('SUBSCRIPTION_REPORTS=ignore', () => {
  test('a report answers recorded: false and stores nothing, and earlier reports no longer count', async () => {
    const [installId, before] = [freshId(), freshId()];
    expect((await report(installId, true, ignoring)).body).toEqual({ ok: true, recorded: false });
    expect((await service.post('/v1/account/resolve', { installId })).body.created).toBe(true);
    await report(before, true);
    expect((await subscription(before)).subscribed).toBe(true);
    for (const each of [installId, before]) expect(await subscription(each, ignoring)).toMatchObject({ subscribed: false, source: 'none' });
    expect((await ignoring.get(`/v1/entitlement?installId=${before}`)).body).toMatchObject({ state: 'none', access: false });
  });

  test('a session that ended on another process is refused here too', async () => {
    const cookies = await signIn(service, freshId());
    await service.post('/v1/logout', {}, { cookies });
    const reply = await ignoring.post('/v1/subscription/report', { subscribed: true }, { cookies });
    expect([reply.status, reply.body.error.code]).toEqual([401, 'identity_required']);
  });
});
