import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { halfSipHash } from '../../../src/features/coins/key-hash.ts';
import { KEY_SECRET } from '../../../src/features/coins/secret-keys.ts';
import { coinKeys } from '../../../src/features/coins/model.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { forFile, freshId, signIn, start, type TestReply } from '../../harness.ts';
import { sized } from '../../sized.ts';
import { historyOf } from '../../store.ts';

const service = await forFile(start());
const keeping = await forFile(start({ settings: { LEDGER_RETENTION_DAYS: '30' } }));

type Operation = 'credit' | 'purchase' | 'debit';

const apply = (operation: Operation, installId: string, coins: number, key: string, to = service): Promise<TestReply> =>
  to.post(`/v1/coins/${operation}`, { installId, coins, key });

/** The whole ledger, oldest entry first. */
const ledgerOf = async (installId: string, from = service) => (await historyOf(from, await signIn(from, installId))).reverse();

/** The bucket of each key of the ledger in the index. Fails if the index and the ledger disagree. */
async function bucketsOf(installId: string, from = service): Promise<Map<string, string>> {
  const { redis } = from.service;
  const accountId = accountIdOf(installId);
  const keys = new Map(
    (await redis.lrange(coinKeys.ledger(accountId), 0, -1)).map((entry) => {
      const [, seq, key] = /^(\d+):\d+ \S+ \S+ (.*)$/.exec(entry)!;
      return [seq, key!];
    }),
  );
  const found = new Map<string, string>();
  for (const bucket of await redis.keys(`${coinKeys.index(accountId)}*`)) {
    for (const seq of (await redis.hvals(bucket)).flatMap((seqs) => seqs.split(','))) {
      const key = keys.get(seq);
      expect(key, `${bucket} names the entry ${seq}, which the ledger does not have`).toBeDefined();
      expect(found.has(key!), `${key} lies in two buckets`).toBe(false);
      found.set(key!, bucket);
    }
  }
  expect(found.size).toBe(keys.size);
  return found;
}

/** Runs `task` for each item, 50 at a time. */
async function forEach<Item>(items: readonly Item[], task: (item: Item, index: number) => Promise<void>): Promise<void> {
  const left = items.entries();
  await Promise.all(
    Array.from({ length: 50 }, async () => {
      for (const [index, item] of left) await task(item, index);
    }),
  );
}

/** Mostly short keys. Every tenth has some 65 characters, every hundredth the maximum of 255. */
function keyOf(index: number): string {
  if (index % 100 === 50) return `${index}-`.padEnd(255, 'long ');
  return index % 10 === 5 ? `${index}-`.padEnd(60 + (index % 8), 'x') : `key ${index}`;
}

const COUNT = sized(300, 2000);

test(`a ledger of ${COUNT} entries answers each of its keys, and keeps them in hashes that Redis encodes as listpack`, async () => {
  const installId = freshId();
  const keys = Array.from({ length: COUNT }, (_, index) => keyOf(index));
  const balances = new Map<string, number>();
  const operationOf = (index: number): Operation => (index % 3 === 0 ? 'purchase' : 'credit');
  await forEach(keys, async (key, index) => {
    const { body } = await apply(operationOf(index), installId, index + 1, key);
    expect(body.replayed).toBeUndefined();
    balances.set(key, body.balanceAfterCoins);
  });
  const balanceCoins = (COUNT * (COUNT + 1)) / 2;
  await forEach(keys, async (key, index) => {
    const { body } = await apply(operationOf(index), installId, index + 1, key);
    expect(body).toEqual({ ok: true, balanceAfterCoins: balances.get(key), replayed: true, balanceCoins });
    if (index % 20 === 0) expect((await apply('debit', installId, index + 1, key)).body.error.code).toBe('key_reused');
  });
  expect(new Map((await ledgerOf(installId)).map((entry) => [entry.key, entry.balanceAfterCoins]))).toEqual(balances);
  const hashes = new Set((await bucketsOf(installId)).values());
  expect(hashes.size).toBe(sized(10, 63));
  for (const hash of hashes) expect(await service.service.redis.object('ENCODING', hash)).toBe('listpack');
});

test('keys with the same hash stay separate, even after retention has deleted the entry of one', async () => {
  await using own = await start({ settings: { LEDGER_RETENTION_DAYS: '30' } });
  const hash = halfSipHash(Buffer.from((await own.service.redis.get(KEY_SECRET))!, 'hex'));
  // Of some 80,000 keys, two have the same hash of 32 bits.
  const seen = new Map<number, string>();
  let one: string | undefined;
  let other = '';
  while (one === undefined) {
    other = `key-${seen.size}`;
    one = seen.get(hash(other));
    seen.set(hash(other), other);
  }
  const installId = freshId();
  const credit = async (key: string, coins = 7) => (await apply('credit', installId, coins, key, own)).body;
  const kept = async () => [...(await bucketsOf(installId, own)).keys()].toSorted();
  const third = `${one} ${other}`;
  for (const [key, balanceAfterCoins] of [[one, 7] as const, [third, 14] as const, [other, 21] as const])
    expect(await credit(key)).toEqual({ ok: true, balanceAfterCoins });
  expect(await credit(one)).toMatchObject({ replayed: true, balanceAfterCoins: 7 });
  expect(await credit(other)).toMatchObject({ replayed: true, balanceAfterCoins: 21 });
  expect((await credit(other, 8)).error.code).toBe('key_reused');
  expect(await kept()).toEqual([one, other, third].toSorted());

  // The first entries expire one by one, each together with its key.
  own.advance(20 * 86_400_000);
  await credit('young');
  own.advance(11 * 86_400_000);
  await credit('new');
  expect(await kept()).toEqual([other, 'young', 'new'].toSorted());
  expect(await credit(other)).toMatchObject({ replayed: true, balanceAfterCoins: 21 });
  expect(await credit(one)).toEqual({ ok: true, balanceAfterCoins: 42 });
});

// debt-property.test.ts compares random operations one after the other with a model.
test('random operations all at once leave a ledger that explains every reply', async () => {
  const step = fc.record({
    type: fc.constantFrom<Operation>('credit', 'purchase', 'debit', 'debit'),
    coins: fc.constantFrom(1, 2, 10),
    key: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'),
    bySession: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
      const installId = freshId();
      const cookies = await signIn(service, installId);
      const replies = await Promise.all(
        steps.map(({ type, coins, key, bySession }) =>
          bySession ? service.post(`/v1/coins/${type}`, { coins, key }, { cookies }) : apply(type, installId, coins, key),
        ),
      );
      const entries = await ledgerOf(installId);
      let balance = 0;
      for (const { coins, balanceAfterCoins } of entries) expect(balanceAfterCoins).toBe((balance += coins));
      expect(Math.min(0, ...entries.map(({ balanceAfterCoins }) => balanceAfterCoins))).toBe(0);
      expect(new Set(entries.map(({ key }) => key)).size).toBe(entries.length);
      for (const [index, { status, body }] of replies.entries()) {
        const { type, coins, key } = steps[index]!;
        const entry = entries.find((candidate) => candidate.key === key);
        const fits = entry !== undefined && entry.type === type && Math.abs(entry.coins) === coins;
        if (status === 200) expect([fits, body.balanceAfterCoins]).toEqual([true, entry!.balanceAfterCoins]);
        else if (status === 422) expect([fits, entry === undefined]).toEqual([false, false]);
        else expect([status, body.error.code, type]).toEqual([409, 'insufficient_coins', 'debit']);
      }
      const firsts = replies.flatMap(({ status, body }, index) =>
        status === 200 && body.replayed === undefined ? [steps[index]!.key] : [],
      );
      expect(firsts.toSorted()).toEqual(entries.map(({ key }) => key).toSorted());
    }),
    { numRuns: sized(6, 30) },
  );
});

describe('LEDGER_RETENTION_DAYS', () => {
  const DAY_MS = 86_400_000;

  const credit = (installId: string, coins: number, key: string) => apply('credit', installId, coins, key, keeping);
  const idsOf = async (installId: string): Promise<number[]> => (await ledgerOf(installId, keeping)).map(({ id }) => Number(id));
  const idsFrom = (first: number, length: number): number[] => Array.from({ length }, (_, index) => first + index);

  test('the last entry stays at any age, because it holds the balance', async () => {
    const installId = freshId();
    await credit(installId, 42, 'only');
    keeping.advance(400 * DAY_MS);
    expect((await apply('debit', installId, 43, 'too much', keeping)).status).toBe(409);
    expect((await credit(installId, 42, 'only')).body).toEqual({ ok: true, balanceAfterCoins: 42, replayed: true, balanceCoins: 42 });
    expect(await idsOf(installId)).toEqual([1]);
    expect((await credit(installId, 1, 'next')).body).toEqual({ ok: true, balanceAfterCoins: 43 });
    expect(await idsOf(installId)).toEqual([2]);
  });

  test('a long ledger shrinks to its retention with its keys of every length, and the pages stay correct', async () => {
    const installId = freshId();
    const old = Array.from({ length: 100 }, (_, index) => `old ${index} `.padEnd(index % 2 === 0 ? index : 100 + index, 'y'));
    await forEach(old, async (key) => void (await credit(installId, 2, key)));
    keeping.advance(31 * DAY_MS);
    for (let index = 0; index < 40; index++) await credit(installId, 1, `new ${index}`);
    // 40 operations deleted 80 of the 100 entries.
    expect(await idsOf(installId)).toEqual(idsFrom(81, 60));
    expect((await bucketsOf(installId, keeping)).size).toBe(60);
    await forEach(await ledgerOf(installId, keeping), async ({ key, coins, balanceAfterCoins }) => {
      expect((await credit(installId, coins, key)).body).toEqual({ ok: true, balanceAfterCoins, replayed: true, balanceCoins: 240 });
    });

    const cookies = await signIn(keeping, installId);
    for (const [query, ids, nextCursor] of [
      ['limit=2&cursor=84', ['83', '82'], '82'],
      ['limit=2&cursor=83', ['82', '81'], undefined],
      ['limit=2&cursor=81', [], undefined],
      ['limit=100&cursor=40', [], undefined],
    ] as const) {
      const { body } = await keeping.get(`/v1/coins/history?${query}`, { cookies });
      expect([query, body.entries.map(({ id }: { id: string }) => id), body.nextCursor]).toEqual([query, ids, nextCursor]);
    }

    // 10 more operations delete the last 20 expired entries, the next 4 delete none.
    for (let index = 0; index < 14; index++) await credit(installId, 1, `newer ${index}`);
    expect(await idsOf(installId)).toEqual(idsFrom(101, 54));
    expect((await bucketsOf(installId, keeping)).size).toBe(54);
    // The key of a deleted entry counts as new.
    expect((await credit(installId, 5, old[0]!)).body).toEqual({ ok: true, balanceAfterCoins: 259 });
  });

  test.each([
    ['is off by default: a key is known after ten years', {}],
    ['that reaches back before 1970 deletes nothing', { LEDGER_RETENTION_DAYS: '36500' }],
  ])('%s', async (_, settings) => {
    await using own = await start({ settings });
    const installId = freshId();
    await apply('credit', installId, 1, 'first', own);
    own.advance(3653 * DAY_MS);
    for (let index = 0; index < 3; index++) await apply('credit', installId, 1, `new-${index}`, own);
    expect((await apply('credit', installId, 1, 'first', own)).body).toMatchObject({ replayed: true, balanceCoins: 4 });
  });
});
