import { expect, test } from 'vitest';
import { compareCoins } from './coin-book.ts';
import type { Operation } from './history.ts';

/** Three credits of one account, of which the last was never acknowledged. */
const operations: Operation[] = [1, 2, 3].map((number) => ({
  account: 'A',
  key: `key-${number}`,
  coins: 5,
  sentAt: 0,
  ...(number < 3 ? { acknowledgedAt: 1, answer: { balanceAfterCoins: 5 * number } } : {}),
}));

const right = ['1:5 c5 zz key-1', '2:10 c5 zz key-2'];
const clean = { lost: 0, doubled: 0, 'keys that no longer replay': 0, 'accounts with a wrong sum': 0 };
const replaysOf = (one: number, other: number): Record<string, number> => ({ 'key-1': one, 'key-2': other });

test.each<[string, string[], number, Record<string, number>, object]>([
  ['nothing is found with each acknowledged credit once', right, 10, replaysOf(5, 10), {}],
  ['nor with the one that was never acknowledged', [...right, '3:15 c5 zz key-3'], 15, replaysOf(5, 10), {}],
  ['an acknowledged credit is missing', ['1:5 c5 zz key-1'], 5, replaysOf(5, 10), { lost: 1 }],
  ['a key has two entries', [...right, '3:15 c5 zz key-2'], 15, replaysOf(5, 10), { doubled: 1 }],
  ['a key is applied again', right, 10, { 'key-1': 5 }, { 'keys that no longer replay': 1 }],
  ['a key is answered with another balance', right, 10, replaysOf(5, 11), { 'keys that no longer replay': 1 }],
  ['the balance is not the sum', right, 11, replaysOf(5, 10), { 'accounts with a wrong sum': 1 }],
  ['an entry does not follow the one before', [right[0]!, '2:11 c5 zz key-2'], 10, replaysOf(5, 10), { 'accounts with a wrong sum': 1 }],
  ['a seq is missing', [right[0]!, '3:10 c5 zz key-2'], 10, replaysOf(5, 10), { 'accounts with a wrong sum': 1 }],
])('%s', async (_, entries, balance, replays, found) => {
  const service = {
    balanceOf: async () => balance,
    credit: async ({ key }: Operation) =>
      key in replays ? { balanceAfterCoins: replays[key]!, replayed: true as const } : { balanceAfterCoins: 99 },
  };
  const command = async (name: string, key: string) => (name === 'LRANGE' && key === '{A}:ledger' ? entries : undefined);
  expect(await compareCoins(operations, service, command)).toEqual({ ...clean, ...found });
});
