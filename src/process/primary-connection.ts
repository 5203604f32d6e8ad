import type { Reservations, Reserved } from '../server/reservations.ts';
import type { Asked, Message, Settled, WorkerSettings } from './worker-messages.ts';

/** The worker's side of the connection to the primary. The primary makes the worker's reservations. */
export class PrimaryConnection implements Reservations {
  readonly #waiting = new Map<number, (text: string) => void>();
  readonly #reserving = new Map<number, (waitMs: number) => void>();
  #asked: Asked[] = [];
  #settled: Settled[] = [];
  #nextId = 0;
  #ownMetrics: () => Promise<unknown> = async () => [];

  /** Resolves when the primary has sent the settings. */
  settings(): Promise<WorkerSettings> {
    return new Promise((resolve) => {
      process.on('message', (message: Message) => {
        if (message.kind === 'settings') resolve(message.settings);
        if (message.kind === 'metrics-ask')
          void this.#ownMetrics().then((part) => this.#send({ kind: 'metrics-part', id: message.id, part }));
        if (message.kind === 'metrics') {
          this.#waiting.get(message.id)?.(message.text);
          this.#waiting.delete(message.id);
        }
        if (message.kind === 'reserved') {
          for (const [id, waitMs] of message.answers) {
            this.#reserving.get(id)?.(waitMs);
            this.#reserving.delete(id);
          }
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

  take(kind: Reserved, group: string): Promise<number> {
    const id = this.#nextId++;
    this.#sendSoon();
    this.#asked.push([id, kind, group]);
    return new Promise((resolve) => this.#reserving.set(id, resolve));
  }

  giveBack(kind: Reserved, group: string): void {
    this.#settle(kind, group, false);
  }

  spend(kind: Reserved, group: string): void {
    if (kind === 'misses') this.#settle(kind, group, true);
  }

  #settle(kind: Reserved, group: string, isSpent: boolean): void {
    this.#sendSoon();
    this.#settled.push([kind, group, isSpent]);
  }

  /** Sends all reservations and settlements of one turn of the event loop in one message. */
  #sendSoon(): void {
    if (this.#asked.length + this.#settled.length > 0) return;
    setImmediate(() => {
      this.#send({ kind: 'reserve', asked: this.#asked, settled: this.#settled });
      this.#asked = [];
      this.#settled = [];
    });
  }

  #send(message: Message): void {
    process.send?.(message);
  }
}
