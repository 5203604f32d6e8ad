import { expect, test } from 'vitest';
import { audited } from '../../consistency/audited.ts';
import { forFile, freshId, start } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { eventually } from '../../realtime/watcher.ts';
import { balanceOf, issue } from '../../store.ts';

const MINUTE = 60_000;
const own = await forFile(startRedis());
const service = await forFile(start({ redis: own.location, settings: { STORE: 'sandbox' } }));

const order = (fields: object) => issue(service, { kind: 'purchase', store: 'apple', ...fields });
const subscription = (fields: object) => issue(service, { kind: 'subscription', store: 'apple', ...fields });
const buy = (installId: string, transaction: string) => service.post('/v1/purchases', { installId, store: 'apple', transaction });
const subscribe = (installId: string, transaction: string) =>
  service.post('/v1/subscription/purchase', { installId, store: 'apple', transaction });
const tokenOf = async (installId: string) =>
  (await service.get(`/v1/account/store-ids?installId=${installId}`)).body.appleAccountToken as string;
const codeOf = ({ status, body }: Awaited<ReturnType<typeof buy>>) => [status, body.error?.code];

test('coins are booked once, by units, and for the first account that shows the transaction', async () => {
  const [installId, other] = [freshId(), freshId()];
  const { transaction, transactionId } = await order({ productId: 'coins_500', quantity: 3 });
  const bought = await buy(installId, transaction);
  expect(bought.body).toMatchObject({ balanceAfterCoins: 1500, purchase: { store: 'apple', quantity: 3, coins: 1500, state: 'granted' } });
  expect((await buy(installId, transaction)).body).toMatchObject({ replayed: true, balanceCoins: 1500 });
  expect(codeOf(await buy(other, transaction))).toEqual([409, 'purchase_owned']);
  // The id alone is enough for its owner, and for nobody else.
  const byId = (who: string) => service.post('/v1/purchases', { installId: who, store: 'apple', transactionId });
  expect((await byId(installId)).body.replayed).toBe(true);
  expect(codeOf(await byId(other))).toEqual([409, 'purchase_owned']);
});

test('a refund is taken back once, in part too, and an older text does not undo it', async () => {
  const installId = freshId();
  const { transaction: first, transactionId } = await order({ quantity: 3 });
  await buy(installId, first);
  for (const [refundedQuantity, coins] of [
    [1, 1000],
    [2, 500],
    [3, 0],
    [0, 1500],
    [1, 1000],
  ]) {
    service.advance(1);
    const { transaction } = await order({ transactionId, refundedQuantity });
    for (const text of [transaction, first, transaction]) await buy(installId, text);
    expect(await balanceOf(service, { installId })).toBe(coins);
  }
});

test('a purchase that was refunded before the grant leaves nothing', async () => {
  const installId = freshId();
  const { transaction: first, transactionId } = await order({});
  service.advance(1);
  const { transaction } = await order({ transactionId, refundedQuantity: 1 });
  await buy(installId, transaction);
  await buy(installId, first);
  expect(await balanceOf(service, { installId })).toBe(0);
});

test.each([
  ['coins', order, buy],
  ['a subscription', subscription, subscribe],
] as const)('%s that names an account belongs to it, whoever sends the transaction first', async (_, issued, send) => {
  const [installId, other] = [freshId(), freshId()];
  await service.post('/v1/coins/credit', { installId, coins: 1, key: 'one' });
  // Apple may write the UUID in capitals.
  const { transaction } = await issued({ appAccountToken: (await tokenOf(installId)).toUpperCase() });
  expect(codeOf(await send(other, transaction))).toEqual([409, 'purchase_owned']);
  expect((await send(installId, transaction)).body.ok).toBe(true);
  const foreign = await issued({ appAccountToken: '6f1c2b7a-94d3-4e05-a1b2-c3d4e5f60718' });
  expect((await send(other, foreign.transaction)).body.ok).toBe(true);
});

const NOT = [401, 'bad_token'];

test.each([
  ['coins', order, '/v1/purchases'],
  ['a subscription', subscription, '/v1/subscription/purchase'],
] as const)('the bare id of %s is enough for the account that it is bound to', async (_, issued, path) => {
  const [installId, other] = [freshId(), freshId()];
  await service.post('/v1/coins/credit', { installId, coins: 1, key: 'one' });
  const send = (who: string, transactionId: string) => service.post(path, { installId: who, store: 'apple', transactionId });
  const bound = await issued({ appAccountToken: await tokenOf(installId) });
  expect(codeOf(await send(other, bound.transactionId))).toEqual([409, 'purchase_owned']);
  expect((await send(installId, bound.transactionId)).body.ok).toBe(true);
  expect(codeOf(await send(other, (await issued({})).transactionId))).toEqual(NOT);
  expect(codeOf(await send(other, '2999999999999999'))).toEqual(NOT);
});

test('a refund of which no notification came is taken back within the minutes of the sandbox, and coins that its API does not know yet are granted', async () => {
  const installId = freshId();
  const { transaction, transactionId } = await order({ knownAfterSeconds: 20 });
  expect((await buy(installId, transaction)).body.balanceAfterCoins).toBe(500);
  await eventually(async () => {
    service.advance(30_000);
    return (await own.redis.hexists(`{sandbox:purchase:${transactionId}}`, 'consumedAt')) === 1;
  });
  await order({ transactionId, refundedQuantity: 1 });
  service.advance(MINUTE);
  await eventually(async () => (await balanceOf(service, { installId })) === 0);
});

test('a product that the catalogue lacks is not recorded, and another app sells nothing here', async () => {
  const lacking = await order({ productId: 'unheard.of' });
  expect(codeOf(await buy(freshId(), lacking.transaction))).toEqual([404, 'product_not_found']);
  const foreign = await order({ packageName: 'com.example.foreign' });
  expect(codeOf(await buy(freshId(), foreign.transaction))).toEqual(NOT);
});

const stateOf = async (installId: string) => (await service.get(`/v1/subscription?installId=${installId}`)).body;

test('a subscription ends by itself, and is renewed by the next transaction', async () => {
  const installId = freshId();
  const { transaction, originalTransactionId } = await subscription({ minutes: 10 });
  expect((await subscribe(installId, transaction)).body).toMatchObject({ subscribed: true, productId: 'premium', source: 'store' });
  service.advance(9 * MINUTE);
  const renewed = await subscription({ minutes: 10, originalTransactionId });
  expect((await subscribe(installId, renewed.transaction)).body).toMatchObject({ subscribed: true, expiresAt: renewed.expiresAt });
  // The older transaction is of the same subscription, and changes nothing.
  expect((await subscribe(installId, transaction)).body).toMatchObject({ subscribed: true, expiresAt: renewed.expiresAt });
  service.advance(11 * MINUTE);
  await eventually(async () => (await stateOf(installId)).state === 'expired');
});

test.each(['expired', 'refunded', 'revoked'])('a subscription that is %s ends at once, and stays so', async (state) => {
  const installId = freshId();
  const { transaction, originalTransactionId } = await subscription({ minutes: 60 });
  await subscribe(installId, transaction);
  service.advance(MINUTE);
  const ended = await subscription({ originalTransactionId, state });
  for (const text of [ended.transaction, transaction]) {
    expect((await subscribe(installId, text)).body).toMatchObject({ subscribed: false, state: 'expired' });
  }
});

test('the sandbox refuses what it did not issue, and changes of what was bought', async () => {
  const { transactionId } = await order({ quantity: 2 });
  for (const [fields, field] of [
    [{ transactionId: '2000000' }, 'transactionId'],
    [{ transactionId, quantity: 3 }, 'quantity'],
    [{ transactionId, refundedQuantity: 3 }, 'refundedQuantity'],
    [{ state: 'pending' }, 'state'],
    [{ kind: 'subscription', state: 'paused' }, 'state'],
  ] as const) {
    const { status, body } = await service.post('/sandbox/issue', { kind: 'purchase', store: 'apple', ...fields });
    expect([status, body.error.field]).toEqual([400, field]);
  }
});

test('the audit finds nothing in the data that these tests leave', async () => {
  expect((await audited(own.location, { now: service.now })).findings).toEqual([]);
});
