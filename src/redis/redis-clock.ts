import type { Redis } from 'ioredis';
import type { Cluster } from './cluster-client.ts';

/** One reading of Redis's clock. Ticks are times on the monotonic clock of this process, in milliseconds. */
export interface ClockReading {
  /** The time that Redis's clock showed, in milliseconds since 1970. */
  readonly at: number;
  /** When the command was sent. Redis read its clock between `sentTick` and `receivedTick`, the time at which the answer arrived. */
  readonly sentTick: number;
  readonly receivedTick: number;
  /** Whether the answer came from the node whose clock is the reference for all processes. The clocks of a Cluster's nodes may differ. */
  readonly isOfReference: boolean;
}

/** Reads Redis's clock once. On a Cluster it reads the clock of the primary of the lowest slot, or else of any primary. */
export async function readRedisClock(source: Redis | Cluster): Promise<RedisClock> {
  const clock = new RedisClock();
  const redis = 'shards' in source ? (source.shardOf(0)?.redis ?? source.shards[0]?.redis) : source;
  if (redis?.status !== 'ready') return clock;
  await clock.read(() => redis.time());
  return clock;
}

/**
 * How fast Redis's clock and the monotonic clock may drift apart, as a fraction of the elapsed time. NTP steers a clock by half of this at
 * most.
 */
const DRIFT = 0.001;

/**
 * A process's estimate of Redis's clock. Due work, leases and everything else that several services share use Redis's clock, so services
 * agree on what is due although the clocks of their machines differ. Between two readings of Redis's clock the process measures time by a
 * monotonic clock, so setting this machine's clock changes nothing.
 *
 * Each reading gives bounds for the difference between Redis's clock and the monotonic clock. All readings together give closer bounds than
 * one reading, whose answer may have waited. A reading that contradicts the bounds shows that Redis's clock was set, or that another
 * machine has taken over.
 */
export class RedisClock {
  readonly #wallClock: () => number;
  readonly #tick: () => number;
  #bounds: { readonly low: number; readonly high: number; readonly tick: number; readonly isOfReference: boolean } | undefined;

  /** @param wallClock gives the time until the first reading, in milliseconds since 1970 */
  constructor(wallClock: () => number = Date.now, tick: () => number = () => performance.now()) {
    this.#wallClock = wallClock;
    this.#tick = tick;
  }

  /** The present time by Redis's clock, in whole milliseconds since 1970. */
  readonly now = (): number =>
    this.#bounds === undefined ? this.#wallClock() : Math.floor(this.#tick() + (this.#bounds.low + this.#bounds.high) / 2);

  /** Reads Redis's clock. @param time sends TIME to the reference node */
  async read(time: () => Promise<readonly (string | number)[]>): Promise<void> {
    const sentTick = this.#tick();
    const [seconds, micros] = await time();
    const at = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
    this.saw({ at, sentTick, receivedTick: this.#tick(), isOfReference: true });
  }

  saw({ at, sentTick, receivedTick, isOfReference }: ClockReading): void {
    const known = this.#bounds;
    if (known?.isOfReference === true && !isOfReference) return;
    // Redis's time is cut to whole milliseconds, so the exact time may be up to 1 ms later.
    const [low, high] = [at - receivedTick, at + 1 - sentTick];
    const driftMs = known === undefined ? 0 : (receivedTick - known.tick) * DRIFT;
    const both = known !== undefined && {
      low: Math.max(low, known.low - driftMs),
      high: Math.min(high, known.high + driftMs),
    };
    const isSame = both !== false && both.low <= both.high && known?.isOfReference === isOfReference;
    this.#bounds = { ...(isSame ? both : { low, high }), tick: receivedTick, isOfReference };
  }
}
