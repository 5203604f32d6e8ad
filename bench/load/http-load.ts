import { ready, tell } from '../processes/parent.ts';
import { Connection, type ConnectionUser } from './connection.ts';
import { Numbers } from './numbers.ts';
import type { LoadNews, LoadOrder, LoadOutcome } from './order.ts';
import { requestMaker, type RequestMaker } from './requests.ts';

/** The load generator runs one order at a time. Opening and closing are separate steps, because they are not measured. */
let load: Load | undefined;
ready(
  {},
  {
    open: (order: LoadOrder) => (load = new Load(order)).open(),
    run: () => load!.run(),
    close: () => load!.close(),
  },
);

/** Timeout for the responses after the last request. */
const LAST_ANSWERS_MS = 5000;

/** Sleep between two looks at the schedule. Node's timers have a resolution of 1 ms, which is too coarse. */
const SCHEDULE_STEP_MS = 0.1;

/** Interval of the news of a watched load. */
const NEWS_MS = 1000;

/** Pause between attempts to reconnect. */
const RECONNECT_MS = 250;

/** Open connections of orders with `keepsConnections`, by address. */
const kept = new Map<string, readonly Connection[]>();

class Load {
  readonly #order: LoadOrder;
  readonly #maker: RequestMaker;
  readonly #connections: readonly Connection[];
  readonly #new: readonly Connection[];
  readonly #idle: Connection[] = [];
  readonly #latencies = new Numbers(Float64Array);
  readonly #acknowledged = new Numbers(Uint32Array);
  readonly #unanswered = new Numbers(Uint32Array);
  readonly #failures: Record<string, number> = {};
  #next: number;
  #busy = 0;
  #sending = true;
  #lastAnswerAt = 0;
  #drained: (() => void) | undefined;

  constructor(order: LoadOrder) {
    this.#order = order;
    this.#maker = requestMaker(order);
    this.#next = order.from;
    const url = new URL(order.url);
    const open = (kept.get(order.url) ?? []).filter(({ isOpen, isBusy }) => isOpen && !isBusy);
    const user: ConnectionUser = {
      answered: (connection, status) => this.#answered(connection, status),
      lost: (connection) => this.#lost(connection),
    };
    for (const connection of open) connection.handTo(user);
    this.#new = Array.from({ length: order.connections - open.length }, () => new Connection(url, user));
    this.#connections = [...open, ...this.#new];
  }

  async open(): Promise<void> {
    // Opens few at a time, because the accept queue of a listening socket is short.
    for (let start = 0; start < this.#new.length; start += 50) {
      await Promise.all(this.#new.slice(start, start + 50).map((connection) => connection.open()));
    }
  }

  async run(): Promise<LoadOutcome> {
    const startedAt = performance.now();
    const watching = this.#order.isWatched === true ? setInterval(() => tell(this.#news(startedAt)), NEWS_MS) : undefined;
    const endsAt = startedAt + this.#order.seconds * 1000;
    const { rate } = this.#order;
    if (rate === undefined) await this.#closedLoop(endsAt);
    else await this.#openLoop(rate, startedAt, endsAt);
    this.#sending = false;
    await this.#lastAnswers();
    clearInterval(watching);
    for (const connection of this.#connections) {
      const operation = connection.isBusy ? this.#maker.operation(connection.number) : undefined;
      if (operation !== undefined) this.#unanswered.push(operation);
    }
    return {
      done: this.#latencies.size,
      seconds: (this.#lastAnswerAt - startedAt) / 1000,
      failures: this.#failures,
      acknowledged: this.#acknowledged.values(),
      unanswered: this.#unanswered.values(),
      next: this.#next,
      latencies: this.#latencies.values().sort(),
    };
  }

  close(): void {
    const { url, keepsConnections = false } = this.#order;
    if (keepsConnections) kept.set(url, this.#connections);
    else for (const connection of this.#connections) connection.close();
  }

  #news(startedAt: number): LoadNews {
    const answers = { ...(this.#latencies.size > 0 ? { 'status 200': this.#latencies.size } : {}), ...this.#failures };
    return { seconds: (performance.now() - startedAt) / 1000, sent: this.#next - this.#order.from, answers };
  }

  /** Each connection sends its next request after the response to the last one. */
  async #closedLoop(endsAt: number): Promise<void> {
    for (const connection of this.#connections.slice(0, this.#order.count)) this.#sendNext(connection);
    while (this.#sending && performance.now() < endsAt) {
      await new Promise((resolve) => setTimeout(resolve, Math.min(20, endsAt - performance.now())));
    }
  }

  /** Request n is due n / rate seconds after the start, even when earlier responses are outstanding. */
  async #openLoop(rate: number, startedAt: number, endsAt: number): Promise<void> {
    this.#idle.push(...this.#connections);
    const nap = new Int32Array(new SharedArrayBuffer(4));
    let sent = 0;
    for (let now = performance.now(); now < endsAt && this.#sending; now = performance.now()) {
      // When no connection is free the request is sent late. Latency counts from the due time, so the delay is included.
      for (let due = startedAt + (sent * 1000) / rate; due <= now && this.#idle.length > 0; due = startedAt + (++sent * 1000) / rate) {
        this.#sendNext(this.#idle.pop()!, due);
      }
      Atomics.wait(nap, 0, 0, SCHEDULE_STEP_MS);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  #sendNext(connection: Connection, due?: number): void {
    const number = this.#next++;
    connection.number = number;
    connection.since = due ?? performance.now();
    connection.isBusy = true;
    this.#busy++;
    connection.send(this.#maker.text(number));
  }

  #answered(connection: Connection, status: number): void {
    this.#free(connection);
    if (status === 200) {
      this.#latencies.push(this.#lastAnswerAt - connection.since);
      const operation = this.#maker.operation(connection.number);
      if (operation !== undefined) this.#acknowledged.push(operation);
    } else {
      this.#fail(`status ${status}`);
    }
    this.#goOn(connection);
  }

  #lost(connection: Connection): void {
    const idle = this.#idle.indexOf(connection);
    if (idle !== -1) this.#idle.splice(idle, 1);
    if (connection.isBusy) {
      this.#free(connection);
      this.#fail('connection lost');
      const operation = this.#maker.operation(connection.number);
      if (operation !== undefined) this.#unanswered.push(operation);
      if (this.#busy === 0) this.#drained?.();
    }
    if (this.#sending) this.#reopen(connection);
  }

  #reopen(connection: Connection): void {
    connection.open().then(
      () => this.#goOn(connection),
      () => {
        this.#fail('cannot connect');
        if (this.#order.isWatched !== true) this.#sending = false;
        else if (this.#sending) setTimeout(() => this.#reopen(connection), RECONNECT_MS);
      },
    );
  }

  #free(connection: Connection): void {
    connection.isBusy = false;
    this.#busy--;
    this.#lastAnswerAt = performance.now();
  }

  #goOn(connection: Connection): void {
    const { count = Infinity, from, rate } = this.#order;
    if (this.#next - from >= count) this.#sending = false;
    if (this.#sending && rate === undefined) return this.#sendNext(connection);
    this.#idle.push(connection);
    if (this.#busy === 0) this.#drained?.();
  }

  #fail(what: string): void {
    this.#failures[what] = (this.#failures[what] ?? 0) + 1;
  }

  async #lastAnswers(): Promise<void> {
    if (this.#busy === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, LAST_ANSWERS_MS);
      this.#drained = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
