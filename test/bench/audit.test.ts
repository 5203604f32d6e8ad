import { expect, test } from 'vitest';
import { auditLedgers, type LoadRecord } from '../../bench/audit.ts';
import { operation } from '../../bench/load/order.ts';
import { coinKeys } from '../../src/features/coins/model.ts';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { forFile, freshId, start } from '../harness.ts';

const service = await forFile(start());

const [keyPrefix, countedPrefix] = ['01234567-89ab-4cde-8f01-', '01234567-89ab-4cde-8f02-'];
const key = (number: number, prefix = keyPrefix): string => operation(number, prefix).key;

/** Sends credits in turn to two accounts, as the load generator would: six, and four that are only counted. */
async function load(hasCounted: boolean): Promise<{ installId: string }[]> {
  const callers = [{ installId: freshId() }, { installId: freshId() }];
  for (const [prefix, count] of [[keyPrefix, 6] as const, ...(hasCounted ? [[countedPrefix, 4] as const] : [])])
    for (let number = 0; number < count; number++)
      await service.post('/v1/coins/credit', { installId: callers[number % 2]!.installId, ...operation(number, prefix) });
  return callers;
}

const six = [0, 1, 2, 3, 4, 5];
type Counted = NonNullable<LoadRecord['counted']>;
const counted = (numbers: number, least: number, most: number): { counted: Counted } => ({
  counted: { keyPrefix: countedPrefix, numbers, least, most },
});

/** What is recorded of the load, what becomes of the last entry of the second account, and the findings. */
test.each<[title: string, record: Partial<LoadRecord>, change: ((last: string) => string) | undefined, found: string[]]>([
  ['nothing where each acknowledged operation is there once', {}, undefined, []],
  ['nothing of unanswered operations, which are there or not', { acknowledged: six.slice(0, 5), unanswered: [5, 6] }, undefined, []],
  [
    'an acknowledged operation that is missing',
    { acknowledged: [...six, 6] },
    undefined,
    [`an acknowledged operation is not in the ledger: ${key(6)}`],
  ],
  ['an entry that was not sent', { acknowledged: six.slice(0, 5) }, undefined, [`an entry that was not sent, or a duplicate: ${key(5)}`]],
  [
    'a duplicate in the place of another entry',
    {},
    (last) => last.replace(key(5), key(3)),
    [
      `an entry of 6 coins instead of 4: ${key(3)}`,
      `an entry that was not sent, or a duplicate: ${key(3)}`,
      `an acknowledged operation is not in the ledger: ${key(5)}`,
    ],
  ],
  [
    'wrong coins, and a balance that was changed',
    {},
    (last) => last.replace(/^(\d+):\d+ c\d+/, '$1:999 c7'),
    [`an entry of 7 coins instead of 6: ${key(5)}`, 'the balance is 999, but the sum of the entries is 13'],
  ],
  ['nothing where as many were counted as were answered and sent', counted(6, 4, 6), undefined, []],
  [
    'counted operations that are missing',
    counted(6, 5, 6),
    undefined,
    ['the ledgers have 4 entries of the counted load instead of 5 to 6'],
  ],
  [
    'a counted entry that was not sent',
    counted(3, 3, 3),
    undefined,
    [`an entry that was not sent, or a duplicate: ${key(3, countedPrefix)}`],
  ],
])('an audit finds %s', async (_, record, change, found) => {
  const callers = await load(record.counted !== undefined);
  const ledger = coinKeys.ledger(accountIdOf(callers[1]!.installId));
  const { redis } = service.service;
  if (change !== undefined) await redis.lset(ledger, -1, change((await redis.lindex(ledger, -1))!));
  expect(await auditLedgers(service.url, { callers, keyPrefix, acknowledged: six, unanswered: [], ...record })).toEqual(found);
});

test('an audit finds entries in the wrong account, the first five of them', async () => {
  const callers = (await load(false)).toReversed();
  expect(await auditLedgers(service.url, { callers, keyPrefix, acknowledged: six, unanswered: [] })).toEqual([
    ...[5, 3, 1, 4, 2].map((number) => `an entry in the wrong account: ${key(number)}`),
    '… and 1 more',
  ]);
});
