import type { Redis } from 'ioredis';
import type { Cluster } from './cluster-client.ts';

/** A read of Redis's clock. Ticks are on a monotonic clock of this process, in milliseconds. */
export interface ClockReading {
  /** Milliseconds since 1970, by Redis's clock. */
  readonly at: number;
  /** When the command was sent, and when its answer arrived. Redis read its clock in between. */
  readonly sentTick: number;
  readonly receivedTick: number;
  /** Whether the node is the one whose clock counts. Nodes of a Cluster may differ. */
  readonly isOfReference: boolean;
}

/** Reads the clock of a Redis, or of a Cluster's primary of the lowest slot that answers, once. */
export async function readRedisClock(source: Redis | Cluster): Promise<RedisClock> {
  const clock = new RedisClock();
  const redis = 'shards' in source ? (source.shardOf(0)?.redis ?? source.shards[0]?.redis) : source;
  if (redis?.status !== 'ready') return clock;
  await clock.read(() => redis.time());
  return clock;
}

/** How fast the two clocks may drift apart, as a part of the elapsed time. NTP steers a clock by half of it at most. */
const DRIFT = 0.001;

/**
 * Redis's clock, as a process knows it between its reads. Due work, leases and everything else that several services share go by this
 * clock, so services whose machines' clocks differ agree on what is due. Between two reads a monotonic clock measures the time: a set clock
 * of this machine changes nothing.
 *
 * Each read bounds the difference between Redis's clock and the monotonic one. The bounds of all reads together are closer than those of one
 * read, whose answer may have waited. A read that contradicts them shows that Redis's clock was set, or that another machine has taken over.
 */
export class RedisClock {
  readonly #wallClock: () => number;
  readonly #tick: () => number;
  #bounds: { readonly low: number; readonly high: number; readonly tick: number; readonly isOfReference: boolean } | undefined;

  /** @param wallClock counts until the first read, in milliseconds since 1970 */
  constructor(wallClock: () => number = Date.now, tick: () => number = () => performance.now()) {
    this.#wallClock = wallClock;
    this.#tick = tick;
  }

  /** Whole milliseconds since 1970. */
  readonly now = (): number =>
    this.#bounds === undefined ? this.#wallClock() : Math.floor(this.#tick() + (this.#bounds.low + this.#bounds.high) / 2);

  /** Reads the clock. @param time sends TIME to the node whose clock counts */
  async read(time: () => Promise<readonly (string | number)[]>): Promise<void> {
    const sentTick = this.#tick();
    const [seconds, micros] = await time();
    const at = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
    this.saw({ at, sentTick, receivedTick: this.#tick(), isOfReference: true });
  }

  saw({ at, sentTick, receivedTick, isOfReference }: ClockReading): void {
    const known = this.#bounds;
    if (known?.isOfReference === true && !isOfReference) return;
    // The time of Redis is cut to whole milliseconds.
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
