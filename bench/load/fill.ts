import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate, setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { encodeCommand } from '../../src/redis/resp.ts';
import { directly, type DirectCaller } from './direct.ts';

/**
 * Fills a Redis with what `count` calls of handlers write, some ten times as fast as over HTTP: the handlers say which
 * commands they would send, and these go out in one stream whose answers Redis is told to keep to itself.
 * Whoever fills has to look whether all of it arrived.
 */
export async function fill(
  redis: Redis,
  count: number,
  one: (call: DirectCaller, index: number) => unknown,
  signal: AbortSignal,
): Promise<void> {
  // By the ordinary way, which teaches Redis the script, and shows whether it works.
  await one(await directly(redis), 0);
  const isLong = count >= LONG;
  if (isLong) await redis.config('SET', 'appendonly', 'no');

  const socket = connect(redis.options.path!);
  // Such as a Redis that ended: `once` below rejects with it.
  socket.on('error', () => {});
  await once(socket, 'connect', { signal });
  let stream = encodeCommand('CLIENT', ['REPLY', 'OFF']);
  const recording = await directly(redis, {
    connection: {
      call: (command, words) => {
        stream += encodeCommand(command, words);
        // Nobody waits for it: the handler's rest is garbage at once.
        return new Promise(() => {});
      },
    },
  });
  for (let index = 1; index < count; index++) {
    void one(recording, index);
    // Handlers that await something before their script come to it here.
    if (index % TURN === 0 || index === count - 1) await setImmediate();
    if (stream.length < CHUNK_LENGTH) continue;
    const isFull = !socket.write(stream);
    stream = '';
    if (isFull) await once(socket, 'drain', { signal });
  }
  socket.write(stream + encodeCommand('CLIENT', ['REPLY', 'ON']));
  // The one answer that comes says that all before it is done.
  await once(socket, 'data', { signal });
  socket.destroy();
  if (isLong) await appendAgain(redis, signal);
}

/** The data is written down as a whole, in the background; what is measured after that is appended as ever. */
async function appendAgain(redis: Redis, signal: AbortSignal): Promise<void> {
  await redis.config('SET', 'appendonly', 'yes');
  const isWriting = async (): Promise<boolean> =>
    /^aof_rewrite_(in_progress|scheduled):1/m.test(await redis.info('persistence')) ||
    !/^aof_enabled:1/m.test(await redis.info('persistence'));
  while (await isWriting()) await delay(50, undefined, { signal });
}

/** From here on the append-only file, which would be flushed a hundred thousand times, is left off meanwhile. */
const LONG = 50_000;

const CHUNK_LENGTH = 64 * 1024;

/** Calls in one turn of the event loop. */
const TURN = 256;
