import { expect, test } from 'vitest';
import { LruCache } from '../../src/server/lru-cache.ts';

test('an entry that is read stays, and entries that are not read go', () => {
  const recent = new LruCache<string, number>(4);
  for (const key of ['used', 'idle']) recent.set(key, 1);
  for (let index = 0; index < 20; index++) {
    expect(recent.get('used')).toBe(1);
    recent.set(`other-${index}`, index);
  }
  expect(['idle', 'other-0', 'other-19'].map((key) => recent.get(key))).toEqual([undefined, undefined, 19]);
});

test('dropped entries can be read later, without those that were used before the drop', () => {
  const drops: Generator<[string, number]>[] = [];
  const recent = new LruCache<string, number>(4, (entries) => drops.push(entries));
  for (const key of ['a', 'b', 'c']) recent.set(key, 1);
  recent.get('b');
  for (const key of ['d', 'a']) recent.set(key, 2);
  expect(drops.map((entries) => [...entries])).toEqual([[], [['a', 1]]]);
});
