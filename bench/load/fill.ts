import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate, setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { ScriptConnection, ScriptShard, ShardMap } from '../../src/redis/script-runner.ts';
import type { Cluster } from '../../src/redis/cluster-client.ts';
import { encodeCommand } from '../../src/redis/resp.ts';
import type { Measured } from '../measure/measured.ts';
import { directCaller, type DirectCaller } from './direct.ts';

/** The target of a fill: one Redis, or a Cluster. */
export type Filled = Pick<Measured, 'redis' | 'cluster' | 'primaries'>;

/**
 * Fills a Redis with the data of `count` handler calls, about ten times as fast as over HTTP. It records the commands of the handlers and
 * sends them in one stream with CLIENT REPLY OFF, so Redis sends no replies. It therefore sees no errors: the caller has to check that all
 * data arrived. On a Cluster only handlers whose scripts run in the caller's slot can fill: others wait for an answer of the look at the
 * caller.
 */
export async function fill(
  { redis, cluster, primaries }: Filled,
  count: number,
  one: (call: DirectCaller, index: number) => unknown,
  signal: AbortSignal,
): Promise<void> {
  // The first calls run normally: they load the script into every Redis and show errors.
  const source = (redis ?? cluster)!;
  const normally = await directCaller(source);
  const first = cluster === undefined ? 1 : Math.min(count, FIRST_CALLS_OF_CLUSTER);
  for (let index = 0; index < first; index++) await one(normally, index);
  await withoutAppending(primaries, count, signal, async () => {
    const streams = await Promise.all(primaries.map((primary) => Stream.open(primary, signal)));
    const connection = cluster === undefined ? streams[0]! : await recordingMap(cluster, streams);
    const recording = await directCaller(source, { connection });
    for (let index = first; index < count; index++) {
      void one(recording, index);
      // Lets handlers that await something first go on to their script.
      if (index % CALLS_PER_TURN === 0 || index === count - 1) await setImmediate();
      for (const stream of streams) await stream.flush(CHUNK_LENGTH);
    }
    await Promise.all(streams.map((stream) => stream.end()));
  });
}

/** Turns the append-only files off while many calls are filled in: Redis would flush them too often. */
export async function withoutAppending(
  primaries: readonly Redis[],
  calls: number,
  signal: AbortSignal,
  act: () => Promise<void>,
): Promise<void> {
  if (calls < AOF_OFF_FROM_CALLS) return act();
  await Promise.all(primaries.map((redis) => redis.config('SET', 'appendonly', 'no')));
  await act();
  await Promise.all(primaries.map((redis) => appendAgain(redis, signal)));
}

/** Enough that the calls of different accounts reach each of three primaries. */
const FIRST_CALLS_OF_CLUSTER = 64;

/** Commands to one Redis that sends no replies. */
export class Stream implements ScriptConnection {
  readonly redis: Redis;
  readonly #socket: Socket;
  readonly #signal: AbortSignal;
  #text = encodeCommand('CLIENT', ['REPLY', 'OFF']);

  static async open(redis: Redis, signal: AbortSignal): Promise<Stream> {
    const socket = connect(redis.options.path!);
    // Without a listener an error, for example of a Redis that ended, would crash the process. `once` below rejects with it.
    socket.on('error', () => {});
    await once(socket, 'connect', { signal });
    return new Stream(redis, socket, signal);
  }

  private constructor(redis: Redis, socket: Socket, signal: AbortSignal) {
    this.redis = redis;
    this.#socket = socket;
    this.#signal = signal;
  }

  call(command: string, words: (string | number)[]): Promise<unknown> {
    this.#text += encodeCommand(command, words);
    // Redis sends no reply, so this promise stays pending, and the rest of the handler never runs.
    return new Promise(() => {});
  }

  /** Sends the recorded commands, if they are at least this long. */
  async flush(least: number): Promise<void> {
    if (this.#text.length < least) return;
    const isFull = !this.#socket.write(this.#text);
    this.#text = '';
    if (isFull) await once(this.#socket, 'drain', { signal: this.#signal });
  }

  async end(): Promise<void> {
    this.#socket.write(this.#text + encodeCommand('CLIENT', ['REPLY', 'ON']));
    // CLIENT REPLY ON is the only command with a reply, and the reply means that all commands before it are done.
    await once(this.#socket, 'data', { signal: this.#signal });
    this.#socket.destroy();
  }
}

/** The map of a Cluster with streams in place of the connections. */
async function recordingMap(cluster: Cluster, streams: readonly Stream[]): Promise<ShardMap> {
  const shards = new Map<number, ScriptShard>();
  for (const stream of streams) {
    const { port } = await addressOf(stream.redis);
    const shard = cluster.shards.find(({ address }) => address.port === port)!;
    shards.set(port, { scripts: stream, durable: stream, place: shard.place, awaySince: undefined });
  }
  return { shardOf: (slot) => shards.get(cluster.shardOf(slot)!.address.port), servedSince: () => 0, refresh() {} };
}

async function addressOf(redis: Redis): Promise<{ port: number }> {
  return { port: Number(((await redis.config('GET', 'port')) as string[])[1]) };
}

/** Turns the append-only file on again, and waits until Redis has written all data to it in the background. */
async function appendAgain(redis: Redis, signal: AbortSignal): Promise<void> {
  await redis.config('SET', 'appendonly', 'yes');
  const isWriting = async (): Promise<boolean> =>
    /^aof_rewrite_(in_progress|scheduled):1/m.test(await redis.info('persistence')) ||
    !/^aof_enabled:1/m.test(await redis.info('persistence'));
  while (await isWriting()) await delay(50, undefined, { signal });
}

/** From this many calls on, the append-only file is off during the fill. */
const AOF_OFF_FROM_CALLS = 50_000;

const CHUNK_LENGTH = 64 * 1024;

/** Calls per turn of the event loop. */
const CALLS_PER_TURN = 256;
