import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { auditLedgers, type Done } from '../../bench/audit.ts';
import { newKeyPrefix, operation } from '../../bench/load/order.ts';
import { coinKeys } from '../../src/features/coins/model.ts';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { freshId, start, type TestService } from '../harness.ts';

let service: TestService;
beforeAll(async () => void (service = await start()));
afterAll(() => service[Symbol.asyncDispose]());

/** Six credits over two accounts, as a load would have sent them. */
async function load(): Promise<Done & { acknowledged: number[] }> {
  const keyPrefix = newKeyPrefix();
  const callers = [{ installId: freshId() }, { installId: freshId() }];
  for (let number = 0; number < 6; number++) {
    await service.post('/v1/coins/credit', { installId: callers[number % 2]!.installId, ...operation(number, keyPrefix) });
  }
  return { callers, keyPrefix, acknowledged: [0, 1, 2, 3, 4, 5], unanswered: [] };
}

const ledgerOf = ({ callers }: Done, account: number): string => coinKeys.ledger(accountIdOf(callers[account]!.installId));

test('finds nothing where each acknowledged operation is there once', async () => {
  expect(await auditLedgers(service.url, await load())).toEqual([]);
});

test('finds an acknowledged operation that is not there', async () => {
  const done = await load();
  done.acknowledged.push(6);
  expect(await auditLedgers(service.url, done)).toEqual([`acknowledged, but not in the ledger: ${operation(6, done.keyPrefix).key}`]);
});

test('one that was not answered may be there or not', async () => {
  const done = { ...(await load()), acknowledged: [0, 1, 2, 3, 4], unanswered: [5, 6] };
  expect(await auditLedgers(service.url, done)).toEqual([]);
});

test('finds one that was not asked for', async () => {
  const done = { ...(await load()), acknowledged: [0, 1, 2, 3, 4] };
  expect(await auditLedgers(service.url, done)).toEqual([
    `an entry that was not asked for, or is there twice: ${operation(5, done.keyPrefix).key}`,
  ]);
});

test('finds an entry that was written twice, and the balance that does not fit', async () => {
  const done = await load();
  const { redis } = service.service;
  const last = (await redis.lindex(ledgerOf(done, 0), -1))!;
  await redis.rpush(ledgerOf(done, 0), last.replace(/^3/, '4'));
  const findings = await auditLedgers(service.url, done);
  expect(findings[0]).toContain('is there twice');
  expect(findings[1]).toMatch(/^a balance of 9, where the entries sum up to 14$/);
});

test('finds an entry of other coins, and a balance that somebody changed', async () => {
  const done = await load();
  const { redis } = service.service;
  const last = (await redis.lindex(ledgerOf(done, 1), -1))!;
  await redis.lset(ledgerOf(done, 1), -1, last.replace(/^(\d+) \d+ c\d+/, '$1 999 c7'));
  const findings = await auditLedgers(service.url, done);
  expect(findings).toContain(`7 coins where 6 were asked for: ${operation(5, done.keyPrefix).key}`);
  expect(findings.some((finding) => finding.startsWith('a balance of 999, where the entries sum up to'))).toBe(true);
});

test('finds an operation that landed in another account', async () => {
  const done = await load();
  expect(await auditLedgers(service.url, { ...done, callers: done.callers.toReversed() })).toContainEqual(
    expect.stringContaining('in the wrong account'),
  );
});

describe('of a second load that only counted', () => {
  /** Four credits under keys of its own, on the same accounts. */
  async function counted(bounds: { numbers: number; least: number; most: number }): Promise<Done> {
    const done = await load();
    const keyPrefix = newKeyPrefix();
    for (let number = 0; number < 4; number++) {
      await service.post('/v1/coins/credit', { installId: done.callers[number % 2]!.installId, ...operation(number, keyPrefix) });
    }
    return { ...done, counted: { keyPrefix, ...bounds } };
  }

  test('finds nothing where as many took effect as were answered, and no more than were sent', async () => {
    expect(await auditLedgers(service.url, await counted({ numbers: 6, least: 4, most: 6 }))).toEqual([]);
    expect(await auditLedgers(service.url, await counted({ numbers: 4, least: 1, most: 4 }))).toEqual([]);
  });

  test('finds that some which were answered are not there', async () => {
    expect(await auditLedgers(service.url, await counted({ numbers: 6, least: 5, most: 6 }))).toEqual([
      '5 to 6 operations of another load took effect, and 4 are in the ledgers',
    ]);
  });

  test('finds one that was never sent, and one in another account', async () => {
    const done = await counted({ numbers: 3, least: 3, most: 3 });
    expect(await auditLedgers(service.url, done)).toEqual([
      `an entry that was not asked for, or is there twice: ${operation(3, done.counted!.keyPrefix).key}`,
    ]);
    const swapped = await auditLedgers(service.url, { ...done, acknowledged: [], callers: done.callers.toReversed() });
    expect(swapped).toContainEqual(`in the wrong account: ${operation(1, done.counted!.keyPrefix).key}`);
  });
});
