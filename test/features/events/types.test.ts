import { expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { pairingIdOf } from '../../../src/features/pairing/model.ts';
import { purchaseHash } from '../../../src/features/purchases/core/purchase-ids.ts';
import { forFile, freshId, start } from '../../harness.ts';
import { makeServerKey } from '../../server-keys.ts';
import { issue, signInToStore } from '../../store.ts';
import { EventsOf, told } from './reading.ts';

const service = await forFile(start({ settings: { EVENTS: 'on', ADMIN_API: 'on' } }));
const events = await EventsOf.from(service);
const { token: admin } = await makeServerKey(service, ['admin']);

const credit = (installId: string, coins: number, key = freshId()) => service.post('/v1/coins/credit', { installId, coins, key });

test('each way to create an account emits account.created once', async () => {
  const { token: grants } = await makeServerKey(service, ['coins']);
  const { token } = (await service.post('/v1/pair/new', {})).body;
  const subscribed = await issue(service, { kind: 'subscription' });
  type Way = (installId: string) => Promise<{ body: { ok: boolean } }>;
  const ways: Record<string, Way> = {
    'a credit': (installId) => service.post('/v1/coins/credit', { installId, coins: 1, key: 'credit' }),
    'a given name': (installId) => service.post('/v1/account/resolve', { installId }),
    'a report': (installId) => service.post('/v1/subscription/report', { installId, subscribed: true }),
    login: (installId) => service.post('/v1/login', { installId }),
    'a score': (installId) => service.post('/v1/highscores/events-created', { installId, score: 1, name: 'Ada' }),
    'a room': (installId) => service.post('/v1/rooms', { installId }),
    'a quick match': (installId) => service.post('/v1/rooms/match', { installId, game: 'events-created' }),
    'a pairing': (installId) => service.post('/v1/pair/claim', { installId, token }),
    'a first run': (installId) => service.post('/v1/entitlement/first-run', { installId }),
    'a subscription': (installId) => service.post('/v1/subscription/purchase', { installId, purchaseToken: subscribed.purchaseToken }),
    'a bound purchase that the store told of': (installId) =>
      service.post('/sandbox/issue', { kind: 'purchase', obfuscatedAccountId: accountIdOf(installId), notify: true }),
    'a grant by a server': (installId) => service.post('/v1/coins/credit', { installId, coins: 1, key: 'grant' }, { bearer: grants }),
    async 'a proof of its install'(installId) {
      const { nonce } = (await service.get('/v1/account/store-install/nonce', { headers: { 'x-install-id': installId } })).body;
      const { integrityToken } = await issue(service, { kind: 'integrity_token', nonce });
      return service.post('/v1/account/store-install', { installId, nonce, integrityToken });
    },
  };
  const installs = Object.entries(ways).map(([name, way]) => ({ name, way, installId: freshId() }));
  // Twice: the second call finds the account.
  for (const { name, way, installId } of installs)
    for (let count = 0; count < 2; count++) expect([name, await way(installId)]).toMatchObject([name, { body: { ok: true } }]);
  const nameOf = new Map(installs.map(({ name, installId }) => [accountIdOf(installId), name]));
  const found: string[] = [];
  await expect
    .poll(async () => {
      const created = await events.next('&types=account.created');
      found.push(
        ...created.filter(({ accountId }) => nameOf.has(accountId!)).map(({ accountId, number }) => `${nameOf.get(accountId!)} ${number}`),
      );
      return found.toSorted();
    })
    .toEqual(installs.map(({ name }) => `${name} 1`).toSorted());
});

test('a purchase has events for its grant and its refund besides those of the ledger entries', async () => {
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

test('a report has an event only if it changes the state: not if it repeats it, nor if the store has a purchase', async () => {
  const [installId, bought] = [freshId(), freshId()];
  const report = (of: string, subscribed: boolean) => service.post('/v1/subscription/report', { installId: of, subscribed });
  for (const subscribed of [false, true, true, false]) await report(installId, subscribed);
  const { purchaseToken } = await issue(service, { kind: 'subscription' });
  await service.post('/v1/subscription/purchase', { installId: bought, purchaseToken });
  for (const subscribed of [false, true]) await report(bought, subscribed);
  for (const of of [installId, bought]) await credit(of, 1);
  const found = await events.of([installId, bought].map(accountIdOf), 7);
  const of = (id: string) => found.filter(({ accountId }) => accountId === accountIdOf(id)).map(({ type, data }) => data.state ?? type);
  expect(of(installId)).toEqual(['account.created', 'active', 'none', 'coins.changed']);
  expect(of(bought)).toEqual(['account.created', 'active', 'coins.changed']);
});

test('a move has events for the guest’s coins and subscription in both accounts, and an operator’s move of a purchase too', async () => {
  const [guest, installId] = [freshId(), freshId()];
  await credit(guest, 30);
  const { purchaseToken } = await issue(service, { kind: 'subscription' });
  const { productId, expiresAt } = (await service.post('/v1/subscription/purchase', { installId: guest, purchaseToken })).body;
  const { accountId } = (await signInToStore(service, freshId('user'), { installId: guest })).body;
  await credit(installId, 1);
  const [guestId, to] = [guest, installId].map(accountIdOf) as [string, string];
  const move = { account: to, key: 'move', reason: 'ticket 4711' };
  const moved = await service.post(`/v1/admin/purchases/${purchaseHash(purchaseToken)}/move`, move, { bearer: admin });
  expect(moved.status).toBe(200);
  // The guest's entry may come late.
  const found = await events.of([guestId, accountId, to], 12);
  const of = (id: string) => found.filter((event) => event.accountId === id).map(told);
  const active = JSON.stringify({ state: 'active', productId, expiresAt });
  expect(of(guestId)).toEqual([
    'account.created 1 {}',
    'coins.changed 2 {"entryId":"1","type":"credit","coins":30,"balanceAfterCoins":30}',
    `subscription.changed 3 ${active}`,
    'coins.changed 4 {"entryId":"2","type":"merge","coins":-30,"balanceAfterCoins":0}',
  ]);
  expect(of(accountId)).toEqual([
    'account.created 1 {}',
    `account.moved 2 {"from":"${guestId}"}`,
    'coins.changed 3 {"entryId":"1","type":"merge","coins":30,"balanceAfterCoins":30}',
    `subscription.changed 4 ${active}`,
    `subscription.changed 5 {"state":"none","productId":"${productId}"}`,
  ]);
  expect(of(to).at(-1)).toBe(`subscription.changed 3 ${active}`);
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

test('the event of a ban has its end and not its reason, and a deletion is the last event', async () => {
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
