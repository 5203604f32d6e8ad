import { beforeEach, expect, test, vi } from 'vitest';
import { UnknownEvent, type EventType } from '../../../src/features/events/model.ts';
import { MOST_KEPT, SharedLogReader } from '../../../src/features/webhooks/shared-log-reader.ts';
import { FakeLog } from './fake-log.ts';

let log: FakeLog;
let reads: SharedLogReader;
beforeEach(() => {
  log = new FakeLog();
  reads = new SharedLogReader(log);
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

test('every hook gets every event from its position on, however far it is behind', async () => {
  const end = 3 * MOST_KEPT;
  for (let index = 0; index < end; index++) log.add(undefined);
  for (const first of [end, end - 10, 0, MOST_KEPT, end - MOST_KEPT - 5]) expect(await readFrom(first)).toEqual(idsFrom(first, end));
  log.add('ada', 'account.banned');
  expect(await readFrom(0, ['account.banned'])).toEqual([`e${end}`]);
  expect(await readFrom(end)).toEqual([`e${end}`]);
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
