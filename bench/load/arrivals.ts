import { connect, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { monotonicMs } from '../measure/clock.ts';
import { ready } from '../processes/parent.ts';
import { LOST, SERVED, UNANSWERED, UNSENT, type Arrivals, type ArrivalsOrder, type Pace } from './arrivals-order.ts';
import { Numbers } from './numbers.ts';
import { requestMaker, type RequestMaker } from './requests.ts';

/** A child process that sends requests on a fixed schedule. The parent changes the rate while it runs. */
let sender: Sender | undefined;
ready(
  {},
  {
    open: (order: ArrivalsOrder) => (sender = new Sender(order)).open(),
    start: (pace: Pace) => sender!.start(pace),
    pace: (pace: Pace) => sender!.setPace(pace),
    stop: () => sender!.stop(),
    close: () => sender!.close(),
  },
);

/** All connections read into this buffer, which saves an allocation a read. Every read is parsed before the next one. */
const shared = Buffer.allocUnsafe(64 * 1024);

/** Sleep between two looks at the schedule. Node's timers have a resolution of 1 ms, which is too coarse. */
const STEP_MS = 0.1;

/** Most requests sent at a time: more would keep arrived answers waiting. Further due requests are sent at the next look. */
const MOST_AT_ONCE = 256;

/** More connections at a time would wait in the server's accept queue and time out there. */
const OPENED_AT_ONCE = 100;

/** The service answers a request within 2 s, also when Redis does not. */
const LAST_ANSWERS_MS = 3000;

const RECONNECT_MS = 100;

const CLOSE = /\nconnection: *close\r/i;

/** A keep-alive connection with one request at a time. */
class Line {
  readonly #sender: Sender;
  readonly #url: URL;
  #socket!: Socket;
  #rest: Buffer | undefined;
  #isClosing = false;
  number = 0;
  due = 0;
  isBusy = false;

  constructor(sender: Sender, url: URL) {
    this.#sender = sender;
    this.#url = url;
  }

  open(): Promise<void> {
    const callback = (length: number): boolean => {
      this.#read(shared.subarray(0, length));
      return true;
    };
    return new Promise((resolve, reject) => {
      const { hostname, port } = this.#url;
      const socket = connect({ host: hostname, port: Number(port), noDelay: true, onread: { buffer: shared, callback } }, resolve);
      this.#socket = socket;
      socket.on('error', reject);
      socket.on('close', () => {
        this.#rest = undefined;
        if (!this.#isClosing && socket === this.#socket) this.#sender.lost(this);
      });
    });
  }

  send(text: string): void {
    this.#socket.write(text, 'latin1');
  }

  close(): void {
    this.#isClosing = true;
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    const bytes = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]);
    const text = bytes.toString('latin1');
    // Every answer of the service to this load is a JSON object, so the text ends with its brace.
    const headEnd = text.indexOf('\r\n\r\n');
    const isWhole = headEnd > 0 && text.length > headEnd + 4 && text.trimEnd().endsWith('}');
    this.#rest = isWhole ? undefined : Buffer.from(bytes);
    if (isWhole) this.#sender.answered(this, text);
  }
}

class Sender {
  readonly #order: ArrivalsOrder;
  readonly #maker: RequestMaker;
  readonly #lines: readonly Line[];
  readonly #idle: Line[] = [];
  readonly #kinds: string[] = [SERVED, LOST, UNSENT, UNANSWERED];
  readonly #numbers = new Numbers(Uint32Array);
  readonly #kindOf = new Numbers(Uint32Array);
  readonly #due = new Numbers(Float64Array);
  readonly #latencies = new Numbers(Float64Array);
  readonly #lags = new Numbers(Float64Array);
  #next: number;
  #pace: Pace = { rate: 0 };
  /** When the present pace began, and the number of requests since then. */
  #since = 0;
  #count = 0;
  #busy = 0;
  #sending: Promise<void> | undefined;
  #isClosing = false;

  constructor(order: ArrivalsOrder) {
    this.#order = order;
    this.#next = order.from;
    this.#maker = requestMaker({ ...order, seconds: 0 });
    const url = new URL(order.url);
    this.#lines = Array.from({ length: order.connections }, () => new Line(this, url));
  }

  async open(): Promise<void> {
    for (let from = 0; from < this.#lines.length; from += OPENED_AT_ONCE) {
      await Promise.all(this.#lines.slice(from, from + OPENED_AT_ONCE).map((line) => line.open()));
    }
    this.#idle.push(...this.#lines);
  }

  /** @returns when the first request is due, on the clock of `monotonicMs` */
  start(pace: Pace): number {
    const since = this.setPace(pace);
    this.#sending = this.#send();
    return since;
  }

  /** @returns when the first request at this pace is due */
  setPace(pace: Pace): number {
    this.#pace = pace;
    this.#count = 0;
    return (this.#since = monotonicMs());
  }

  /** Sends no more, and waits for the last answers. */
  async stop(): Promise<Arrivals> {
    this.#pace = { rate: 0 };
    await this.#sending;
    const giveUpAt = monotonicMs() + (this.#order.lastAnswersMs ?? LAST_ANSWERS_MS);
    while (this.#busy > 0 && monotonicMs() < giveUpAt) await new Promise((resolve) => setTimeout(resolve, 5));
    for (const line of this.#lines) if (line.isBusy) this.#ended(line.number, UNANSWERED, line.due, Number.NaN);
    const [numbers, kindOf, due] = [this.#numbers.values(), this.#kindOf.values(), this.#due.values()];
    const arrivals = { numbers, kindOf, due, latencies: this.#latencies.values(), lags: this.#lags.values(), kinds: [...this.#kinds] };
    for (const list of [this.#numbers, this.#kindOf, this.#due, this.#latencies, this.#lags]) list.size = 0;
    return { ...arrivals, next: this.#next };
  }

  close(): void {
    this.#isClosing = true;
    for (const line of this.#lines) line.close();
  }

  answered(line: Line, text: string): void {
    if (!line.isBusy) return;
    const status = text.slice(9, 12);
    const kind = status === '200' ? SERVED : (/"code":"(\w+)"/.exec(text)?.[1] ?? `status ${status}`);
    this.#free(line, kind);
    // A connection that the server closes is opened again once it is closed.
    if (!CLOSE.test(text)) this.#idle.push(line);
  }

  lost(line: Line): void {
    const place = this.#idle.indexOf(line);
    if (place >= 0) this.#idle.splice(place, 1);
    if (line.isBusy) this.#free(line, LOST);
    this.#reopen(line);
  }

  #reopen(line: Line): void {
    if (this.#isClosing) return;
    line.open().then(
      () => this.#idle.push(line),
      () => setTimeout(() => this.#reopen(line), RECONNECT_MS),
    );
  }

  #free(line: Line, kind: string): void {
    line.isBusy = false;
    this.#busy--;
    this.#ended(line.number, kind, line.due, monotonicMs() - line.due);
  }

  #ended(number: number, kind: string, due: number, latency: number): void {
    let index = this.#kinds.indexOf(kind);
    if (index < 0) index = this.#kinds.push(kind) - 1;
    this.#numbers.push(number);
    this.#kindOf.push(index);
    this.#due.push(due);
    this.#latencies.push(latency);
  }

  /** Request n is due n / rate seconds after the last change of the pace, or with the first of its burst. */
  async #send(): Promise<void> {
    const nap = new Int32Array(new SharedArrayBuffer(4));
    while (this.#pace.rate > 0) {
      const now = monotonicMs();
      let sent = 0;
      for (let due = this.#nextDue(); due <= now && sent < MOST_AT_ONCE; due = this.#nextDue(), sent++) {
        this.#count++;
        const line = this.#idle.pop();
        if (line === undefined) this.#ended(0, UNSENT, due, Number.NaN);
        else this.#sendOn(line, due, now - due);
      }
      // Without a nap the sender would take a core even at a low rate.
      if (sent < MOST_AT_ONCE) Atomics.wait(nap, 0, 0, STEP_MS);
      await setImmediate();
    }
  }

  #nextDue(): number {
    const { rate, burst = 1 } = this.#pace;
    return this.#since + (Math.floor(this.#count / burst) * burst * 1000) / rate;
  }

  #sendOn(line: Line, due: number, lag: number): void {
    line.number = this.#next++;
    line.due = due;
    line.isBusy = true;
    this.#busy++;
    this.#lags.push(lag);
    line.send(this.#maker.text(line.number));
  }
}
