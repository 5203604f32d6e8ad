import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Feed } from '../../../src/server/live/feed-types.ts';
import type { Topic, TopicOptions } from '../../../src/server/live/topic.ts';
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
beforeEach(() => {
  vi.useFakeTimers();
  [published, refreshed] = [[], 0];
});
afterEach(() => void vi.useRealTimers());

/** A topic at state 1, with one hold. */
function topicOf(parts: Partial<TopicOptions> = {}): Topic {
  const topic = heldTopic(feed, {
    publish: (_, message) => void published.push(message),
    refresh: () => void refreshed++,
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
  test('sends one state a turn, the newest, although older ones came after it. It sends no state twice', async () => {
    const topic = topicOf();
    watch(topic);
    for (const position of [2, 3, 50, 4, 50, 1]) topic.take(String(position));
    expect(published).toEqual([]);
    await turn();
    topic.take('50');
    await pass(100);
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

  // A state has 7 bytes: to 100 watchers, or to the 1,024 at most that count, that is 100 ms.
  test.each([
    ['17 ms at the earliest', 1, undefined, 17],
    ['the time that the bytes of the state to all watchers may take', 100, 7000, 100],
    ['the time of 1,024 watchers, if more watch', 20_480, 71_680, 100],
  ])('follows the one before after %s, and then brings the latest state', async (_, watchers, bytesPerSecond, pauseMs) => {
    const topic = topicOf({ bytesPerSecond });
    for (let count = 0; count < watchers; count++) watch(topic);
    topic.take('2');
    await turn();
    topic.take('3');
    await pass(pauseMs - 1);
    topic.take('4');
    expect(published).toEqual(['state 2']);
    await pass(1);
    expect(published).toEqual(['state 2', 'state 4']);
  });
});

describe('a watcher', () => {
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

  test.each([
    ['the latest state once it has drained', false, true, ['state 1', 'state 2']],
    ['the latest state if a push is due, and not once more by the push', true, true, ['state 1', 'state 3']],
    ['nothing extra if a push went out since it missed one', false, false, ['state 1']],
  ])('that was full gets %s', async (_, isDue, missedLast, sent) => {
    const topic = topicOf();
    const watcher = watch(topic);
    topic.take('2');
    await turn();
    if (isDue) topic.take('3');
    topic.catchUp(watcher, topic.pushCount - (missedLast ? 0 : 1));
    expect(watcher.sent).toEqual(sent);
    await pass(100);
    expect(watcher.sent).toEqual(sent);
    expect(watcher.isSubscribed).toBe(true);
  });
});

describe('an answer that names a state', () => {
  test('follows the push of this state, and the answers before it', async () => {
    const topic = topicOf({ publish: (_, message) => void watcher.sent.push(message) });
    const watcher = watch(topic);
    watcher.sendAfter(1, 'has 1');
    watcher.sendAfter(3, 'after 3');
    watcher.sendAfter(2, 'after 2');
    watcher.sendAfter(3, 'after 3 too');
    watcher.sendAfter(0, 'at once');
    topic.take('2');
    await turn();
    topic.take('3');
    const late = watch(topic);
    late.sendAfter(3, 'has 3');
    late.sendAfter(4, 'after 4');
    await pass(17);
    topic.take('4');
    await pass(17);
    expect(watcher.sent).toEqual(['state 1', 'has 1', 'at once', 'state 2', 'after 2', 'state 3', 'after 3', 'after 3 too', 'state 4']);
    expect(late.sent).toEqual(['state 3', 'has 3', 'after 4']);
  });

  test('does not wait long for the push of a room that has pushed too many bytes: its watcher gets the state alone', async () => {
    const topic = topicOf({ bytesPerSecond: 7 });
    const [watcher, other] = [watch(topic), watch(topic)];
    topic.take('2');
    await turn();
    topic.take('3');
    watcher.sendAfter(3, 'after 3');
    await pass(500);
    topic.take('4');
    expect([watcher.sent, other.sent]).toEqual([['state 1', 'state 3', 'after 3'], ['state 1']]);
    await pass(1500);
    // The state that it was not sent alone follows with the push, after which it subscribes.
    expect([watcher.sent.at(-1), published]).toEqual(['state 4', ['state 2', 'state 4']]);
  });

  test('lets the topic read a state that does not arrive, and is forgotten with its watcher or its topic', async () => {
    const topic = topicOf();
    const [watcher, leaving] = [watch(topic), watch(topic)];
    watcher.sendAfter(9, 'after 9');
    leaving.sendAfter(9, 'never');
    topic.remove(leaving);
    await pass(500);
    expect(refreshed).toBe(1);
    topic.advance(stateAt(9));
    await pass(1000);
    expect([watcher.sent, leaving.sent, refreshed]).toEqual([['state 1', 'after 9'], ['state 1'], 1]);
    watcher.sendAfter(10, 'never');
    topic.end(4009, 'went back');
    await pass(1000);
    expect([watcher.sent.length, refreshed]).toEqual([2, 1]);
  });

  test('goes out before the close of a final state', async () => {
    const topic = topicOf();
    const watcher = watch(topic);
    watcher.sendAfter(5, 'after 5');
    topic.advance(stateAt(5, { isFinal: true }));
    await turn();
    expect([watcher.sent, watcher.ended]).toEqual([['state 1', 'state 5', 'after 5'], 4501]);
  });
});

describe('a final state', () => {
  test('is sent to each watcher, which is then ended with 4501, and is the last', async () => {
    const topic = topicOf();
    const watchers = [watch(topic), watch(topic)];
    topic.advance(stateAt(5, { isFinal: true }));
    await turn();
    topic.take('6');
    await pass(100);
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
});

const DAY_MS = 86_400_000;
test.each([
  ['later if the next state changes later', 1000, 3000, 3004, 100],
  // A timer waits for 24.8 days at most.
  ['not early if its time is far away', 30 * DAY_MS, 30 * DAY_MS, 29 * DAY_MS, 2 * DAY_MS],
])('a state that changes by itself is read again %s', async (_, firstMs, changesMs, beforeMs, thenMs) => {
  const topic = topicOf();
  topic.advance(stateAt(2, { changesAt: Date.now() + firstMs }));
  topic.advance(stateAt(3, { changesAt: Date.now() + changesMs }));
  await pass(beforeMs);
  expect(refreshed).toBe(0);
  await pass(thenMs);
  expect(refreshed).toBe(1);
});

test('a room under a burst of large states sends at most ROOM_BYTES_PER_SECOND, and every watcher gets the last state', async () => {
  vi.useRealTimers();
  const [bytesPerSecond, changes] = [65_536, 12];
  await using redis = await ownRedis();
  await using service = await redis.start({ settings: { ROOM_BYTES_PER_SECOND: String(bytesPerSecond) } });
  const room = await open(service);
  const watchers = await Promise.all(Array.from({ length: 10 }, () => watchRoom(service, room.code)));
  // The largest state there is: with the room around it a message of some 8.4 KB.
  const text = 'x'.repeat(8000);
  const startedAt = performance.now();
  for (let change = 1; change <= changes; change++) await room.act('state', room.host, { state: { change, text } });
  const { seq } = await room.read();
  await Promise.all(watchers.map((watcher) => watcher.reaches(seq)));
  const seconds = (performance.now() - startedAt) / 1000;
  const states = watchers.flatMap((watcher) => watcher.states.slice(1));
  const bytes = states.reduce((sum, state) => sum + Buffer.byteLength(JSON.stringify(state)), 0);
  // The first push does not wait, each later push waits for those before. A push for each change would be 1 MB.
  expect(bytes).toBeLessThanOrEqual(bytesPerSecond * seconds + (10 * bytes) / states.length);
  for (const watcher of watchers) expect(watcher.states.at(-1).room.state.change).toBe(changes);
});
