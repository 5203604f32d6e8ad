import type { Figures } from '../figures.ts';
import { redisMainThreadCpu } from '../measure/redis.ts';
import type { Bench, Contestant, OwnRedis, Side } from '../scenario.ts';
import { CALLERS } from './http.ts';

/**
 * A floor for Redis's CPU of a credit: pipelined INCRBY commands, as many at a time as the load has connections, on as many
 * keys as the load has accounts. They keep no history and no idempotency keys.
 */
export const pipelinedIncrby: Side = {
  id: 'incrby',
  name: 'Redis INCRBY, pipelined',
  kind: 'floor',
  open: async (bench) => new Incrby(await bench.redis(), bench),
};

class Incrby implements Contestant {
  readonly #own: OwnRedis;
  readonly #bench: Bench;

  constructor(own: OwnRedis, bench: Bench) {
    this.#own = own;
    this.#bench = bench;
  }

  async round(seconds: number): Promise<Figures> {
    const { redis } = this.#own;
    const { connections } = this.#bench.settings;
    const before = await redisMainThreadCpu(redis);
    const startedAt = performance.now();
    let done = 0;
    while (performance.now() < startedAt + seconds * 1000) {
      this.#bench.signal.throwIfAborted();
      await redis.pipeline(Array.from({ length: connections }, () => ['incrby', `balance:${done++ % CALLERS}`, '5'])).exec();
    }
    const elapsed = (performance.now() - startedAt) / 1000;
    return { redisCpu: ((await redisMainThreadCpu(redis)) - before) / done, perSecond: done / elapsed };
  }

  close(): Promise<void> {
    return this.#own.stop();
  }
}
