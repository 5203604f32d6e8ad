import { describe, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { entitlementOf } from '../../src/features/entitlement/model.ts';
import { forFile, freshId, signIn, start } from '../harness.ts';
import { signInToStore } from '../store.ts';
import { logged, openDesk } from './parts.ts';

/** Temporary access, given by operators. */

const { service, id, read, change, newest, account } = await forFile(openDesk());

const DAY = 86_400_000;
const inDays = (days: number): string => new Date(service.now() + days * DAY).toISOString();
const entitlement = async (installId: string, at = service) => (await at.get(`/v1/entitlement?installId=${installId}`)).body;
const give = async (accountId: string, until: string, reason = 'test') =>
  (await change(`/accounts/${accountId}/give`, { until, reason })).body;
const takeBack = async (accountId: string) => (await change(`/accounts/${accountId}/take-back`)).body;
const giftOf = async (accountId: string) => (await read(`/accounts/${accountId}`)).body.gift;

describe('access that is given', () => {
  test('shows as subscribed by a gift until its end, and as expired after it', async () => {
    const { installId, accountId } = await account(1);
    const until = inDays(7);
    expect(await give(accountId, until, 'ticket 4711')).toEqual({ ok: true, accountId, until, logged });
    expect(await newest()).toMatchObject([
      { action: 'accounts give', by: `key:${id}`, what: { account: accountId, until }, why: 'ticket 4711', outcome: { word: 'done' } },
    ]);
    const subscribed = { state: 'subscribed', access: true, expiresAt: until, source: 'gift', installVerified: false };
    expect(await entitlement(installId)).toEqual({ ok: true, ...subscribed });
    expect((await service.get(`/v1/subscription?installId=${installId}`)).body).toMatchObject({ subscribed: false, source: 'none' });
    const gift = await giftOf(accountId);
    expect(gift).toEqual({ until, givenAt: expect.any(String), by: `key:${id}`, reason: 'ticket 4711' });
    const { because } = (await read(`/accounts/${accountId}/explain`)).body;
    expect([because[1], because.at(-1)]).toEqual([
      expect.stringMatching(/^An operator gave it access, which ends at .* UTC\.$/),
      expect.stringMatching(/^So it is subscribed, by a gift, and has access until .* UTC\.$/),
    ]);
    const exported = (await service.get(`/v1/account/export?installId=${installId}`)).body;
    expect(exported.gift).toEqual({ until, givenAt: gift.givenAt });
    await using later = await start();
    later.advance(8 * DAY);
    expect(await entitlement(installId, later)).toMatchObject({ state: 'expired', access: false, expiresAt: until });
  });

  test('is replaced by later access, and can be taken back', async () => {
    const { installId, accountId } = await account(1);
    const [first, second] = [inDays(30), inDays(2)];
    await give(accountId, first);
    expect(await give(accountId, second)).toEqual({ ok: true, accountId, until: second, replaced: first, logged });
    expect((await entitlement(installId)).expiresAt).toBe(second);
    expect(await takeBack(accountId)).toEqual({ ok: true, accountId, taken: second, logged });
    expect(await newest()).toMatchObject([{ action: 'accounts take-back', outcome: { word: 'done', taken: second } }]);
    expect([(await entitlement(installId)).state, await giftOf(accountId)]).toEqual(['none', undefined]);
    expect(await takeBack(accountId)).toEqual({ ok: true, accountId });
  });

  test('moves with a guest: of two gifts the account keeps the one with the later end and its reason', async () => {
    const [guest, owner, subject] = [await account(1), await account(1), freshId('user')];
    const { accountId } = (await signInToStore(service, subject, { installId: owner.installId })).body;
    const until = inDays(9);
    await give(accountId, inDays(1), 'short');
    await give(guest.accountId, until, 'long');
    await signInToStore(service, subject, { installId: guest.installId });
    expect(await giftOf(accountId)).toMatchObject({ until, reason: 'long' });
    // For a moved guest its target is used.
    expect(await takeBack(guest.accountId)).toMatchObject({ accountId, taken: until });
  });

  test('is refused for an end in the past or far in the future', async () => {
    const { accountId } = await account(1);
    for (const until of [inDays(-1), inDays(3700), 'tomorrow'])
      expect((await give(accountId, until)).error).toMatchObject({ code: 'invalid_request', field: 'until' });
  });

  const now = Date.UTC(2026, 10, 26);
  const at = (days: number): string => new Date(now + days * DAY).toISOString();
  const bought = (state: 'active' | 'grace' | 'canceled', days: number) => ({
    purchases: [{ id: 'a', productId: 'premium', state, expiresAt: now + days * DAY, willRenew: false, checkedAt: now }] as never,
  });
  const trial = (daysAgo: number) => ({ trialStartedAt: now - daysAgo * DAY });
  test.each([
    ['a shorter purchase', bought('canceled', 3), 5, ['subscribed', at(5), 'gift']],
    ['a longer purchase', bought('canceled', 9), 5, ['subscribed', at(9), undefined]],
    ['a purchase in grace', bought('grace', 9), 5, ['subscribed', at(9), 'gift']],
    ['a trial', trial(0), 1, ['subscribed', at(1), 'gift']],
    ['a trial that outlasts it', trial(0), -1, ['trial', at(7), undefined]],
    ['a trial that ended before it', trial(30), -1, ['expired', at(-1), undefined]],
  ])('beside %s', (_, facts: object, giftDays, expected) => {
    const { state, expiresAt, source } = entitlementOf({ ...facts, giftEndsAt: now + giftDays * DAY }, now, 7);
    expect([state, expiresAt, source]).toEqual(expected);
  });
});

describe('a restarted trial', () => {
  const status = async (deviceId: string) => (await service.get(`/v1/trial/status?deviceId=${deviceId}`)).body;
  const changed = async (verb: 'restart' | 'restore', device: string, of?: string) =>
    (await change(`/trials/${verb}`, { device, account: of })).body;

  test('runs for its whole time, and a restore reverts one restart at a time', async () => {
    const deviceId = freshId('device');
    const first = (await service.post('/v1/trial/touch', { deviceId })).body.startedAt;
    service.advance(30 * DAY);
    expect((await status(deviceId)).state).toBe('expired');
    const { device, startedBefore, trial } = await changed('restart', deviceId);
    expect([device, startedBefore, trial]).toEqual([
      expect.stringMatching(/^[\w-]{22}$/),
      first,
      expect.objectContaining({ state: 'active' }),
    ]);
    expect(await newest()).toMatchObject([{ action: 'trials restart', what: { device }, outcome: { word: 'done', startedBefore: first } }]);
    expect((await service.post('/v1/trial/touch', { deviceId })).body.startedAt).toBe(trial.startedAt);
    service.advance(DAY);
    // Named by its hash, as in `show`.
    expect((await changed('restart', device)).startedBefore).toBe(trial.startedAt);
    expect((await changed('restore', deviceId)).trial.startedAt).toBe(trial.startedAt);
    expect((await changed('restore', deviceId)).trial).toMatchObject({ state: 'expired', startedAt: first });
    expect((await changed('restore', deviceId)).error.code).toBe('no_trial');
  });

  test('also restarts the trial of a named account, and of no other account', async () => {
    const [deviceId, other] = [freshId('device'), freshId('device')];
    const [one, two] = [await account(1), await account(1)];
    for (const each of [deviceId, other]) await service.post('/v1/trial/touch', { deviceId: each });
    for (const { installId } of [one, two])
      await service.post('/v1/trial/link', {}, { headers: { 'x-device-id': deviceId }, cookies: await signIn(service, installId) });
    service.advance(30 * DAY);
    expect((await changed('restart', deviceId, one.accountId)).accountId).toBe(one.accountId);
    expect([(await entitlement(one.installId)).state, (await entitlement(two.installId)).state]).toEqual(['trial', 'expired']);
    for (const verb of ['restart', 'restore'] as const) {
      expect((await changed(verb, other, one.accountId)).error).toMatchObject({ code: 'invalid_request', field: 'account' });
      expect((await changed(verb, other, accountIdOf(freshId()))).error.code).toBe('account_not_found');
    }
    await changed('restore', deviceId, one.accountId);
    expect((await entitlement(one.installId)).state).toBe('expired');
  });
});
