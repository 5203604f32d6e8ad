import { beforeAll, describe, expect, test } from 'vitest';
import { forFile, freshId, signIn, start } from '../../harness.ts';

const service = await forFile(start());

const credit = (installId: string, coins: number, key: string) => service.post('/v1/coins/credit', { installId, coins, key });
const history = (cookies: string, query = '') => service.get(`/v1/coins/history${query}`, { cookies });

interface Entry {
  id: string;
  type: string;
  coins: number;
  balanceAfterCoins: number;
  key: string;
  at: string;
}

/** A signed-in install with credits of 1, 2, 3, … coins under the keys 1, 2, 3, … */
async function withEntries(count: number): Promise<{ installId: string; cookies: string }> {
  const installId = freshId();
  for (let coins = 1; coins <= count; coins++) await credit(installId, coins, String(coins));
  return { installId, cookies: await signIn(service, installId) };
}

/** All pages, newest entry first. */
async function pages(cookies: string, limit: number): Promise<Entry[][]> {
  const found: Entry[][] = [];
  for (let query = `?limit=${limit}`; ;) {
    const { body } = await history(cookies, query);
    found.push(body.entries);
    if (body.nextCursor === undefined) return found;
    query = `?limit=${limit}&cursor=${body.nextCursor}`;
  }
}

/** `from`, `from` - 1, …, `to`. */
const countdown = (from: number, to: number): number[] => Array.from({ length: from - to + 1 }, (_, index) => from - index);
const coinsOf = (entries: Entry[]): number[] => entries.map(({ coins }) => coins);

describe('GET /v1/coins/history', () => {
  test('lists every operation newest first, with signed coins and the key as sent', async () => {
    const installId = freshId();
    const startedAt = service.now();
    await credit(installId, 30, 'a key  with blanks ');
    await service.post('/v1/coins/purchase', { installId, coins: 500, key: ' ' });
    await service.post('/v1/coins/debit', { installId, coins: 7, key: '{"quo\\ted"} c1 ~' });
    const { body } = await history(await signIn(service, installId));
    expect(body).toEqual({
      ok: true,
      entries: [
        { id: '3', type: 'debit', coins: -7, balanceAfterCoins: 523, key: '{"quo\\ted"} c1 ~', at: expect.any(String) },
        { id: '2', type: 'purchase', coins: 500, balanceAfterCoins: 530, key: ' ', at: expect.any(String) },
        { id: '1', type: 'credit', coins: 30, balanceAfterCoins: 30, key: 'a key  with blanks ', at: expect.any(String) },
      ],
    });
    for (const { at } of body.entries) {
      expect(at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      expect(Date.parse(at)).toBeGreaterThanOrEqual(startedAt);
      expect(Date.parse(at)).toBeLessThanOrEqual(service.now());
    }
  });

  test('`at` is the time of the operation', async () => {
    await using own = await start();
    const installId = freshId();
    const cookies = await signIn(own, installId);
    await own.post('/v1/coins/credit', { coins: 1, key: 'a' }, { cookies });
    own.advance(86_400_000);
    await own.post('/v1/coins/credit', { coins: 1, key: 'b' }, { cookies });
    const { body } = await own.get('/v1/coins/history', { cookies });
    const [second, first] = body.entries.map(({ at }: Entry) => Date.parse(at));
    expect(second - first).toBeGreaterThanOrEqual(86_400_000);
    expect(second - first).toBeLessThan(86_405_000);
  });

  test('shows only the entries of the session’s account', async () => {
    const [first, second] = [await withEntries(2), await withEntries(3)];
    expect(coinsOf((await history(first.cookies)).body.entries)).toEqual([2, 1]);
    expect(coinsOf((await history(second.cookies, `?installId=${first.installId}`)).body.entries)).toEqual([3, 2, 1]);
  });
});

describe('pages of GET /v1/coins/history', () => {
  let installId: string;
  let cookies: string;
  beforeAll(async () => void ({ installId, cookies } = await withEntries(120)));

  test('hold 50 entries by default', async () => {
    const first = await history(cookies);
    expect(coinsOf(first.body.entries)).toEqual(countdown(120, 71));
    const second = await history(cookies, `?cursor=${first.body.nextCursor}`);
    expect(coinsOf(second.body.entries)).toEqual(countdown(70, 21));
    const third = await history(cookies, `?cursor=${second.body.nextCursor}`);
    expect(coinsOf(third.body.entries)).toEqual(countdown(20, 1));
    expect(third.body).not.toHaveProperty('nextCursor');
  });

  test.each([
    [1, 120],
    [7, 18],
    [60, 2],
    [100, 2],
  ])('with limit %i there are %i pages, which hold every entry once and in order', async (limit, count) => {
    const found = await pages(cookies, limit);
    expect(found).toHaveLength(count);
    expect(found.slice(0, -1).every((page) => page.length === limit)).toBe(true);
    expect(coinsOf(found.flat())).toEqual(countdown(120, 1));
  });

  test('the last page has no nextCursor, even when it is full', async () => {
    const { body } = await history(cookies, '?limit=20&cursor=21');
    expect(coinsOf(body.entries)).toEqual(countdown(20, 1));
    expect(body).not.toHaveProperty('nextCursor');
    const before = await history(cookies, '?limit=20&cursor=22');
    expect(before.body.nextCursor).toBe('2');
  });

  test('a cursor newer than every entry gives the newest entries', async () => {
    expect(coinsOf((await history(cookies, '?limit=2&cursor=999999999999999')).body.entries)).toEqual([120, 119]);
  });

  test('a page keeps its entries while new entries arrive', async () => {
    const own = await withEntries(30);
    const before = await pages(own.cookies, 10);
    const first = await history(own.cookies, '?limit=10');
    await Promise.all(Array.from({ length: 25 }, (_, index) => credit(own.installId, 1000, `new-${index}`)));
    const second = await history(own.cookies, `?limit=10&cursor=${first.body.nextCursor}`);
    expect(second.body.entries).toEqual(before[1]);
    await Promise.all(Array.from({ length: 25 }, (_, index) => credit(own.installId, 1000, `newer-${index}`)));
    expect((await history(own.cookies, `?limit=10&cursor=${second.body.nextCursor}`)).body).toEqual({ ok: true, entries: before[2] });
    expect((await pages(own.cookies, 100)).flat().slice(50)).toEqual(before.flat());
  });

  test('every page read during writes is one consistent state of the ledger', async () => {
    const own = await withEntries(1);
    let isWriting = true;
    const writing = Promise.all(Array.from({ length: 60 }, (_, index) => credit(own.installId, 5, `busy-${index}`))).then(
      () => (isWriting = false),
    );
    let compared = 0;
    while (isWriting) {
      const { entries } = (await history(own.cookies, '?limit=100')).body as { entries: Entry[] };
      for (const [index, entry] of entries.entries()) {
        const older = entries[index + 1];
        if (older === undefined) continue;
        expect(Number(entry.id)).toBe(Number(older.id) + 1);
        expect(entry.balanceAfterCoins).toBe(older.balanceAfterCoins + entry.coins);
        compared++;
      }
    }
    await writing;
    expect(compared).toBeGreaterThan(0);
    expect((await pages(own.cookies, 100)).flat()).toHaveLength(61);
  });

  test.each(['0', '101', '1.5', 'abc', '', '1e1'])('limit=%s is refused', async (limit) => {
    const { status, body } = await history(cookies, `?limit=${limit}`);
    expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', 'limit']);
  });

  test.each(['0', '-1', '1.05', 'abc', '', '01', '1'.repeat(16), '1%0A'])('cursor=%s is refused', async (cursor) => {
    const { status, body } = await history(cookies, `?cursor=${cursor}`);
    expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', 'cursor']);
  });

  test('a cursor of another account shows only own entries', async () => {
    const other = await withEntries(3);
    const { body } = await history(cookies, '?limit=1');
    expect(coinsOf((await history(other.cookies, `?cursor=${body.nextCursor}`)).body.entries)).toEqual([3, 2, 1]);
    expect((await service.get(`/v1/balance?installId=${installId}`)).body.balanceCoins).toBe(7260);
  });
});
