import { afterEach, beforeEach, expect, test } from 'vitest';
import { CallerScripts } from '../../../src/accounts/caller-scripts.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { accountKey, standingKey } from '../../../src/accounts/account-keys.ts';
import { moveSubscriptionPurchase } from '../../../src/features/purchases/subscription/move-purchase.ts';
import { purchaseHash } from '../../../src/features/purchases/core/purchase-ids.ts';
import { audited } from '../../consistency/audited.ts';
import { codeOf, freshId } from '../../harness.ts';
import { deleteAccount } from '../../store.ts';
import { UNACKNOWLEDGED } from '../purchases/subscription/fake-google.ts';
import { DAY, openShop, until, type Shop } from '../purchases/subscription/shop.ts';

let shop: Shop;
// A service for each test: the audit uses the real clock, so the service's clock may be a minute ahead at most.
beforeEach(async () => void (shop = await openShop()));
afterEach(() => shop[Symbol.asyncDispose]());

const findings = async () => (await audited({ socketPath: (shop.redis.options as { path: string }).path })).findings;

const deleted = (installId: string) => deleteAccount(shop.service, { installId });
const soldActive = (more = {}) => shop.sold('ACTIVE', shop.service.now() + DAY, more);

test('the purchases of a deleted account may be recorded by another one', async () => {
  const [installId, next] = [freshId(), freshId()];
  const tokens = [soldActive(), shop.sold('CANCELED', shop.service.now() + DAY)];
  for (const token of tokens) await shop.buy(installId, token);
  await deleted(installId);
  for (const token of tokens) {
    expect(await shop.record(token)).toEqual({});
    expect((await shop.buy(next, token)).body.subscribed).toBe(true);
  }
  expect((await shop.lines(next)).length).toBe(2);
  expect(codeOf(await shop.buy(installId, tokens[0]!))).toBe('410 account_deleted');
  expect(await findings()).toEqual([]);
});

/** More purchases than an account has lines. */
const soldTwelve = () => Array.from({ length: 12 }, (_, number) => shop.sold('ACTIVE', shop.service.now() + (number + 1) * DAY));

test('purchases beyond the ten lines of an account are released with the others, also those of a guest that moved in', async () => {
  const [installId, moving, next] = [freshId(), freshId(), freshId()];
  const tokens = [soldTwelve(), soldTwelve()];
  for (const [index, owner] of [installId, moving].entries()) for (const token of tokens[index]!) await shop.buy(owner, token);
  await shop.makeStoreAccount(installId);
  const [accountId, guestId] = [accountIdOf(installId), accountIdOf(moving)];
  // The state after a move.
  await shop.redis.append(standingKey(accountId), `${guestId} 0*1\n`);
  await shop.redis.set(standingKey(guestId), `>${accountId}`);
  await shop.redis.del(accountKey(guestId));
  await deleted(installId);
  for (const token of tokens.flat()) expect(await shop.record(token)).toEqual({});
  expect(await shop.redis.keys('{*}:purchases')).toEqual([]);
  expect(await findings()).toEqual([]);
  expect((await shop.buy(next, tokens[0]![0]!)).body.subscribed).toBe(true);
});

test('a purchase that an operator has given to another account stays with it, and is checked when it was due', async () => {
  const [installId, next] = [freshId(), freshId()];
  const token = soldActive();
  await shop.buy(installId, token);
  await shop.makeStoreAccount(next);
  const { service, now } = shop.service;
  const scripts = new CallerScripts(service.connections.scripts, { now });
  const move = { ownerSeen: accountIdOf(installId), owner: accountIdOf(next), key: 'ticket-4711' };
  expect(await moveSubscriptionPurchase(purchaseHash(token), move, { scripts, now })).toBe('moved');
  const [record, lines] = [await shop.record(token), await shop.lines(next)];
  await deleted(installId);
  await until(async () => (await shop.dueIn(token))! > DAY / 4);
  expect([await shop.record(token), await shop.lines(next), record['owner']]).toEqual([record, lines, accountIdOf(next)]);
  expect(await findings()).toEqual([]);
});

test('a replaced purchase leaves a mark without owner and token, and its token gives no access', async () => {
  const [installId, next] = [freshId(), freshId()];
  const [old, unknown] = [soldActive(), freshId('token')];
  await shop.buy(installId, old);
  const replacing = [old, unknown].map((linkedPurchaseToken) => shop.sold('ACTIVE', shop.service.now() + 2 * DAY, { linkedPurchaseToken }));
  for (const token of replacing) await shop.buy(installId, token);
  expect((await shop.lines(installId)).length).toBe(2);
  await deleted(installId);
  for (const [index, token] of [old, unknown].entries())
    expect(await shop.record(token)).toEqual({ owner: '-', retiredBy: purchaseHash(replacing[index]!) });
  expect(await findings()).toEqual([]);
  expect(codeOf(await shop.buy(next, old))).toBe('409 purchase_owned');
  expect((await shop.buy(next, replacing[0]!)).body.subscribed).toBe(true);
  expect((await shop.record(old)).owner).toBe(accountIdOf(next));
  expect((await shop.buy(next, old)).body.subscribed).toBe(true);
  expect((await shop.lines(next)).length).toBe(1);
  expect(await findings()).toEqual([]);
});

test('an account that is deleted while the app store answers gets no purchase', async () => {
  for (const acknowledged of [true, false]) {
    const [installId, next] = [freshId(), freshId()];
    await shop.service.post('/v1/coins/credit', { installId, coins: 1, key: 'a' });
    const token = soldActive(acknowledged ? {} : { acknowledgementState: UNACKNOWLEDGED });
    const { confirm } = (await shop.service.post('/v1/account/delete', { installId })).body;
    const buying = shop.buy(installId, token);
    await shop.service.post('/v1/account/delete', { installId, confirm });
    expect([200, 410]).toContain((await buying).status);
    await until(async () => Object.keys(await shop.record(token)).length === 0);
    expect(await shop.redis.exists(accountKey(accountIdOf(installId)))).toBe(0);
    expect(await shop.redis.get(standingKey(accountIdOf(installId)))).toMatch(/^=\d+$/);
    expect((await shop.buy(next, token)).body.subscribed).toBe(true);
  }
  expect(await findings()).toEqual([]);
});
