import { expect, test } from 'vitest';
import { Backlog, MOST_READ } from '../../../src/features/webhooks/backlog.ts';
import { FakeLog } from './fake-log.ts';

test('a full backlog has room again as soon as its events are delivered, before anybody asks for its position', async () => {
  const log = new FakeLog();
  for (let index = 0; index < MOST_READ; index++) log.add(`account${index % 50}`);
  const backlog = new Backlog(0, []);
  backlog.take(await log.read(0, MOST_READ), 0);
  expect(backlog.isFull).toBe(true);
  for (let job = backlog.next(0, false); job !== undefined; job = backlog.next(0, false)) backlog.settle(job, 0);
  expect(backlog.isFull).toBe(false);
  expect(backlog.cursor).toBe(MOST_READ);
});
