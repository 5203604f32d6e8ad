import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Feed, State } from '../../../src/server/live/feed.ts';
import { Topic } from '../../../src/server/live/topic.ts';
import { FakeWatcher } from './fake-watcher.ts';

/** A state whose patch tells the position of the last push. */
function patchedState(position: number, before?: { pushedAt: number }): State & { pushedAt: number } {
  return {
    position,
    stamp: '',
    privateAt: 0,
    pushedAt: before?.pushedAt ?? position,
    encode: () => ({ message: `the whole state ${position}`, isFinal: false }),
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
  topic = new Topic(feed, '1', {
    publish: (_, message) => void published.push(message),
    bytesPerSecond: undefined,
    now: Date.now,
    isDraining: () => false,
    refresh: () => {},
    closed: () => {},
  });
  topic.hold();
  topic.advance((state = patchedState(1)));
  watcher = new FakeWatcher(topic, true);
  topic.hold();
  topic.add(watcher);
});
afterEach(() => void vi.useRealTimers());

const pass = (milliseconds: number): Promise<void> => vi.advanceTimersByTimeAsync(milliseconds).then(() => {});

test('a watcher that missed a patch gets the whole state that the next patch begins at', async () => {
  change();
  await pass(100);
  change();
  await pass(0);
  expect(published).toEqual(['1→2', '2→3']);
  const missedPush = topic.pushCount;
  change();
  topic.catchUp(watcher, missedPush);
  await pass(100);
  expect([watcher.sent, published.slice(2)]).toEqual([['the whole state 1', 'the whole state 3'], ['3→4']]);
});

test('a watcher that missed its first state gets it before the first patch', async () => {
  change();
  topic.catchUp(watcher, 0);
  await pass(100);
  expect([watcher.sent, published]).toEqual([['the whole state 1', 'the whole state 1'], ['1→2']]);
});

test('a watcher that missed a patch gets the latest state where no push is due', async () => {
  change();
  await pass(100);
  topic.catchUp(watcher, topic.pushCount);
  expect(watcher.sent).toEqual(['the whole state 1', 'the whole state 2']);
});
