import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Feed } from '../../../src/server/live/feed-types.ts';
import type { Topic } from '../../../src/server/live/topic.ts';
import { FakeWatcher, stateAt, topicOf } from './fake-watcher.ts';

/** Reads "number names size" as a message to be relayed. */
const feed: Feed = {
  channel: (id) => `thing:${id}`,
  take(text) {
    const [number, to = '', size = '0'] = text.split(' ');
    const message = `message ${number}`.padEnd(Number(size));
    return { number: Number(number), to: to === '' ? undefined : to.split(','), message, changesAt: Infinity };
  },
  fetch: async () => [],
};

let topic: Topic;
/** The messages to subscribed sockets, in order. */
let sent: string[];

function open(bytesPerSecond?: number): void {
  sent = [];
  topic = topicOf(feed, { publish: (_, message) => void sent.push(message.trim()), bytesPerSecond });
  topic.advance(stateAt(1));
}

/** Adds a watcher. Messages relayed to it alone are in the same list as messages published to all. */
function watch(name?: string): FakeWatcher {
  const watcher = new FakeWatcher(topic);
  watcher.relay = (relayed) => {
    sent.push(...relayed.map(({ message }) => message.trim()));
    return 0;
  };
  topic.hold();
  topic.add(watcher);
  if (name !== undefined) topic.name(watcher, name);
  return watcher;
}

beforeEach(() => {
  vi.useFakeTimers();
  open();
});
afterEach(() => void vi.useRealTimers());

/** A topic sends relayed messages after the turn. */
const turn = async (): Promise<void> => {};

const missed = (from: number, to: number): string => JSON.stringify({ type: 'missed', from, to });

describe('a message', () => {
  test('that was lost on its way from Redis is reported as missed before the next one', async () => {
    watch();
    for (const number of [7, 8, 11]) topic.take(String(number));
    await turn();
    expect(sent).toEqual(['message 7', 'message 8', missed(9, 10), 'message 11']);
  });

  test('whose number has come already ends the watchers with 4009', async () => {
    const watcher = watch();
    for (const number of [7, 8, 8]) topic.take(String(number));
    await turn();
    expect([sent, watcher.ended]).toEqual([['message 7', 'message 8'], 4009]);
  });
});

describe('beyond the bytes a second', () => {
  beforeEach(() => {
    open(1000);
    watch();
  });

  test('messages are missed, and reported as missed before the next one that is sent', async () => {
    for (const [number, size] of [
      [1, 600],
      [2, 600],
      [3, 600],
      [4, 20],
      [5, 600],
    ])
      topic.take(`${number}  ${size}`);
    await turn();
    expect(sent).toEqual(['message 1', missed(2, 3), 'message 4']);
    vi.advanceTimersByTime(1000);
    await turn();
    expect(sent.slice(3)).toEqual([missed(5, 5)]);
  });
});

describe('the private part of a name', () => {
  const change = (position: number, privateAt: number, privateOf: string[] | undefined) => ({ ...stateAt(position), privateAt, privateOf });

  // After a failover the state that was read may have another change at the same position as the one that was lost.
  test.each([
    ['for the watchers that a change names, and for no others', [], [0, 1, 0]],
    ['for all names after a state was read from Redis', undefined, [1, 2, 0]],
  ])('is read again %s', (_, nextNames, changes) => {
    const watchers = [watch('p1'), watch('p2'), watch()];
    topic.advance(change(2, 2, ['p2']));
    topic.advance(change(3, 2, nextNames));
    expect(watchers.map(({ privateChanges }) => privateChanges)).toEqual(changes);
  });
});
