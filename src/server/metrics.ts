import { Counter, Gauge, Registry } from '@prometheus-io/client';
import { errors, type ErrorCode } from '../errors.ts';
import { DurationHistogram } from './duration-histogram.ts';

/**
 * The service's metrics, in Prometheus's text format. Labels are route templates and fixed words, never a client's input. A metric must not
 * contain an installId, and the number of series must not grow with traffic.
 */
export class Metrics {
  readonly registry = new Registry();
  readonly #requests: { readonly labels: Record<'method' | 'route' | 'status', string>; count: number }[] = [];
  readonly #requestDurations: DurationHistogram;
  readonly #scriptDurations: DurationHistogram;
  readonly #scripts = new Map<string, (milliseconds: number) => void>();
  readonly #refusals = new Map<ErrorCode, number>();
  readonly #accountsCreated = { install: 0, store: 0 };
  readonly #accountsDeleted: Counter;
  readonly coinsReplayed: Counter;

  constructor() {
    const registers = [this.registry];
    const requests = new Counter({
      name: 'coinop_http_requests_total',
      help: 'Requests answered. Status 0: the client disconnected before the answer.',
      labelNames: ['method', 'route', 'status'],
      registers,
      // The service counts in plain numbers, because the library's counter is slow (see `DurationHistogram`).
      collect: () => {
        requests.reset();
        for (const { labels, count } of this.#requests) requests.inc(labels, count);
      },
    });
    this.#requestDurations = new DurationHistogram({
      name: 'coinop_http_request_duration_seconds',
      help: 'From the request line until the answer is handed to the socket.',
      registry: this.registry,
    });
    this.#scriptDurations = new DurationHistogram({
      name: 'coinop_redis_script_duration_seconds',
      help: 'Round trip of one script.',
      registry: this.registry,
    });
    this.coinsReplayed = new Counter({
      name: 'coinop_coins_replayed_total',
      help: 'Coin operations that were sent again with the same idempotency key.',
      registers,
    });

    this.countBy({
      name: 'coinop_refusals_total',
      help: 'Requests refused, by the error code of the answer.',
      label: 'code',
      counts: () => Object.keys(errors).map((code) => [code, this.#refusals.get(code as ErrorCode) ?? 0]),
    });
    this.countBy({
      name: 'coinop_accounts_created_total',
      help: 'Accounts created: by the first write of an install, or by a sign-in with an app store.',
      label: 'by',
      counts: () => Object.entries(this.#accountsCreated),
    });
    this.#accountsDeleted = new Counter({
      name: 'coinop_accounts_deleted_total',
      help: 'Accounts deleted and erased, of which only the tombstone is left. Guests that had moved into an account count too.',
      registers,
    });
  }

  /** Adds a counter by one label. Its values are plain numbers, read at each scrape (see `DurationHistogram`). */
  countBy({ name, help, label, counts }: CountedBy): void {
    this.countByEach({ name, help, labels: [label], counts: () => counts().map(([value, count]) => [[value], count]) });
  }

  /** Adds a counter by several labels. Its values are plain numbers, read at each scrape. */
  countByEach({ name, help, labels, counts }: CountedByEach): void {
    const counter = new Counter({
      name,
      help,
      labelNames: labels,
      registers: [this.registry],
      collect: () => {
        counter.reset();
        for (const [values, count] of counts())
          counter.inc(Object.fromEntries(labels.map((label, place) => [label, values[place]!])), count);
      },
    });
  }

  /** Adds a counter whose value is read at each scrape. */
  count({ name, help, value }: Read): void {
    const counter = new Counter({
      name,
      help,
      registers: [this.registry],
      collect() {
        counter.reset();
        counter.inc(value());
      },
    });
  }

  /** Adds a gauge whose value is read at each scrape. While the value is undefined, the gauge has no sample. */
  gauge({ name, help, aggregator = 'sum', value }: ReadGauge): void {
    new Gauge({
      name,
      help,
      aggregator,
      registers: [this.registry],
      collect() {
        const found = value();
        // The sample is removed because a gauge starts at 0. With 0 the last audit would seem to have ended in 1970, and the alert
        // CoinopAuditOverdue would fire.
        if (found === undefined) this.remove();
        else this.set(found);
      },
    });
  }

  /** Adds a gauge with one label, whose values are read at each scrape. */
  gaugeByEach({ name, help, label, aggregator = 'sum', values }: ReadGaugeByEach): void {
    const gauge = new Gauge({
      name,
      help,
      aggregator,
      labelNames: [label],
      registers: [this.registry],
      collect: () => {
        gauge.reset();
        for (const [value, figure] of values()) gauge.set({ [label]: value }, figure);
      },
    });
  }

  refused(code: ErrorCode): void {
    this.#refusals.set(code, (this.#refusals.get(code) ?? 0) + 1);
  }

  /** The number of refusals since the start of the process, by error code. */
  get refusals(): ReadonlyMap<ErrorCode, number> {
    return this.#refusals;
  }

  accountCreated(by: 'install' | 'store'): void {
    this.#accountsCreated[by]++;
  }

  accountDeleted(): void {
    this.#accountsDeleted.inc();
  }

  /**
   * The function that records the answers of one route. It is made once, so that a request only increments numbers (see
   * `DurationHistogram`).
   */
  route(method: string, route: string): (status: number, milliseconds: number) => void {
    const observe = this.#requestDurations.series({ method, route });
    const byStatus = new Map<number, { count: number }>();
    return (status, milliseconds) => {
      let requests = byStatus.get(status);
      if (requests === undefined) {
        const counted = { labels: { method, route, status: String(status) }, count: 0 };
        this.#requests.push(counted);
        byStatus.set(status, counted);
        requests = counted;
      }
      requests.count++;
      observe(milliseconds);
    };
  }

  observeScript = (script: string, milliseconds: number): void => {
    let observe = this.#scripts.get(script);
    if (observe === undefined) {
      observe = this.#scriptDurations.series({ script });
      this.#scripts.set(script, observe);
    }
    observe(milliseconds);
  };
}

/**
 * Milliseconds for which an encoded metrics text is served again. Encoding it takes 2 ms, and the endpoint is public. Scrapers come only
 * every few seconds.
 */
export const METRICS_KEPT_MS = 1000;

interface Read {
  readonly name: string;
  readonly help: string;
  readonly value: () => number;
}

export interface ReadGauge extends Omit<Read, 'value'> {
  /** How the values of several workers are combined. */
  readonly aggregator?: 'sum' | 'max' | 'min';
  readonly value: () => number | undefined;
}

export interface ReadGaugeByEach extends Omit<ReadGauge, 'value'> {
  readonly label: string;
  readonly values: () => readonly (readonly [value: string, figure: number])[];
}

/** A counter by one label. */
export interface CountedBy {
  readonly name: string;
  readonly help: string;
  readonly label: string;
  /** Every value of the label with its count, even values with 0: Prometheus sees no increase in a series that starts at 1. */
  readonly counts: () => readonly (readonly [value: string, count: number])[];
}

/** A counter by several labels. */
export interface CountedByEach extends Omit<CountedBy, 'label' | 'counts'> {
  readonly labels: readonly string[];
  readonly counts: () => readonly (readonly [values: readonly string[], count: number])[];
}
