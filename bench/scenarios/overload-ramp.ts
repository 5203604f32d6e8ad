import { setTimeout as delay } from 'node:timers/promises';
import { auditLedgers } from '../audit.ts';
import type { Figures } from '../figures.ts';
import { Api } from '../load/api.ts';
import { LOST, SERVED, UNANSWERED, UNSENT, type Arrivals, type ArrivalsOrder, type Pace } from '../load/arrivals-order.ts';
import { newKeyPrefix, type LoadCaller } from '../load/order.ts';
import { monotonicMs } from '../measure/clock.ts';
import type { Measured } from '../measure/measured.ts';
import { recoverySeconds } from '../measure/recovery.ts';
import { percentile } from '../measure/statistics.ts';
import type { Child } from '../processes/child.ts';
import { pinApart } from '../processes/pin.ts';
import type { Bench } from '../scenario.ts';
import { creditBySession } from './coins.ts';
import { CALLERS } from './http.ts';

/** Offered load, as a multiple of the capacity. */
export type Level = number;

/** Connections: more than MAX_IN_FLIGHT, so that requests are refused. */
const full = { connections: 4096, inFlight: 2000, levelSeconds: 2, recoverySeconds: 2.5, costSeconds: 1.2, capacitySeconds: 1.5 };
const quick = { connections: 300, inFlight: 100, levelSeconds: 0.3, recoverySeconds: 0.5, costSeconds: 0.3, capacitySeconds: 0.2 };

/** Connections of the closed loop that measures the capacity. */
const CAPACITY_CONNECTIONS = 256;

/** More than any server can serve here, so that all connections of the closed loop are always busy. */
const SATURATING_RATE = 60_000;

/** A client gives up after this time. An answer that comes later is no goodput. */
const DEADLINE_MS = 1000;

/**
 * Served and refused requests are compared at this pace. An overloaded server finds many requests whenever it looks, so they come in
 * bursts. No 100 ms have more than 200 requests: the service would hold further refusals back.
 */
const COST_PACE: Pace = { rate: 1500, burst: 50 };

/** Redis answers nothing for this long. Requests that wait for it give up after 2 s, and the service reconnects after 3 s. */
const REDIS_PAUSE_MS = 2600;

const FILL_SECONDS = 0.1;

/** A single request: the next one would come in years. */
const NOTHING: Pace = { rate: 1e-9 };

const MIB = 2 ** 20;

/** CPU used and the time of a reading. */
interface Reading {
  readonly at: number;
  readonly server: number;
  readonly redis: number;
}

/** Loads one service with all levels, one after the other, and measures what it serves, refuses, uses and how it recovers. */
export class OverloadRamp {
  readonly #bench: Bench;
  readonly #levels: readonly Level[];
  readonly #service: Measured;
  readonly #sender: Child;
  readonly #capacity: number;
  readonly #load: Pick<ArrivalsOrder, 'callers' | 'keyPrefix'>;
  readonly #served: number[] = [];
  readonly #unknown: number[] = [];
  readonly #rounds: Promise<Map<Level, Figures>>[] = [];
  #closing: Promise<void> | undefined;

  static async open(bench: Bench, levels: readonly Level[]): Promise<OverloadRamp> {
    const { connections, inFlight, capacitySeconds } = sizeOf(bench);
    const service = await bench.service({ fresh: true, settings: { MAX_IN_FLIGHT: String(inFlight) } });
    const redisPid = Number(/^process_id:(\d+)/m.exec(await service.redis!.info('server'))![1]);
    const api = new Api(service.url);
    const callers: readonly LoadCaller[] = await api
      .signIn(Array.from({ length: CALLERS }, () => `bench-${crypto.randomUUID()}`))
      .finally(() => api.close());
    const module = new URL('../load/arrivals.ts', import.meta.url);
    const [closed, sender] = [await bench.child(module), await bench.child(module)];
    pinApart([service.pid!, redisPid], [closed.pid, sender.pid]);
    const load = { callers, keyPrefix: newKeyPrefix() };
    const order = { ...load, url: service.url, requests: [creditBySession], from: 0 };
    await closed.ask('open', { ...order, connections: CAPACITY_CONNECTIONS } satisfies ArrivalsOrder);
    const arrivals: Arrivals[] = [];
    // The first load lets V8 compile the code of a request.
    for (let turn = 0; turn < 2; turn++) {
      await closed.ask('start', { rate: SATURATING_RATE } satisfies Pace);
      await delay(capacitySeconds * 1000, undefined, { signal: bench.signal });
      arrivals.push(await closed.ask<Arrivals>('stop'));
    }
    await closed.stop();
    const { next } = arrivals.at(-1)!;
    await sender.ask('open', { ...order, connections, from: next } satisfies ArrivalsOrder);
    const capacity = countOf(arrivals.at(-1)!, SERVED) / capacitySeconds;
    const ramp = new OverloadRamp(bench, levels, { service, sender, capacity, load });
    for (const some of arrivals) ramp.#remember(some);
    return ramp;
  }

  private constructor(
    bench: Bench,
    levels: readonly Level[],
    opened: { service: Measured; sender: Child; capacity: number; load: Pick<ArrivalsOrder, 'callers' | 'keyPrefix'> },
  ) {
    this.#bench = bench;
    this.#levels = levels;
    this.#service = opened.service;
    this.#sender = opened.sender;
    this.#capacity = opened.capacity;
    this.#load = opened.load;
  }

  /** The figures of each level. The first call for a round runs it. */
  round(number: number): Promise<Map<Level, Figures>> {
    return (this.#rounds[number] ??= this.#run());
  }

  /** Each acknowledged credit must be in its ledger once, and no refused credit may be there. */
  async audit(): Promise<string[]> {
    const { url } = this.#service;
    return auditLedgers(url, { ...this.#load, acknowledged: this.#served, unanswered: this.#unknown });
  }

  close(): Promise<void> {
    return (this.#closing ??= Promise.all([this.#sender.stop(), this.#service.stop()]).then(() => {}));
  }

  async #run(): Promise<Map<Level, Figures>> {
    const found = new Map<Level, Figures>();
    for (const level of this.#levels) {
      this.#bench.doing(`overload · ${level} × capacity`);
      found.set(level, await this.#loaded(level, level > 1 ? found.get(this.#levels[0]!)!.p99! : undefined));
    }
    const lost = (name: 'goodput' | 'goodputPerCpu', own: Figures): number =>
      100 * (1 - own[name]! / Math.max(...found.values().map((figures) => figures[name]!)));
    for (const [level, own] of found)
      found.set(level, { ...own, goodputLost: lost('goodput', own), goodputPerCpuLost: lost('goodputPerCpu', own) });
    this.#bench.doing('overload · the cost of a refusal');
    const last = this.#levels.at(-1)!;
    found.set(last, { ...found.get(last), ...(await this.#refusalCost()) });
    return found;
  }

  /** @param normalP99 the p99 of the lowest level, by which the recovery is recognised; undefined for a level without recovery */
  async #loaded(level: Level, normalP99: number | undefined): Promise<Figures> {
    const { levelSeconds, recoverySeconds: afterSeconds } = sizeOf(this.#bench);
    const rate = level * this.#capacity;
    const startedAt = await this.#sender.ask<number>('start', { rate } satisfies Pace);
    const before = await this.#read();
    await this.#wait(levelSeconds);
    const after = await this.#read();
    const memory = (await this.#service.residentBytes()) / MIB;
    const endedAt = await this.#sender.ask<number>('pace', { rate: 0.5 * this.#capacity } satisfies Pace);
    if (normalP99 !== undefined) await this.#wait(afterSeconds);
    const arrivals = await this.#sender.ask<Arrivals>('stop');
    this.#remember(arrivals);
    const memoryAfter = (await this.#service.residentBytes()) / MIB;
    const answers = countOf(arrivals, undefined, (_, endedAtMs) => endedAtMs >= before.at && endedAtMs < after.at);
    const isDuring = (dueMs: number): boolean => dueMs >= startedAt && dueMs < endedAt;
    const seconds = (endedAt - startedAt) / 1000;
    const latencies = latenciesOf(arrivals, isDuring);
    const goodput = latencies.filter((latency) => latency <= DEADLINE_MS).length / seconds;
    const cpuPerSecond = used(before, after) / 1000 / (after.at - before.at);
    return {
      offered: rate,
      goodput,
      goodputPerCpu: goodput / cpuPerSecond,
      refused: countOf(arrivals, 'overloaded', isDuring) / seconds,
      unsent: countOf(arrivals, UNSENT, isDuring) / seconds,
      p50: percentile(latencies, 0.5),
      p99: percentile(latencies, 0.99),
      p999: percentile(latencies, 0.999),
      serverCpu: (after.server - before.server) / answers,
      redisCpu: (after.redis - before.redis) / answers,
      sendLag: percentile(arrivals.lags.sort(), 0.99),
      memory,
      ...(normalP99 === undefined ? {} : { memoryAfter, recovery: recoverySeconds(arrivals, endedAt, { normalP99, afterSeconds }) }),
    };
  }

  /**
   * Measures a refusal directly: while Redis answers nothing, requests take all places, and all further requests are refused. Before that,
   * served requests are measured at the same pace. The CPU that the server uses while nothing arrives is subtracted from both.
   */
  async #refusalCost(): Promise<Figures> {
    const { inFlight } = sizeOf(this.#bench);
    const idle = await this.#idlePerSecond();
    await this.#sender.ask('start', COST_PACE);
    const servedCpu = await this.#costOf(SERVED, idle);
    await this.#service.redis!.call('CLIENT', 'PAUSE', String(REDIS_PAUSE_MS), 'ALL');
    const pausedAt = performance.now();
    // A few more than there are places, because the fill is not exact.
    await this.#sender.ask('start', { rate: (1.05 * inFlight) / FILL_SECONDS } satisfies Pace);
    await this.#wait(FILL_SECONDS);
    await this.#sender.ask('pace', NOTHING);
    // Redis does not answer the question for its CPU time either, but it uses none.
    const idleWhileFull = await this.#idlePerSecond({ redis: false });
    await this.#sender.ask('pace', COST_PACE);
    const refusalCpu = await this.#costOf('overloaded', idleWhileFull, { redis: false });
    await this.#wait(Math.max(0, (REDIS_PAUSE_MS - (performance.now() - pausedAt)) / 1000));
    return { refusalCpu, servedCpu, refusalShare: (100 * refusalCpu) / servedCpu };
  }

  /** CPU of server and Redis, in µs a second, while no request arrives. */
  async #idlePerSecond({ redis = true }: { redis?: boolean } = {}): Promise<number> {
    const before = await this.#read({ redis });
    await this.#wait(sizeOf(this.#bench).costSeconds / 2);
    const after = await this.#read({ redis });
    return (used(before, after) * 1000) / (after.at - before.at);
  }

  /** CPU of an answer of this kind beyond `idle`, which is in µs a second. Ends the load. */
  async #costOf(kind: string, idle: number, { redis = true }: { redis?: boolean } = {}): Promise<number> {
    const before = await this.#read({ redis });
    await this.#wait(sizeOf(this.#bench).costSeconds);
    const after = await this.#read({ redis });
    const arrivals = await this.#sender.ask<Arrivals>('stop');
    this.#remember(arrivals);
    const answers = countOf(arrivals, kind, (_, endedAtMs) => endedAtMs >= before.at && endedAtMs < after.at);
    return (used(before, after) - (idle * (after.at - before.at)) / 1000) / answers;
  }

  async #read({ redis = true }: { redis?: boolean } = {}): Promise<Reading> {
    const used = redis ? await this.#service.redisCpu() : 0;
    return { at: monotonicMs(), server: await this.#service.serverCpu(), redis: used };
  }

  async #wait(seconds: number): Promise<void> {
    await delay(seconds * 1000, undefined, { signal: this.#bench.signal });
  }

  /** Notes which credits must be in a ledger and which may be. A refused credit must not be. */
  #remember({ numbers, kindOf, kinds }: Arrivals): void {
    for (const [index, number] of numbers.entries()) {
      const kind = kinds[kindOf[index]!]!;
      if (kind === SERVED) this.#served.push(number);
      else if (kind === LOST || kind === UNANSWERED || kind === 'store_unavailable') this.#unknown.push(number);
    }
  }
}

/** CPU of server and Redis together, in µs. */
function used(before: Reading, after: Reading): number {
  return after.server - before.server + after.redis - before.redis;
}

function sizeOf({ settings }: Bench): typeof full {
  return settings.quick ? quick : full;
}

/** @param kind undefined: all that were answered */
function countOf(
  { kindOf, due, latencies, kinds }: Arrivals,
  kind: string | undefined,
  isCounted: (dueMs: number, endedAtMs: number) => boolean = () => true,
): number {
  const index = kind === undefined ? undefined : kinds.indexOf(kind);
  let count = 0;
  for (const [place, dueMs] of due.entries()) {
    if (index === undefined ? Number.isNaN(latencies[place]!) : kindOf[place] !== index) continue;
    if (isCounted(dueMs, dueMs + latencies[place]!)) count++;
  }
  return count;
}

/** Latencies of the served requests, sorted. */
function latenciesOf({ kindOf, due, latencies, kinds }: Arrivals, isCounted: (dueMs: number) => boolean): Float64Array {
  const served = kinds.indexOf(SERVED);
  return latencies.filter((_, index) => kindOf[index] === served && isCounted(due[index]!)).sort();
}
