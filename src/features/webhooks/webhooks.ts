import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import { KeyedMutex } from '../../server/keyed-mutex.ts';
import { leasedHooks } from './delivery-state.ts';
import { HookDelivery, LEASE_MARGIN_MS, TICK_MS, type HookDeliveryOptions } from './hook-delivery.ts';
import type { Hooks } from './hooks.ts';
import { parseHook, type EventSource } from './model.ts';
import { MOST_OF_A_HOOK, RequestPlaces } from './request-places.ts';
import { Sender } from './sender.ts';
import { SharedLogReader } from './shared-log-reader.ts';
import { WaitingEvents } from './waiting-events.ts';
import type { WebhookCounts } from './webhook-counts.ts';

/** The interval at which each process renews its leases, and leases hooks that no process has leased, in milliseconds. */
const POLL_MS = 1000;

/** How long a lease of a hook lasts without a renewal, in milliseconds. After this time another process may lease the hook. */
const LEASE_MS = 5000;

export interface WebhooksOptions {
  readonly events: EventSource;
  readonly scripts: ScriptRunner;
  readonly hooks: Pick<Hooks, 'resolve' | 'allowsPrivate'>;
  readonly counts: WebhookCounts;
  readonly log: Logger;
  /** The time now by Redis's clock, in milliseconds since 1970. */
  readonly now: () => number;
  /** The time now by this machine's clock, in milliseconds since 1970. Receivers compare it with their own clocks. */
  readonly wallClock: () => number;
  /** For tests: how long an attempt may take (`SenderOptions.answerMs`). */
  readonly answerMs?: number;
}

type SharedOptions = Pick<HookDeliveryOptions, 'reads' | 'waitingEvents' | 'places' | 'begins'>;

/** Delivers events to hooks. Of all processes on one Redis, only the process that has a hook's lease delivers to the hook. */
export class Webhooks {
  readonly #options: WebhooksOptions;
  readonly #holder = randomBytes(9).toString('base64url');
  readonly #deliveries = new Map<string, HookDelivery>();
  /** The parts that all deliveries of the process share. */
  readonly #shared: SharedOptions;
  readonly #tick: NodeJS.Timeout;
  /** The records that cannot be parsed, by the hook's id, so that each of them is logged only once. */
  readonly #unreadable = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;
  #polling: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: WebhooksOptions) {
    this.#options = options;
    const { events } = options;
    this.#shared = {
      reads: new SharedLogReader(events),
      waitingEvents: new WaitingEvents(events),
      places: new RequestPlaces(),
      begins: new KeyedMutex(),
    };
    this.#tick = setInterval(() => {
      for (const delivery of this.#deliveries.values()) if (!delivery.isOver) delivery.tick();
    }, TICK_MS);
    options.counts.figures = () => [...this.#deliveries.values()].map(({ figures }) => figures);
    this.#pollAndPlan();
  }

  /** Stops leasing hooks, waits for open requests, and gives the leases back. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#polling;
    await Promise.all([...this.#deliveries.values()].map((delivery) => delivery.close()));
    clearInterval(this.#tick);
  }

  #pollAndPlan(): void {
    this.#polling = this.#poll()
      // Other log lines report an outage of Redis.
      .catch((error: unknown) => this.#options.log.debug({ reason: (error as Error).message }, 'could not poll for webhooks'))
      .finally(() => {
        if (!this.#isClosed) this.#timer = setTimeout(() => this.#pollAndPlan(), POLL_MS);
      });
  }

  async #poll(): Promise<void> {
    const { scripts, counts } = this.#options;
    const leaseEnd = performance.now() + LEASE_MS - LEASE_MARGIN_MS;
    const held = await leasedHooks(scripts, this.#holder, LEASE_MS);
    for (const hook of held) {
      const delivery = this.#deliveries.get(hook.id);
      if (delivery === undefined || delivery.isOver) this.#begin(hook, leaseEnd);
      else delivery.renewed(hook, leaseEnd);
    }
    // If the process no longer has the lease of a hook, the hook was disabled or removed, or another process has leased it.
    const ids = new Set(held.map(({ id }) => id));
    for (const [id, delivery] of this.#deliveries) {
      if (ids.has(id)) continue;
      delivery.abandon();
      this.#deliveries.delete(id);
      counts.removed(id);
    }
  }

  #begin(held: Awaited<ReturnType<typeof leasedHooks>>[number], leaseEnd: number): void {
    const { hooks, wallClock, log, answerMs } = this.#options;
    const hook = parseHook(held.text);
    if (hook === undefined) {
      if (this.#unreadable.get(held.id) !== held.text)
        log.error({ hook: held.id.slice(0, 16) }, 'the record of a webhook cannot be read: it gets no events');
      this.#unreadable.set(held.id, held.text);
      return;
    }
    const { resolve, allowsPrivate } = hooks;
    const openSender = (url: string): Sender =>
      new Sender({
        url,
        allowsPrivate,
        resolve,
        connections: MOST_OF_A_HOOK,
        now: wallClock,
        ...(answerMs === undefined ? {} : { answerMs }),
      });
    const options = { ...this.#options, ...this.#shared, openSender, holder: this.#holder, leaseMs: LEASE_MS };
    this.#deliveries.set(held.id, new HookDelivery(held, hook, leaseEnd, options));
  }
}
