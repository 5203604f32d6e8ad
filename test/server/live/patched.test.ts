import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Feed, State } from '../../../src/server/live/feed.ts';
import type { Topic } from '../../../src/server/live/topic.ts';
import { FakeWatcher, topicOf } from './fake-watcher.ts';

/** A state whose patch contains the position of the last push. */
function patchedState(position: number, before?: { pushedAt: number }): State & { pushedAt: number } {
  return {
    position,
    stamp: '',
    privateAt: 0,
    pushedAt: before?.pushedAt ?? position,
    isFinal: false,
    changesAt: Infinity,
    encode: () => `the whole state ${position}`,
    encodePatch() {
      return `${this.pushedAt}→${position}`;
    },
    pushed() {
      this.pushedAt = position;
    },
  };
}

const feed: Feed = { channel: (id) => id, take: () => undefined, fetch: async () => [] };

let topic: Topic;
let state: State & { pushedAt: number };
let published: string[];
let watcher: FakeWatcher;

function change(): void {
  state = patchedState(state.position + 1, state);
  topic.advance(state);
}

beforeEach(() => {
  vi.useFakeTimers();
  published = [];
  topic = topicOf(feed, { publish: (_, message) => void published.push(message) });
  topic.advance((state = patchedState(1)));
  watcher = new FakeWatcher(topic, true);
  topic.hold();
  topic.add(watcher);
});
afterEach(() => void vi.useRealTimers());

const pass = (milliseconds: number): Promise<void> => vi.advanceTimersByTimeAsync(milliseconds).then(() => {});

test('a watcher that missed a patch gets the whole state, and the patches after the push that is due', async () => {
  change();
  await pass(100);
  change();
  await pass(0);
  expect(published).toEqual(['1→2', '2→3']);
  const missedPush = topic.pushCount;
  change();
  topic.catchUp(watcher, missedPush);
  expect([watcher.isSubscribed, watcher.sent]).toEqual([false, ['the whole state 1', 'the whole state 4']]);
  await pass(100);
  expect([watcher.isSubscribed, watcher.sent.length]).toEqual([true, 2]);
  change();
  await pass(100);
  expect(published.slice(2)).toEqual(['3→4', '4→5']);
});

test.each([
  ['missed its first state gets the current state', () => 0],
  ['missed a patch gets the latest state if no push is due', () => topic.pushCount],
])('a watcher that %s', async (_, missedPush) => {
  change();
  await pass(100);
  topic.catchUp(watcher, missedPush());
  await pass(100);
  expect([watcher.sent, watcher.isSubscribed]).toEqual([['the whole state 1', 'the whole state 2'], true]);
});
