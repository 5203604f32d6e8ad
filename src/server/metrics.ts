import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { Counter, Gauge, Registry } from '@prometheus-io/client';
import { errors, type ErrorCode } from '../errors.ts';
import type { RedisFigures } from '../redis/figures.ts';
import { DurationHistogram } from './duration-histogram.ts';
import { uwsVersion } from './uws.ts';

/**
 * The service's metrics, in Prometheus's text format. Labels are route templates and fixed words, never a client's input: a
 * metric must not carry an installId, and the number of series must not grow with traffic.
 */
export class Metrics {
  readonly registry = new Registry();
  readonly #requests: { readonly labels: Record<'method' | 'route' | 'status', string>; count: number }[] = [];
  readonly #requestDurations: DurationHistogram;
  readonly #scriptDurations: DurationHistogram;
  readonly #refusals = new Map<ErrorCode, number>();
  readonly #accountsCreated = { install: 0, store: 0 };
  readonly #accountsDeleted: Counter;
  readonly coinsReplayed: Counter;

  /** @param version of the service */
  constructor(version: string) {
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
      help: 'Accounts deleted and erased: nothing but the tombstone is left. Guests that had moved into an account count too.',
      registers,
    });
    new Gauge({
      name: 'coinop_build_info',
      help: 'Always 1. The labels have the versions of the service, of Node and of uWebSockets.js.',
      labelNames: ['version', 'node', 'uws'],
      // Workers have the same versions. Their sum would be their number.
      aggregator: 'max',
      registers,
    }).set({ version, node: process.versions.node, uws: uwsVersion }, 1);
    new Gauge({
      name: 'process_start_time_seconds',
      help: 'Start of the process, in seconds since 1970; with several workers, of the youngest.',
      aggregator: 'max',
      registers,
    }).set(Math.round(performance.timeOrigin) / 1000);

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

  /** Adds a counter whose values are plain numbers, read at each scrape (for the reason that `DurationHistogram` gives). */
  countBy({ name, help, label, counts }: CountedBy): void {
    const counter = new Counter({
      name,
      help,
      labelNames: [label],
      registers: [this.registry],
      collect: () => {
        counter.reset();
        for (const [value, count] of counts()) counter.inc({ [label]: value }, count);
      },
    });
  }

  refused(code: ErrorCode): void {
    this.#refusals.set(code, (this.#refusals.get(code) ?? 0) + 1);
  }

  accountCreated(by: 'install' | 'store'): void {
    this.#accountsCreated[by]++;
  }

  accountDeleted(): void {
    this.#accountsDeleted.inc();
  }

  /** @param count called at each scrape; undefined while it is not known */
  watchDeletions(count: () => number | undefined): void {
    new Gauge({
      name: 'coinop_account_deletions_waiting',
      help: 'Deleted accounts that are not erased yet, some seconds ago.',
      // All workers count the same queue.
      aggregator: 'max',
      registers: [this.registry],
      collect() {
        const waiting = count();
        if (waiting !== undefined) this.set(waiting);
      },
    });
  }

  /** @param isUp called at each scrape */
  watchRedis(isUp: () => boolean): void {
    new Gauge({
      name: 'coinop_redis_up',
      help: 'Whether the process can run scripts in Redis, 0 or 1: on a Redis Cluster on any primary; with several workers, whether all can.',
      aggregator: 'min',
      registers: [this.registry],
      collect() {
        this.set(isUp() ? 1 : 0);
      },
    });
  }

  /** @param figures asked at each scrape. @param disk of the private Redis's data, if there is one */
  watchData(figures: () => Promise<readonly RedisFigures[]>, disk: () => DiskRoom | undefined): void {
    const registers = [this.registry];
    const perNode = (name: string, help: string, aggregator: 'max' | 'min', value: (node: RedisFigures) => number): void => {
      new Gauge({
        name,
        help,
        labelNames: ['node'],
        aggregator,
        registers,
        async collect() {
          const nodes = await figures();
          // A node that is away has no sample.
          this.reset();
          for (const of of nodes) this.set(of.node === undefined ? {} : { node: of.node }, value(of));
        },
      });
    };
    perNode('coinop_redis_memory_used_bytes', 'Memory that Redis uses (used_memory).', 'max', ({ usedBytes }) => usedBytes);
    perNode('coinop_redis_memory_max_bytes', 'maxmemory, or the memory of its machine.', 'min', ({ mostBytes }) => mostBytes);
    perNode('coinop_redis_takes_writes', 'Whether Redis takes writes, 0 or 1.', 'min', ({ takesWrites }) => (takesWrites ? 1 : 0));
    const ofDisk = (name: string, help: string, value: (room: DiskRoom) => number): void => {
      new Gauge({
        name,
        help,
        aggregator: 'min',
        registers,
        collect() {
          const room = disk();
          if (room === undefined) this.remove();
          else this.set(value(room));
        },
      });
    };
    ofDisk(
      'coinop_data_disk_free_bytes',
      'Room on the disk of DATA_DIR, where the private Redis keeps its data.',
      ({ freeBytes }) => freeBytes,
    );
    ofDisk('coinop_data_disk_size_bytes', 'Size of that disk.', ({ sizeBytes }) => sizeBytes);
  }

  /** @param isLost called at each scrape */
  watchLoss(isLost: () => boolean): void {
    new Gauge({
      name: 'coinop_data_lost',
      help: 'Whether Redis has other data than the process knows, 0 or 1: it lost its data, or has an older state. Nothing of it is served.',
      // One worker that knows is enough.
      aggregator: 'max',
      registers: [this.registry],
      collect() {
        this.set(isLost() ? 1 : 0);
      },
    });
  }

  /** @param everyHours AUDIT_EVERY_HOURS */
  watchAudit(everyHours: number, audit: WatchedAudit): void {
    const gauge = (name: string, help: string, value: () => number | undefined): void => {
      new Gauge({
        name,
        help,
        // The last audit of any process: all workers know the same, those that look later a little later.
        aggregator: 'max',
        registers: [this.registry],
        collect() {
          const found = value();
          // No value means no sample. The 0 with which a gauge begins would be an audit that ended in 1970: CoinopAuditOverdue would fire.
          if (found === undefined) this.remove();
          else this.set(found);
        },
      });
    };
    gauge('coinop_audit_interval_seconds', 'AUDIT_EVERY_HOURS in seconds.', () => everyHours * 3600);
    gauge('coinop_audit_last_run_timestamp_seconds', 'End of the last complete audit, in seconds since 1970.', () =>
      audit.last === undefined ? undefined : audit.last.endedAt / 1000,
    );
    gauge('coinop_audit_last_run_duration_seconds', 'Duration of the last complete audit.', () => audit.last?.seconds);
    gauge('coinop_audit_findings', 'Findings of the last complete audit: contradictions in the data.', () => audit.last?.findings);
    const failures = new Counter({
      name: 'coinop_audit_failures_total',
      help: 'Audits in the background that were not complete.',
      registers: [this.registry],
      collect() {
        failures.reset();
        failures.inc(audit.failures);
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

/** How long a metrics text is served again. Encoding it costs 2 ms, and the endpoint is public; scrapers come every few seconds. */
export const METRICS_KEPT_MS = 1000;

/** Room on a disk. */
export interface DiskRoom {
  readonly freeBytes: number;
  readonly sizeBytes: number;
}

/** What the metrics show of the audits in the background. */
export interface WatchedAudit {
  readonly last: { readonly endedAt: number; readonly seconds: number; readonly findings: number } | undefined;
  readonly failures: number;
}

/** A counter by one label. */
export interface CountedBy {
  readonly name: string;
  readonly help: string;
  readonly label: string;
  /** Every value of the label with its count, those with 0 too: Prometheus sees no increase in a series that begins with 1. */
  readonly counts: () => readonly (readonly [value: string, count: number])[];
}
