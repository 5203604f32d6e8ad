import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { EventsOf, told } from '../features/events/reading.ts';
import { freshId, start, type TestService } from '../harness.ts';
import { makeServerKey } from '../server-keys.ts';
import { signInToStore } from '../store.ts';

let service: TestService;
let events: EventsOf;
let bearer: string;
beforeAll(async () => {
  service = await start({ settings: { ADMIN_API: 'on', EVENTS: 'on', STORE: 'sandbox' } });
  events = await EventsOf.from(service);
  ({ token: bearer } = await makeServerKey(service, ['admin']));
});
afterAll(() => service[Symbol.asyncDispose]());

const look = (accountId: string, query = '') => service.get(`/v1/admin/accounts/${accountId}/events${query}`, { bearer });
const credit = (installId: string, key: string) => service.post('/v1/coins/credit', { installId, coins: 1, key });

test("an account's events are listed in pages, the newest first, and a page reports how far it looked", async () => {
  const installId = freshId();
  const accountId = accountIdOf(installId);
  for (const key of ['a', 'b', 'c']) await credit(installId, key);
  const whole = await events.of([accountId], 4);
  const { status, body } = await look(accountId);
  expect(status).toBe(200);
  expect(body.events).toEqual(whole.toReversed());
  expect(body.looked).toBeGreaterThanOrEqual(4);
  expect(Date.parse(body.since)).toBeLessThanOrEqual(Date.parse(whole[0]!.at));
  // The page has the very first event, so there are no older ones.
  expect(body.nextCursor).toBeUndefined();
  const first = (await look(accountId, '?limit=3')).body;
  expect(first.events.map(({ number }: { number: number }) => number)).toEqual([4, 3, 2]);
  const second = (await look(accountId, `?limit=3&cursor=${first.nextCursor}`)).body;
  expect(second.events.map(told)).toEqual(['account.created 1 {}']);
  const before = (await look(accountId, `?before=${whole[2]!.at}`)).body;
  expect(before.events.map(({ number }: { number: number }) => number)).not.toContain(3);
  expect((await look(accountId, '?before=2020-01-01T00:00:00Z')).body.events).toEqual([]);
  expect((await look(accountId, '?cursor=zzzzzzzzzzz')).body.events.length).toBe(4);
});

test('the events of a guest follow those of the account that it moved into, and a deleted account shows none', async () => {
  const installId = freshId();
  const guestId = accountIdOf(installId);
  await credit(installId, 'a');
  const { body: signedIn } = await signInToStore(service, freshId('sub'), { installId });
  const accountId: string = signedIn.accountId;
  await events.of([guestId, accountId], 4);
  const { body } = await look(guestId);
  expect([body.accountId, body.movedFrom]).toEqual([accountId, guestId]);
  const of = (id: string) => body.events.filter((event: { accountId: string }) => event.accountId === id).map(told);
  expect(of(guestId)).toContain('coins.changed 2 {"entryId":"1","type":"credit","coins":1,"balanceAfterCoins":1}');
  expect(of(accountId)).toContainEqual(expect.stringContaining(`account.moved`));
  const reason = 'the user asked';
  expect((await service.post(`/v1/admin/accounts/${accountId}/delete`, { reason }, { bearer })).status).toBe(200);
  expect((await look(accountId)).body.error.code).toBe('account_deleted');
  expect((await look(accountIdOf(freshId()))).body.error.code).toBe('account_not_found');
});
