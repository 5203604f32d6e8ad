import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { HEAD_LENGTH } from '../../src/features/highscores/entry-format.ts';
import { boardKeys } from '../../src/features/highscores/model.ts';
import type { Figures } from '../figures.ts';
import { fillBoard } from '../load/fill-board.ts';
import { evenly } from './growth.ts';
import { newKeyPrefix, type LoadOrder } from '../load/order.ts';
import type { Measured } from '../measure/measured.ts';
import { Meter } from '../measure/meter.ts';
import { commandUse, redisUsedMemory } from '../measure/redis.ts';
import { percentile } from '../measure/statistics.ts';
import type { Bench, Contestant, Scenario, Side } from '../scenario.ts';

/** Boards of a million and of ten million entries: memory of an entry, and the cost of submissions, ranks and top tens. */

const SIZES = [1e3, 1e6, 1e7];

/** Memory of an entry, measured with this scenario and rounded up: sorted set, hash and allocator. */
const ENTRY_BYTES = 320;

/** Players that submit. So many that most submissions miss the processor's cache. */
const CALLERS = 20_000;

const SUBMISSIONS = 3000;
const QUICK_SUBMISSIONS = 200;

/** Submissions a second at which latency is taken: little load, so that it shows Redis's time and no queue. */
const RATE = 500;

/** Top tens that a round reads straight from Redis. The service would answer them from its memory. */
const TOPS = 1000;

/** Pages, and looks around a player, that a round reads through the service. */
const READS = 500;

export const bigBoard: Scenario = {
  name: 'big-board',
  title: 'Big boards',
  summary: `A score submitted to a board of a thousand to ten million players, answered with the rank. Latency at ${RATE} submissions a second. The rank (ZCOUNT) is a part of Redis's CPU; the top ten (ZRANGE) is read when it has changed.`,
  operation: 'submission',
  sides: SIZES.map((size): Side => ({
    id: String(size),
    name: size.toLocaleString('en'),
    kind: 'service',
    at: size,
    open: (bench) => BigBoard.open(bench, bench.settings.quick ? size / 100 : size),
  })),
  targets: [],
  anywhere: false,
  rounds: 6,
  apart: { minutes: 6 },
};

class BigBoard implements Contestant {
  readonly #bench: Bench;
  readonly #service: Measured;
  readonly #size: number;
  readonly #entryBytes: number;
  readonly #callers: LoadOrder['callers'];
  #from = 0;

  static async open(bench: Bench, size: number): Promise<BigBoard> {
    refuseWithout(2 * ENTRY_BYTES * size);
    const service = await bench.service({ fresh: true });
    const redis = service.redis!;
    const step = Math.max(1, Math.floor(size / CALLERS));
    const installOf = (player: number): string | undefined => (player % step === 0 ? `bench-player-${player}` : undefined);
    const before = await redisUsedMemory(redis);
    await fillBoard(redis, gameOf(size), { size, installOf, signal: bench.signal });
    const entryBytes = ((await redisUsedMemory(redis)) - before) / size;
    const callers = Array.from({ length: Math.min(size, CALLERS) }, (_, index) => ({ installId: installOf(index * step)! }));
    return new BigBoard(bench, service, { size, entryBytes, callers });
  }

  private constructor(
    bench: Bench,
    service: Measured,
    { size, entryBytes, callers }: { size: number; entryBytes: number; callers: LoadOrder['callers'] },
  ) {
    this.#bench = bench;
    this.#service = service;
    this.#size = size;
    this.#entryBytes = entryBytes;
    this.#callers = callers;
  }

  async round(): Promise<Figures> {
    const { quick, connections } = this.#bench.settings;
    const count = quick ? QUICK_SUBMISSIONS : SUBMISSIONS;
    const redis = this.#service.redis!;
    const meter = new Meter(this.#service);
    const rankBefore = await commandUse(redis, 'zcount');
    const saturated = await this.#load({ connections, seconds: 60, count }, meter);
    const rank = await commandUse(redis, 'zcount');
    const steady = await this.#load({ connections, seconds: count / RATE, rate: RATE });
    return {
      entryBytes: this.#entryBytes,
      ...meter.each(saturated.done),
      rankCpu: (rank.microseconds - rankBefore.microseconds) / (rank.calls - rankBefore.calls),
      topCpu: await this.#topCpu(redis),
      aroundCpu: await this.#readCpu(redis, (player) => `/around?limit=10&installId=${player}`),
      pageCpu: await this.#pageCpu(redis),
      perSecond: saturated.done / saturated.seconds,
      p50: percentile(steady.latencies, 0.5),
      p99: percentile(steady.latencies, 0.99),
      atRate: RATE,
    };
  }

  async #topCpu(redis: Redis): Promise<number> {
    const before = await commandUse(redis, 'zrange');
    const scores = boardKeys.scores(gameOf(this.#size));
    const pipeline = redis.pipeline();
    for (let read = 0; read < TOPS; read++) pipeline.zrange(scores, '0', '9', 'REV', 'WITHSCORES');
    await pipeline.exec();
    const after = await commandUse(redis, 'zrange');
    return (after.microseconds - before.microseconds) / (after.calls - before.calls);
  }

  /** Redis's CPU of a read through the service, by players all over the board. */
  async #readCpu(redis: Redis, queryOf: (installId: string) => string): Promise<number> {
    const paths = evenly(this.#callers.length, READS).map((caller) => queryOf(this.#callers[caller]!.installId!));
    return this.#scriptCpu(redis, paths);
  }

  /** The same for pages behind places all over the board. */
  async #pageCpu(redis: Redis): Promise<number> {
    const key = boardKeys.scores(gameOf(this.#size));
    const cursors = await Promise.all(
      evenly(Math.max(1, this.#size - 100), READS).map(async (place) => {
        const [member, score] = await redis.zrevrange(key, place, place, 'WITHSCORES');
        return Buffer.from(`${score} ${member!.slice(0, HEAD_LENGTH)}`).toString('base64url');
      }),
    );
    return this.#scriptCpu(
      redis,
      cursors.map((cursor) => `/entries?limit=100&cursor=${cursor}`),
    );
  }

  async #scriptCpu(redis: Redis, paths: readonly string[]): Promise<number> {
    const before = await commandUse(redis, 'evalsha');
    for (const path of paths) {
      const response = await fetch(`${this.#service.url}/v1/highscores/${gameOf(this.#size)}${path}`);
      if (response.status !== 200) throw new Error(`the service answered ${response.status} to ${path}`);
      await response.arrayBuffer();
    }
    const after = await commandUse(redis, 'evalsha');
    return (after.microseconds - before.microseconds) / paths.length;
  }

  async #load(order: Pick<LoadOrder, 'connections' | 'seconds' | 'count' | 'rate'>, around?: Meter) {
    const outcome = await this.#bench.load(
      {
        ...order,
        url: this.#service.url,
        requests: [
          {
            method: 'POST',
            path: `/v1/highscores/${gameOf(this.#size)}`,
            body: '{"installId":"$installId","score":$score,"name":"Ada"}',
          },
        ],
        callers: this.#callers,
        keyPrefix: newKeyPrefix(),
        from: this.#from,
      },
      around,
    );
    this.#from = outcome.next;
    const failures = Object.entries(outcome.failures).map(([what, times]) => `${what} (${times} times)`);
    if (failures.length > 0) throw new Error(`the service answered with ${failures.join(', ')}`);
    return outcome;
  }

  /** The callers already had entries, so the board must still have as many entries as before, one for each player. */
  async audit(): Promise<string[]> {
    const redis = this.#service.redis!;
    const game = gameOf(this.#size);
    const [entries, players] = [await redis.zcard(boardKeys.scores(game)), await redis.hlen(boardKeys.players(game))];
    return entries === this.#size && players === this.#size
      ? []
      : [`the board has ${entries} entries of ${players} players instead of ${this.#size}`];
  }

  close(): Promise<void> {
    return this.#service.stop();
  }
}

function gameOf(size: number): string {
  return `bench-${size}`;
}

/** @throws if the machine has less memory to spare: Redis copies pages while it rewrites the append-only file */
function refuseWithout(bytes: number): void {
  const available = 1024 * Number(/^MemAvailable:\s+(\d+) kB/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1] ?? Infinity);
  if (available < bytes)
    throw new Error(`the board needs ${Math.ceil(bytes / 2 ** 30)} GiB of memory, of which ${Math.floor(available / 2 ** 30)} are free`);
}
