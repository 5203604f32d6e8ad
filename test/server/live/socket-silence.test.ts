import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openSocket } from './fake-socket.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A player's socket. `told` has what the channel is told: that it fell silent, that it was heard again, that it closed. */
function open() {
  const told: string[] = [];
  const { live, socket } = openSocket({
    receives: {},
    silent: async (_, __, isHeard) => void told.push(isHeard ? 'heard' : 'silent'),
    closed: async (_, __, silentMs) => void told.push(`closed after ${Math.round(silentMs / 1000)} s`),
  });
  socket.buffered = 0;
  const pass = async (seconds: number) => {
    for (; seconds > 0; seconds--) {
      await vi.advanceTimersByTimeAsync(1000);
      live.check();
    }
    await vi.advanceTimersByTimeAsync(0);
  };
  return { live, socket, told, pass };
}

test('a silent player is pinged every four seconds, and stays as long as it answers', async () => {
  const { live, socket, told, pass } = open();
  await pass(3);
  expect(socket.pings).toBe(0);
  for (let times = 1; times <= 5; times++) {
    await pass(times === 1 ? 1 : 4);
    expect(socket.pings).toBe(times);
    live.pinged();
  }
  expect([socket.isCut, told]).toEqual([false, []]);
});

test('a player from whom nothing comes for twelve seconds is cut, and was gone since then', async () => {
  const { live, socket, told, pass } = open();
  await pass(11);
  expect([socket.pings, socket.isCut]).toEqual([2, false]);
  await pass(1);
  expect(socket.isCut).toBe(true);
  live.closed();
  await pass(1);
  expect(told).toEqual(['closed after 12 s']);
});

test('one that lags is not cut, but away until it reads', async () => {
  const { live, socket, told, pass } = open();
  socket.buffered = 1;
  await pass(13);
  expect([socket.isCut, told]).toEqual([false, ['silent']]);
  live.drained();
  await pass(1);
  expect(told).toEqual(['silent', 'heard']);
});

test('a connection without a name is not pinged', async () => {
  const { live, socket, told, pass } = open();
  live.name(undefined);
  await pass(20);
  expect([socket.pings, socket.isCut, told]).toEqual([0, false, []]);
});
