import { expect, test } from 'vitest';
import { auditLedgers, type LoadRecord } from '../../bench/audit.ts';
import { newKeyPrefix, operation } from '../../bench/load/order.ts';
import { coinKeys } from '../../src/features/coins/model.ts';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { forFile, freshId, start } from '../harness.ts';

const service = await forFile(start());

interface Loaded extends LoadRecord {
  readonly acknowledged: number[];
  readonly keys: string[];
}

/** Sends credits in turn to two accounts, as the load generator would. */
async function load(count: number, callers = [{ installId: freshId() }, { installId: freshId() }]): Promise<Loaded> {
  const keyPrefix = newKeyPrefix();
  const numbers = Array.from({ length: count }, (_, number) => number);
  for (const number of numbers)
    await service.post('/v1/coins/credit', { installId: callers[number % 2]!.installId, ...operation(number, keyPrefix) });
  // With the key of the next one, which was not sent.
  const keys = [...numbers, count].map((number) => operation(number, keyPrefix).key);
  return { callers, keyPrefix, acknowledged: numbers, unanswered: [], keys };
}

/** Replaces the last entry of an account, or adds one. */
async function damage({ callers }: Loaded, account: number, change: (last: string) => string, isAdded = false): Promise<void> {
  const ledger = coinKeys.ledger(accountIdOf(callers[account]!.installId));
  const { redis } = service.service;
  const last = change((await redis.lindex(ledger, -1))!);
  await (isAdded ? redis.rpush(ledger, last) : redis.lset(ledger, -1, last));
}

/** How a load of six credits is recorded, or its ledgers are damaged, and the findings. */
const cases: [title: string, change: (loaded: Loaded) => Partial<Loaded> | Promise<void>, found: (loaded: Loaded) => unknown[]][] = [
  ['each acknowledged operation once', () => ({}), () => []],
  ['unanswered operations that are in the ledger or not', () => ({ acknowledged: [0, 1, 2, 3, 4], unanswered: [5, 6] }), () => []],
  [
    'an acknowledged operation that is missing',
    () => ({ acknowledged: [0, 1, 2, 3, 4, 5, 6] }),
    ({ keys }) => [`an acknowledged operation is not in the ledger: ${keys[6]}`],
  ],
  [
    'an entry that was not sent',
    () => ({ acknowledged: [0, 1, 2, 3, 4] }),
    ({ keys }) => [`an entry that was not sent, or a duplicate: ${keys[5]}`],
  ],
  [
    'a duplicate, and a balance that disagrees with it',
    (loaded) => damage(loaded, 0, (last) => last.replace(/^3/, '4'), true),
    ({ keys }) => [`an entry that was not sent, or a duplicate: ${keys[4]}`, 'the balance is 9, but the sum of the entries is 14'],
  ],
  [
    'wrong coins, and a balance that was changed',
    (loaded) => damage(loaded, 1, (last) => last.replace(/^(\d+):\d+ c\d+/, '$1:999 c7')),
    ({ keys }) => [`an entry of 7 coins instead of 6: ${keys[5]}`, 'the balance is 999, but the sum of the entries is 13'],
  ],
  [
    'entries in the wrong account',
    ({ callers }) => ({ callers: callers.toReversed() }),
    ({ keys }) => [...[5, 3, 1, 4, 2].map((number) => `an entry in the wrong account: ${keys[number]}`), '… and 1 more'],
  ],
];

test.each(cases)('an audit finds %s', async (_, change, found) => {
  const loaded = await load(6);
  expect(await auditLedgers(service.url, { ...loaded, ...(await change(loaded)) })).toEqual(found(loaded));
});

test.each<[numbers: number, least: number, most: number, found: (keys: string[]) => string[]]>([
  [6, 4, 6, () => []],
  [4, 1, 4, () => []],
  [6, 5, 6, () => ['the ledgers have 4 entries of the counted load instead of 5 to 6']],
  [3, 3, 3, (keys) => [`an entry that was not sent, or a duplicate: ${keys[3]}`]],
])('of four operations of a counted load, of %d numbers, there may be %d to %d', async (numbers, least, most, found) => {
  const loaded = await load(6);
  const { keyPrefix, keys } = await load(4, [...loaded.callers] as { installId: string }[]);
  expect(await auditLedgers(service.url, { ...loaded, counted: { keyPrefix, numbers, least, most } })).toEqual(found(keys));
});
