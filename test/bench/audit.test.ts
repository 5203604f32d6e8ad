import { describe, expect, test } from 'vitest';
import { auditLedgers, type LoadRecord } from '../../bench/audit.ts';
import { newKeyPrefix, operation } from '../../bench/load/order.ts';
import { coinKeys } from '../../src/features/coins/model.ts';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { forFile, freshId, start } from '../harness.ts';

const service = await forFile(start());

/** Sends six credits to two accounts, as the load generator would. */
async function load(): Promise<LoadRecord & { acknowledged: number[] }> {
  const keyPrefix = newKeyPrefix();
  const callers = [{ installId: freshId() }, { installId: freshId() }];
  for (let number = 0; number < 6; number++) {
    await service.post('/v1/coins/credit', { installId: callers[number % 2]!.installId, ...operation(number, keyPrefix) });
  }
  return { callers, keyPrefix, acknowledged: [0, 1, 2, 3, 4, 5], unanswered: [] };
}

const ledgerOf = ({ callers }: LoadRecord, account: number): string => coinKeys.ledger(accountIdOf(callers[account]!.installId));

test('an audit finds no error when each acknowledged operation is in the ledger once', async () => {
  expect(await auditLedgers(service.url, await load())).toEqual([]);
});

test('an audit finds an acknowledged operation that is not in the ledger', async () => {
  const record = await load();
  record.acknowledged.push(6);
  expect(await auditLedgers(service.url, record)).toEqual([
    `an acknowledged operation is not in the ledger: ${operation(6, record.keyPrefix).key}`,
  ]);
});

test('an unanswered operation may be in the ledger or not', async () => {
  const record = { ...(await load()), acknowledged: [0, 1, 2, 3, 4], unanswered: [5, 6] };
  expect(await auditLedgers(service.url, record)).toEqual([]);
});

test('an audit finds an entry that the load did not send', async () => {
  const record = { ...(await load()), acknowledged: [0, 1, 2, 3, 4] };
  expect(await auditLedgers(service.url, record)).toEqual([
    `an entry that was not sent, or a duplicate: ${operation(5, record.keyPrefix).key}`,
  ]);
});

test('an audit finds a duplicate entry and the balance that disagrees with it', async () => {
  const record = await load();
  const { redis } = service.service;
  const last = (await redis.lindex(ledgerOf(record, 0), -1))!;
  await redis.rpush(ledgerOf(record, 0), last.replace(/^3/, '4'));
  const findings = await auditLedgers(service.url, record);
  expect(findings[0]).toContain('a duplicate');
  expect(findings[1]).toMatch(/^the balance is 9, but the sum of the entries is 14$/);
});

test('an audit finds an entry with the wrong coins and a balance that was changed', async () => {
  const record = await load();
  const { redis } = service.service;
  const last = (await redis.lindex(ledgerOf(record, 1), -1))!;
  await redis.lset(ledgerOf(record, 1), -1, last.replace(/^(\d+):\d+ c\d+/, '$1:999 c7'));
  const findings = await auditLedgers(service.url, record);
  expect(findings).toContain(`an entry of 7 coins instead of 6: ${operation(5, record.keyPrefix).key}`);
  expect(findings.some((finding) => finding.startsWith('the balance is 999, but the sum of the entries is'))).toBe(true);
});

test('an audit finds an entry in the wrong account', async () => {
  const record = await load();
  expect(await auditLedgers(service.url, { ...record, callers: record.callers.toReversed() })).toContainEqual(
    expect.stringContaining('in the wrong account'),
  );
});

describe('the audit of a counted load', () => {
  /** Sends four more credits to the same accounts, with another key prefix. */
  async function counted(bounds: { numbers: number; least: number; most: number }): Promise<LoadRecord> {
    const record = await load();
    const keyPrefix = newKeyPrefix();
    for (let number = 0; number < 4; number++) {
      await service.post('/v1/coins/credit', { installId: record.callers[number % 2]!.installId, ...operation(number, keyPrefix) });
    }
    return { ...record, counted: { keyPrefix, ...bounds } };
  }

  test('accepts at least as many entries as were answered and at most as many as were sent', async () => {
    expect(await auditLedgers(service.url, await counted({ numbers: 6, least: 4, most: 6 }))).toEqual([]);
    expect(await auditLedgers(service.url, await counted({ numbers: 4, least: 1, most: 4 }))).toEqual([]);
  });

  test('finds that answered operations are missing', async () => {
    expect(await auditLedgers(service.url, await counted({ numbers: 6, least: 5, most: 6 }))).toEqual([
      'the ledgers have 4 entries of the counted load instead of 5 to 6',
    ]);
  });

  test('finds an entry that was not sent and an entry in the wrong account', async () => {
    const record = await counted({ numbers: 3, least: 3, most: 3 });
    expect(await auditLedgers(service.url, record)).toEqual([
      `an entry that was not sent, or a duplicate: ${operation(3, record.counted!.keyPrefix).key}`,
    ]);
    const swapped = await auditLedgers(service.url, { ...record, acknowledged: [], callers: record.callers.toReversed() });
    expect(swapped).toContainEqual(`an entry in the wrong account: ${operation(1, record.counted!.keyPrefix).key}`);
  });
});
