import { expect } from 'vitest';
import { freshId, signIn, type TestService } from '../harness.ts';
import { identifying, prepare } from '../server/identity/requests.ts';
import { makeServerKey } from '../server-keys.ts';
import { signInToStore } from '../store.ts';

/** Sends a guest's request to every endpoint, moves the guest, and continues as the store account. The service needs ADMIN_API. */
export async function useEverything(service: TestService): Promise<void> {
  const guest = freshId();
  await service.post('/v1/coins/credit', { installId: guest, coins: 5, key: 'first' });
  // The first is sent below. The made-up holding adds fields to the second.
  const others = ['/v1/account/store-provision', '/v1/account/export'];
  for (const endpoint of identifying.filter(({ path }) => !others.includes(path))) {
    const { status, body } = await (await prepare(endpoint, service))({ cookies: await signIn(service, guest), installId: guest });
    expect([endpoint.name, status, body]).toEqual([endpoint.name, 200, body]);
  }
  const store = await signInToStore(service, freshId(), { installId: guest });
  await service.post('/v1/coins/credit', { coins: 5, key: 'second' }, store);
  const { token } = (await service.post('/v1/pair/new')).body;
  await service.post('/v1/pair/claim', { token }, store);
  const { token: bearer } = await makeServerKey(service, ['admin']);
  const until = new Date(service.now() + 86_400_000).toISOString();
  await service.post(`/v1/admin/accounts/${store.body.accountId}/give`, { until, reason: 'test' }, { bearer });
  await service.post(`/v1/admin/accounts/${store.body.accountId}/rename`, { name: 'Ada', reason: 'test' }, { bearer });
  for (const everywhere of [false, true]) {
    const ended = await service.post('/v1/logout', { everywhere }, await signInToStore(service, freshId(), {}));
    expect(ended.status).toBe(200);
  }
}
