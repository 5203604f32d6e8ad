import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeServerKey } from '../../server-keys.ts';
import { eventually } from '../../realtime/watcher.ts';
import { start, type TestService } from '../../harness.ts';

let service: TestService;
let token: string;

beforeAll(async () => {
  service = await start({ settings: { EVENTS: 'on' } });
  ({ token } = await makeServerKey(service, ['events']));
});
afterAll(() => service[Symbol.asyncDispose]());

const get = (query = '') => service.get(`/v1/events${query}`, { bearer: token });

/** The end of the log before a test: other tests of this Redis have events, too. */
async function endOfLog(): Promise<string> {
  for (let cursor: string | undefined; ;) {
    const { body } = await get(`?limit=1000${cursor === undefined ? '' : `&after=${cursor}`}`);
    if (body.events.length === 0 && body.cursor === cursor) return body.cursor;
    cursor = body.cursor;
  }
}

// oxlint-disable-next-line no-explicit-any
type Events = any[];

/** The events of an account behind a cursor, once there are so many. */
async function eventsOf(accountId: string, after: string, count: number): Promise<Events> {
  let found: Events = [];
  await eventually(async () => {
    const { body } = await get(`?after=${after}&limit=1000`);
    found = body.events.filter((event: { accountId?: string }) => event.accountId === accountId);
    return found.length >= count;
  });
  return found;
}

describe('GET /v1/events', () => {
  test('a credit and a debit are events in their order, with rising numbers and the ids of their ledger entries', async () => {
    const after = await endOfLog();
    const installId = 'events-install-1';
    const { accountId } = (await service.post('/v1/account/resolve', { installId })).body;
    await service.post('/v1/coins/credit', { installId, coins: 25, key: 'a' });
    await service.post('/v1/coins/credit', { installId, coins: 25, key: 'a' });
    await service.post('/v1/coins/debit', { installId, coins: 10, key: 'b' });
    const events = (await eventsOf(accountId, after, 2)).filter(({ type }) => type === 'coins.changed');
    expect(events.map(({ type, number, data }) => ({ type, number, data }))).toEqual([
      { type: 'coins.changed', number: expect.any(Number), data: { entryId: '1', type: 'credit', coins: 25, balanceAfterCoins: 25 } },
      { type: 'coins.changed', number: events[0].number + 1, data: { entryId: '2', type: 'debit', coins: -10, balanceAfterCoins: 15 } },
    ]);
    expect(Math.abs(Date.parse(events[0].at) - Date.now())).toBeLessThan(60_000);
    expect(new Set(events.map(({ id }) => id)).size).toBe(2);
  });

  test('a long-poll answers at the first event', async () => {
    const after = await endOfLog();
    const polled = get(`?after=${after}&wait=20`);
    const startedAt = performance.now();
    await service.post('/v1/coins/credit', { installId: 'events-install-2', coins: 1, key: 'a' });
    const { body } = await polled;
    expect(body.events.length).toBeGreaterThan(0);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });
});

describe('refusals', () => {
  test('without a key it is 401, without the scope 403, with a bad cursor or an unknown type 400', async () => {
    expect((await service.get('/v1/events')).body.error.code).toBe('bad_key');
    const other = await makeServerKey(service, ['coins']);
    expect((await service.get('/v1/events', { bearer: other.token })).body.error.code).toBe('forbidden');
    for (const query of ['?after=A', '?after=zzzzzzzzzzz', '?types=coins.changed,nothing', '?limit=1001', '?wait=26'])
      expect([query, (await get(query)).status]).toEqual([query, 400]);
  });

  test('with EVENTS=off it is 404', async () => {
    await using off = await start();
    const { token: key } = await makeServerKey(off, ['events']);
    expect((await off.get('/v1/events', { bearer: key })).body.error.code).toBe('not_found');
  });
});
