import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { MOST_OF_A_HOOK, MOST_REQUESTS, RequestPlaces, type HookPlaces } from '../../../src/features/webhooks/request-places.ts';

/** A hook that always has more to send. */
interface Busy {
  readonly places: HookPlaces;
  /** Answers of requests under way. */
  readonly open: (() => void)[];
  begun: number;
}

function busy(all: RequestPlaces): Busy {
  const hook: Busy = {
    open: [],
    begun: 0,
    places: all.join(() => {
      hook.begun++;
      return new Promise<void>((resolve) => hook.open.push(resolve));
    }),
  };
  hook.places.want();
  return hook;
}

const busyHooks = (all: RequestPlaces, count: number): Busy[] => Array.from({ length: count }, () => busy(all));

const underWay = (hooks: readonly Busy[]): number => hooks.reduce((sum, { open }) => sum + open.length, 0);

async function turns(count = MOST_REQUESTS): Promise<void> {
  for (let index = 0; index < count; index++) await turn();
}

/** Answers all requests of the hooks, again and again. */
async function answer(hooks: readonly Busy[], rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    for (const { open } of hooks) for (const each of open.splice(0)) each();
    await turn();
  }
}

test('one hook has at most 32 requests under way, and all hooks have at most 64', async () => {
  const all = new RequestPlaces();
  const first = busy(all);
  await turns();
  expect(first.open).toHaveLength(MOST_OF_A_HOOK);
  const others = busyHooks(all, 2);
  await answer([first, ...others], 100);
  await turns();
  expect(underWay([first, ...others])).toBe(MOST_REQUESTS);
  for (const { open } of [first, ...others]) expect(open.length).toBeGreaterThanOrEqual(MOST_REQUESTS / 3 - 1);
});

test('a hook that waits for its first event finds a place, whatever the other hooks took before', async () => {
  const all = new RequestPlaces();
  const quick = busyHooks(all, 3);
  const asked = Array<number>(5).fill(0);
  // Each has one event, and its endpoint does not answer.
  const rare = asked.map((_, index) => all.join(() => (asked[index]!++ === 0 ? new Promise<void>(() => {}) : undefined)));
  await answer(quick, 100);
  await turns();
  // From now on nobody answers.
  expect(underWay(quick)).toBe(MOST_REQUESTS - rare.length);
  for (const places of rare) places.want();
  await turns(3);
  expect(rare.map(({ underWay: count }) => count)).toEqual([1, 1, 1, 1, 1]);
});

test('a place that becomes free goes to the hook with the fewest requests, and in turn among equals', async () => {
  const all = new RequestPlaces();
  const hooks = busyHooks(all, 50);
  await turns();
  await answer(hooks, 640);
  // 4 a turn.
  for (const { begun } of hooks) expect(Math.abs(begun - (4 * 640) / 50)).toBeLessThanOrEqual(6);
});

test('requests of a hook that was removed keep their places until they end', async () => {
  const all = new RequestPlaces();
  const gone = busyHooks(all, 2);
  await turns();
  for (const { places } of gone) places.leave();
  const next = busy(all);
  await turns();
  expect(next.open).toHaveLength(0);
  await answer(gone, 1);
  await turns();
  expect([underWay(gone), next.open.length]).toEqual([0, MOST_OF_A_HOOK]);
});
