import { beforeEach, expect, test, vi } from 'vitest';
import { UnknownEvent, type EventType } from '../../../src/features/events/model.ts';
import { MOST_KEPT, SharedReads } from '../../../src/features/webhooks/shared-reads.ts';
import { FakeLog } from './fake-log.ts';

let log: FakeLog;
let reads: SharedReads;
beforeEach(() => {
  log = new FakeLog();
  reads = new SharedReads(log);
});

/** All events from a position on, as a hook reads them. */
async function readFrom(after: number, types?: EventType[]): Promise<string[]> {
  const ids: string[] = [];
  for (let isEnd = false; !isEnd;) {
    const page = await reads.read(after, types);
    ids.push(...page.events.map(({ id }) => id));
    expect(page.positions).toHaveLength(page.events.length);
    [after, isEnd] = [page.next, page.isEnd];
  }
  return ids;
}

const idsFrom = (first: number, end: number): string[] => Array.from({ length: end - first }, (_, index) => `e${first + index}`);

test('fifty hooks at the end of the log read it once, each its types', async () => {
  for (let index = 0; index < 3; index++) log.add('ada', index === 1 ? 'account.banned' : 'coins.changed');
  const read = vi.spyOn(log, 'read');
  const found = await Promise.all(
    Array.from({ length: 50 }, (_, index) => reads.read(0, index % 2 === 0 ? undefined : ['account.banned'])),
  );
  expect(read).toHaveBeenCalledTimes(1);
  for (const [index, page] of found.entries()) {
    expect(page.events.map(({ id }) => id)).toEqual(index % 2 === 0 ? ['e0', 'e1', 'e2'] : ['e1']);
    expect(page).toMatchObject({ next: 3, isEnd: true });
  }
  log.add('ben');
  expect((await Promise.all([reads.read(3, undefined), reads.read(3, undefined)])).map(({ positions }) => positions)).toEqual([[3], [3]]);
  expect(read).toHaveBeenCalledTimes(2);
  // A hook that is a little behind needs no read, except the one that finds the end.
  expect((await reads.read(1, undefined)).positions).toEqual([1, 2, 3]);
  expect(read).toHaveBeenCalledTimes(2);
});

test('every hook gets every event from its position on, however far it is behind', async () => {
  const end = 3 * MOST_KEPT;
  for (let index = 0; index < end; index++) log.add(undefined);
  for (const first of [end, end - 10, 0, MOST_KEPT, end - MOST_KEPT - 5]) expect(await readFrom(first)).toEqual(idsFrom(first, end));
  log.add('ada', 'account.banned');
  expect(await readFrom(0, ['account.banned'])).toEqual([`e${end}`]);
  expect(await readFrom(end)).toEqual([`e${end}`]);
});

test('hooks that are far behind read one at a time', async () => {
  for (let index = 0; index < 3000; index++) log.add(undefined);
  await reads.read(3000, undefined);
  let [underWay, most] = [0, 0];
  const read = log.read.bind(log);
  vi.spyOn(log, 'read').mockImplementation(async (...words) => {
    most = Math.max(most, ++underWay);
    return read(...words).finally(() => void underWay--);
  });
  const pages = await Promise.all([0, 200, 400].map((after) => reads.read(after, undefined)));
  expect(pages.map(({ events, next }) => [events[0]!.id, next])).toEqual([
    ['e0', 200],
    ['e200', 400],
    ['e400', 600],
  ]);
  expect(most).toBe(1);
});

test('a failed read fails for the hooks that share it, and is repeated', async () => {
  log.add('ada');
  log.problem = new Error('Redis is away');
  const found = await Promise.allSettled([reads.read(0, undefined), reads.read(0, undefined)]);
  expect(found.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  log.problem = undefined;
  expect((await reads.read(0, undefined)).positions).toEqual([0]);
});

test('an event of a newer version does not hold up a hook with other types', async () => {
  log.add('ada');
  const read = log.read.bind(log);
  vi.spyOn(log, 'read').mockImplementation(async (after, limit, types) => {
    if (types === undefined) throw new UnknownEvent('an unknown type');
    return read(after, limit, types);
  });
  expect((await reads.read(0, ['coins.changed'])).positions).toEqual([0]);
  await expect(reads.read(0, undefined)).rejects.toThrow(UnknownEvent);
});
