import { setTimeout as delay } from 'node:timers/promises';
import { frame, opcodes, RawSocket } from './raw-socket.ts';
import { PATIENCE_MS } from '../patience.ts';

/** A message of a live channel. */
// The tests check its shape themselves, by value.
// oxlint-disable-next-line no-explicit-any
export type Message = any;

export interface WatchOptions {
  readonly cookies?: string;
  readonly headers?: Record<string, string>;
}

/** A client of a live channel. It stores every message, and can wait for later ones. */
export class Watcher {
  readonly messages: Message[] = [];
  readonly closed: Promise<{ code: number; reason: string }>;
  /** Messages whose `seq` did not rise, or differed from that of their room. */
  readonly faults: string[] = [];
  /** The latest state. */
  last: Message;
  readonly #socket: RawSocket;
  readonly #waiting = new Set<() => void>();

  /** Resolves once the socket is open. */
  static async open(url: string, path: string, { cookies, headers }: WatchOptions = {}): Promise<Watcher> {
    const early: Buffer[] = [];
    let take = (text: Buffer): unknown => early.push(Buffer.from(text));
    const own = cookies === undefined ? headers : { ...headers, cookie: cookies };
    const socket = await RawSocket.open(Number(new URL(url).port), path, own, (text) => void take(text));
    if (socket.status !== 101) throw new Error(`no channel at ${path}`);
    const watcher = new Watcher(socket);
    take = (text) => watcher.#take(JSON.parse(text.toString()));
    early.forEach(take);
    return watcher;
  }

  private constructor(socket: RawSocket) {
    this.#socket = socket;
    this.closed = socket.ended.then(() => {
      for (const look of this.#waiting) look();
      return socket.closeFrame ?? { code: 1006, reason: '' };
    });
  }

  get isClosed(): boolean {
    return this.#socket.isClosed;
  }

  get states(): Message[] {
    return this.messages.filter(({ type }) => type === 'room' || type === 'pair');
  }

  /** The first message that matches, past or future. */
  until(matches: (message: Message) => boolean, patienceMs = PATIENCE_MS): Promise<Message> {
    return new Promise((resolve, reject) => {
      const fail = (reason: string): void =>
        finish(() => reject(new Error(`${reason}: ${String(matches)}; last: ${JSON.stringify(this.messages.at(-1))}`)));
      const timer = setTimeout(() => fail(`not within ${patienceMs} ms`), patienceMs);
      const finish = (settle: () => void): void => {
        clearTimeout(timer);
        this.#waiting.delete(look);
        settle();
      };
      const look = (): void => {
        const found = this.messages.find(matches);
        if (found !== undefined) finish(() => resolve(found));
        else if (this.isClosed) fail(`closed with ${this.#socket.closeCode ?? 1006} before`);
      };
      this.#waiting.add(look);
      look();
    });
  }

  /** The room of the first message with this `seq` or a later one. */
  async reaches(seq: number, patienceMs?: number): Promise<Message> {
    return (await this.until((message) => message.type === 'room' && message.seq >= seq, patienceMs)).room;
  }

  send(message: unknown): void {
    if (message instanceof Uint8Array) this.#socket.write(frame(opcodes.binary, Buffer.from(message)));
    else this.#socket.text(message as string | object);
  }

  /** Sends a hello, and resolves with its answer. */
  hello(who: string | object, tab?: string): Promise<Message> {
    const before = this.messages.length;
    this.send({ type: 'hello', ...(typeof who === 'string' ? { installId: who } : who), tab });
    return this.until((message) => this.messages.indexOf(message) >= before && (message.type === 'welcome' || message.type === 'error'));
  }

  async close(): Promise<void> {
    this.#socket.write(frame(opcodes.close, Buffer.from([3, 232])));
    await this.closed;
  }

  #take(message: Message): void {
    if (message.type === 'room') {
      if (this.last !== undefined && message.seq <= this.last.seq) this.faults.push(`seq ${message.seq} after ${this.last.seq}`);
      if (message.seq !== message.room.seq) this.faults.push(`seq ${message.seq} with a room of ${message.room.seq}`);
    }
    if (message.type === 'room' || message.type === 'pair') this.last = message;
    this.messages.push(message);
    for (const look of this.#waiting) look();
  }
}

export function watchRoom(service: { url: string }, code: string, options?: WatchOptions): Promise<Watcher> {
  return Watcher.open(service.url, `/v1/rooms/${code}/live`, options);
}

export function watchPairing(service: { url: string }, token: string): Promise<Watcher> {
  return Watcher.open(service.url, `/v1/pair/live?token=${token}`);
}

/** Checks a condition every 10 ms until it is true. */
export async function eventually(condition: () => boolean | Promise<boolean>, patienceMs = PATIENCE_MS): Promise<void> {
  const giveUpAt = performance.now() + patienceMs;
  while (!(await condition())) {
    if (performance.now() > giveUpAt) throw new Error(`did not come true within ${patienceMs} ms: ${String(condition)}`);
    await delay(10);
  }
}
