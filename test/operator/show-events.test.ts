import { expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { EventsOf, told } from '../features/events/reading.ts';
import { forFile, freshId } from '../harness.ts';
import { signInToStore } from '../store.ts';
import { openDesk } from './parts.ts';

const { service, read, change, account } = await forFile(openDesk({ settings: { EVENTS: 'on' } }));
const events = await EventsOf.from(service);

const eventsOf = async (accountId: string, query = '') => (await read(`/accounts/${accountId}/events${query}`)).body;
const numbersOf = (body: { events: { number: number }[] }) => body.events.map(({ number }) => number);

test("an account's events are listed in pages, the newest first, and a page reports how far it read", async () => {
  const { accountId } = await account(1, 1, 1);
  const whole = await events.of([accountId], 4);
  const body = await eventsOf(accountId);
  expect(body.events).toEqual(whole.toReversed());
  expect(body.looked).toBeGreaterThanOrEqual(4);
  expect(Date.parse(body.since)).toBeLessThanOrEqual(Date.parse(whole[0]!.at));
  // The page has the very first event, so there are no older ones.
  expect(body.nextCursor).toBeUndefined();
  const first = await eventsOf(accountId, '?limit=3');
  expect(numbersOf(first)).toEqual([4, 3, 2]);
  expect((await eventsOf(accountId, `?limit=3&cursor=${first.nextCursor}`)).events.map(told)).toEqual(['account.created 1 {}']);
  expect(numbersOf(await eventsOf(accountId, `?before=${whole[2]!.at}`))).not.toContain(3);
  expect((await eventsOf(accountId, '?before=2020-01-01T00:00:00Z')).events).toEqual([]);
  expect(numbersOf(await eventsOf(accountId, '?cursor=zzzzzzzzzzz'))).toHaveLength(4);
});

test('the events of a guest follow those of the account that it moved into, and a deleted account shows none', async () => {
  const { installId, accountId: guestId } = await account(1);
  const { accountId } = (await signInToStore(service, freshId('sub'), { installId })).body;
  await events.of([guestId, accountId], 4);
  const body = await eventsOf(guestId);
  expect([body.accountId, body.movedFrom]).toEqual([accountId, guestId]);
  const of = (id: string) => body.events.filter((event: { accountId: string }) => event.accountId === id).map(told);
  expect(of(guestId)).toContain('coins.changed 2 {"entryId":"1","type":"credit","coins":1,"balanceAfterCoins":1}');
  expect(of(accountId)).toContainEqual(expect.stringContaining(`account.moved`));
  await change(`/accounts/${accountId}/delete`);
  expect((await eventsOf(accountId)).error.code).toBe('account_deleted');
  expect((await eventsOf(accountIdOf(freshId()))).error.code).toBe('account_not_found');
});
