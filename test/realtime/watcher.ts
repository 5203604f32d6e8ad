import { setTimeout as delay } from 'node:timers/promises';

/** A message of a live channel. */
// The tests check its shape themselves, by value.
// oxlint-disable-next-line no-explicit-any
export type Message = any;

/** The longest wait for a condition on a busy machine before the test fails. */
export const PATIENCE_MS = 15_000;

/** A client of a live channel on Node's own WebSocket. It stores every message, and can wait for later ones. */
export class Watcher {
  readonly messages: Message[] = [];
  readonly closed: Promise<{ code: number; reason: string }>;
  /** Messages whose `seq` did not rise, or differed from that of their room. */
  readonly faults: string[] = [];
  readonly #socket: WebSocket;
  readonly #waiting = new Set<() => void>();
  #last: Message;
  #isClosed = false;
  #closeCode = 0;

  /** Resolves once the socket is open. */
  static async open(url: string, path: string, options: { cookies?: string; headers?: Record<string, string> } = {}): Promise<Watcher> {
    const headers = { ...options.headers, ...(options.cookies === undefined ? {} : { cookie: options.cookies }) };
    // Node's WebSocket accepts headers, but its types are those of the browser's WebSocket, which does not.
    const socket = new WebSocket(url.replace('http', 'ws') + path, { headers } as unknown as string[]);
    const watcher = new Watcher(socket);
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener('open', () => resolve());
      socket.addEventListener('error', () => reject(new Error(`no channel at ${path}`)));
    });
    return watcher;
  }

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => this.#take(JSON.parse(data as string) as Message));
    this.closed = new Promise((resolve) => {
      socket.addEventListener('close', ({ code, reason }) => {
        this.#isClosed = true;
        this.#closeCode = code;
        for (const look of this.#waiting) look();
        resolve({ code, reason });
      });
    });
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** The latest state. */
  get last(): Message {
    return this.#last;
  }

  get states(): Message[] {
    return this.messages.filter(({ type }) => type === 'room' || type === 'pair');
  }

  /** The first message that matches, past or future. */
  async until(matches: (message: Message) => boolean, patienceMs = PATIENCE_MS): Promise<Message> {
    let found = this.messages.find(matches);
    if (found !== undefined) return found;
    await new Promise<void>((resolve, reject) => {
      const finish = (error?: Error): void => {
        clearTimeout(timer);
        this.#waiting.delete(look);
        if (error === undefined) resolve();
        else reject(error);
      };
      const look = (): void => {
        found = this.messages.find(matches);
        if (found !== undefined) finish();
        else if (this.#isClosed)
          finish(new Error(`closed with ${this.#closeCode} before ${String(matches)}; last: ${JSON.stringify(this.messages.at(-1))}`));
      };
      const timer = setTimeout(
        () => finish(new Error(`not within ${patienceMs} ms: ${String(matches)}; last: ${JSON.stringify(this.messages.at(-1))}`)),
        patienceMs,
      );
      this.#waiting.add(look);
    });
    return found;
  }

  /** The room of the first message with this `seq` or a later one. */
  async reaches(seq: number, patienceMs?: number): Promise<Message> {
    return (await this.until((message) => message.type === 'room' && message.seq >= seq, patienceMs)).room;
  }

  send(message: unknown): void {
    this.#socket.send(typeof message === 'string' || message instanceof Uint8Array ? (message as string) : JSON.stringify(message));
  }

  hello(installId: string, tab?: string): Promise<Message> {
    const before = this.messages.length;
    this.send({ type: 'hello', installId, tab });
    return this.until((message) => this.messages.indexOf(message) >= before && (message.type === 'welcome' || message.type === 'error'));
  }

  async close(): Promise<void> {
    this.#socket.close();
    await this.closed;
  }

  #take(message: Message): void {
    if (message.type === 'room') {
      if (this.#last !== undefined && message.seq <= this.#last.seq) this.faults.push(`seq ${message.seq} after ${this.#last.seq}`);
      if (message.seq !== message.room.seq) this.faults.push(`seq ${message.seq} with a room of ${message.room.seq}`);
    }
    if (message.type === 'room' || message.type === 'pair') this.#last = message;
    this.messages.push(message);
    for (const look of this.#waiting) look();
  }
}

export function watchRoom(
  service: { url: string },
  code: string,
  options?: { cookies?: string; headers?: Record<string, string> },
): Promise<Watcher> {
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
