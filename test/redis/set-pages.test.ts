import { afterAll, expect, test } from 'vitest';
import { isSetsCursor, pageOfSets } from '../../src/redis/set-pages.ts';
import { freshId, sharedClient } from '../harness.ts';

const redis = sharedClient();
const made: string[] = [];
afterAll(async () => {
  for (const key of made) await redis.del(key);
  redis.disconnect();
});

const reader = {
  size: (set: string) => redis.scard(set),
  async part(set: string, cursor: string, count: number) {
    const [next, members] = await redis.sscan(set, cursor, 'COUNT', count);
    return { cursor: next, members };
  },
};

/** Sets of these sizes; no two have a member in common. */
async function setsOf(sizes: readonly number[]): Promise<string[]> {
  return Promise.all(
    sizes.map(async (size, place) => {
      const key = freshId('set');
      made.push(key);
      if (size > 0) await redis.sadd(key, ...Array.from({ length: size }, (_, index) => `m-${place}-${index}`));
      return key;
    }),
  );
}

/** @param between runs after each page */
async function all(sets: readonly string[], most: number, between = async (_page: number): Promise<void> => {}): Promise<string[]> {
  const found: string[] = [];
  let pages = 0;
  for (let cursor: string | undefined = '0.0'; cursor !== undefined; pages++) {
    expect(isSetsCursor(cursor)).toBe(true);
    const page: Awaited<ReturnType<typeof pageOfSets<string>>> = await pageOfSets(sets, cursor, most, reader);
    const members = page.found.flatMap(([, some]) => some);
    expect(members.length).toBeLessThanOrEqual(most);
    expect(page.looks).toBeLessThanOrEqual(5 + most);
    found.push(...members);
    await between(pages);
    cursor = page.cursor;
  }
  return found;
}

const membersOf = (sizes: readonly number[]): string[] =>
  sizes.flatMap((size, place) => Array.from({ length: size }, (_, index) => `m-${place}-${index}`)).toSorted();

test.each([1, 5, 20, 1000])('pages of at most %i members have each member of all sets once', async (most) => {
  const sizes = [0, 3, 128, 0, 129, 600, ...Array.from({ length: 45 }, (_, index) => (index % 7 === 0 ? 2 : 0)), 7];
  expect((await all(await setsOf(sizes), most)).toSorted()).toEqual(membersOf(sizes));
});

test('a set that grows while it is read loses none of the members that it had', async () => {
  const sizes = [120, 4, 300];
  const sets = await setsOf(sizes);
  const found = await all(sets, 10, async (page) => {
    // Redis keeps a set of more than 128 members in another form, and in another order.
    if (page < 20) await redis.sadd(sets[page % 3]!, ...Array.from({ length: 20 }, (_, index) => `new-${page}-${index}`));
  });
  expect(membersOf(sizes).filter((member) => !found.includes(member))).toEqual([]);
});
