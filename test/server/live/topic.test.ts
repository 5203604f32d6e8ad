import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Feed } from '../../../src/server/live/feed.ts';
import type { Topic, TopicParts } from '../../../src/server/live/topic.ts';
import { open } from '../../features/rooms/room.ts';
import { ownRedis } from '../../realtime/own.ts';
import { watchRoom } from '../../realtime/watcher.ts';
import { FakeWatcher, stateAt, topicOf as heldTopic } from './fake-watcher.ts';

const feed: Feed = {
  channel: (id) => `thing:${id}`,
  take: (message) => stateAt(Number(message)),
  fetch: async () => [],
};

let published: string[];
let refreshed: number;
let isOver: boolean;
let isDraining: boolean;
beforeEach(() => {
  vi.useFakeTimers();
  [published, refreshed, isOver, isDraining] = [[], 0, false, false];
});
afterEach(() => void vi.useRealTimers());

/** A topic at state 1, with one hold. */
function topicOf(parts: Partial<TopicParts> = {}): Topic {
  const topic = heldTopic(feed, {
    publish: (_, message) => void published.push(message),
    isDraining: () => isDraining,
    refresh: () => void refreshed++,
    closed: () => void (isOver = true),
    ...parts,
  });
  topic.advance(stateAt(1));
  return topic;
}

/** Adds a watcher, which holds the topic as long as it watches. */
function watch(topic: Topic): FakeWatcher {
  const watcher = new FakeWatcher(topic);
  topic.hold();
  topic.add(watcher);
  return watcher;
}

/** Resolves after all immediate work, the microtasks of this turn. */
const turn = (): Promise<void> => vi.advanceTimersByTimeAsync(0).then(() => {});
const pass = (milliseconds: number): Promise<void> => vi.advanceTimersByTimeAsync(milliseconds).then(() => {});

describe('a push', () => {
  test('sends only the last of several states of one turn', async () => {
    const topic = topicOf();
    watch(topic);
    for (let position = 2; position <= 50; position++) topic.take(String(position));
    expect(published).toEqual([]);
    await turn();
    expect(published).toEqual(['state 50']);
  });

  test('encodes its state once, however many watch', async () => {
    const topic = topicOf();
    for (let count = 0; count < 100; count++) watch(topic);
    let encoded = 0;
    const onEncode = () => void encoded++;
    for (let position = 2; position <= 50; position++) topic.advance(stateAt(position, { onEncode }));
    await turn();
    watch(topic);
    expect([encoded, topic.message]).toEqual([1, 'state 50']);
  });

  test('is not made for an older state, nor for the same state again', async () => {
    const topic = topicOf();
    watch(topic);
    for (const position of [3, 2, 3, 1]) topic.take(String(position));
    await turn();
    topic.take('3');
    await pass(100);
    expect(published).toEqual(['state 3']);
  });

  test('follows the one before after 17 ms at the earliest, and then brings the latest state', async () => {
    const topic = topicOf();
    watch(topic);
    topic.take('2');
    await turn();
    topic.take('3');
    await pass(16);
    topic.take('4');
    expect(published).toEqual(['state 2']);
    await pass(1);
    expect(published).toEqual(['state 2', 'state 4']);
    await pass(17);
    topic.take('5');
    await turn();
    expect(published).toEqual(['state 2', 'state 4', 'state 5']);
  });

  test('is not made without watchers, and the next watcher gets the latest state', async () => {
    const topic = topicOf();
    topic.take('2');
    await pass(100);
    expect([published, watch(topic).sent]).toEqual([[], ['state 2']]);
  });

  test('delays the next one by the bytes of the state times the watchers, at bytesPerSecond', async () => {
    // "state 2" to 100 watchers is 700 bytes: 100 ms.
    const topic = topicOf({ bytesPerSecond: 7000 });
    for (let count = 0; count < 100; count++) watch(topic);
    topic.take('2');
    await turn();
    topic.take('3');
    await pass(99);
    topic.take('4');
    expect(published).toEqual(['state 2']);
    await pass(1);
    expect(published).toEqual(['state 2', 'state 4']);
  });

  test('to more than 1,024 watchers delays the next one like a push to 1,024', async () => {
    // "state 2" to 1,024 watchers is 7,168 bytes: 100 ms.
    const topic = topicOf({ bytesPerSecond: 71_680 });
    for (let count = 0; count < 20_480; count++) watch(topic);
    topic.take('2');
    await turn();
    topic.take('3');
    await pass(99);
    expect(published).toEqual(['state 2']);
    await pass(1);
    expect(published).toEqual(['state 2', 'state 3']);
  });
});

describe('a watcher', () => {
  test('that comes while a push is due in this turn gets the state once', async () => {
    const topic = topicOf();
    watch(topic);
    topic.take('2');
    const late = watch(topic);
    await turn();
    // The push was sent before the late watcher subscribed, and is not repeated.
    expect([published, late.sentBefore, late.sent]).toEqual([['state 2'], [], ['state 2']]);
  });

  test('that comes while a push has to wait does not hurry it, and misses no state', async () => {
    const topic = topicOf();
    watch(topic);
    topic.take('2');
    await turn();
    topic.take('3');
    const late = watch(topic);
    topic.take('4');
    const later = watch(topic);
    await turn();
    expect([published, late.sent, later.sent]).toEqual([['state 2'], ['state 3'], ['state 4']]);
    await pass(17);
    // Both subscribe after the push. The first is sent its state beside it; the second has that state.
    expect([published, late.sent, later.sent]).toEqual([['state 2', 'state 4'], ['state 3', 'state 4'], ['state 4']]);
    expect([late.sentBefore, later.sentBefore]).toEqual([['state 3', 'state 4'], ['state 4']]);
  });

  test('that was full gets the latest state once it has drained', async () => {
    const topic = topicOf();
    const watcher = watch(topic);
    topic.take('2');
    await turn();
    topic.catchUp(watcher, topic.pushCount);
    expect(watcher.sent).toEqual(['state 1', 'state 2']);
  });

  test.each([
    ['is due', true],
    ['went out since it missed one', false],
  ])('that was full is sent nothing extra if a push %s', async (_, isDue) => {
    const topic = topicOf();
    const watcher = watch(topic);
    topic.take('2');
    await turn();
    if (isDue) topic.take('3');
    topic.catchUp(watcher, topic.pushCount - (isDue ? 0 : 1));
    expect(watcher.sent).toEqual(['state 1']);
  });

  test('that was full before it could subscribe gets the latest state, and no state twice', async () => {
    const topic = topicOf();
    watch(topic);
    topic.take('2');
    await turn();
    topic.take('3');
    const joining = watch(topic);
    topic.take('4');
    topic.catchUp(joining, topic.pushCount);
    await pass(17);
    expect([published, joining.sent]).toEqual([
      ['state 2', 'state 4'],
      ['state 3', 'state 4'],
    ]);
  });

  test('of a thing that no longer exists is ended with 4500', () => {
    const topic = topicOf();
    topic.end(4500, 'gone');
    const watcher = watch(topic);
    expect([watcher.sent, watcher.ended]).toEqual([[], 4500]);
  });
});

describe('a final state', () => {
  test('is sent to each watcher, which is then ended with 4501', async () => {
    const topic = topicOf();
    const watchers = [watch(topic), watch(topic)];
    topic.advance(stateAt(5, { isFinal: true }));
    await turn();
    for (const { sent, ended } of watchers) expect([sent, ended]).toEqual([['state 1', 'state 5'], 4501]);
    expect(published).toEqual([]);
  });

  test('that has to wait reaches the watchers once, those that come meanwhile too', async () => {
    const topic = topicOf();
    const first = watch(topic);
    topic.take('2');
    await turn();
    topic.advance(stateAt(3, { isFinal: true }));
    const late = watch(topic);
    expect([late.sent, late.ended]).toEqual([['state 3'], 4501]);
    expect(first.ended).toBeUndefined();
    await pass(17);
    expect([first.sent, first.ended, late.sent]).toEqual([['state 1', 'state 3'], 4501, ['state 3']]);
  });

  test('is the last: no later state is pushed', async () => {
    const topic = topicOf();
    watch(topic);
    topic.advance(stateAt(5, { isFinal: true }));
    await turn();
    topic.take('6');
    await pass(100);
    expect(published).toEqual([]);
  });
});

describe('a long-poll', () => {
  /** Whether a wait past `position` is over, looked at whenever it is asked. */
  function poll(topic: Topic, position: number, waitMs: number) {
    const wait = { isOver: false, leave: () => {} };
    void topic.changed(position, waitMs, (callback) => (wait.leave = callback)).then(() => (wait.isOver = true));
    return wait;
  }

  test('ends at the first state past its position', async () => {
    const topic = topicOf();
    const [ofOne, ofTwo] = [poll(topic, 1, 20_000), poll(topic, 2, 20_000)];
    topic.take('2');
    await turn();
    expect([ofOne.isOver, ofTwo.isOver]).toEqual([true, true]);
  });

  test('ends after its wait if nothing happens', async () => {
    const wait = poll(topicOf(), 1, 20_000);
    await pass(19_999);
    expect(wait.isOver).toBe(false);
    await pass(1);
    expect(wait.isOver).toBe(true);
  });

  test.each<[title: string, end: (topic: Topic, wait: ReturnType<typeof poll>) => void]>([
    ['its client goes away', (_, wait) => wait.leave()],
    ['the thing ends', (topic) => topic.end(4500, 'gone')],
  ])('ends when %s', async (_, end) => {
    const topic = topicOf();
    const wait = poll(topic, 1, 20_000);
    end(topic, wait);
    await turn();
    expect(wait.isOver).toBe(true);
  });

  test.each<[title: string, position: number, waitMs: number, prepare: (topic: Topic) => void]>([
    ['past an older position', 0, 20_000, () => {}],
    ['of a final state', 9, 20_000, (topic) => topic.advance(stateAt(2, { isFinal: true }))],
    ['without a wait', 1, 0, () => {}],
    ['during a drain', 1, 20_000, () => (isDraining = true)],
  ])('%s ends at once', async (_, position, waitMs, prepare) => {
    const topic = topicOf();
    prepare(topic);
    const wait = poll(topic, position, waitMs);
    await turn();
    expect(wait.isOver).toBe(true);
  });
});

describe('a state that changes by itself', () => {
  test('is read again shortly after the time of its change', async () => {
    const topic = topicOf();
    topic.advance(stateAt(2, { changesAt: Date.now() + 1000 }));
    await pass(1004);
    expect(refreshed).toBe(0);
    await pass(1);
    expect(refreshed).toBe(1);
  });

  test('is read later if the next state changes later', async () => {
    const topic = topicOf();
    topic.advance(stateAt(2, { changesAt: Date.now() + 1000 }));
    topic.advance(stateAt(3, { changesAt: Date.now() + 3000 }));
    await pass(3004);
    expect(refreshed).toBe(0);
    await pass(100);
    expect(refreshed).toBe(1);
  });

  test('is not read early if its time is further away than a timer can wait', async () => {
    const days = 86_400_000;
    const topic = topicOf();
    topic.advance(stateAt(2, { changesAt: Date.now() + 30 * days }));
    await pass(29 * days);
    expect(refreshed).toBe(0);
    await pass(2 * days);
    expect(refreshed).toBe(1);
  });

  test('is not read again once the topic has no holds', async () => {
    const topic = topicOf();
    topic.advance(stateAt(2, { changesAt: Date.now() + 1000 }));
    topic.release();
    await pass(10_000);
    expect(refreshed).toBe(0);
  });
});

describe('a topic', () => {
  test('is closed when the last watcher and the last hold are gone', () => {
    const topic = topicOf();
    const watcher = watch(topic);
    topic.release();
    expect(isOver).toBe(false);
    topic.remove(watcher);
    expect(isOver).toBe(true);
  });

  test('counts a watcher that leaves twice once', () => {
    const topic = topicOf();
    const watcher = watch(topic);
    topic.remove(watcher);
    topic.remove(watcher);
    expect(isOver).toBe(false);
  });

  test('without holds takes no state any more', async () => {
    const topic = topicOf();
    topic.release();
    let encoded = 0;
    topic.advance(stateAt(7, { onEncode: () => void encoded++ }));
    await pass(100);
    expect([encoded, topic.position]).toEqual([0, 1]);
  });
});

test('a room under a burst of large states sends at most ROOM_BYTES_PER_SECOND, and every watcher gets the last state', async () => {
  vi.useRealTimers();
  const [watcherCount, bytesPerSecond, changes] = [10, 65_536, 12];
  await using redis = await ownRedis();
  await using service = await redis.start({ settings: { ROOM_BYTES_PER_SECOND: String(bytesPerSecond) } });
  const room = await open(service);
  const watchers = await Promise.all(Array.from({ length: watcherCount }, () => watchRoom(service, room.code)));
  // The largest state there is: with the room around it a message of some 8.4 KB.
  const text = 'x'.repeat(8000);
  const startedAt = performance.now();
  let seq = 0;
  for (let change = 1; change <= changes; change++) ({ seq } = (await room.act('state', room.host, { state: { change, text } })).body.room);
  await Promise.all(watchers.map((watcher) => watcher.reaches(seq)));
  const seconds = (performance.now() - startedAt) / 1000;

  const states = watchers.map((watcher) => watcher.states.slice(1));
  const bytes = states.flat().reduce((sum, state) => sum + Buffer.byteLength(JSON.stringify(state)), 0);
  const pushBytes = watcherCount * Buffer.byteLength(JSON.stringify(states[0]!.at(-1)));
  // The first push does not wait, each later push waits for those before. A push for each change would be 1 MB.
  expect(bytes).toBeLessThanOrEqual(bytesPerSecond * seconds + pushBytes);
  for (const seen of states) expect(seen.at(-1).room.state.change).toBe(changes);
});
