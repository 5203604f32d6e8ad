import type { Daily, Granted, Reservations, Reserved } from '../server/reservations.ts';
import type { Answered, Asked, Message, Settled, Unwritten, WorkerSettings } from './worker-messages.ts';

/** The worker's end of the message channel to the primary process. The primary process counts the worker's reservations. */
export class PrimaryConnection implements Reservations {
  readonly #waiting = new Map<number, (text: string) => void>();
  readonly #reserving = new Map<number, (answer: Answered) => void>();
  #asked: Asked[] = [];
  #settled: Settled[] = [];
  #unwritten: Unwritten[] = [];
  #nextId = 0;
  #ownMetrics: () => Promise<unknown> = async () => [];

  /** Resolves with the settings once the primary process has sent them. */
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
          for (const answer of message.answers) {
            this.#reserving.get(answer[0])?.(answer);
            this.#reserving.delete(answer[0]);
          }
        }
      });
    });
  }

  listening(ownMetrics: () => Promise<unknown>): void {
    this.#ownMetrics = ownMetrics;
    this.#send({ kind: 'listening' });
  }

  /** The metrics of all workers together, in the Prometheus text format. */
  metricsText(): Promise<string> {
    const id = this.#nextId++;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#send({ kind: 'metrics-wanted', id });
    });
  }

  take(kind: Reserved, group: string): Promise<number> {
    return this.#ask((id) => [id, kind, group]).then(([, waitMs]) => waitMs);
  }

  takeDaily(kind: Daily, group: string, least: number, most: number): Promise<Granted> {
    return this.#ask((id) => [id, kind, group, least, most]).then(([, waitMs, count = 0]) => ({ count, waitMs }));
  }

  giveBackDaily(kind: Daily, group: string, count: number): void {
    this.#sendSoon();
    this.#unwritten.push([kind, group, count]);
  }

  #ask(askedWith: (id: number) => Asked): Promise<Answered> {
    const id = this.#nextId++;
    this.#sendSoon();
    this.#asked.push(askedWith(id));
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

  /** Sends all reservations and settlements from one turn of the event loop in one message. */
  #sendSoon(): void {
    if (this.#asked.length + this.#settled.length + this.#unwritten.length > 0) return;
    setImmediate(() => {
      this.#send({ kind: 'reserve', asked: this.#asked, settled: this.#settled, unwritten: this.#unwritten });
      this.#asked = [];
      this.#settled = [];
      this.#unwritten = [];
    });
  }

  #send(message: Message): void {
    process.send?.(message);
  }
}
