import { backoff, isTemporary, sleep } from './request.ts';
import type { CoinopError, Failure, Result } from './routes.ts';

/**
 * - `connecting`: the connection is being opened.
 * - `live`: news arrive, by WebSocket or by long-poll.
 * - `waiting`: the connection broke. The next try comes in `ms` milliseconds, or earlier when the device wakes up.
 * - `ended`: no more news come. `finished`: the room ended, or the pairing has its final status. `gone`: it does not exist any
 *   more. `closed`: the watch was closed. Any other code is that of the error that refused the watch.
 */
export type WatchState =
  | { status: 'connecting' }
  | { status: 'live'; by: 'socket' | 'poll' }
  | { status: 'waiting'; ms: number; error?: CoinopError }
  | { status: 'ended'; code: string };

export interface Watch {
  readonly state: WatchState;
  /** Resolves when the watch has ended. */
  readonly ended: Promise<{ code: string }>;
  close(): void;
}

/** The parts of a WebSocket that the client uses. Loose, so that the class of the platform and that of `ws` fit. */
export interface Socket {
  onopen: ((event: any) => unknown) | null;
  onmessage: ((event: any) => unknown) | null;
  onclose: ((event: any) => unknown) | null;
  onerror: ((event: any) => unknown) | null;
  send(text: string): void;
  close(): void;
}
export type SocketClass = new (url: string) => Socket;

export type Message = Record<string, unknown> & { error?: CoinopError };

/** What is watched. */
export interface Watched {
  readonly socketUrl: string;
  readonly WebSocket: SocketClass | null | undefined;
  /** Reads the present state, or, given seconds to wait, the first one past the position. */
  poll(waitSeconds: number, position: number, signal: AbortSignal): Promise<Result>;
  /** The position of the state in a message or a reply of `poll`. Undefined: it holds no state. */
  positionOf(message: Message): number | undefined;
  /** Passes a state on. Returns whether it is final. */
  deliver(message: Message): boolean | Promise<boolean>;
  /** Passes another message of the service on. */
  other?(message: Message): void;
  /** The message to send on a new connection. */
  hello?(): Promise<string>;
  onState?: (state: WatchState) => void;
}

export interface Watcher extends Watch {
  /** The device woke up, or has a network again. */
  wake(): void;
  /** Sends `hello` again on the open socket. */
  greet(): void;
}

const OPEN_MS = 10_000;
const POLL_SECONDS = 20;

/** An idle connection is checked this often: a connection whose network went away looks like a silent one. */
const CHECK_MS = 30_000;

/** The socket has this long to bring a state that a read has found already. */
const BEHIND_MS = 2000;

/** After this many polls the client tries a WebSocket again. It doubles each time. */
const POLLS = 6;

const MOST_WAIT_MS = 30_000;

/** Follows one room or pairing, over one connection at a time, until it ends. */
export function watch(watched: Watched): Watcher {
  const { WebSocket, onState } = watched;
  const closing = new AbortController();
  const { signal } = closing;
  let waking = closing;
  let state: WatchState = { status: 'connecting' };
  let isFinal = false;
  /** The position of the newest state that was passed on. */
  let position = 0;
  /** Of the open socket. */
  let check: (() => void) | undefined;
  let greet: (() => void) | undefined;
  let end: (end: { code: string }) => void;
  const ended = new Promise<{ code: string }>((resolve) => (end = resolve));

  const set = (next: WatchState): void => {
    if (signal.aborted) return;
    state = next;
    onState?.(next);
  };

  const finish = (code: string): void => {
    set({ status: 'ended', code });
    closing.abort();
    end({ code });
  };

  /** Passes a state on if it is newer than the known one. Returns its position. */
  const take = async (message: Message): Promise<number> => {
    const found = watched.positionOf(message);
    if (signal.aborted) return 0;
    if (found === undefined) watched.other?.(message);
    else if (found > position) {
      position = found;
      if (await watched.deliver(message)) isFinal = true;
    }
    return found ?? 0;
  };

  const poll = async (waitSeconds: number): Promise<Result> => {
    const known = position;
    const reply = await watched.poll(waitSeconds, known, signal);
    if (reply.ok) {
      // A state that was read after the known one, and is older: the service lost changes.
      if (position === known && watched.positionOf(reply as never)! < known) position = 0;
      await take(reply as never);
    }
    return reply;
  };

  /** Long-polls so many times. Returns the failure that stopped it. */
  const overPolls = async (times: number): Promise<Failure | undefined> => {
    // The first poll answers at once.
    for (let polls = 0; polls < times && !signal.aborted && !isFinal; polls++) {
      const reply = await poll(polls && POLL_SECONDS);
      if (!reply.ok) return reply;
      if (state.status !== 'live') set({ status: 'live', by: 'poll' });
    }
    return undefined;
  };

  /** Follows over one WebSocket until it closes. Returns its close code, and for how long it was open: below 0 if never. */
  const overSocket = (): Promise<[code: number, openMs: number]> =>
    new Promise((resolve) => {
      let socket: Socket | undefined;
      let openedAt = Infinity;
      /** The position of the newest state that this socket brought. */
      let brought = 0;
      let work = Promise.resolve();
      let timer: ReturnType<typeof setTimeout>;
      const after = (ms: number, run: () => void): void => {
        clearTimeout(timer);
        timer = setTimeout(run, ms);
      };
      const done = (code: number): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', stop);
        check = greet = undefined;
        if (socket) {
          socket.onopen = socket.onmessage = socket.onclose = null;
          socket.close();
        }
        resolve([code, performance.now() - openedAt]);
      };
      const stop = (): void => done(0);
      const idle = (): void => after(CHECK_MS * (1 + Math.random() / 2), checkNow);
      const checkNow = async (): Promise<void> => {
        idle();
        const reply = await poll(0);
        if (check !== checkNow) return;
        // No answer of the service, or one that refuses: to connect again ends the watch of a room that is gone.
        if (!reply.ok && !(reply.status! >= 429)) stop();
        else if (position > brought) after(BEHIND_MS, stop);
      };
      const greetNow = async (): Promise<void> => {
        const hello = await watched.hello?.();
        if (hello && greet === greetNow) socket!.send(hello);
      };
      signal.addEventListener('abort', stop);
      after(OPEN_MS, stop);
      try {
        socket = new WebSocket!(watched.socketUrl);
      } catch {
        // A page of https cannot open an address of ws:.
        return stop();
      }
      socket.onopen = () => {
        openedAt = performance.now();
        check = checkNow;
        greet = greetNow;
        idle();
        void greetNow();
      };
      const receive = async (text: string): Promise<void> => {
        const message = JSON.parse(text) as Message;
        const known = position;
        idle();
        if (state.status !== 'live') set({ status: 'live', by: 'socket' });
        // The service could not process the hello just now.
        if (message.error && isTemporary(message.error)) void sleep(backoff(2, message.error), signal).then(greet);
        const found = await take(message);
        // A new connection brings an older state: the service lost changes, or this process of it is behind.
        if (found && !brought && found < known) after(BEHIND_MS, checkNow);
        brought = Math.max(brought, found);
        if (isFinal) stop();
      };
      // One message after the other, and the close after them: to pass a message on may take a request.
      socket.onmessage = ({ data }: { data: unknown }) => (work = work.then(() => receive(data as string)).catch(stop));
      socket.onclose = ({ code }: { code: number }) => work.then(() => done(code));
      socket.onerror = () => {};
    });

  const run = async (): Promise<void> => {
    let polls = POLLS;
    for (let tries = 0; !signal.aborted; tries++) {
      set({ status: 'connecting' });
      const [code, openMs] = WebSocket ? await overSocket() : [0, -1];
      if (isFinal || (code >= 4500 && code < 5000)) return finish(code === 4500 ? 'gone' : 'finished');
      if (openMs > MOST_WAIT_MS) tries = 0;
      let problem: Failure | undefined;
      if (openMs < 0) {
        // A WebSocket does not tell why it could not be opened. A read tells, or shows that only WebSockets do not come through.
        problem = await overPolls(polls);
        if (isFinal) return finish('finished');
        if (problem?.status && !isTemporary(problem.error)) return finish(problem.error.code);
        if (!problem) {
          polls *= 2;
          continue;
        }
      }
      const ms = backoff(tries, problem?.error, MOST_WAIT_MS, 1000);
      waking = new AbortController();
      set({ status: 'waiting', ms, error: problem?.error });
      await sleep(ms, waking.signal, signal);
    }
  };

  // The caller has the watch in hand before the first news come.
  void Promise.resolve().then(run);

  return {
    get state() {
      return state;
    },
    ended,
    close: () => finish('closed'),
    wake() {
      if (waking !== closing) waking.abort();
      check?.();
    },
    greet: () => greet?.(),
  };
}
