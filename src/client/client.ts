import { identityOf, type Credential, type Me, type SessionReply } from './identity.ts';
import { outboxOf, type Operation } from './outbox.ts';
import { failure, repeat, sendOnce, stopped, TRY_MS, within, type Fetch, type Input } from './request.ts';
import {
  actions,
  routes,
  type CallOptions,
  type Calls,
  type CoinopError,
  type Failure,
  type PairStatus,
  type Result,
  type Room,
} from './routes.ts';
import { pageStore, randomText, safeStore, type Exclusive, type Store } from './store.ts';
import { watch, type Message, type SocketClass, type Watch, type Watched, type Watcher, type WatchState } from './watch.ts';

export type { CallOptions, Calls, CoinopError, Failure, Me, Operation, PairStatus, Result, Room, Store, Watch, WatchState };

export interface Options {
  /** The address of the service: `https://coinop.example`. */
  url: string;
  /** Begins the keys of the store. Two clients of one page with two names are two players. The default is `coinop`. */
  name?: string;
  /** The install. By default the client makes one and keeps it in the store. It is a secret. */
  installId?: string;
  /**
   * Where the install, the session and unfinished operations are kept. The default is the page's localStorage. `null`: in memory,
   * so that they are lost with the page or process.
   */
  store?: Store | null;
  /** Milliseconds that a call takes at most, with its repetitions. The default is 15,000, and the `wait` of a long-poll on top. */
  timeoutMs?: number;
  /**
   * Gets the result of every coin operation, also of those of an earlier start. `result.pending`: the operation waits for a
   * sign-in, and its result comes later.
   */
  onOperation?: (operation: Operation, result: Result) => void;
  /** Gets a message, once, if the store does not keep anything. The default is console.warn. */
  onWarning?: (message: string) => void;
  /** The platform's own by default. */
  fetch?: Fetch;
  /** The platform's own by default. `null`, or on a platform without: rooms and pairings are followed by long-poll. */
  WebSocket?: SocketClass | null;
}

export interface RoomWatchOptions {
  onState?: (state: WatchState) => void;
  /** Gets the caller's seat, when the service counts the player as connected. */
  onYou?: (you: { playerId: string; host: boolean }) => void;
  /** Gets errors of the channel: `not_in_room` while the caller only watches. */
  onError?: (error: CoinopError) => void;
  /** `false`: the caller only watches, even with a seat. */
  hello?: false;
}

export interface Client extends Calls {
  /** Removes the coin operations that wait for a sign-in. They will not happen, unless the service has them already. */
  discardHeld(): Promise<void>;
  /** The caller: the account of the session, if it has one. */
  who(): Promise<Me>;
  /** Calls `onRoom` with the whole room, at once and after every change. */
  watchRoom<State = unknown>(code: string, onRoom: (room: Room & { state: State }) => void, options?: RoomWatchOptions): Watch;
  /**
   * Calls `onStatus` with each status of the pairing. With `claimed` the client has the session, and `claimedBy` has the name that the
   * claimant gave: show it before you go on, because whoever saw the code may have claimed it.
   */
  watchPairing(
    pairing: { token: string; secret?: string },
    onStatus: (status: PairStatus, claimedBy?: { name?: string }) => void,
    options?: { onState?: (state: WatchState) => void },
  ): Watch;
  /** The device woke up or has a network again: try everything now. Pages do it by themselves. */
  wake(): void;
  /** Ends everything that runs. What is unfinished stays in the store. */
  close(): void;
}

/** An error of the game's own function must not stop the client. */
const guarded =
  <Arguments extends unknown[]>(callback?: (...values: Arguments) => void) =>
  (...values: Arguments): void => {
    try {
      callback?.(...values);
    } catch (error) {
      console.error(error);
    }
  };

/** Makes a client of one service for one player. */
export function coinop(options: Options): Client {
  const { name = 'coinop', timeoutMs: callMs = 15_000, onWarning = console.warn, installId } = options;
  const url = options.url.replace(/\/+$/, '');
  if (!/^https?:\/\/[^/?#]+$/.test(url)) throw new TypeError(`Bad url: ${url}`);
  // No header could carry it. An operation of it would never be sent.
  if (/[^!-~]/.test(installId ?? '')) throw new TypeError('Bad installId');
  const platform = globalThis as unknown as Platform;
  const { WebSocket = platform.WebSocket, fetch = platform.fetch.bind(platform) } = options;
  const store = safeStore(options.store === undefined ? pageStore() : options.store, onWarning);
  // Two tabs that work at once do no harm, because both send the same operation under the same key. Taking turns saves requests.
  // A browser has Web Locks in a secure context only: not on a page of http://192.168.0.2.
  const { locks } = platform.navigator ?? {};
  // Where the browser forbids storage, it forbids locks too.
  const exclusive: Exclusive = (lock, work) => (locks && options.store === undefined ? locks.request(lock, work).catch(work) : work());
  const session = 'token';
  const closing = new AbortController();
  const { signal: closed } = closing;
  const watchers = new Map<Watcher, string | undefined>();

  const call = (route: string, input: Input, { signal, timeoutMs }: CallOptions, credential: () => Promise<Credential>, tryMs = TRY_MS) => {
    // The service answers a long-poll without news only after its wait.
    const waitMs = ((input['wait'] as number) || 0) * 1000;
    return repeat(route[0] !== '!', timeoutMs ?? callMs + waitMs, [signal, closed], async (whole) =>
      sendOnce(fetch, url, route, input, await credential(), whole, tryMs + waitMs),
    );
  };

  const identity = identityOf(store, `${name}:me`, exclusive, installId, (credential) =>
    call(routes.sessions.current, {}, {}, async () => credential),
  );
  const { credential, install } = identity;

  const send = ({ type, ...input }: Operation, by: Credential): Promise<Result> =>
    sendOnce(fetch, url, routes.coins[type], input, by, closed);
  const outbox = outboxOf(store, `${name}:op:`, exclusive, identity, closed, send, guarded(options.onOperation));

  /** Operations are kept in the order of the calls, however long the store takes. */
  let owner: Promise<unknown> = Promise.resolve();
  const operate = async (type: Operation['type'], input: Input, { signal, timeoutMs = callMs }: CallOptions): Promise<Result> => {
    const by = await (owner = owner.then(identity.owner));
    if (signal?.aborted || closed.aborted) return failure('aborted');
    const isLate = (whole: AbortSignal): Promise<Result> =>
      new Promise((resolve) => {
        outbox.add({ ...input, key: input['key'] ?? randomText(), type } as unknown as Operation, by as string, resolve);
        whole.addEventListener('abort', () => {
          const { error } = (!signal?.aborted && outbox.lastFailure()) || stopped([signal]);
          resolve({ ok: false, error: error as never, pending: true });
        });
      });
    return within(timeoutMs, [signal], isLate);
  };

  /** What depends on the caller goes on as the new one. */
  const changed = (): void => {
    outbox.resume();
    for (const watcher of watchers.keys()) watcher.greet();
  };

  const signIn = async (reply: Result, isOwn: boolean, movedFrom?: string): Promise<Result> => {
    if ((reply as SessionReply).sessionToken) {
      await identity.signedIn(reply as SessionReply, isOwn, movedFrom);
      changed();
    }
    return reply;
  };

  /** Ends the session, or the account: the first of two answers to `delete` has a `confirm` and ends nothing. */
  const leave =
    (by: () => Promise<Credential>) =>
    async (route: string, input: Input, more: CallOptions): Promise<Result> => {
      const reply = await call(route, input, more, by);
      if (reply.ok ? !('confirm' in reply) : reply.error.code === 'account_deleted') {
        await identity.signedOut(by === install && !input['token']);
        changed();
      }
      return reply;
    };

  /** The calls that do more than send a request, by their names. */
  const special: Record<string, (route: string, input: Input, more: CallOptions) => Promise<Result>> = {
    resolve: (route, input, more) => call(route, input, more, install),
    login: async (route, input, more) => signIn(await call(route, { ...input, session }, more, install), true),
    logout: leave(credential),
    delete: leave(install),
    // A room ends by this name too, and has no `current`.
    async end(route, input, more) {
      let tries = 0;
      const reply = await call(route, input, more, () => (tries++, credential()));
      // After a lost answer the session that ended itself is refused.
      if (reply.ok ? (reply as { current?: boolean }).current : tries > 1 && reply.error.code === 'session_required') {
        await identity.signedOut();
        changed();
      }
      return reply;
    },
    async provision(route, input, more) {
      const owner = await identity.owner();
      let tries = 0;
      const by = (): Promise<Credential> => (tries++, credential());
      // The service may take 10 s, because it asks the app store.
      const reply = await call(route, { ...input, session }, more, by, 12_000);
      const { moved, notMoved, accountId } = reply as { moved?: boolean; notMoved?: string; accountId?: string };
      // After a lost answer the guest may have moved already. The next answer says neither that it moved nor why not.
      return signIn(reply, false, moved || (tries > 1 && !notMoved && owner !== `a${accountId}`) ? owner : undefined);
    },
    open: (route, input, more) => call(route, { ...input, session }, more, async () => ({})),
    status: async (route, { secret, ...input }, more) =>
      signIn(await call(route, input, more, async () => (secret ? { 'x-pair-secret': secret as string } : ({} as Credential))), false),
    async join(route, input, more) {
      const reply = await call(route, input, more, credential);
      // A new seat counts as connected only after a hello.
      for (const [watcher, code] of watchers) if (code === input['code']) watcher.greet();
      return reply;
    },
  };

  const client: Record<string, unknown> = {};
  const all: Record<string, Record<string, string>> = { ...routes, rooms: { ...routes.rooms } };
  for (const action of actions) all['rooms']![action] = `POST /v1/rooms/{code}/${action}`;
  for (const feature in all) {
    const calls: Record<string, unknown> = (client[feature] = {});
    for (const each in all[feature]) {
      const route = all[feature][each]!;
      calls[each] = (input: Input = {}, more: CallOptions = {}) =>
        route.includes('POST /v1/coins')
          ? operate(each as Operation['type'], input, more)
          : (special[each]?.(route, input, more) ?? call(route, input, more, credential));
    }
  }

  const follow = (watched: Omit<Watched, 'socketUrl' | 'WebSocket'>, path: string, code?: string): Watch => {
    const watcher = watch({ ...watched, onState: guarded(watched.onState), socketUrl: url.replace('http', 'ws') + path, WebSocket });
    watchers.set(watcher, code);
    void watcher.ended.then(() => watchers.delete(watcher));
    return watcher;
  };

  const wake = (): void => {
    outbox.wake();
    for (const watcher of watchers.keys()) watcher.wake();
  };
  const { document } = platform;
  const once = { signal: closed };
  document?.addEventListener('visibilitychange', () => document.hidden || wake(), once);
  if (document) {
    platform.addEventListener('online', wake, once);
    // Another tab has signed in or out.
    platform.addEventListener('storage', ((event: { key?: string }) => event.key === `${name}:me` && changed()) as never, once);
  }
  outbox.wake();

  return Object.assign(client, {
    wake,
    who: identity.load,
    discardHeld: outbox.discard,

    watchRoom(code: string, onRoom: (room: never) => void, { onState, onYou, onError, hello }: RoomWatchOptions = {}) {
      return follow(
        {
          onState,
          poll: (wait, since, signal) =>
            sendOnce(fetch, url, routes.rooms.read, wait ? { code, since, wait } : { code }, {}, signal, wait * 1000 + TRY_MS),
          positionOf: ({ room }) => (room as Room | undefined)?.seq,
          deliver({ room }) {
            guarded(onRoom)(room as never);
            return (room as Room).phase === 'ended';
          },
          other({ error, you }) {
            guarded<[never]>(error ? onError : onYou)((error ?? you) as never);
          },
          async hello() {
            const by = await credential();
            return hello === false
              ? ''
              : JSON.stringify({ type: 'hello', installId: by['x-install-id'], sessionToken: by['authorization']?.slice(7) });
          },
        },
        `/v1/rooms/${encodeURIComponent(code)}/live`,
        code,
      );
    },

    watchPairing(
      { token, secret }: { token: string; secret?: string },
      onStatus: (status: PairStatus, claimedBy?: { name?: string }) => void,
      { onState }: Pick<RoomWatchOptions, 'onState'> = {},
    ) {
      let since: unknown;
      const positions: Record<string, number> = { pending: 1, scanned: 2 };
      const positionOf = ({ status }: Message): number | undefined => positions[status as string] ?? (status ? 3 : undefined);
      const read = (input: Input, signal: AbortSignal, timeoutMs = 30_000): Promise<Result> =>
        special['status']!(routes.pairing.status, { token, secret, ...input }, { signal, timeoutMs });
      return follow(
        {
          onState,
          poll: (wait, _, signal) => read(wait ? { wait, since } : {}, signal),
          positionOf,
          async deliver(message) {
            since = message['status'];
            // The channel carries the status only: the session comes with a read. The service keeps it for 10 minutes.
            const { claimedBy } = (message['type'] && since === 'claimed' ? await read({}, closed, 6e5) : message) as Message;
            guarded(onStatus)(since as PairStatus, claimedBy as { name?: string });
            return positionOf(message) === 3;
          },
        },
        `/v1/pair/live?token=${encodeURIComponent(token)}`,
      );
    },

    close() {
      for (const watcher of watchers.keys()) watcher.close();
      closing.abort();
    },
  }) as unknown as Client;
}

interface Platform {
  navigator?: { locks?: { request<T>(name: string, work: () => Promise<T>): Promise<T> } };
  fetch: Fetch;
  WebSocket?: SocketClass;
  document?: EventTarget & { hidden: boolean };
  addEventListener: EventTarget['addEventListener'];
}
