import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { GroupCommit } from '../../../src/features/rooms/group-commit.ts';

let left: string[];
let answers: Map<string, () => void>;
beforeEach(() => {
  vi.useFakeTimers();
  [left, answers] = [[], new Map()];
});
afterEach(() => void vi.useRealTimers());

function acting(isWatched = true): (name: string, options?: { room?: string; actor?: string; bytes?: number }) => Promise<string> {
  const groups = new GroupCommit(() => isWatched);
  return Object.assign(
    (name: string, { room = 'BCDFG', actor = name, bytes = 10 } = {}) =>
      groups.commit(room, actor, bytes, () => {
        left.push(name);
        return new Promise<string>((resolve) => answers.set(name, () => resolve(`of ${name}`)));
      }),
    { hurry: (actor?: string) => groups.hurry('BCDFG', actor) },
  );
}

const pass = (milliseconds: number): Promise<void> => vi.advanceTimersByTimeAsync(milliseconds).then(() => {});

async function answer(...names: string[]): Promise<void> {
  for (const name of names) answers.get(name)!();
  await pass(0);
}

test('an act alone leaves at once, and acts until the next push leave together, in their order, each with its own answer', async () => {
  const act = acting();
  const all = ['a', 'b', 'c', 'd'].map((name) => act(name));
  expect(left).toEqual(['a']);
  await answer('a');
  await pass(10);
  expect(left).toEqual(['a']);
  await pass(10);
  expect(left).toEqual(['a', 'b', 'c', 'd']);
  await answer('d', 'b', 'c');
  expect(await Promise.all(all)).toEqual(['of a', 'of b', 'of c', 'of d']);
  await pass(20);
  void act('e');
  expect(left.at(-1)).toBe('e');
});

test('acts wait for a group that is under way, but not for one of its acts that is repeated', async () => {
  const act = acting(false);
  void act('a');
  const [b] = [act('b'), act('c')];
  await pass(100);
  expect(left).toEqual(['a']);
  await answer('a');
  expect(left).toEqual(['a', 'b', 'c']);
  void act('d');
  await answer('c');
  expect(left).toEqual(['a', 'b', 'c', 'd']);
  await answer('b');
  expect(await b).toBe('of b');
});

test('a room that nobody watches here waits for no push, and rooms do not wait for each other', async () => {
  const act = acting(false);
  void act('a');
  void act('other', { room: 'GFDCB' });
  await answer('a');
  void act('b');
  expect(left).toEqual(['a', 'other', 'b']);
});

test('an act that fails ends its group, and its error is its own', async () => {
  const groups = new GroupCommit(() => false);
  const failed = groups.commit('BCDFG', 'p', 10, () => Promise.reject(new Error('refused')));
  const next = groups.commit('BCDFG', 'q', 10, async () => 'done');
  await expect(failed).rejects.toThrow('refused');
  expect(await next).toBe('done');
});

test('waiting acts leave at once when something waits for them, when they are many and when they are long', async () => {
  const act = acting();
  const { hurry } = act as unknown as { hurry: (actor?: string) => void };
  void act('a');
  void act('b', { actor: 'bob' });
  hurry('eve');
  expect(left).toEqual(['a']);
  hurry('bob');
  hurry();
  expect(left).toEqual(['a', 'b']);
  for (let index = 0; index < 64; index++) void act(`act ${index}`);
  expect(left).toHaveLength(66);
  void act('short', { bytes: 65_535 });
  expect(left).toHaveLength(66);
  void act('long', { bytes: 1 });
  expect(left.slice(66)).toEqual(['short', 'long']);
});
