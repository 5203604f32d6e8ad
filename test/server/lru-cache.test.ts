import { expect, test } from 'vitest';
import { LruCache } from '../../src/server/lru-cache.ts';

const keysIn = (recent: LruCache<string, number>, keys: readonly string[]): string[] => keys.filter((key) => recent.get(key) !== undefined);

test('the value that was set last is found', () => {
  const recent = new LruCache<string, number>(4);
  recent.set('a', 1);
  recent.set('a', 2);
  expect([recent.get('a'), recent.get('b')]).toEqual([2, undefined]);
});

test('the oldest half is dropped when the capacity is exceeded', () => {
  const recent = new LruCache<string, number>(4);
  for (const key of ['a', 'b', 'c', 'd', 'e']) recent.set(key, 1);
  expect(keysIn(recent, ['e', 'd', 'c', 'b', 'a'])).toEqual(['e', 'd', 'c']);
});

test('an entry that is read stays, and an entry that is not read goes', () => {
  const recent = new LruCache<string, number>(4);
  recent.set('used', 1);
  recent.set('idle', 1);
  for (let index = 0; index < 20; index++) {
    expect(recent.get('used')).toBe(1);
    recent.set(`other-${index}`, index);
  }
  expect(keysIn(recent, ['idle', 'other-0'])).toEqual([]);
});

test('a dropped entry is reported once, with its last value, and a peek at an entry does not keep it', () => {
  const dropped: [string, number][] = [];
  const recent = new LruCache<string, number>(4, (entries) => dropped.push(...entries));
  for (const key of ['a', 'b', 'c']) recent.set(key, 1);
  recent.set('a', 2);
  expect([recent.peek('b'), dropped, [...recent.entries()]]).toEqual([
    1,
    [],
    [
      ['c', 1],
      ['a', 2],
      ['b', 1],
    ],
  ]);
  recent.set('d', 1);
  expect(dropped).toEqual([['b', 1]]);
  recent.set('e', 1);
  recent.set('a', 3);
  recent.set('f', 1);
  expect(dropped).toEqual([
    ['b', 1],
    ['c', 1],
  ]);
});

test('dropped entries can be read later, without those that were used before the drop', () => {
  const drops: Generator<[string, number]>[] = [];
  const recent = new LruCache<string, number>(4, (entries) => drops.push(entries));
  for (const key of ['a', 'b', 'c']) recent.set(key, 1);
  recent.get('b');
  for (const key of ['d', 'a']) recent.set(key, 2);
  expect(drops.map((entries) => [...entries])).toEqual([[], [['a', 1]]]);
});
