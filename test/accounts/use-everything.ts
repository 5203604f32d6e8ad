import { expect } from 'vitest';
import { freshId, signIn, type TestService } from '../harness.ts';
import { identifying, prepare } from '../server/identity/requests.ts';
import { makeServerKey } from '../server-keys.ts';
import { issue, signInToStore } from '../store.ts';

/** Sends a guest's request to every endpoint, moves the guest, and continues as the store account. The service needs ADMIN_API. */
export async function useEverything(service: TestService): Promise<void> {
  const guest = freshId();
  await service.post('/v1/coins/credit', { installId: guest, coins: 5, key: 'first' });
  // The first is sent below. The made-up holding adds fields to the second.
  const others = ['/v1/account/store-provision', '/v1/account/export', ...OF_SIGN_INS];
  for (const endpoint of identifying.filter(({ path }) => !others.includes(path))) {
    const { status, body } = await (await prepare(endpoint, service))({ cookies: await signIn(service, guest), installId: guest });
    expect([endpoint.name, status, body]).toEqual([endpoint.name, 200, body]);
  }
  const subject = freshId();
  const store = await signInToStore(service, subject, { installId: guest });
  await changeSignIns(service, subject, store.cookies);
  await service.post('/v1/coins/credit', { coins: 5, key: 'second' }, store);
  const { token } = (await service.post('/v1/pair/new')).body;
  await service.post('/v1/pair/claim', { token }, store);
  const { token: bearer } = await makeServerKey(service, ['admin']);
  const until = new Date(service.now() + 86_400_000).toISOString();
  await service.post(`/v1/admin/accounts/${store.body.accountId}/give`, { until, reason: 'test' }, { bearer });
  await service.post(`/v1/admin/accounts/${store.body.accountId}/rename`, { name: 'Ada', reason: 'test' }, { bearer });
  await service.post(`/v1/admin/accounts/${store.body.accountId}/note`, { text: 'called', reason: 'test' }, { bearer });
  await loseSignIn(service);
  for (const everywhere of [false, true]) {
    const ended = await service.post('/v1/logout', { everywhere }, await signInToStore(service, freshId(), {}));
    expect(ended.status).toBe(200);
  }
}

/** Has Apple tell that the only sign-in of an account has ended. */
async function loseSignIn(service: TestService): Promise<void> {
  const subject = freshId();
  const { token } = await issue(service, { kind: 'id_token', provider: 'apple', subject });
  await service.post('/v1/account/store-provision', { token });
  const { payload } = await issue(service, { kind: 'account_notification', subject, type: 'account-delete' });
  expect((await service.post('/v1/store/apple/account-notifications', { payload })).body.ended).toBe('sign_in');
}

/** A guest cannot change its sign-ins. */
const OF_SIGN_INS = ['/v1/account/sign-ins', '/v1/account/sign-ins/nonce', '/v1/account/sign-ins/remove'];

/** Adds a sign-in to an account and removes that with which it began. */
async function changeSignIns(service: TestService, subject: string, cookies: string): Promise<void> {
  const nonces = [];
  for (let count = 0; count < 2; count++)
    nonces.push((await service.post('/v1/account/sign-ins/nonce', {}, { cookies })).body.nonce as string);
  const { token: proof } = await issue(service, { kind: 'id_token', subject });
  const { token } = await issue(service, { kind: 'id_token', subject: freshId(), provider: 'apple', nonce: nonces[0] });
  const { body } = await service.post('/v1/account/sign-ins', { token, proof }, { cookies });
  const apple = body.signIns.find(({ provider }: { provider: string }) => provider === 'apple').id;
  expect((await service.post('/v1/account/sign-ins/remove', { id: apple, proof }, { cookies })).status).toBe(200);
}
