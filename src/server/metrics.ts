import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, Gauge, Registry } from '@prometheus-io/client';
import { DurationHistogram } from './duration-histogram.ts';

/**
 * The service's metrics, in Prometheus's text format. Labels are route templates and fixed words, never a client's input: a
 * metric must not carry an installId, and the number of series must not grow with traffic.
 */
export class Metrics {
  readonly registry = new Registry();
  readonly #requests: { readonly labels: Record<'method' | 'route' | 'status', string>; count: number }[] = [];
  readonly #requestDurations: DurationHistogram;
  readonly #scriptDurations: DurationHistogram;
  readonly coinsReplayed: Counter;

  constructor() {
    const registers = [this.registry];
    const requests = new Counter({
      name: 'coinop_http_requests_total',
      help: 'Requests answered; status 0: the client disconnected first.',
      labelNames: ['method', 'route', 'status'],
      registers,
      // Counted in plain numbers, for the reason that `DurationHistogram` gives.
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
      help: 'Coin operations sent again with a key already used.',
      registers,
    });

    const delay = monitorEventLoopDelay({ resolution: 10 });
    delay.enable();
    new Gauge({
      name: 'coinop_event_loop_lag_seconds',
      help: 'Delay of the event loop since the last scrape, 99th percentile; with several workers, the longest.',
      aggregator: 'max',
      registers,
      collect() {
        // The monitor counts its resolution of 10 ms as delay.
        this.set(Math.max(0, (delay.percentile(99) || 0) / 1e9 - 0.01));
        delay.reset();
      },
    });
    new Gauge({
      name: 'process_resident_memory_bytes',
      help: 'Resident memory size in bytes.',
      registers,
      collect() {
        this.set(process.memoryUsage.rss());
      },
    });
    const cpu = new Counter({
      name: 'process_cpu_seconds_total',
      help: 'Total user and system CPU time spent in seconds.',
      registers,
      collect() {
        const { user, system } = process.cpuUsage();
        cpu.reset();
        cpu.inc((user + system) / 1e6);
      },
    });
  }

  /** @param count called at each scrape */
  countInFlight(count: () => number): void {
    new Gauge({
      name: 'coinop_http_requests_in_flight',
      help: 'Requests taken and not yet answered, probes and long-polls aside.',
      registers: [this.registry],
      collect() {
        this.set(count());
      },
    });
  }

  /** @param count called at each scrape */
  countSockets(count: () => number): void {
    new Gauge({
      name: 'coinop_live_sockets',
      help: 'WebSockets open on live channels.',
      registers: [this.registry],
      collect() {
        this.set(count());
      },
    });
  }

  /** The recorder of one route, looked up once: a request then only increments numbers (see `DurationHistogram`). */
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

  readonly #scripts = new Map<string, (milliseconds: number) => void>();

  observeScript = (script: string, milliseconds: number): void => {
    let observe = this.#scripts.get(script);
    if (observe === undefined) {
      observe = this.#scriptDurations.series({ script });
      this.#scripts.set(script, observe);
    }
    observe(milliseconds);
  };
}
