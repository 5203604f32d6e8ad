import type { Redis } from 'ioredis';
import type { Figures } from '../figures.ts';
import type { LoadOrder, RequestPlan } from '../load/order.ts';
import type { Filled } from '../load/fill.ts';
import type { Measured } from '../measure/measured.ts';
import type { Engine } from '../processes/engines.ts';
import type { Bench } from '../scenario.ts';

/** Few enough that the stored data hardly grows, many enough to measure CPU to one per cent. */
const REQUESTS_PER_ROUND = 5000;

/** Enough for V8 to optimise the code. Each size has its own process, so each needs its own warm-up. */
const REQUESTS_TO_WARM_UP = 12_000;

const QUICK_REQUESTS = 200;

/** One step of SCAN that returns only the number of keys. Sending and parsing a million keys would take seconds. */
const COUNT_KEYS = `
local found = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', 10000)
return {found[1], #found[2]}`;

/** The service for one size of a growth curve, with its filled Redis. */
export class GrownService {
  readonly url: string;
  readonly filled: Filled;
  readonly #bench: Bench;
  readonly #service: Measured;

  /** With --quick all sizes share one service, because starting it takes longer than the rest of the scenario. */
  static async start(bench: Bench, engine?: Engine): Promise<GrownService> {
    return new GrownService(bench, await bench.service({ fresh: !bench.settings.quick, engine }));
  }

  constructor(bench: Bench, service: Measured) {
    this.#bench = bench;
    this.#service = service;
    this.url = service.url;
    this.filled = service;
  }

  load(request: RequestPlan, order: Pick<LoadOrder, 'callers' | 'keyPrefix' | 'from'>): GrownLoad {
    return new GrownLoad(this.#bench, this.#service, { ...order, requests: [request] });
  }

  /** @returns an error when Redis has fewer than `least` keys of this pattern */
  async missing(pattern: string, least: number): Promise<string[]> {
    let found = 0;
    for (const redis of this.filled.primaries) {
      for (let cursor = '0', isFirst = true; isFirst || cursor !== '0'; isFirst = false) {
        const [next, keys] = (await redis.eval(COUNT_KEYS, 0, cursor, pattern)) as [string, number];
        cursor = next;
        found += keys;
      }
    }
    return found >= least ? [] : [`Redis has ${found} keys of ${pattern} instead of at least ${least}`];
  }

  /** The Redis that this key belongs to. */
  async redisOf(key: string): Promise<Redis> {
    const { primaries } = this.filled;
    const isServed = await Promise.all(
      primaries.map((redis) =>
        redis.exists(key).then(
          () => true,
          () => false,
        ),
      ),
    );
    return primaries[isServed.indexOf(true)]!;
  }

  async end(): Promise<void> {
    if (!this.#bench.settings.quick) await this.#service.stop();
  }
}

/** A load whose rounds all have the same number of requests, independent of size and speed. */
export class GrownLoad {
  readonly acknowledged: number[] = [];
  readonly unanswered: number[] = [];
  readonly #bench: Bench;
  readonly #service: Measured;
  readonly #order: Pick<LoadOrder, 'callers' | 'keyPrefix' | 'requests'>;
  #from: number;
  #isWarm = false;

  constructor(bench: Bench, service: Measured, { from, ...order }: Pick<LoadOrder, 'callers' | 'keyPrefix' | 'requests' | 'from'>) {
    this.#bench = bench;
    this.#service = service;
    this.#order = order;
    this.#from = from;
  }

  async round(): Promise<Figures> {
    const { connections, quick } = this.#bench.settings;
    const count = quick ? QUICK_REQUESTS : this.#isWarm ? REQUESTS_PER_ROUND : REQUESTS_TO_WARM_UP;
    this.#isWarm = true;
    const [serverBefore, redisBefore] = [await this.#service.serverCpu(), await this.#service.redisCpu()];
    const outcome = await this.#bench.load({ ...this.#order, url: this.#service.url, connections, from: this.#from, seconds: 60, count });
    const [serverAfter, redisAfter] = [await this.#service.serverCpu(), await this.#service.redisCpu()];
    this.#from = outcome.next;
    for (const number of outcome.acknowledged) this.acknowledged.push(number);
    for (const number of outcome.unanswered) this.unanswered.push(number);
    const failures = Object.entries(outcome.failures).map(([what, times]) => `${what} (${times} times)`);
    if (failures.length > 0) throw new Error(`the service answered with ${failures.join(', ')}`);
    const [serverCpu, redisCpu] = [(serverAfter - serverBefore) / outcome.done, (redisAfter - redisBefore) / outcome.done];
    return { cpu: serverCpu + redisCpu, serverCpu, redisCpu, perSecond: outcome.done / outcome.seconds };
  }
}
