import { expect, test } from 'vitest';
import { check } from './checks.ts';
import type { Operation } from './history.ts';

/** Three credits of one account, of which the last was never acknowledged. */
const operations: Operation[] = [1, 2, 3].map((number) => ({
  installId: 'install',
  account: 'A',
  key: `key-${number}`,
  coins: 5,
  sentAt: 0,
  tries: 1,
  ...(number < 3 ? { acknowledgedAt: 1, answer: { balanceAfterCoins: 5 * number } } : {}),
}));

const right = ['1:5 c5 zz key-1', '2:10 c5 zz key-2'];

/** @param replays the balance in the answer to a repeated key */
function verdictOn(entries: string[], balance: number, replays: Record<string, number> = { 'key-1': 5, 'key-2': 10 }) {
  const service = {
    balance: async () => balance,
    credit: async ({ key }: Operation) =>
      key in replays ? { balanceAfterCoins: replays[key]!, replayed: true as const } : { balanceAfterCoins: 99 },
  };
  return check(operations, service, async (name, key) => (name === 'LRANGE' && key === '{A}:ledger' ? entries : undefined));
}

const clean = { acknowledged: 2, lost: 0, doubled: 0, forgotten: 0, wrongSums: 0 };

test('a ledger with each acknowledged credit once is clean, with or without the one that was never acknowledged', async () => {
  expect(await verdictOn(right, 10)).toEqual(clean);
  expect(await verdictOn([...right, '3:15 c5 zz key-3'], 15)).toEqual(clean);
});

test.each([
  ['an acknowledged credit is missing', ['1:5 c5 zz key-1'], 5, {}, { lost: 1, forgotten: 1 }],
  ['a key has two entries', [...right, '3:15 c5 zz key-2'], 15, undefined, { doubled: 1 }],
  ['a key is applied again', right, 10, { 'key-1': 5 }, { forgotten: 1 }],
  ['a key is answered with another balance', right, 10, { 'key-1': 5, 'key-2': 11 }, { forgotten: 1 }],
  ['the balance is not the sum', right, 11, undefined, { wrongSums: 1 }],
  ['an entry does not follow the one before', ['1:5 c5 zz key-1', '2:11 c5 zz key-2'], 10, undefined, { wrongSums: 1 }],
  ['a seq is missing', ['1:5 c5 zz key-1', '3:10 c5 zz key-2'], 10, undefined, { wrongSums: 1 }],
])('it is found when %s', async (_, entries, balance, replays, found) => {
  expect(await verdictOn(entries, balance, replays as Record<string, number> | undefined)).toEqual({ ...clean, ...found });
});
