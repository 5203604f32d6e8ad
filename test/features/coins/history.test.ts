import { beforeAll, describe, expect, test } from 'vitest';
import { forFile, freshId, signIn, start } from '../../harness.ts';

const service = await forFile(start());

const credit = (installId: string, coins: number, key: string) => service.post('/v1/coins/credit', { installId, coins, key });
const history = (cookies: string, query = '') => service.get(`/v1/coins/history${query}`, { cookies });

/** A signed-in install with credits of 1, 2, 3, … coins under the keys 1, 2, 3, … */
async function withEntries(count: number): Promise<{ installId: string; cookies: string }> {
  const installId = freshId();
  for (let coins = 1; coins <= count; coins++) await credit(installId, coins, String(coins));
  return { installId, cookies: await signIn(service, installId) };
}

/** `from`, `from` - 1, …, `to`. */
const countdown = (from: number, to: number): number[] => Array.from({ length: from - to + 1 }, (_, index) => from - index);
const coinsOf = (entries: readonly { coins: number }[]): number[] => entries.map(({ coins }) => coins);

test('GET /v1/coins/history lists every operation newest first, with signed coins, the key as sent and the time', async () => {
  const installId = freshId();
  const startedAt = service.now();
  await credit(installId, 30, 'a key  with blanks ');
  await service.post('/v1/coins/purchase', { installId, coins: 500, key: ' ' });
  service.advance(86_400_000);
  await service.post('/v1/coins/debit', { installId, coins: 7, key: '{"quo\\ted"} c1 ~' });
  const { body } = await history(await signIn(service, installId));
  const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect(body).toEqual({
    ok: true,
    entries: [
      { id: '3', type: 'debit', coins: -7, balanceAfterCoins: 523, key: '{"quo\\ted"} c1 ~', at },
      { id: '2', type: 'purchase', coins: 500, balanceAfterCoins: 530, key: ' ', at },
      { id: '1', type: 'credit', coins: 30, balanceAfterCoins: 30, key: 'a key  with blanks ', at },
    ],
  });
  const times: number[] = body.entries.map(({ at: time }: { at: string }) => Date.parse(time));
  expect(times[2]).toBeGreaterThanOrEqual(startedAt);
  expect(times[0]! - times[1]!).toBeGreaterThanOrEqual(86_400_000);
  expect(times[0]).toBeLessThanOrEqual(service.now());
});

describe('pages of GET /v1/coins/history', () => {
  let installId: string;
  let cookies: string;
  beforeAll(async () => void ({ installId, cookies } = await withEntries(120)));

  test.each([
    ['', 50],
    ['&limit=1', 1],
    ['&limit=7', 7],
    ['&limit=60', 60],
    ['&limit=100', 100],
  ])('with "%s" have %i entries, and hold every entry once and in order', async (limit, size) => {
    const found: number[][] = [];
    for (let cursor: string | undefined = '999999999999999'; cursor !== undefined;) {
      const { body } = await history(cookies, `?cursor=${cursor}${limit}`);
      found.push(coinsOf(body.entries));
      cursor = body.nextCursor;
    }
    // A full page is the last one, too: 60 divides 120.
    expect(found.length).toBe(Math.ceil(120 / size));
    expect(found.slice(0, -1).every((page) => page.length === size)).toBe(true);
    expect(found.flat()).toEqual(countdown(120, 1));
  });

  test('keep their entries while new entries arrive', async () => {
    const own = await withEntries(30);
    const first = await history(own.cookies, '?limit=10');
    await Promise.all(Array.from({ length: 25 }, (_, index) => credit(own.installId, 1000, `new-${index}`)));
    const second = await history(own.cookies, `?limit=10&cursor=${first.body.nextCursor}`);
    await Promise.all(Array.from({ length: 25 }, (_, index) => credit(own.installId, 1000, `newer-${index}`)));
    const third = await history(own.cookies, `?limit=10&cursor=${second.body.nextCursor}`);
    expect([second, third].map(({ body }) => coinsOf(body.entries))).toEqual([countdown(20, 11), countdown(10, 1)]);
    expect(third.body).not.toHaveProperty('nextCursor');
  });

  test.each([
    ['limit', ['0', '101', '1.5', 'abc', '', '1e1']],
    ['cursor', ['0', '-1', '1.05', 'abc', '', '01', '1'.repeat(16), '1%0A']],
  ])('refuse a bad %s', async (field, texts) => {
    for (const text of texts) {
      const { status, body } = await history(cookies, `?${field}=${text}`);
      expect([text, status, body.error]).toMatchObject([text, 400, { code: 'invalid_request', field }]);
    }
  });

  test('show only entries of the session’s account, whatever install or cursor the query names', async () => {
    const other = await withEntries(3);
    const { nextCursor } = (await history(cookies, '?limit=1')).body;
    expect(coinsOf((await history(other.cookies, `?installId=${installId}&cursor=${nextCursor}`)).body.entries)).toEqual([3, 2, 1]);
  });
});
