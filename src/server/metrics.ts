import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, Gauge, Histogram, Registry } from '@prometheus-io/client';

const REQUEST_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 30];

/**
 * What the service counts, in Prometheus's text format. Labels are route templates and words, never what a client sent:
 * a metric must not carry an installId, nor grow with traffic.
 */
export class Metrics {
  readonly registry = new Registry();
  readonly #requests: Counter<'method' | 'route' | 'status'>;
  readonly #requestSeconds: Histogram<'method' | 'route'>;
  readonly #redisSeconds: Histogram<'script'>;
  readonly coinsReplayed: Counter;

  constructor() {
    const registers = [this.registry];
    this.#requests = new Counter({
      name: 'coinop_http_requests_total',
      help: 'Requests answered; status 0: the client went away first.',
      labelNames: ['method', 'route', 'status'],
      registers,
    });
    this.#requestSeconds = new Histogram({
      name: 'coinop_http_request_duration_seconds',
      help: 'From the request line to the answer handed to the socket.',
      labelNames: ['method', 'route'],
      buckets: REQUEST_SECONDS,
      registers,
    });
    this.#redisSeconds = new Histogram({
      name: 'coinop_redis_script_duration_seconds',
      help: 'Round trip of one script.',
      labelNames: ['script'],
      buckets: REQUEST_SECONDS,
      registers,
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
      help: 'How late the event loop ran since the last scrape, 99th percentile; of several workers the latest.',
      aggregator: 'max',
      registers,
      collect() {
        // The monitor counts the resolution itself as delay.
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

  /** Requests in flight are asked for at each scrape. */
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

  /** Sockets, likewise. */
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

  /** Counters of one route, looked up once: the request path only increments. */
  route(method: string, route: string): (status: number, milliseconds: number) => void {
    const seconds = this.#requestSeconds.labels({ method, route });
    const byStatus = new Map<number, { inc(): void }>();
    return (status, milliseconds) => {
      let counter = byStatus.get(status);
      if (counter === undefined) {
        counter = this.#requests.labels({ method, route, status: String(status) });
        byStatus.set(status, counter);
      }
      counter.inc();
      seconds.observe(milliseconds / 1000);
    };
  }

  readonly #scripts = new Map<string, { observe(seconds: number): void }>();

  observeScript = (script: string, milliseconds: number): void => {
    let seconds = this.#scripts.get(script);
    if (seconds === undefined) {
      seconds = this.#redisSeconds.labels({ script });
      this.#scripts.set(script, seconds);
    }
    seconds.observe(milliseconds / 1000);
  };
}
