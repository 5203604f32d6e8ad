import type { WatchedAccount } from './account.ts';
import type { Calls } from './call-types.ts';
import { callsOf } from './calls.ts';
import { guarded } from './guarded.ts';
import { identityOf, type Credential, type Identity, type Me } from './identity.ts';
import { operateBy } from './operate.ts';
import { outboxOf, type Kept, type Operation, type Purchase } from './pending-operations.ts';
import { failure, repeat, sendOnce, TRY_MS, type Fetch, type SendOnce } from './request.ts';
import { operations, routes, type CallOptions, type CoinopError, type Failure, type PairStatus, type Result, type Room } from './routes.ts';
import type { Send, SpecialCall } from './sign-ins.ts';
import { pageStore, safeStore, type Exclusive, type SafeStore, type Store } from './storage.ts';
import { watch, type Watch, type Watcher } from './watch.ts';
import type { Followed, SocketClass, WatchState } from './watched.ts';
import type { OnPairStatus, Pairing, WatchedPairing } from './pairing.ts';
import type { RoomWatchOptions } from './watched-room.ts';

export type {
  CallOptions,
  Calls,
  CoinopError,
  Failure,
  Me,
  Operation,
  PairStatus,
  Purchase,
  Result,
  Room,
  Store,
  Watch,
  WatchedAccount,
  WatchedPairing,
  WatchState,
};

/** The result of a coin operation. */
export type OperationResult = Awaited<ReturnType<Calls['coins'][Operation['type']]>>;

/** The result of `purchases.buy`. */
export type PurchaseResult = Awaited<ReturnType<Calls['purchases']['buy']>>;

export interface Options {
  /** The address of the service: `https://coinop.example`. */
  url: string;
  /** The prefix of the store's keys. Two clients of one page with two names are two players. The default is `coinop`. */
  name?: string;
  /** The id of the install, which is a secret. By default the client makes one and keeps it in the store. */
  installId?: string;
  /**
   * The store of the install, the session and unfinished operations. The default is the page's localStorage. `null`: memory, which is lost
   * with the page or process.
   */
  store?: Store | null;
  /** The most milliseconds of a call with its repetitions. The default is 15,000, plus the `wait` of a long-poll. */
  timeoutMs?: number;
  /**
   * Gets the result of every coin operation, including operations of an earlier start. `result.pending`: the operation waits for a sign-in,
   * and its result comes later.
   */
  onOperation?: (operation: Operation, result: OperationResult) => void;
  /**
   * Gets the result of every `purchases.buy`, including purchases of an earlier start. With `result.pending` the purchase waits for a
   * sign-in, for the app store, or for its product in the catalogue.
   */
  onPurchase?: (purchase: Purchase, result: PurchaseResult) => void;
  /**
   * Gets messages for the page's developer, each once: the store first fails, somebody has emptied it, the service refuses the page's origin,
   * or an act in a room was refused and the game does not listen for that. The default is console.warn.
   */
  onWarning?: (message: string) => void;
  /** The function that sends requests. The default is the platform's own. */
  fetch?: Fetch;
  /**
   * The class of WebSockets. The default is the platform's own. With `null`, or on a platform without WebSockets, rooms and pairings are
   * watched by long-poll.
   */
  WebSocket?: SocketClass | null;
}

export interface Client extends Calls {
  /** Removes the coin operations that wait for a sign-in. These operations will not happen, unless the service already has them. */
  discardHeld(): Promise<void>;
  /** The caller: the install, with its session and account if it is signed in. */
  who(): Promise<Me>;
  /** Calls `onRoom` with the whole room, at once and after every change. Do not change the room: later rooms share its parts. */
  watchRoom<State = unknown>(code: string, onRoom: (room: Room & { state: State }) => void, options?: RoomWatchOptions): Watch;
  /**
   * Calls `onStatus` with `{ status, claimedBy }` at each status of the pairing. With `claimed` the client has the session, and `claimedBy`
   * has the name that the claimant gave: show it before you go on, because anybody who saw the code may have claimed it.
   */
  watchPairing(pairing: Pairing, onStatus: OnPairStatus, options?: { onState?: (state: WatchState) => void }): Watch;
  /**
   * Calls `onAccount` with the player's balance and entitlement, at once and after every change, whoever made it: this page, another
   * device, a refund, a prize, an operator.
   */
  watchAccount(onAccount: (account: WatchedAccount) => void, options?: { onState?: (state: WatchState) => void }): Watch;
  /** The parts of the client that `coinop/client/rooms` and `coinop/client/saves` use. */
  readonly parts: ClientParts;
  /** Tries everything again at once, because the device woke up or has a network again. A page does that by itself. */
  wake(): void;
  /** Ends all watches and calls. Unfinished operations stay in the store. */
  close(): void;
}

/** The parts of a client that `coinop/client/rooms` and `coinop/client/saves` use. */
export interface ClientParts {
  readonly name: string;
  readonly to: SendOnce;
  readonly call: Send;
  follow(followed: Followed, onState: RoomWatchOptions['onState']): Watch;
  readonly store: SafeStore;
  readonly exclusive: Exclusive;
  readonly identity: Identity;
  readonly closed: AbortSignal;
  /** Tells the page's developer what is wrong. */
  readonly warn: (message: string) => void;
}

/** Makes a client of one service for one player. */
export function coinop(options: Options): Client {
  const { name = 'coinop', timeoutMs: callMs = 15_000, onWarning = console.warn, installId } = options;
  const url = addressOf(options);
  const platform = globalThis as unknown as Platform;
  const { WebSocket = platform.WebSocket, fetch = platform.fetch.bind(platform) } = options;
  const store = safeStore(options.store === undefined ? pageStore() : options.store, onWarning);
  // Web Locks only save requests. Without a lock two tabs may send the same operation, under the same idempotency key, which does no harm.
  // Browsers have Web Locks only in a secure context: not on a page of http://192.168.0.2.
  const { locks } = platform.navigator ?? {};
  // A browser that forbids storage forbids locks too. The work then runs without a lock.
  const exclusive: Exclusive = (lock, work) => (locks && options.store === undefined ? locks.request(lock, work).catch(work) : work());
  const closing = new AbortController();
  const { signal: closed } = closing;
  const watchers = new Set<Watcher>();

  /** Finds the cause of a network failure. Its module is loaded with the first one, because most pages have none. */
  let explain: ((result: Result) => Result) | undefined;
  const to: SendOnce = async (...request) => {
    const result = await sendOnce(fetch, url, ...request);
    if (platform.document && (result as Failure).error?.code === 'network')
      void import('./unreachable.ts').then(
        ({ causeOf }) => (explain ??= causeOf(platform, url, onWarning))(result),
        () => {},
      );
    return explain?.(result) ?? result;
  };
  const call: Send = (route, input, { signal, timeoutMs }, credential, tryMs = TRY_MS) => {
    // The service answers a long-poll without news only when its wait is over.
    const waitMs = ((input['wait'] as number) || 0) * 1000;
    return repeat(route[0] !== '!', timeoutMs ?? callMs + waitMs, [signal, closed], async (whole) =>
      to(route, input, await credential(whole), whole, tryMs + waitMs),
    );
  };
  const me = `${name}:me`;
  const prefix = `${name}:op:`;
  const identity = identityOf(store, me, exclusive, installId, onWarning, (credential) =>
    call(routes.sessions.current, {}, {}, async () => credential),
  );
  const { credential } = identity;
  // A purchase has a longer time limit: the service asks the app store about it, which takes up to 17 s.
  const send = ({ type, ...input }: Kept, by: Credential): Promise<Result> =>
    to(operations[type], input as never, by, closed, type === 'buy' ? 20_000 : TRY_MS);
  const outbox = outboxOf(
    store,
    prefix,
    exclusive,
    identity,
    closed,
    send,
    guarded((operation: Kept, result: Result) =>
      operation.type === 'buy'
        ? options.onPurchase?.(operation, result as PurchaseResult)
        : options.onOperation?.(operation, result as OperationResult),
    ),
  );

  const greet = (): void => watchers.forEach((watcher) => watcher.greet());
  /** Continues operations and watches as the new caller, after the caller has changed. */
  const changed = (): void => {
    outbox.resume();
    greet();
  };
  const follow = ({ path, ...followed }: Followed, onState: RoomWatchOptions['onState']): Watch => {
    const watcher = watch({
      load: followed.patches && (() => import('./patch.ts')),
      ...followed,
      onState: guarded(onState),
      socketUrl: url.replace('http', 'ws') + path,
      WebSocket,
    });
    watchers.add(watcher);
    void watcher.ended.then(() => watchers.delete(watcher));
    return watcher;
  };
  /** Follows what a module of its own knows how to watch. */
  const followPart = (path: string, onState: RoomWatchOptions['onState'], load: Followed['load']): Watch =>
    follow({ path, load } as Partial<Followed> as Followed, onState);
  const wake = (): void => {
    outbox.wake();
    watchers.forEach((watcher) => watcher.wake());
  };
  const special: Record<string, SpecialCall> = {};
  // The calls that change the caller are in a module of their own, because most pages never make one.
  for (const name of 'resolve login logout delete end remove add provision open status'.split(' '))
    special[name] = async (route, input, more) => {
      let run: SpecialCall | undefined;
      // A browser that is offline cannot load the module yet.
      const loaded = await repeat(true, more.timeoutMs ?? callMs, [more.signal, closed], async () => {
        try {
          run = (await import('./sign-ins.ts')).signIns(call, identity, changed)[name];
          return { ok: true };
        } catch (error) {
          return failure('network', String(error));
        }
      });
      return run?.(route, input, more) ?? loaded;
    };
  special['join'] = async (route, input, more) => {
    const reply = await call(route, input, more, credential);
    // The player of a new seat is shown as connected only after a hello on the socket.
    greet();
    return reply;
  };
  const calls = callsOf(call, operateBy(outbox, identity, callMs, closed), special, credential);
  const written = ({ key }: Written): void => {
    if (key === me) changed();
    // Another tab has stored an operation. That tab may be closed before the operation is finished, so this one tries after a while.
    else if (key?.startsWith(prefix)) setTimeout(outbox.wake, TRY_MS);
  };
  listen(platform, wake, () => watchers.forEach((watcher) => watcher.check()), written, closed);
  outbox.wake();

  return Object.assign(calls, {
    parts: { name, to, call, follow, store, exclusive, identity, closed, warn: onWarning },
    wake,
    who: identity.load,
    discardHeld: outbox.discard,
    watchRoom: (code: string, onRoom: (room: never) => void, more: RoomWatchOptions = {}) =>
      followPart(`/v1/rooms/${encodeURIComponent(code)}/live`, more.onState, async () => ({
        ...(await import('./patch.ts')),
        ...(await import('./watched-room.ts')).watchedRoom(code, guarded, onRoom, more, to, credential, TRY_MS),
      })),
    watchPairing: (pairing: Pairing, onStatus: OnPairStatus, { onState }: Pick<RoomWatchOptions, 'onState'> = {}) =>
      followPart(`/v1/pair/live?token=${encodeURIComponent(pairing.token)}`, onState, async () =>
        (await import('./pairing.ts')).watchedPairing(pairing, guarded(onStatus), calls.pairing.status as never, closed),
      ),
    watchAccount: (onAccount: (account: WatchedAccount) => void, { onState }: Pick<RoomWatchOptions, 'onState'> = {}) =>
      followPart('/v1/account/live', onState, async () =>
        (await import('./account.ts')).watchedAccount(guarded(onAccount), to, credential),
      ),
    close() {
      watchers.forEach((watcher) => watcher.close());
      closing.abort();
    },
  });
}

/** The service's address without slashes at its end. @throws TypeError for options that cannot work */
function addressOf({ url: given, installId = '' }: Options): string {
  const url = given.replace(/\/+$/, '');
  if (!/^https?:\/\/[^/?#]+$/.test(url)) throw new TypeError(`Bad url: ${url}`);
  // No header can contain such an installId, so its operations could never be sent.
  if (/[^!-~]/.test(installId)) throw new TypeError('Bad installId');
  return url;
}

/**
 * Listens to events of the platform until the client closes.
 * @param check called when the network is lost. A service on the same machine may still be reached
 * @param written gets the keys that other tabs write into the store
 */
function listen(platform: Platform, wake: () => void, check: () => void, written: (event: Written) => void, closed: AbortSignal): void {
  const { document } = platform;
  if (!document) return;
  const once = { signal: closed };
  document.addEventListener('visibilitychange', () => document.hidden || wake(), once);
  platform.addEventListener('online', wake, once);
  platform.addEventListener('offline', check, once);
  platform.addEventListener('storage', written as never, once);
}

/** The part of a StorageEvent that the client reads. */
interface Written {
  key?: string | null;
}

interface Platform {
  location?: { origin: string };
  navigator?: { locks?: { request<T>(name: string, work: () => Promise<T>): Promise<T> } };
  fetch: Fetch;
  WebSocket?: SocketClass;
  document?: EventTarget & { hidden: boolean };
  addEventListener: EventTarget['addEventListener'];
}
