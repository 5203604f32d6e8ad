import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Feed, State } from '../../../src/server/live/feed-types.ts';
import { SendQueue } from '../../../src/server/live/send-queue.ts';
import type { Topic } from '../../../src/server/live/topic.ts';
import { uws, type WebSocket } from '../../../src/server/uws.ts';
import { opcodes, RawSocket } from '../../realtime/raw-socket.ts';
import { eventually } from '../../realtime/watcher.ts';
import { FakeWatcher, topicOf } from './fake-watcher.ts';

/** A state whose patch contains the position of the last push. */
class PatchedState implements State {
  readonly stamp = '';
  readonly privateAt = 0;
  readonly isFinal = false;
  readonly changesAt = Infinity;
  readonly position: number;
  readonly #padding: string;
  #pushedAt: number;

  constructor(position: number, known?: PatchedState, padding = '') {
    this.position = position;
    this.#padding = padding;
    this.#pushedAt = known === undefined ? position : known.#pushedAt;
  }

  encode(): string {
    return `"the whole state ${this.position}"${this.#padding}`;
  }

  encodePatch(): string {
    return `"${this.#pushedAt}→${this.position}"`;
  }

  pushed(): void {
    this.#pushedAt = this.position;
  }
}

const feed: Feed = { channel: (id) => id, take: () => undefined, fetch: async () => [] };

let state: PatchedState;
let topic: Topic;
let published: string[];

function change(): void {
  state = new PatchedState(state.position + 1, state);
  topic.advance(state);
}

function watch(takesPatches: boolean): FakeWatcher {
  const watcher = new FakeWatcher(topic, takesPatches);
  topic.hold();
  topic.add(watcher);
  return watcher;
}

let close = (): void => {};
beforeEach(() => {
  published = [];
  topic = topicOf(feed, { publish: (_, message) => void published.push(message) });
  topic.advance((state = new PatchedState(1)));
});
afterEach(() => {
  vi.useRealTimers();
  close();
});

const pass = (milliseconds: number): Promise<void> => vi.advanceTimersByTimeAsync(milliseconds).then(() => {});

test('a watcher that missed a patch gets the whole state, and the patches after the push that is due', async () => {
  vi.useFakeTimers();
  const watcher = watch(true);
  change();
  await pass(100);
  change();
  await pass(0);
  expect(published).toEqual(['"1→2"', '"2→3"']);
  const missedPush = topic.pushCount;
  change();
  topic.catchUp(watcher, missedPush);
  expect([watcher.isSubscribed, watcher.sent]).toEqual([false, ['"the whole state 1"', '"the whole state 4"']]);
  await pass(100);
  expect([watcher.isSubscribed, watcher.sent.length]).toEqual([true, 2]);
  change();
  await pass(100);
  expect(published.slice(2)).toEqual(['"3→4"', '"4→5"']);
});

test.each([
  ['missed its first state gets the current state', () => 0],
  ['missed a patch gets the latest state if no push is due', () => topic.pushCount],
])('a watcher that %s', async (_, missedPush) => {
  vi.useFakeTimers();
  const watcher = watch(true);
  change();
  await pass(100);
  topic.catchUp(watcher, missedPush());
  await pass(100);
  expect([watcher.sent, watcher.isSubscribed]).toEqual([['"the whole state 1"', '"the whole state 2"'], true]);
});

// uWS sends what was published to a socket before what is sent to it, once the socket reads again.
test('a watcher that missed a patch gets none that was published in the turn in which it drained', async () => {
  const app = uws.App();
  topic = topicOf(feed, { publish: (name, message) => void app.publish(name, message) });
  // More than the kernel's buffers take.
  topic.advance((state = new PatchedState(1, undefined, ' '.repeat(12_000_000))));
  const owner = { connectionId: 'own', privateChanged() {}, hasDrained() {}, afterActs: () => false };
  const sendQueue = new SendQueue(owner, topic, true);
  let [dropped, isDrained] = [0, false];
  app.ws('/*', {
    maxBackpressure: 1,
    closeOnBackpressureLimit: false,
    open(socket: WebSocket<unknown>) {
      topic.hold();
      sendQueue.open(socket);
    },
    dropped(_: WebSocket<unknown>, message: ArrayBuffer) {
      dropped++;
      sendQueue.dropped(message);
    },
    drain(socket: WebSocket<unknown>) {
      if (isDrained || socket.getBufferedAmount() > 0) return;
      isDrained = true;
      change();
      // Another watcher joins, after due changes are pushed.
      watch(false);
      sendQueue.drained();
    },
    close: () => sendQueue.close(),
  } as never);
  const port = await new Promise<number>((resolve) => {
    app.listen('127.0.0.1', 0, uws.LIBUS_LISTEN_EXCLUSIVE_PORT, (listening) => resolve(uws.us_socket_local_port(listening as never)));
  });
  close = () => void app.close();
  const raw = await RawSocket.open(port, '/');
  raw.pause();
  change();
  await eventually(() => dropped > 0);
  raw.resume();
  const got = () => raw.frames.filter(({ opcode }) => opcode === opcodes.text).map(({ payload }) => payload.toString().trim());
  await eventually(() => isDrained && raw.frames.length > 1);
  // A patch that follows shows that the watcher gets patches again.
  await new Promise((resolve) => setTimeout(resolve, 50));
  change();
  await eventually(() => got().at(-1) === '"3→4"');
  expect(got()).toEqual(['"the whole state 1"', '"the whole state 3"', '"3→4"']);
  raw.destroy();
});
