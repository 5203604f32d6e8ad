import { progressOf, type Progress } from './progress.ts';
import { failure, isTemporary, sleep } from './request.ts';
import type { CoinopError, Failure } from './routes.ts';
import { overSocket, type Asks, type Live } from './watch-socket.ts';
import type { Watched, WatchState } from './watched.ts';

export interface Watch {
  readonly state: WatchState;
  /** Resolves when the watch has ended, with the reason. */
  readonly ended: Promise<{ code: string }>;
  close(): void;
}

export interface Watcher extends Watch {
  /** Checks the connection, or connects at once. Called when the device wakes up or has a network again. */
  wake(): void;
  /** Checks an open connection. Called when the device has lost its network. */
  check(): void;
  /** Sends `hello` again on the open socket. */
  greet(): void;
}

const POLL_SECONDS = 20;

/** The number of long-polls after which the client tries a WebSocket again. The number doubles each time. */
const POLLS = 6;

/** Milliseconds for which a connection must have been open, so that the next tries follow each other fast again. */
const STEADY_MS = 30_000;

/** The number of tries that follow each other within a second: those of the first seven seconds or so. */
const FAST_TRIES = 8;

/**
 * Milliseconds before the next try. The player of a short outage is back within a second, and that of any outage within 3.5 s, which leaves
 * time to connect. Half of the time is random, so that the players of a service that comes back do not all come at once. A busy service
 * asks for more time by `retryAfterMs`.
 */
export function waitOf(tries: number, { retryAfterMs = 0 }: Partial<CoinopError> = {}): number {
  const most = tries < FAST_TRIES ? Math.min(1000, 250 * 2 ** tries) : 3500;
  return Math.min(retryAfterMs, 60_000) + (most * (1 + Math.random())) / 2;
}

/** Follows one room or pairing, over one connection at a time, until it ends. */
export function watch(watched: Watched): Watcher {
  const closing = new AbortController();
  const { signal } = closing;
  const progress = progressOf(watched, signal);
  let waking = closing;
  let state: WatchState = { status: 'connecting' };
  const asks: Asks = {};
  let end: (end: { code: string }) => void;
  const ended = new Promise<{ code: string }>((resolve) => (end = resolve));

  const set = (next: WatchState): void => {
    if (signal.aborted) return;
    state = next;
    watched.onState?.(next);
  };

  const live: Live = (by) => {
    if (state.status !== 'live') set({ status: 'live', by });
  };

  const finish = (code: string): void => {
    set({ status: 'ended', code });
    closing.abort();
    end({ code });
  };

  const run = async (): Promise<void> => {
    let polls = POLLS;
    for (let [tries, wasRefused] = [0, false]; !signal.aborted; tries++) {
      set({ status: 'connecting' });
      let problem: Failure | undefined;
      try {
        Object.assign(watched, await watched.load?.());
        delete watched.load;
      } catch (error) {
        // The module could not be loaded. It is tried again after a while, like a connection.
        problem = failure('network', String(error));
      }
      const [code, openMs] = watched.load ? [0, 0] : watched.WebSocket ? await overSocket(watched, progress, signal, asks, live) : [0, -1];
      if (code > 4501 && code < 5000) {
        if (await watched.goesOn?.()) continue;
        return finish(asks.error ?? 'finished');
      }
      if (progress.isFinal || code === 4500 || code === 4501) return finish(code === 4500 ? 'gone' : 'finished');
      if (openMs > STEADY_MS) tries = 0;
      if (openMs >= 0) wasRefused = false;
      if (openMs < 0) {
        // A WebSocket does not tell why it could not open. A read by HTTP tells the reason, or shows that the network blocks only
        // WebSockets. The service or the network may have come back between the two, so a second try tells: a player without a WebSocket is
        // not connected.
        const isFirst = !!watched.WebSocket && !wasRefused;
        problem = isFirst ? await failureOf(progress) : await overPolls(progress, polls, signal, live);
        wasRefused = isFirst && !problem;
        if (progress.isFinal) return finish('finished');
        if (problem?.status && !isTemporary(problem.error)) return finish(problem.error.code);
        if (!problem) {
          if (!wasRefused) polls *= 2;
          continue;
        }
      }
      const ms = waitOf(tries, problem?.error);
      waking = new AbortController();
      set({ status: 'waiting', ms, error: problem?.error });
      await sleep(ms, waking.signal, signal);
    }
  };

  // Started in a microtask, so that the caller has the watch before the first news arrive.
  void Promise.resolve().then(run);

  return {
    get state() {
      return state;
    },
    ended,
    close: () => finish('closed'),
    wake() {
      if (waking !== closing) waking.abort();
      asks.check?.();
    },
    check: () => asks.check?.(),
    greet: () => asks.greet?.(),
  };
}

async function failureOf(progress: Progress): Promise<Failure | undefined> {
  const reply = await progress.poll(0);
  return reply.ok ? undefined : reply;
}

/** Long-polls the given number of times. Returns the failure that stopped the polling, if any. */
async function overPolls(progress: Progress, times: number, signal: AbortSignal, live: Live): Promise<Failure | undefined> {
  // The first poll does not wait for news, so it is answered at once.
  for (let polls = 0; polls < times && !signal.aborted && !progress.isFinal; polls++) {
    const reply = await progress.poll(polls && POLL_SECONDS);
    if (!reply.ok) return reply;
    live('poll');
  }
  return undefined;
}
