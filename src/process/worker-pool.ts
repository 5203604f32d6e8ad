import cluster, { type Worker } from 'node:cluster';
import { createServer } from 'node:net';
import type { Logger } from 'pino';
import { SettingError } from '../config.ts';
import { monotonic } from '../server/monotonic.ts';
import { OwnReservations, type ReservationBounds } from '../server/reservations.ts';
import type { Answered, Message, WorkerSettings } from './worker-messages.ts';
import { WorkerMetrics } from './worker-metrics.ts';

/**
 * The workers of a service, which its primary process runs. The pool starts workers, replaces workers that die, counts the reservations of
 * all workers together, merges their metrics, and stops them.
 */
export class WorkerPool {
  readonly #log: Logger;
  readonly #settings: WorkerSettings;
  readonly #reservations: OwnReservations;
  readonly #metrics = new WorkerMetrics();
  readonly #gathering = new Map<number, { missing: Set<number>; done: (text: string) => void }>();
  #started = false;
  #stopping = false;
  #nextGathering = 0;

  constructor(settings: WorkerSettings, bounds: ReservationBounds, log: Logger) {
    this.#settings = settings;
    this.#reservations = new OwnReservations(bounds, monotonic);
    this.#log = log;
  }

  /**
   * Resolves once all workers listen. If a worker cannot start, all other workers stop.
   * @throws SettingError if a worker ends before it listens
   */
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
    this.#tell(worker, { kind: 'settings', settings: this.#settings });
    const held: HeldReservations = { sockets: new Tally(), misses: new Tally(), hasEnded: false };
    return new Promise((resolve, reject) => {
      worker.on('message', (message: Message) => {
        if (message.kind === 'listening') resolve();
        if (message.kind === 'metrics-wanted')
          void this.metricsText().then((text) => this.#tell(worker, { kind: 'metrics', id: message.id, text }));
        if (message.kind === 'metrics-part' && !held.hasEnded) this.#take(message.id, worker.id, message.part);
        if (message.kind === 'reserve') this.#reserve(worker, held, message);
      });
      worker.once('exit', (code, signal) => {
        held.hasEnded = true;
        this.#metrics.ended(worker.id);
        for (const group of held.sockets.all()) this.#reservations.giveBack('sockets', group);
        for (const group of held.misses.all()) this.#reservations.spend('misses', group);
        reject(new SettingError(`a worker ended while it started (${signal ?? `code ${code}`})`));
        if (this.#stopping || !this.#started) return;
        this.#log.error({ code, signal, pid: worker.process.pid }, 'a worker ended, starting another');
        setTimeout(() => this.#stopping || this.#fork().catch(() => {}), 500);
      });
    });
  }

  #reserve(worker: Worker, held: HeldReservations, { asked, settled, unwritten }: Extract<Message, { kind: 'reserve' }>): void {
    // The worker's reservations were released when it ended. A message that arrives after the end must not be handled: it would release
    // some reservations twice, or make reservations that are never released.
    if (held.hasEnded) return;
    for (const [kind, group, isSpent] of settled) {
      if (isSpent) this.#reservations.spend(kind, group);
      else this.#reservations.giveBack(kind, group);
      if (kind !== 'creations') held[kind].count(group, -1);
    }
    for (const [kind, group, count] of unwritten) this.#reservations.giveBackDaily(kind, group, count);
    const answers: Answered[] = [];
    for (const wanted of asked) {
      if (wanted.length === 5) {
        const [id, ...budget] = wanted;
        // If the worker dies, these units stay used, because the worker may have written their data.
        const { count, waitMs } = this.#reservations.takeDaily(...budget);
        answers.push([id, waitMs, count]);
        continue;
      }
      const [id, kind, group] = wanted;
      const answer = (waitMs: number): Answered => {
        if (kind !== 'creations' && waitMs === 0) held[kind].count(group, 1);
        return [id, waitMs];
      };
      const waitMs = this.#reservations.take(kind, group);
      if (!(waitMs instanceof Promise)) answers.push(answer(waitMs));
      else
        void waitMs.then((found) => {
          if (!held.hasEnded) this.#tell(worker, { kind: 'reserved', answers: [answer(found)] });
          else if (found === 0) this.#reservations.giveBack(kind, group);
        });
    }
    if (answers.length > 0) this.#tell(worker, { kind: 'reserved', answers });
  }

  #tell(worker: Worker, message: Message): void {
    // The worker may be dead already. Without the callback Node would throw the error of `send`, which would end the primary.
    worker.send(message, () => {});
  }

  /** The metrics of all workers together, in the Prometheus text format. */
  metricsText(): Promise<string> {
    const id = this.#nextGathering++;
    const workers = Object.values(cluster.workers ?? {}).filter((worker): worker is Worker => worker?.isConnected() === true);
    return new Promise((done) => {
      this.#gathering.set(id, { missing: new Set(workers.map((worker) => worker.id)), done });
      for (const worker of workers) this.#tell(worker, { kind: 'metrics-ask', id });
      // A worker that hangs must not delay the metrics of the other workers.
      setTimeout(() => this.#finish(id), 1000).unref();
    });
  }

  #take(id: number, worker: number, part: unknown): void {
    this.#metrics.take(worker, part);
    const gathering = this.#gathering.get(id);
    if (gathering === undefined) return;
    gathering.missing.delete(worker);
    if (gathering.missing.size === 0) this.#finish(id);
  }

  #finish(id: number): void {
    const gathering = this.#gathering.get(id);
    if (gathering === undefined) return;
    this.#gathering.delete(id);
    void this.#metrics.text(gathering.missing).then(gathering.done, (error: unknown) => {
      this.#log.error({ err: error }, 'metrics of the workers could not be merged');
      gathering.done('');
    });
  }
}

/** Reservations of a worker that the primary process gives back or spends when the worker ends. */
interface HeldReservations extends Readonly<Record<'sockets' | 'misses', Tally>> {
  hasEnded: boolean;
}

/** A count for each name. */
class Tally {
  readonly #counts = new Map<string, number>();

  count(name: string, change: 1 | -1): void {
    const count = (this.#counts.get(name) ?? 0) + change;
    if (count > 0) this.#counts.set(name, count);
    else this.#counts.delete(name);
  }

  /** Yields each name as many times as it was counted. */
  *all(): Iterable<string> {
    for (const [name, count] of this.#counts) for (let index = 0; index < count; index++) yield name;
  }
}

/**
 * The port on which the workers listen. It is `port`, after a check that the port is free; if `port` is 0, it is a free port.
 * @throws SettingError if the port is taken or the machine does not have the address
 */
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
