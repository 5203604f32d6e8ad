import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { CostlyWork, MOST_WAITING, type CostlyTurn } from '../../src/server/costly-work.ts';
import { eventually } from '../realtime/watcher.ts';

/** Work that notes when it begins, and ends when the test says so. */
function worker(work: CostlyWork) {
  const begun: string[] = [];
  const running = new Map<string, CostlyTurn>();
  const enter = (of: string, name = of, kind: 'key' | 'address' = 'key'): CostlyTurn | undefined => {
    const turn = work.enter(of, kind);
    void turn?.begun.then(() => {
      begun.push(name);
      running.set(name, turn);
    });
    return turn;
  };
  const end = async (name: string): Promise<void> => {
    await eventually(() => running.has(name));
    running.get(name)!.leave();
    running.delete(name);
  };
  return { begun, running, enter, end };
}

test.each([
  ['the keys take turns', ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'], ['a1', 'a2', 'b1', 'c1', 'a3', 'b2']],
  [
    'a key waits for the request of one address, however many addresses there are',
    ['.1', '.2', '.3', '.4', 'k1', 'l1'],
    ['.1', 'k1', '.2', 'l1', '.3', '.4'],
  ],
])('requests run one at a time, and %s', async (_, entered, order) => {
  const { begun, running, enter, end } = worker(new CostlyWork());
  for (const name of entered) enter(name.startsWith('.') ? name : name[0]!, name, name.startsWith('.') ? 'address' : 'key');
  for (const [index, name] of order.entries()) {
    await eventually(() => running.has(name));
    expect([[...running.keys()], begun]).toEqual([[name], order.slice(0, index + 1)]);
    await end(name);
  }
});

test('a key with too many requests leaves other keys their places', () => {
  const { enter } = worker(new CostlyWork());
  for (let count = 0; count <= MOST_WAITING; count++) expect(enter('a')).toBeDefined();
  expect([enter('a'), enter('b')]).toEqual([undefined, expect.anything()]);
});

test('a request that only waits leaves its turn to others', async () => {
  const { begun, running, enter, end } = worker(new CostlyWork());
  const polling = enter('a', 'polling')!;
  await eventually(() => running.has('polling'));
  const news = Promise.withResolvers<void>();
  let isBack = false;
  const rested = polling.rest(() => news.promise).then(() => (isBack = true));
  enter('b');
  await eventually(() => running.has('b'));
  news.resolve();
  await pause(20);
  expect(isBack).toBe(false);
  await end('b');
  await rested;
  polling.leave();
  enter('c');
  await eventually(() => running.has('c'));
  expect(begun).toEqual(['polling', 'b', 'c']);
});
