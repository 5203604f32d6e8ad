import type { Redis } from 'ioredis';
import type { Cluster } from './cluster-client.ts';

/** One reading of Redis's clock. Ticks are times on a monotonic clock of this process, in milliseconds. */
export interface ClockReading {
  /** The time that Redis's clock showed, in milliseconds since 1970. */
  readonly at: number;
  /** When the command was sent. Redis read its clock between `sentTick` and `receivedTick`, when the answer arrived. */
  readonly sentTick: number;
  readonly receivedTick: number;
  /** Whether Redis's node is the reference by which all processes go. The clocks of a Cluster's nodes may differ. */
  readonly isOfReference: boolean;
}

/** Reads Redis's clock once: of one Redis, or of the primary of a Cluster's lowest slot, else of any primary. */
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
 * Redis's clock, as a process knows it between its readings. Due work, leases and everything else that several services share go by Redis's
 * clock, so services whose machines' clocks differ agree on what is due. Between two readings a monotonic clock measures the time, so
 * setting the clock of this machine changes nothing.
 *
 * Each reading bounds the difference between Redis's clock and the monotonic clock. All readings together bound it more closely than one
 * reading, whose answer may have waited. A reading that contradicts the bounds shows that Redis's clock was set, or that another machine
 * has taken over.
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
    // Redis's time is cut to whole milliseconds, so the true time may be up to 1 ms later.
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
