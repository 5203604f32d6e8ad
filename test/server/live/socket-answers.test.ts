import { pino } from 'pino';
import { beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import type { Channel } from '../../../src/server/live/channel.ts';
import type { Feed } from '../../../src/server/live/feed.ts';
import { LiveSocket, type SocketData } from '../../../src/server/live/socket.ts';
import { Topic } from '../../../src/server/live/topic.ts';
import type { WebSocket } from '../../../src/server/uws.ts';
import { stateAt } from './fake-watcher.ts';

/** Stands in for a socket of uWS whose client reads nothing until it is told to. */
class SlowSocket {
  buffered = 1;
  readonly sent: string[] = [];
  ended: number | undefined;
  send(message: string): number {
    this.sent.push(message);
    return 1;
  }
  end(code: number): void {
    this.ended = code;
  }
  close(): void {}
  subscribe(): boolean {
    return true;
  }
  getBufferedAmount(): number {
    return this.buffered;
  }
}

const act = z.object({ type: z.literal('act'), order: z.number() });

/** Answers each act with 8 KB. */
const channel: Channel<object> = {
  path: '/live',
  summary: '',
  sends: {},
  receives: { act },
  acts: { type: 'act', lacks: () => undefined, framesPerSecond: 1e6, refused: () => ({ type: 'refused' }) },
  errors: [],
  subject: () => '1',
  feed: () => feed,
  notFound: 'not_found',
  async received(socket, { order }) {
    socket.send({ type: 'acted', order, state: 'x'.repeat(8000) });
  },
};

const feed: Feed = { channel: (id) => id, take: () => undefined, fetch: async () => [] };

let slow: SlowSocket;
let live: LiveSocket<object>;

beforeEach(() => {
  const topic = new Topic(feed, '1', {
    publish: () => {},
    bytesPerSecond: undefined,
    now: Date.now,
    isDraining: () => false,
    refresh: () => {},
    closed: () => {},
  });
  topic.hold();
  topic.advance(stateAt(1));
  live = new LiveSocket({
    channel,
    services: {},
    topic,
    sessionCaller: () => undefined,
    callerOf: () => Promise.reject(new Error('nobody')),
    hasBearer: false,
    takesPatches: false,
    charge: () => 0,
    chargeAct: () => 0,
    keyOf: () => {
      throw new Error('no key');
    },
    address: '',
    log: pino({ level: 'silent' }),
    closed: () => {},
  });
  slow = new SlowSocket();
  live.opened(slow as unknown as WebSocket<SocketData<object>>);
  live.name('p1');
  slow.sent.length = 0;
});

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function acts(count: number): Promise<void> {
  for (let order = 1; order <= count; order++) {
    live.received(Uint8Array.from(Buffer.from(`{"type":"act","order":${order}}`)).buffer, false);
    await turn();
  }
}

test('answers wait for a socket that does not read, and come in order once it reads', async () => {
  await acts(10);
  expect(slow.sent).toEqual([]);
  slow.buffered = 0;
  live.drained();
  expect(slow.sent.map((text) => (JSON.parse(text) as { order: number }).order)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  expect(slow.ended).toBeUndefined();
});

test('more than 128 KiB of answers are not kept: the socket is ended with 4008', async () => {
  await acts(1000);
  slow.buffered = 0;
  live.drained();
  expect([slow.sent, slow.ended]).toEqual([[], 4008]);
});

test('a socket that reads a little all the time is not given more than that to wait for', async () => {
  for (let times = 0; times < 100 && slow.ended === undefined; times++) {
    await acts(2);
    // Takes one answer, and is full again.
    slow.buffered = 0;
    slow.send = (message) => {
      slow.sent.push(message);
      slow.buffered = 1;
      return 1;
    };
    live.drained();
  }
  expect(slow.ended).toBe(4008);
  expect(slow.sent.length).toBeLessThan(40);
});
