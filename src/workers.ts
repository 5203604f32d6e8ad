import cluster, { type Worker } from 'node:cluster';
import { createServer } from 'node:net';
import { AggregatorRegistry } from '@prometheus-io/client';
import type { Logger } from 'pino';
import { SettingError } from './config.ts';
import type { RedisLocation } from './redis/connect.ts';

/** What a worker is told once it is up. */
export interface WorkerOrders {
  redis: RedisLocation;
  /** As SESSION_KEYS takes them. */
  sessionKeys: string;
  port: number;
}

type Message =
  | { kind: 'orders'; orders: WorkerOrders }
  | { kind: 'listening' }
  | { kind: 'metrics-wanted'; id: number }
  | { kind: 'metrics-ask'; id: number }
  | { kind: 'metrics-part'; id: number; part: unknown }
  | { kind: 'metrics'; id: number; text: string };

/** The primary: starts the workers, starts again those that die, gathers their metrics, stops them. */
export class WorkerPool {
  readonly #log: Logger;
  readonly #orders: WorkerOrders;
  readonly #gathering = new Map<number, { parts: unknown[]; missing: number; done: (text: string) => void }>();
  #started = false;
  #stopping = false;
  #nextGathering = 0;

  constructor(orders: WorkerOrders, log: Logger) {
    this.#orders = orders;
    this.#log = log;
  }

  /** Resolves once all of them listen; one that cannot start stops the others. */
  async start(count: number): Promise<void> {
    try {
      await Promise.all(Array.from({ length: count }, () => this.#fork()));
      this.#started = true;
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
    await Promise.all(
      workers.map((worker) => {
        const exited = new Promise((resolve) => worker.once('exit', resolve));
        worker.process.kill('SIGTERM');
        return exited;
      }),
    );
  }

  #fork(): Promise<void> {
    const worker = cluster.fork();
    worker.send({ kind: 'orders', orders: this.#orders } satisfies Message);
    return new Promise((resolve, reject) => {
      worker.on('message', (message: Message) => {
        if (message.kind === 'listening') resolve();
        if (message.kind === 'metrics-wanted')
          void this.#gather().then((text) => worker.send({ kind: 'metrics', id: message.id, text } satisfies Message));
        if (message.kind === 'metrics-part') this.#take(message.id, message.part);
      });
      worker.once('exit', (code, signal) => {
        reject(new SettingError(`a worker ended while it started (${signal ?? `code ${code}`})`));
        if (this.#stopping || !this.#started) return;
        this.#log.error({ code, signal, pid: worker.process.pid }, 'a worker ended, starting another');
        setTimeout(() => this.#stopping || this.#fork().catch(() => {}), 500);
      });
    });
  }

  #gather(): Promise<string> {
    const id = this.#nextGathering++;
    const workers = Object.values(cluster.workers ?? {}).filter((worker): worker is Worker => worker?.isConnected() === true);
    return new Promise((done) => {
      this.#gathering.set(id, { parts: [], missing: workers.length, done });
      for (const worker of workers) worker.send({ kind: 'metrics-ask', id } satisfies Message);
      // A worker that hangs must not hide the others.
      setTimeout(() => this.#finish(id), 1000).unref();
    });
  }

  #take(id: number, part: unknown): void {
    const gathering = this.#gathering.get(id);
    if (gathering === undefined) return;
    gathering.parts.push(part);
    if (gathering.parts.length === gathering.missing) this.#finish(id);
  }

  #finish(id: number): void {
    const gathering = this.#gathering.get(id);
    if (gathering === undefined) return;
    this.#gathering.delete(id);
    void AggregatorRegistry.aggregate(gathering.parts as never)
      .metrics()
      .then(gathering.done, (error: unknown) => {
        this.#log.error({ err: error }, 'metrics of the workers could not be added up');
        gathering.done('');
      });
  }
}

/** A worker's line to the primary. */
export class WorkerLine {
  readonly #waiting = new Map<number, (text: string) => void>();
  #nextId = 0;
  #ownMetrics: () => Promise<unknown> = async () => [];

  /** Waits for orders. */
  orders(): Promise<WorkerOrders> {
    return new Promise((resolve) => {
      process.on('message', (message: Message) => {
        if (message.kind === 'orders') resolve(message.orders);
        if (message.kind === 'metrics-ask')
          void this.#ownMetrics().then((part) => this.#send({ kind: 'metrics-part', id: message.id, part }));
        if (message.kind === 'metrics') {
          this.#waiting.get(message.id)?.(message.text);
          this.#waiting.delete(message.id);
        }
      });
    });
  }

  listening(ownMetrics: () => Promise<unknown>): void {
    this.#ownMetrics = ownMetrics;
    this.#send({ kind: 'listening' });
  }

  /** Prometheus text of all workers together. */
  metricsText(): Promise<string> {
    const id = this.#nextId++;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#send({ kind: 'metrics-wanted', id });
    });
  }

  #send(message: Message): void {
    process.send?.(message);
  }
}

/** A port that the workers can share: checked to be free, or picked by the system for 0. */
export function reservePort(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', () =>
      reject(new SettingError(`cannot listen on ${host}:${port}: the port is taken, or the address is not this machine's`)),
    );
    probe.listen({ host, port, exclusive: true }, () => {
      const { port: found } = probe.address() as { port: number };
      probe.close(() => resolve(found));
    });
  });
}
