import { beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import type { ChannelSocket } from '../../../src/server/live/channel.ts';
import type { LiveSocket } from '../../../src/server/live/socket.ts';
import { openSocket, type SlowSocket } from './fake-socket.ts';

const act = z.object({ type: z.literal('act'), order: z.number() });

/** A socket whose acts are answered so. */
const openActing = (received: (socket: ChannelSocket, order: number) => Promise<void>) =>
  openSocket({
    receives: { act },
    acts: { type: 'act', lacks: () => undefined, framesPerSecond: 1e6, refused: () => ({ type: 'refused' }) },
    received: (socket, { order }) => received(socket, order as number),
  });

let slow: SlowSocket;
let live: LiveSocket<object>;

/** Each act is answered with 8 KB. */
beforeEach(() => {
  ({ live, socket: slow } = openActing(async (socket, order) => socket.send({ type: 'acted', order, state: 'x'.repeat(8000) })));
});

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function acts(count: number, on = live): Promise<void> {
  for (let order = 1; order <= count; order++) {
    on.received(Uint8Array.from(Buffer.from(`{"type":"act","order":${order}}`)).buffer, false);
    await turn();
  }
}

test('the bound on waiting answers holds for a socket that reads a little all the time', async () => {
  for (let times = 0; times < 100 && slow.ended === undefined; times++) {
    await acts(2);
    // Takes one answer, and is full again.
    slow.buffered = 0;
    slow.send = (message) => {
      slow.sent.push(message);
      slow.buffered = 1;
      return 1;
    };
    live.sendQueue.drained();
  }
  expect(slow.ended).toBe(4008);
  expect(slow.sent.length).toBeLessThan(40);
});

test('a socket that has not drained for 30 s is closed with 4008 as soon as it drains, and is cut off after 5 s more', async () => {
  await acts(1);
  const behindSince = performance.now();
  const state = (): unknown => [slow.ended, slow.isCut];
  live.sendQueue.checkPace(behindSince + 29_000);
  live.sendQueue.checkPace(behindSince + 30_000);
  // uWS drops the close frame of a full socket.
  expect(state()).toEqual([undefined, false]);
  live.sendQueue.checkPace(behindSince + 35_000);
  expect(state()).toEqual([undefined, true]);
  slow.buffered = 0;
  live.sendQueue.drained();
  expect(slow.ended).toBe(4008);
});

test('an act under way is answered before the close that follows a final state', async () => {
  let answer = (): void => {};
  const { live: acting, socket } = openActing(async (asking, order) => {
    await new Promise<void>((resolve) => (answer = resolve));
    asking.sendAfter(1, JSON.stringify({ type: 'acted', order }));
  });
  socket.buffered = 0;
  await acts(1, acting);
  acting.end(4501, 'finished');
  await turn();
  expect([socket.sent, socket.ended]).toEqual([[], undefined]);
  answer();
  await turn();
  expect([socket.sent, socket.ended]).toEqual([['{"type":"acted","order":1}'], 4501]);
});
