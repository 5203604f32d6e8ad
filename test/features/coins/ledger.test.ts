import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { halfSipHash } from '../../../src/features/coins/key-hash.ts';
import { KEY_SECRET } from '../../../src/features/coins/secret-keys.ts';
import { coinKeys } from '../../../src/features/coins/model.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { forFile, freshId, signIn, start, type TestReply } from '../../harness.ts';
import { expectCommands } from '../../round-trips.ts';
import { startRedis } from '../../own-redis.ts';
import { sized } from '../../sized.ts';

const service = await forFile(start());
const keeping = await forFile(start({ settings: { LEDGER_RETENTION_DAYS: '30' } }));

type Operation = 'credit' | 'purchase' | 'debit';

interface Entry {
  id: string;
  type: Operation;
  coins: number;
  balanceAfterCoins: number;
  key: string;
}

const apply = (operation: Operation, installId: string, coins: number, key: string, to = service): Promise<TestReply> =>
  to.post(`/v1/coins/${operation}`, { installId, coins, key });

/** The whole ledger, oldest entry first. */
async function ledgerOf(installId: string, from = service): Promise<Entry[]> {
  const cookies = await signIn(from, installId);
  const entries: Entry[] = [];
  let cursor = '';
  do {
    const { body } = await from.get(`/v1/coins/history?limit=100${cursor}`, { cookies });
    entries.push(...body.entries);
    cursor = body.nextCursor === undefined ? '' : `&cursor=${body.nextCursor}`;
  } while (cursor !== '');
  return entries.reverse();
}

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
    for (const seqs of await redis.hvals(bucket)) {
      for (const seq of seqs.split(',')) {
        const key = keys.get(seq);
        expect(key, `${bucket} names the entry ${seq}, which the ledger does not have`).toBeDefined();
        expect(found.has(key!), `${key} lies in two buckets`).toBe(false);
        found.set(key!, bucket);
      }
    }
  }
  return found;
}

/** Runs `task` for each item, 50 at a time. */
async function forEach<Item>(items: readonly Item[], task: (item: Item, index: number) => Promise<void>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: 50 }, async () => {
      while (next < items.length) {
        const index = next++;
        await task(items[index]!, index);
      }
    }),
  );
}

const COUNT = sized(300, 2000);

describe(`a ledger of ${COUNT} entries`, () => {
  /** Mostly short keys. Every tenth has 65 characters, every hundredth the maximum of 255. */
  const keys = Array.from({ length: COUNT }, (_, index) => {
    if (index % 100 === 50) return `${index}-`.padEnd(255, 'long ');
    return index % 10 === 5 ? `${index}-`.padEnd(65, 'x') : `key ${index}`;
  });

  test(
    'answers each of its keys with the original balance, and keeps them in hashes that Redis encodes as listpack',
    { timeout: 60_000 },
    async () => {
      const installId = freshId();
      const balances = new Map<string, number>();
      await forEach(keys, async (key, index) => {
        const { body } = await apply(index % 3 === 0 ? 'purchase' : 'credit', installId, index + 1, key);
        expect(body.replayed).toBeUndefined();
        balances.set(key, body.balanceAfterCoins);
      });
      const total = (COUNT * (COUNT + 1)) / 2;
      await forEach(keys, async (key, index) => {
        const operation = index % 3 === 0 ? 'purchase' : 'credit';
        expect((await apply(operation, installId, index + 1, key)).body).toEqual({
          ok: true,
          balanceAfterCoins: balances.get(key),
          replayed: true,
          balanceCoins: total,
        });
        if (index % 20 === 0) expect((await apply('debit', installId, index + 1, key)).body.error.code).toBe('key_reused');
      });
      expect((await service.get(`/v1/balance?installId=${installId}`)).body.balanceCoins).toBe(total);

      const entries = await ledgerOf(installId);
      expect(entries).toHaveLength(COUNT);
      expect(new Map(entries.map((entry) => [entry.key, entry.balanceAfterCoins]))).toEqual(balances);
      const buckets = await bucketsOf(installId);
      expect(buckets.size).toBe(COUNT);
      const hashes = new Set(buckets.values());
      expect(hashes.size).toBe(sized(10, 63));
      for (const hash of hashes) expect(await service.service.redis.object('ENCODING', hash)).toBe('listpack');
    },
  );
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
  const third = `${one} ${other}`;
  const answers = new Map<string, number>();
  for (const key of [one, third, other]) answers.set(key, (await apply('credit', installId, 7, key, own)).body.balanceAfterCoins);
  expect([...answers.values()]).toEqual([7, 14, 21]);
  const replay = async (key: string) => (await apply('credit', installId, 7, key, own)).body;
  for (const key of [one, other]) expect(await replay(key)).toMatchObject({ replayed: true, balanceAfterCoins: answers.get(key) });
  expect((await apply('credit', installId, 8, other, own)).body.error.code).toBe('key_reused');
  expect([...(await bucketsOf(installId, own)).keys()].sort()).toEqual([one, other, third].sort());

  // The first entries expire one by one, each together with its key.
  own.advance(20 * 86_400_000);
  await apply('credit', installId, 7, 'young', own);
  own.advance(11 * 86_400_000);
  await apply('credit', installId, 1, 'new', own);
  expect([...(await bucketsOf(installId, own)).keys()].sort()).toEqual([other, 'young', 'new'].sort());
  expect(await replay(other)).toMatchObject({ replayed: true, balanceAfterCoins: 21 });
  expect(await replay(one)).toEqual({ ok: true, balanceAfterCoins: 36 });
});

describe('random operations', () => {
  /** The rules of the contract as a model in memory. */
  class Model {
    balance = 0;
    readonly entries: Entry[] = [];

    apply(type: Operation, coins: number, key: string): { status: number; body: object } {
      const known = this.entries.find((entry) => entry.key === key);
      const signed = type === 'debit' ? -coins : coins;
      if (known !== undefined) {
        if (known.type !== type || known.coins !== signed)
          return {
            status: 422,
            body: { ok: false, error: expect.objectContaining({ code: 'key_reused' }), requestId: expect.any(String) },
          };
        return { status: 200, body: { ok: true, balanceAfterCoins: known.balanceAfterCoins, replayed: true, balanceCoins: this.balance } };
      }
      if (this.balance + signed < 0) {
        const error = expect.objectContaining({ code: 'insufficient_coins', balanceCoins: this.balance });
        return { status: 409, body: { ok: false, error, requestId: expect.any(String) } };
      }
      this.balance += signed;
      this.entries.push({ id: String(this.entries.length + 1), type, coins: signed, balanceAfterCoins: this.balance, key });
      return { status: 200, body: { ok: true, balanceAfterCoins: this.balance } };
    }
  }

  const step = fc.record({
    type: fc.constantFrom<Operation>('credit', 'purchase', 'debit', 'debit'),
    coins: fc.oneof({ arbitrary: fc.constantFrom(1, 2, 10), weight: 3 }, { arbitrary: fc.integer({ min: 1, max: 1_000_000 }), weight: 1 }),
    // A small pool, so that keys repeat.
    key: fc.constantFrom('a', 'b', 'c d', ' ', '__proto__', 'constructor', 'k'.repeat(255), 'A', 'a ', '12 34 c5', '{x}'),
    bySession: fc.boolean(),
  });

  const send = (
    installId: string,
    cookies: string,
    { type, coins, key, bySession }: { type: Operation; coins: number; key: string; bySession: boolean },
  ) => service.post(`/v1/coins/${type}`, { ...(bySession ? {} : { installId }), coins, key }, bySession ? { cookies } : {});

  test('one after the other answer as a model in memory does', { timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
        const installId = freshId();
        const cookies = await signIn(service, installId);
        const model = new Model();
        for (const sent of steps) {
          const { status, body } = await send(installId, cookies, sent);
          expect({ status, body }).toEqual(model.apply(sent.type, sent.coins, sent.key));
        }
        expect((await service.get('/v1/balance', { cookies })).body).toEqual({ ok: true, balanceCoins: model.balance });
        expect(await ledgerOf(installId)).toEqual(model.entries.map((entry) => ({ ...entry, at: expect.any(String) })));
      }),
      { numRuns: sized(12, 60) },
    );
  });

  test('all at once leave a ledger that some order of them explains, and every reply agrees with it', { timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
        const installId = freshId();
        const cookies = await signIn(service, installId);
        const replies = await Promise.all(steps.map((sent) => send(installId, cookies, sent)));
        const entries = await ledgerOf(installId);
        // The model gives the same ledger if it gets the operations in the ledger's order.
        const model = new Model();
        for (const { type, coins, key } of entries) expect(model.apply(type, Math.abs(coins), key).status).toBe(200);
        expect(entries).toEqual(model.entries.map((entry) => ({ ...entry, at: expect.any(String) })));
        for (const [index, { status, body }] of replies.entries()) {
          const { type, coins, key } = steps[index]!;
          const entry = entries.find((candidate) => candidate.key === key);
          const fits = entry !== undefined && entry.type === type && Math.abs(entry.coins) === coins;
          if (status === 200) expect([fits, body.balanceAfterCoins]).toEqual([true, entry!.balanceAfterCoins]);
          else if (status === 422) expect([fits, entry === undefined]).toEqual([false, false]);
          else expect([status, body.error.code, type]).toEqual([409, 'insufficient_coins', 'debit']);
        }
        for (const { key } of entries) {
          const firsts = replies.filter(
            (reply, index) => steps[index]!.key === key && reply.status === 200 && reply.body.replayed === undefined,
          );
          expect(firsts).toHaveLength(1);
        }
      }),
      { numRuns: sized(6, 30) },
    );
  });
});

describe('LEDGER_RETENTION_DAYS', () => {
  const DAY_MS = 86_400_000;

  const credit = (installId: string, coins: number, key: string) => apply('credit', installId, coins, key, keeping);
  const idsOf = async (installId: string): Promise<string[]> => (await ledgerOf(installId, keeping)).map(({ id }) => id);

  test('each operation deletes two expired entries with their keys, and the balance stays exact', async () => {
    const installId = freshId();
    for (let index = 1; index <= 5; index++) await credit(installId, index, `old ${index}`);
    keeping.advance(31 * DAY_MS);
    expect((await credit(installId, 100, 'new')).body).toEqual({ ok: true, balanceAfterCoins: 115 });
    expect(await idsOf(installId)).toEqual(['3', '4', '5', '6']);
    // A key is known as long as its entry exists, at any age.
    expect((await credit(installId, 3, 'old 3')).body).toEqual({ ok: true, balanceAfterCoins: 6, replayed: true, balanceCoins: 115 });
    expect((await credit(installId, 4, 'old 3')).body.error.code).toBe('key_reused');
    expect(await idsOf(installId)).toEqual(['3', '4', '5', '6']);
    // The key of a deleted entry counts as new.
    expect((await apply('debit', installId, 15, 'old 1', keeping)).body).toEqual({ ok: true, balanceAfterCoins: 100 });
    expect(await idsOf(installId)).toEqual(['5', '6', '7']);
    expect((await credit(installId, 1, 'last')).body).toEqual({ ok: true, balanceAfterCoins: 101 });
    expect(await idsOf(installId)).toEqual(['6', '7', '8']);
    expect((await apply('debit', installId, 15, 'old 1', keeping)).body).toEqual({
      ok: true,
      balanceAfterCoins: 100,
      replayed: true,
      balanceCoins: 101,
    });
    expect([...(await bucketsOf(installId, keeping)).keys()].sort()).toEqual(['last', 'new', 'old 1']);
  });

  test('a retention that reaches back before 1970 deletes nothing, and the daily cap still holds', async () => {
    await using century = await start({ settings: { LEDGER_RETENTION_DAYS: '36500', CREDIT_DAILY_CAP: '15' } });
    const installId = freshId();
    expect((await apply('credit', installId, 10, 'a', century)).status).toBe(200);
    expect((await apply('credit', installId, 6, 'b', century)).body.error.code).toBe('balance_limit');
    expect((await ledgerOf(installId, century)).map(({ id }) => id)).toEqual(['1']);
  });

  test('the last entry stays at any age, because it holds the balance', async () => {
    const installId = freshId();
    await credit(installId, 42, 'only');
    keeping.advance(400 * DAY_MS);
    expect((await apply('debit', installId, 43, 'too much', keeping)).status).toBe(409);
    expect((await credit(installId, 42, 'only')).body).toEqual({ ok: true, balanceAfterCoins: 42, replayed: true, balanceCoins: 42 });
    expect((await keeping.get(`/v1/balance?installId=${installId}`)).body.balanceCoins).toBe(42);
    expect(await idsOf(installId)).toEqual(['1']);
    expect((await credit(installId, 1, 'next')).body).toEqual({ ok: true, balanceAfterCoins: 43 });
    expect(await idsOf(installId)).toEqual(['2']);
  });

  test('a long ledger shrinks to its retention with its keys, and the pages stay correct', { timeout: 60_000 }, async () => {
    const installId = freshId();
    const old = Array.from({ length: 100 }, (_, index) => (index % 7 === 0 ? `old ${index} `.padEnd(200, 'y') : `old ${index}`));
    await forEach(old, async (key) => void (await credit(installId, 2, key)));
    keeping.advance(31 * DAY_MS);
    const fresh = Array.from({ length: 40 }, (_, index) => `new ${index}`);
    await forEach(fresh, async (key) => void (await credit(installId, 1, key)));
    // 40 operations deleted 80 of the 100 entries.
    expect(await idsOf(installId)).toEqual(Array.from({ length: 60 }, (_, index) => String(81 + index)));
    const entries = await ledgerOf(installId, keeping);
    expect([...(await bucketsOf(installId, keeping)).keys()].sort()).toEqual(entries.map(({ key }) => key).sort());
    await forEach(entries, async ({ key, coins, balanceAfterCoins }) => {
      expect((await credit(installId, coins, key)).body).toEqual({ ok: true, balanceAfterCoins, replayed: true, balanceCoins: 240 });
    });

    const cookies = await signIn(keeping, installId);
    const page = async (query: string): Promise<[ids: string[], nextCursor?: string]> => {
      const { body } = await keeping.get(`/v1/coins/history?${query}`, { cookies });
      const ids = body.entries.map(({ id }: Entry) => id);
      return body.nextCursor === undefined ? [ids] : [ids, body.nextCursor];
    };
    expect(await page('limit=2&cursor=84')).toEqual([['83', '82'], '82']);
    expect(await page('limit=2&cursor=83')).toEqual([['82', '81']]);
    expect(await page('limit=2&cursor=82')).toEqual([['81']]);
    expect(await page('limit=2&cursor=81')).toEqual([[]]);
    expect(await page('limit=100&cursor=40')).toEqual([[]]);

    // 10 more operations delete the last 20 expired entries, the next 4 delete none.
    await forEach(
      Array.from({ length: 14 }, (_, index) => `newer ${index}`),
      async (key) => void (await credit(installId, 1, key)),
    );
    expect(await idsOf(installId)).toEqual(Array.from({ length: 54 }, (_, index) => String(101 + index)));
    expect((await bucketsOf(installId, keeping)).size).toBe(54);
    expect((await credit(installId, 5, old[0]!)).body).toEqual({ ok: true, balanceAfterCoins: 259 });
  });

  test('is off by default: a key is known after ten years', async () => {
    await using own = await start();
    const installId = freshId();
    for (let index = 0; index < 5; index++) await apply('credit', installId, 1, `key-${index}`, own);
    own.advance(3653 * DAY_MS);
    for (let index = 0; index < 5; index++) await apply('credit', installId, 1, `new-${index}`, own);
    expect(await ledgerOf(installId, own)).toHaveLength(10);
    expect((await apply('credit', installId, 1, 'key-0', own)).body).toEqual({
      ok: true,
      balanceAfterCoins: 1,
      replayed: true,
      balanceCoins: 10,
    });
  });
});

test('a refusal and a replay leave all keys of the account as they were', async () => {
  const { redis } = service.service;
  const [installId, full] = [freshId(), freshId()];
  const stored = async (id: string): Promise<[string, string][]> => {
    const keys = (await redis.keys(`*${accountIdOf(id)}*`)).toSorted();
    return Promise.all(keys.map(async (key) => [key, (await redis.dumpBuffer(key)).toString('base64')]));
  };
  for (const id of [installId, full]) await apply('credit', id, 10, 'first');
  const ledger = coinKeys.ledger(accountIdOf(full));
  await redis.lset(ledger, 0, (await redis.lindex(ledger, 0))!.replace(/^1:10 /, '1:999999999995 '));
  const before = [await stored(installId), await stored(full)];
  expect(before[0]!.length).toBeGreaterThan(1);
  const outcomes = [
    await apply('debit', installId, 11, 'too-much'),
    await apply('credit', installId, 9, 'first'),
    await apply('debit', installId, 10, 'first'),
    await apply('credit', installId, 10, 'first'),
    await apply('credit', full, 6, 'beyond'),
  ];
  expect(outcomes.map(({ status, body }) => body.error?.code ?? status)).toEqual([
    'insufficient_coins',
    'key_reused',
    'key_reused',
    200,
    'balance_limit',
  ]);
  expect([await stored(installId), await stored(full)]).toEqual(before);
});

test('every request costs one Redis round trip, its session check included', async () => {
  await using redis = await startRedis();
  await using own = await start({ redis: redis.location });
  await using other = await start({ redis: redis.location });
  const installId = freshId();
  const cookies = await signIn(own, installId);
  // Redis receives the source of a script once. Afterwards the service sends only its hash.
  await own.post('/v1/coins/credit', { coins: 1, key: 'warm-up' }, { cookies });
  await own.post('/v1/logout', {}, { cookies: await signIn(own, installId) });
  for (const path of ['/v1/balance', '/v1/coins/history', '/v1/session']) await own.get(path, { cookies });

  const once = ['evalsha'];
  await expectCommands(own, [
    [() => own.post('/v1/coins/credit', { coins: 5, key: 'a' }, { cookies }), once],
    [() => own.post('/v1/coins/credit', { coins: 5, key: 'a' }, { cookies }), once],
    [() => own.post('/v1/coins/debit', { coins: 9999, key: 'b' }, { cookies }), once],
    [() => own.post('/v1/coins/purchase', { installId: freshId(), coins: 5, key: 'a' }), once],
    [() => own.get('/v1/balance', { cookies }), once],
    [() => own.get('/v1/coins/history', { cookies }), once],
    [() => own.get('/v1/session', { cookies }), once],
    // The first request after another process's logout asks Redis. The answer is remembered.
    [() => other.post('/v1/logout', {}, { cookies }), once],
    [() => own.get('/v1/session', { cookies }), once],
    [() => own.get('/v1/session', { cookies }), []],
    [() => own.get('/v1/coins/history', { cookies }), []],
    [() => own.post('/v1/coins/credit', { installId, coins: 5, key: 'a' }, { cookies }), once],
  ]);
});
