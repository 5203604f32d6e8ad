import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { entitlementOf } from '../../src/features/entitlement/model.ts';
import { freshId, signIn, start, type TestReply, type TestService } from '../harness.ts';
import { makeServerKey } from '../server-keys.ts';
import { signInToStore } from '../store.ts';
import { logged } from './parts.ts';

/** Temporary access, given by operators. */

let service: TestService;
let bearer: string;
let id: string;
beforeAll(async () => {
  service = await start({ settings: { ADMIN_API: 'on' } });
  ({ token: bearer, id } = await makeServerKey(service, ['admin']));
});
afterAll(() => service[Symbol.asyncDispose]());

const look = async (path: string) => (await service.get(`/v1/admin${path}`, { bearer })).body;
const change = (path: string, body: object): Promise<TestReply> => service.post(`/v1/admin${path}`, body, { bearer });
const newest = async () => (await look(`/log?limit=1&operator=key:${id}`)).entries[0];
const DAY = 86_400_000;
const inDays = (days: number): string => new Date(service.now() + days * DAY).toISOString();
const entitlement = async (installId: string) => (await service.get(`/v1/entitlement?installId=${installId}`)).body;

async function account(): Promise<{ installId: string; accountId: string }> {
  const installId = freshId();
  await service.post('/v1/coins/credit', { installId, coins: 1, key: 'first' });
  return { installId, accountId: accountIdOf(installId) };
}

describe('access that is given', () => {
  test('shows as subscribed by a gift until its end, and as expired after it', async () => {
    const { installId, accountId } = await account();
    const until = inDays(7);
    const given = await change(`/accounts/${accountId}/give`, { until, reason: 'ticket 4711' });
    expect([given.status, given.body]).toEqual([200, { ok: true, accountId, until, logged }]);
    expect(await newest()).toMatchObject({
      action: 'accounts give',
      by: `key:${id}`,
      what: { account: accountId, until },
      why: 'ticket 4711',
      outcome: { word: 'done' },
    });
    expect(await entitlement(installId)).toEqual({
      ok: true,
      state: 'subscribed',
      access: true,
      expiresAt: until,
      source: 'gift',
      installVerified: false,
    });
    expect((await service.get(`/v1/subscription?installId=${installId}`)).body).toMatchObject({ subscribed: false, source: 'none' });
    const shown = await look(`/accounts/${accountId}`);
    expect(shown.gift).toEqual({ until, givenAt: expect.any(String), by: `key:${id}`, reason: 'ticket 4711' });
    const { because } = await look(`/accounts/${accountId}/explain`);
    expect(because[1]).toMatch(/^An operator gave it access, which ends at .* UTC\.$/);
    expect(because.at(-1)).toMatch(/^So it is subscribed, by a gift, and has access until .* UTC\.$/);
    const exported = (await service.get(`/v1/account/export?installId=${installId}`)).body;
    expect(exported.gift).toEqual({ until, givenAt: shown.gift.givenAt });
    await using later = await start();
    later.advance(8 * DAY);
    expect((await later.get(`/v1/entitlement?installId=${installId}`)).body).toMatchObject({
      state: 'expired',
      access: false,
      expiresAt: until,
    });
  });

  test('is replaced by later access, and can be taken back', async () => {
    const { installId, accountId } = await account();
    const [first, second] = [inDays(30), inDays(2)];
    await change(`/accounts/${accountId}/give`, { until: first, reason: 'a slip' });
    const replaced = await change(`/accounts/${accountId}/give`, { until: second, reason: 'two days' });
    expect(replaced.body).toEqual({ ok: true, accountId, until: second, replaced: first, logged });
    expect((await entitlement(installId)).expiresAt).toBe(second);
    const taken = await change(`/accounts/${accountId}/take-back`, { reason: 'the wrong account' });
    expect(taken.body).toEqual({ ok: true, accountId, taken: second, logged });
    expect(await newest()).toMatchObject({ action: 'accounts take-back', outcome: { word: 'done', taken: second } });
    expect((await entitlement(installId)).state).toBe('none');
    expect((await look(`/accounts/${accountId}`)).gift).toBeUndefined();
    expect((await change(`/accounts/${accountId}/take-back`, { reason: 'again' })).body).toEqual({ ok: true, accountId });
  });

  test('moves with a guest: of two gifts the account keeps the one with the later end and its reason', async () => {
    const [guest, owner, subject] = [await account(), await account(), freshId('user')];
    const { accountId } = (await signInToStore(service, subject, { installId: owner.installId })).body;
    await change(`/accounts/${accountId}/give`, { until: inDays(1), reason: 'short' });
    const until = inDays(9);
    await change(`/accounts/${guest.accountId}/give`, { until, reason: 'long' });
    await signInToStore(service, subject, { installId: guest.installId });
    expect((await look(`/accounts/${accountId}`)).gift).toMatchObject({ until, reason: 'long' });
    // For a moved guest its target is used.
    expect((await change(`/accounts/${guest.accountId}/take-back`, { reason: 'test' })).body).toMatchObject({ accountId, taken: until });
  });

  test('is refused for an end in the past or far in the future, for an unknown account, and for a deleted account', async () => {
    const { accountId } = await account();
    for (const until of [inDays(-1), inDays(3700), 'tomorrow']) {
      const { body } = await change(`/accounts/${accountId}/give`, { until, reason: 'test' });
      expect(body.error).toMatchObject({ code: 'invalid_request', field: 'until' });
    }
    await change(`/accounts/${accountId}/delete`, { reason: 'asked' });
    const nobody = accountIdOf(freshId());
    for (const [asked, code] of [
      [accountId, 'account_deleted'],
      [nobody, 'account_not_found'],
    ] as const)
      for (const [verb, more] of [
        ['give', { until: inDays(1) }],
        ['take-back', {}],
      ] as const)
        expect((await change(`/accounts/${asked}/${verb}`, { reason: 'test', ...more })).body.error.code).toBe(code);
  });

  test('and a purchase give the longer of the two, and a gift comes before grace and trial', () => {
    const now = Date.UTC(2026, 10, 26);
    const at = (days: number): string => new Date(now + days * DAY).toISOString();
    const bought = (state: 'active' | 'grace' | 'canceled', days: number) => ({
      purchases: [{ id: 'a', productId: 'premium', state, expiresAt: now + days * DAY, willRenew: false, checkedAt: now }] as never,
    });
    const told = (facts: object, giftDays: number) => {
      const { state, expiresAt, source } = entitlementOf({ ...facts, giftEndsAt: now + giftDays * DAY }, now, 7);
      return [state, expiresAt, source];
    };
    expect(told(bought('canceled', 3), 5)).toEqual(['subscribed', at(5), 'gift']);
    expect(told(bought('canceled', 9), 5)).toEqual(['subscribed', at(9), undefined]);
    expect(told(bought('grace', 9), 5)).toEqual(['subscribed', at(9), 'gift']);
    expect(told({ trialStartedAt: now }, 1)).toEqual(['subscribed', at(1), 'gift']);
    expect(told({ trialStartedAt: now }, -1)).toEqual(['trial', at(7), undefined]);
    expect(told({ trialStartedAt: now - 30 * DAY }, -1)).toEqual(['expired', at(-1), undefined]);
  });
});

describe('a restarted trial', () => {
  const status = async (deviceId: string) => (await service.get(`/v1/trial/status?deviceId=${deviceId}`)).body;
  const restart = (body: object, verb = 'restart') => change(`/trials/${verb}`, { reason: 'ticket 4711', ...body });

  test('runs for its whole time, and a restore reverts one restart at a time', async () => {
    const deviceId = freshId('device');
    await service.post('/v1/trial/touch', { deviceId });
    const first = (await status(deviceId)).startedAt;
    service.advance(30 * DAY);
    expect((await status(deviceId)).state).toBe('expired');
    const { body } = await restart({ device: deviceId });
    expect(body).toMatchObject({ startedBefore: first, trial: { state: 'active' } });
    expect(body.device).toMatch(/^[\w-]{22}$/);
    expect(await newest()).toMatchObject({
      action: 'trials restart',
      what: { device: body.device },
      outcome: { word: 'done', startedBefore: first },
    });
    expect((await service.post('/v1/trial/touch', { deviceId })).body.startedAt).toBe(body.trial.startedAt);
    service.advance(DAY);
    // Named by its hash, as in `show`.
    const again = (await restart({ device: body.device })).body;
    expect(again.startedBefore).toBe(body.trial.startedAt);
    expect((await restart({ device: deviceId }, 'restore')).body.trial.startedAt).toBe(body.trial.startedAt);
    expect((await restart({ device: deviceId }, 'restore')).body.trial).toMatchObject({ state: 'expired', startedAt: first });
    expect((await restart({ device: deviceId }, 'restore')).body.error.code).toBe('no_trial');
  });

  test('also restarts the trial of a named account, and of no other account', async () => {
    const deviceId = freshId('device');
    const [one, two] = [await account(), await account()];
    await service.post('/v1/trial/touch', { deviceId });
    for (const { installId } of [one, two])
      await service.post('/v1/trial/link', {}, { headers: { 'x-device-id': deviceId }, cookies: await signIn(service, installId) });
    service.advance(30 * DAY);
    expect((await restart({ device: deviceId, account: one.accountId })).body.accountId).toBe(one.accountId);
    expect([(await entitlement(one.installId)).state, (await entitlement(two.installId)).state]).toEqual(['trial', 'expired']);
    const other = freshId('device');
    await service.post('/v1/trial/touch', { deviceId: other });
    const refused = await restart({ device: other, account: one.accountId });
    expect(refused.body.error).toMatchObject({ code: 'invalid_request', field: 'account' });
    expect((await restart({ device: other, account: one.accountId }, 'restore')).body.error.field).toBe('account');
    expect((await restart({ device: freshId('device') })).body.error.code).toBe('no_trial');
    for (const verb of ['restart', 'restore'] as const)
      expect((await restart({ device: other, account: accountIdOf(freshId()) }, verb)).body.error.code).toBe('account_not_found');
    await restart({ device: deviceId, account: one.accountId }, 'restore');
    expect((await entitlement(one.installId)).state).toBe('expired');
  });
});
