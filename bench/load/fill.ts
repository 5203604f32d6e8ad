import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate, setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { encodeCommand } from '../../src/redis/resp.ts';
import { directCaller, type DirectCaller } from './direct.ts';

/**
 * Fills a Redis with the data of `count` handler calls, about ten times as fast as over HTTP. It records the commands of the
 * handlers and sends them in one stream with CLIENT REPLY OFF, so Redis sends no replies. It therefore sees no errors: the
 * caller has to check that all data arrived.
 */
export async function fill(
  redis: Redis,
  count: number,
  one: (call: DirectCaller, index: number) => unknown,
  signal: AbortSignal,
): Promise<void> {
  // The first call runs normally: it loads the script into Redis and shows errors.
  await one(await directCaller(redis), 0);
  const isLong = count >= AOF_OFF_FROM_CALLS;
  if (isLong) await redis.config('SET', 'appendonly', 'no');

  const socket = connect(redis.options.path!);
  // Without a listener an error, for example of a Redis that ended, would crash the process. `once` below rejects with it.
  socket.on('error', () => {});
  await once(socket, 'connect', { signal });
  let stream = encodeCommand('CLIENT', ['REPLY', 'OFF']);
  const recording = await directCaller(redis, {
    connection: {
      call: (command, words) => {
        stream += encodeCommand(command, words);
        // Redis sends no reply, so this promise stays pending, and the rest of the handler never runs.
        return new Promise(() => {});
      },
    },
  });
  for (let index = 1; index < count; index++) {
    void one(recording, index);
    // Lets handlers that await something first go on to their script.
    if (index % CALLS_PER_TURN === 0 || index === count - 1) await setImmediate();
    if (stream.length < CHUNK_LENGTH) continue;
    const isFull = !socket.write(stream);
    stream = '';
    if (isFull) await once(socket, 'drain', { signal });
  }
  socket.write(stream + encodeCommand('CLIENT', ['REPLY', 'ON']));
  // CLIENT REPLY ON is the only command with a reply, and the reply means that all commands before it are done.
  await once(socket, 'data', { signal });
  socket.destroy();
  if (isLong) await appendAgain(redis, signal);
}

/** Turns the append-only file on again, and waits until Redis has written all data to it in the background. */
async function appendAgain(redis: Redis, signal: AbortSignal): Promise<void> {
  await redis.config('SET', 'appendonly', 'yes');
  const isWriting = async (): Promise<boolean> =>
    /^aof_rewrite_(in_progress|scheduled):1/m.test(await redis.info('persistence')) ||
    !/^aof_enabled:1/m.test(await redis.info('persistence'));
  while (await isWriting()) await delay(50, undefined, { signal });
}

/** From this many calls on, the append-only file is off during the fill, because Redis would flush it too often. */
const AOF_OFF_FROM_CALLS = 50_000;

const CHUNK_LENGTH = 64 * 1024;

/** Calls per turn of the event loop. */
const CALLS_PER_TURN = 256;
