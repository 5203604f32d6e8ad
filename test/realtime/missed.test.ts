import { expect, onTestFinished, test } from 'vitest';
import { forFile } from '../harness.ts';
import { roomKeys } from '../../src/features/rooms/model.ts';
import { open, type TestRoom } from '../features/rooms/room.ts';
import { ownRedis } from './own.ts';
import { RawSocket } from './raw-socket.ts';
import { eventually } from './watcher.ts';

const redis = await forFile(ownRedis());
const service = await forFile(redis.start({ settings: { ROOM_BYTES_PER_SECOND: '1000000000' } }));

const numbers = (raw: RawSocket): number[] => raw.messages.filter(({ type }) => type === 'message').map(({ n }) => n);
const missed = (raw: RawSocket) => raw.messages.filter(({ type }) => type === 'missed');

/**
 * Publishes messages as `message.lua` does, but without an act for each, because some megabytes are needed to fill the kernel's buffers.
 * @param state the state of a change after the messages, as published by `settle` of `room.lua`
 */
async function publish({ code }: TestRoom, first: number, { count, bytes, state }: { count: number; bytes: number; state?: string }) {
  const key = roomKeys.room(code);
  const pipeline = service.service.redis.pipeline();
  const [seq, before, expiresAt] = await service.service.redis.hmget(key, 'seq', 'updatedAt', 'expiresAt');
  const line = (number: number) => ['message', number, 'p1', Date.now(), '', expiresAt, JSON.stringify('x'.repeat(bytes))].join('\n');
  pipeline.hset(key, 'messages', first + count - 1);
  for (let number = first; number < first + count; number++) pipeline.publish(`0:${key}`, line(number));
  if (state !== undefined) {
    const next = Number(seq) + 1;
    const fields = ['state', JSON.stringify(state), 'stateSeq', next, 'seq', next, 'updatedAt', Date.now()];
    pipeline.hset(key, ...fields).publish(`0:${key}`, [next, before, ...fields].join('\n'));
  }
  await pipeline.exec();
}

/** A watcher that does not read and whose buffers are full, and a watcher that reads. @returns the number of the last message */
async function stalledWatcher(room: TestRoom): Promise<{ raw: RawSocket; healthy: RawSocket; sent: number }> {
  const watch = () => RawSocket.open(service.port, `/v1/rooms/${room.code}/live`);
  const [raw, healthy] = [await watch(), await watch()];
  onTestFinished(() => [raw, healthy].forEach((socket) => socket.destroy()));
  await eventually(() => raw.frames.length === 1 && healthy.frames.length === 1);
  raw.pause();
  let sent = 0;
  for (; sent < 1600; sent += 40) await publish(room, sent + 1, { count: 40, bytes: 12_000 });
  await eventually(() => numbers(healthy).at(-1) === sent, 60_000);
  return { raw, healthy, sent };
}

test('every message arrives or is reported as missed, also if several come in one turn, and the state of that turn follows', async () => {
  const room = await open(service);
  const { raw, healthy, sent } = await stalledWatcher(room);
  // These arrive in one turn of the event loop.
  await publish(room, sent + 1, { count: 5, bytes: 100, state: 'the last' });
  const hasLast = ({ messages }: RawSocket): boolean => messages.some(({ room: found }) => found?.state === 'the last');
  await eventually(() => numbers(healthy).at(-1) === sent + 5 && hasLast(healthy));
  raw.resume();
  await eventually(() => missed(raw).length > 0 && hasLast(raw));
  await publish(room, sent + 6, { count: 1, bytes: 1 });
  await eventually(() => numbers(raw).at(-1) === sent + 6);
  const heard = new Set(numbers(raw));
  const named = missed(raw).flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, index) => from + index));
  const neither = Array.from({ length: sent + 6 }, (_, index) => index + 1).filter((n) => !heard.has(n) && !named.includes(n));
  expect(neither).toEqual([]);
});
