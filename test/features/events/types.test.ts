import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { pairingIdOf } from '../../../src/features/pairing/model.ts';
import { freshId, start, type TestService } from '../../harness.ts';
import { makeServerKey } from '../../server-keys.ts';
import { signInToStore } from '../../store.ts';
import { EventsOf, told } from './reading.ts';

let service: TestService;
let events: EventsOf;
let admin: string;

beforeAll(async () => {
  service = await start({ settings: { EVENTS: 'on', ADMIN_API: 'on' } });
  events = await EventsOf.from(service);
  ({ token: admin } = await makeServerKey(service, ['admin']));
});
afterAll(() => service[Symbol.asyncDispose]());

const credit = (installId: string, coins: number, key = freshId()) => service.post('/v1/coins/credit', { installId, coins, key });

test('an account begins with account.created, however its first write came', async () => {
  const [byCoins, byName, byProof] = [freshId(), freshId(), freshId()];
  await credit(byCoins, 5);
  await service.post('/v1/account/resolve', { installId: byName });
  await service.post('/v1/subscription/report', { installId: byProof, subscribed: true });
  const ids = [byCoins, byName, byProof].map(accountIdOf);
  const found = await events.of(ids, 5);
  expect(ids.map((id) => found.filter(({ accountId }) => accountId === id).map(told))).toEqual([
    ['account.created 1 {}', 'coins.changed 2 {"entryId":"1","type":"credit","coins":5,"balanceAfterCoins":5}'],
    ['account.created 1 {}'],
    ['account.created 1 {}', 'subscription.changed 2 {"state":"active"}'],
  ]);
});

test('a purchase tells its grant and its refund beside the entries of the ledger', async () => {
  const installId = freshId();
  const { purchaseToken } = (await service.post('/sandbox/issue', { kind: 'purchase' })).body;
  const { purchaseId } = (await service.post('/v1/purchases', { installId, store: 'google', purchaseToken })).body.purchase;
  await service.post('/sandbox/issue', { kind: 'purchase', purchaseToken, refundedQuantity: 1 });
  const refunded = await service.post('/v1/purchases', { installId, store: 'google', purchaseToken });
  expect(refunded.body).toMatchObject({ purchase: { state: 'refunded' } });
  const purchase = { purchaseId, store: 'google', productId: 'coins-500', quantity: 1 };
  expect((await events.of([accountIdOf(installId)], 5)).map(told)).toEqual([
    'account.created 1 {}',
    'coins.changed 2 {"entryId":"1","type":"topup","coins":500,"balanceAfterCoins":500}',
    `purchase.granted 3 ${JSON.stringify({ ...purchase, coins: 500 })}`,
    'coins.changed 4 {"entryId":"2","type":"refund","coins":-500,"balanceAfterCoins":0}',
    `purchase.refunded 5 ${JSON.stringify({ ...purchase, coins: -500 })}`,
  ]);
});

test('a subscription tells its state when it changes, and nothing when it is the same', async () => {
  const installId = freshId();
  const { purchaseToken } = (await service.post('/sandbox/issue', { kind: 'subscription' })).body;
  const { body } = await service.post('/v1/subscription/purchase', { installId, purchaseToken });
  await service.post('/v1/subscription/purchase', { installId, purchaseToken });
  await credit(installId, 1);
  const { productId, expiresAt } = body;
  expect((await events.of([accountIdOf(installId)], 3)).map(told)).toEqual([
    'account.created 1 {}',
    `subscription.changed 2 ${JSON.stringify({ state: 'active', productId, expiresAt })}`,
    'coins.changed 3 {"entryId":"1","type":"credit","coins":1,"balanceAfterCoins":1}',
  ]);
});

test('a move tells the guest’s arrival, and the merge of both ledgers; the guest’s entry may come later', async () => {
  const installId = freshId();
  await credit(installId, 30);
  const { accountId } = (await signInToStore(service, freshId('user'), { installId })).body;
  const guestId = accountIdOf(installId);
  const found = await events.of([guestId, accountId], 6);
  const of = (id: string) => found.filter((event) => event.accountId === id).map(told);
  expect(of(guestId)).toEqual([
    'account.created 1 {}',
    'coins.changed 2 {"entryId":"1","type":"credit","coins":30,"balanceAfterCoins":30}',
    'coins.changed 3 {"entryId":"2","type":"merge","coins":-30,"balanceAfterCoins":0}',
  ]);
  expect(of(accountId)).toEqual([
    'account.created 1 {}',
    `account.moved 2 {"from":"${guestId}"}`,
    'coins.changed 3 {"entryId":"1","type":"merge","coins":30,"balanceAfterCoins":30}',
  ]);
});

test('a claimed pairing names the pairing by the id that its website got, and not by the token', async () => {
  const installId = freshId();
  await credit(installId, 1);
  const { token, pairingId } = (await service.post('/v1/pair/new', { session: 'token' })).body;
  expect(pairingId).toBe(pairingIdOf(token));
  await service.post('/v1/pair/claim', { installId, token });
  await service.post('/v1/pair/claim', { installId, token });
  await credit(installId, 1);
  const found = await events.of([accountIdOf(installId)], 4);
  expect(found.map(told).toSorted()).toEqual([
    'account.created 1 {}',
    'coins.changed 2 {"entryId":"1","type":"credit","coins":1,"balanceAfterCoins":1}',
    expect.stringMatching(/^coins.changed [34] \{"entryId":"2","type":"credit","coins":1,"balanceAfterCoins":2\}$/),
    expect.stringMatching(new RegExp(`^pairing.claimed [34] \\{"pairingId":"${pairingId}"\\}$`)),
  ]);
  expect(found.map(({ number }) => number)).toEqual([1, 2, 3, 4]);
  expect(JSON.stringify(found)).not.toContain(token);
});

test('a ban tells its end and not its reason, and a deletion is the last event', async () => {
  const installId = freshId();
  const accountId = accountIdOf(installId);
  await credit(installId, 1);
  const until = new Date(service.now() + 3_600_000).toISOString();
  const ban = await service.post(`/v1/admin/accounts/${accountId}/ban`, { reason: 'a secret reason', until, for: '1h' }, { bearer: admin });
  expect(ban.status).toBe(200);
  const found = await events.of([accountId], 3);
  const deleted = await service.post(`/v1/admin/accounts/${accountId}/delete`, { reason: 'asked' }, { bearer: admin });
  expect(deleted.status).toBe(200);
  found.push(...(await events.of([accountId], 1)));
  expect(found.slice(2).map(({ type, number }) => `${type} ${number}`)).toEqual(['account.banned 3', 'account.deleted 4']);
  expect(Math.abs(Date.parse(found[2]!.data.expiresAt!) - Date.parse(until))).toBeLessThan(60_000);
  expect(JSON.stringify(found)).not.toContain('secret');
});
