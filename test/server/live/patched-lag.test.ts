import { afterEach, expect, test } from 'vitest';
import type { Feed, State } from '../../../src/server/live/feed.ts';
import { Outbox } from '../../../src/server/live/outbox.ts';
import { uws, type WebSocket } from '../../../src/server/uws.ts';
import { opcodes, RawSocket } from '../../realtime/raw-socket.ts';
import { eventually } from '../../realtime/watcher.ts';
import { FakeWatcher, topicOf } from './fake-watcher.ts';

/** More than the kernel's buffers take. */
const LONG = ' '.repeat(12_000_000);

class PatchedState implements State {
  readonly stamp = '';
  readonly privateAt = 0;
  readonly isFinal = false;
  readonly changesAt = Infinity;
  readonly position: number;
  #pushedAt: number;

  constructor(position: number, known?: PatchedState) {
    this.position = position;
    this.#pushedAt = known?.pushedAt ?? position;
  }

  get pushedAt(): number {
    return this.#pushedAt;
  }

  encode(): string {
    return JSON.stringify({ whole: this.position }) + (this.position === 1 ? LONG : ' '.repeat(100));
  }

  encodePatch(): string {
    return JSON.stringify({ from: this.#pushedAt, to: this.position });
  }

  pushed(): void {
    this.#pushedAt = this.position;
  }
}

const feed: Feed = { channel: (id) => id, take: () => undefined, fetch: async () => [] };

let close = (): void => {};
afterEach(() => close());

// uWS sends what was published to a socket before what is sent to it, once the socket reads again.
test('a watcher that missed a patch gets none that was published in the turn in which it drained', async () => {
  const app = uws.App();
  const topic = topicOf(feed, { publish: (name, message) => void app.publish(name, message) });
  let state = new PatchedState(1);
  const change = (): void => topic.advance((state = new PatchedState(state.position + 1, state)));
  /** Another watcher joins, after due changes are pushed. */
  const pushNow = (): void => {
    topic.hold();
    topic.add(new FakeWatcher(topic));
  };
  topic.advance(state);
  const parts = { topic, takesPatches: true, ownTopic: 'own', privateChanged() {}, hasDrained() {}, afterActs: () => false };
  const outbox = new Outbox(parts);
  let dropped = 0;
  let isDrained = false;
  app.ws('/*', {
    maxBackpressure: 1,
    closeOnBackpressureLimit: false,
    open(socket: WebSocket<unknown>) {
      topic.hold();
      outbox.open(socket);
    },
    dropped(_: WebSocket<unknown>, message: ArrayBuffer) {
      dropped++;
      outbox.dropped(message);
    },
    drain(socket: WebSocket<unknown>) {
      if (isDrained || socket.getBufferedAmount() > 0) return;
      isDrained = true;
      change();
      pushNow();
      outbox.drained();
    },
    close: () => outbox.close(),
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
  const got = () =>
    raw.frames.filter(({ opcode }) => opcode === opcodes.text).map(({ payload }) => JSON.parse(payload.toString()) as object);
  await eventually(() => isDrained && raw.frames.length > 1);
  // A patch that follows shows that the watcher gets patches again.
  await new Promise((resolve) => setTimeout(resolve, 50));
  change();
  await eventually(() => JSON.stringify(got().at(-1)) === '{"from":3,"to":4}');
  expect(got()).toEqual([{ whole: 1 }, { whole: 3 }, { from: 3, to: 4 }]);
  raw.destroy();
});
