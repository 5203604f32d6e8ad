import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { FRESH_MS, WaitingEvents } from '../../../src/features/webhooks/waiting-events.ts';
import { FakeLog } from './fake-log.ts';

let log: FakeLog;
let waiting: WaitingEvents;
beforeEach(() => {
  log = new FakeLog();
  for (let index = 0; index < 120; index++) log.add(`account${index % 7}`);
  waiting = new WaitingEvents(log);
});
afterEach(() => void vi.useRealTimers());

test('an event that was read some seconds ago is read again', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  expect((await waiting.at(8))?.data).toEqual({ coins: 1 });
  log.blank('account1');
  vi.advanceTimersByTime(FRESH_MS - 1);
  expect((await waiting.at(8))?.data).toEqual({ coins: 1 });
  vi.advanceTimersByTime(1);
  expect((await waiting.at(8))?.data).toEqual({});
});

test('an event that came after its page was read is found, by one more read for all who ask at once', async () => {
  expect((await waiting.at(119))?.id).toBe('e119');
  const [one, other] = [log.add('ada'), log.add('ada')];
  const read = vi.spyOn(log, 'read');
  const found = await Promise.all([120, 121, 119].map((position) => waiting.at(position)));
  expect(found.map((event) => event?.id)).toEqual([one, other, 'e119']);
  expect(await waiting.at(122)).toBeUndefined();
  expect(read).toHaveBeenCalledTimes(2);
});
