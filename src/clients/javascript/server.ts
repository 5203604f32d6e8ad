import type { EventPage, EventType } from './event-types.ts';
import { guarded } from './guarded.ts';
import { paceOfServer } from './pace.ts';
import { freeze, patched } from './patch.ts';
import { playedRoom } from './played-room.ts';
import { backoff, isTemporary, repeat, sendOnce, sleep, TRY_MS, type Fetch, type Input } from './request.ts';
import type { Game, PlayedRoom } from './room-types.ts';
import type { ClientCode, CoinopError, Failure, Result, Room } from './routes.ts';
import { randomText } from './storage.ts';
import { watch } from './watch.ts';
import type { SocketClass } from './watched.ts';
import type { ActionName, Route, Wire } from './wire.ts';

export type { ClientCode, CoinopError, Failure, Result, Room };
export type * from './event-types.ts';
export type * from './room-types.ts';

export interface ServerOptions {
  /** The address of the service: `https://coinop.example`. */
  url: string;
  /** The server key: `coinop_sk_…`. It is a secret: keep it out of your repository, your logs and every app. */
  key: string;
  /** The most milliseconds of a call with its repetitions. The default is 15,000. */
  timeoutMs?: number;
  /** The function that sends requests. The default is the platform's own. */
  fetch?: Fetch;
  /**
   * The class of WebSockets, for `playRoom`. The default is the platform's own. Node has a WebSocket since version 22; with an older Node
   * pass the class of `ws`.
   */
  WebSocket?: SocketClass;
}

export interface ServerCallOptions {
  /** Aborts the call. The service may already have carried it out. */
  signal?: AbortSignal;
  /** Milliseconds for this call with all its repetitions. */
  timeoutMs?: number;
}

/**
 * The account that a call is about. `verifySession` gives the account id of a player. If the account moved, the call is about the account
 * into which it moved.
 */
export type Account = { accountId: string; installId?: never } | { installId: string; accountId?: never };

/** The error codes that every call with a server key may have. */
type KeyCode = 'bad_key' | 'forbidden';
/** `Omit` for each form of a union. Plain `Omit` would merge the two forms of `state`, and allow the fields of both at once. */
type Without<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;
type InputOf<R extends keyof Wire> = Without<Wire[R]['input'], 'accountId'>;
type Call<Given, R extends keyof Wire> = (
  input: Given,
  options?: ServerCallOptions,
) => Promise<Result<Wire[R]['reply'], Wire[R]['code'] | KeyCode>>;
type AccountCall<R extends keyof Wire> = Call<Account & InputOf<R>, R>;

type RoomResult<R extends keyof Wire> = Promise<Result<Wire[R]['reply'], Wire[R]['code'] | KeyCode>>;
type Act<A extends ActionName> = `POST /v1/rooms/{code}/${A}`;
type PlainAction<A extends ActionName> = (options?: ServerCallOptions) => RoomResult<Act<A>>;
type Action<A extends ActionName> = (input: Without<InputOf<Act<A>>, 'code'>, options?: ServerCallOptions) => RoomResult<Act<A>>;

/** A room, with its server as the host. The key needs the scope `rooms`. */
export interface HostedRoom {
  /** The room's public state. */
  read(options?: ServerCallOptions): RoomResult<'GET /v1/rooms/{code}'>;
  /** Moves the room from lobby to playing. A second call is no error. */
  start: PlainAction<'start'>;
  /** Ends the room, in any phase. A second call is no error. */
  end: PlainAction<'end'>;
  /** Removes a player, even the host. The player cannot join again. */
  kick: Action<'kick'>;
  /** Makes another player the host. The server can still act as the host. */
  transfer: Action<'transfer'>;
  /** Lets the room refuse new players. */
  lock: PlainAction<'lock'>;
  /** Lets the room take new players again. */
  unlock: PlainAction<'unlock'>;
  /** Changes settings of the lobby. Omitted settings stay. */
  settings: Action<'settings'>;
  /** Replaces the game's public state (any JSON of at most 8 KiB), or merges a patch into it. */
  state: Action<'state'>;
  /**
   * Tells whose seat a ticket proves, once per ticket. Players get tickets from `client.rooms.ticket({ code })` and send them to their
   * server. If the answer was lost, the ticket is used up (`bad_token`): ask the player for another ticket.
   */
  verifyTicket: (input: { ticket: string }, options?: ServerCallOptions) => RoomResult<'POST /v1/rooms/{code}/ticket/verify'>;
  /** Ends the room and opens a lobby, with the host as its first player. */
  rematch: PlainAction<'rematch'>;
}

/** Selects the events to read. */
export interface EventsWanted<Type extends EventType = EventType> {
  /** The `cursor` of an earlier page. Without a cursor, reading begins with the oldest stored event. */
  after?: string | undefined;
  /** Events of these types only. */
  types?: readonly Type[];
  /** The most events of a page, 1 to 1,000. The default is 100. */
  limit?: number;
}

type EventsResult<Type extends EventType> = Result<EventPage<Type>, Wire['GET /v1/events']['code'] | KeyCode>;

/** The events of all accounts, in one order. The key needs the scope `events`, and the service EVENTS=on. */
export interface Events {
  /** Reads one page. With `wait` the call waits for the first event, 25 seconds at most. */
  read<Type extends EventType = EventType>(
    wanted?: EventsWanted<Type> & { wait?: number },
    options?: ServerCallOptions,
  ): Promise<EventsResult<Type>>;
  /**
   * All pages with events, and new ones as they come: `for await (const page of coinop.events.follow({ after }))`. The loop continues after
   * outages, and ends when the signal aborts. After a permanent failure, such as `bad_key`, the failure is the last page.
   */
  follow<Type extends EventType = EventType>(
    wanted?: EventsWanted<Type>,
    options?: Pick<ServerCallOptions, 'signal'>,
  ): AsyncGenerator<EventsResult<Type>, void, undefined>;
}

export interface ServerClient {
  events: Events;
  /**
   * Adds coins to the account's balance, once per idempotency key, such as `match-17-won`. After a failure with an unknown outcome
   * (`network`, `timeout`, `outcome: 'unknown'`) call again with the same key, from another process or tomorrow too. Needs the scope `coins`,
   * like `purchase` and `debit`.
   */
  grant: AccountCall<'POST /v1/coins/credit'>;
  /** Adds coins to the account's balance that its player has bought, once per idempotency key. To sell something for coins, use `debit`. */
  purchase: AccountCall<'POST /v1/coins/purchase'>;
  /** Takes coins from the account's balance, once per idempotency key. */
  debit: AccountCall<'POST /v1/coins/debit'>;
  balance: AccountCall<'GET /v1/balance'>;
  /** The ledger, newest entry first. Needs the scope `accounts:read`. */
  history: AccountCall<'GET /v1/coins/history'>;
  /** Submits a score. The board keeps the best score of each account. Needs the scope `scores`. */
  submitScore: AccountCall<'POST /v1/highscores/{game}'>;
  /**
   * Tells the account of a player's session. `authenticated: false`: the token is not valid. Needs the scope `accounts:read`. The token is
   * a secret of the player.
   */
  verifySession(sessionToken: string, options?: ServerCallOptions): RoomResult<'POST /v1/sessions/verify'>;
  /** Single requests to a room. */
  room(code: string): HostedRoom;
  /** Opens a room without a host: the server controls the room, and players join it. Needs the scope `rooms`, like `playRoom`. */
  createRoom: Call<Without<InputOf<'POST /v1/rooms'>, 'name' | 'seatless'>, 'POST /v1/rooms'>;
  /** Plays in a room over one socket, as the room's server: it acts as the host, and only it gets messages to `server`. */
  playRoom<G extends Game = Game>(code: string): ServedRoom<G>;
}

/** A room in which a server plays. A server has no seat, and so no data of its own. */
export type ServedRoom<G extends Game = Game> = Omit<PlayedRoom<G>, 'me' | 'set' | 'merge'>;

/** The longest wait for news that the service allows, in seconds. */
const FOLLOW_SECONDS = 25;

/** The most milliseconds between two tries of `follow` while the service is down. */
const FOLLOW_AGAIN_MS = 30_000;

/** Matches a server key: `coinop_sk_`, the id, and the secret. */
const KEY = /^coinop_sk_[a-z0-9]{8}_([0-9A-Za-z]{32})$/;

interface Platform {
  process?: { versions?: { node?: string } };
  document?: unknown;
  fetch: Fetch;
  WebSocket?: SocketClass;
}

/**
 * Makes a client of one service for a server with a key. The client stores nothing: each call is repeated until it has an answer or its
 * time is up. A coin operation has the same idempotency key in every repetition.
 * @throws Error in a browser; TypeError for a bad url or key
 */
export function coinopServer({ url, key, timeoutMs: callMs = 15_000, fetch: givenFetch, WebSocket }: ServerOptions): ServerClient {
  const platform = globalThis as unknown as Platform;
  // Bundlers give pages a `process` too, but without a version of Node.
  if (platform.document !== undefined || !platform.process?.versions?.node)
    throw new Error('coinop/client/server runs on servers only: a page must never hold a server key. Pages import coinop/client.');
  const base = String(url).replace(/\/+$/, '');
  if (!/^https?:\/\/[^/?#@]+$/.test(base)) throw new TypeError('Bad url: it must look like https://coinop.example');
  const secret = KEY.exec(key)?.[1];
  if (secret === undefined) throw new TypeError('Bad key: it must look like coinop_sk_<id>_<secret>');
  // The global fetch is read at each call, so that a fetch that was instrumented later is used.
  const fetch: Fetch = (...request) => (givenFetch ?? platform.fetch)(...request);

  // Removes the secret of the key from an error: the message of a proxy, or of a fetch of your own, may repeat the headers of the request.
  const clean = (result: Result): Result => (result.ok ? result : (JSON.parse(JSON.stringify(result).replaceAll(secret, '…')) as Result));

  const call = async (
    route: Route,
    { installId, ...input }: Input,
    { signal, timeoutMs }: ServerCallOptions = {},
    mayRepeat = true,
    turn: (whole: AbortSignal) => Promise<unknown> = async () => {},
  ): Promise<Result> => {
    // The installId is sent in a header, because proxies log addresses.
    const headers = { authorization: `Bearer ${key}`, ...(installId === undefined ? {} : { 'x-install-id': installId as string }) };
    // A long-poll without news is answered only when its wait is over.
    const waitMs = 1000 * Number(input['wait'] ?? 0);
    // Every call may be sent again: coin operations have an idempotency key, a board keeps the best score, and an act has its order.
    return clean(
      await repeat(mayRepeat, timeoutMs ?? callMs + waitMs, [signal], async (whole) => {
        await turn(whole);
        return sendOnce(fetch, base, route, input, headers, whole, TRY_MS + waitMs);
      }),
    );
  };

  const tab = randomText().slice(0, 16);
  let order = 0;
  /** For each room, by its code, the last act under way. */
  const before = new Map<string, Promise<unknown>>();
  /** Sends an act in a room after the act before it, under its order, as a player's client does. */
  const act = (code: string, action: ActionName, input: object, options?: ServerCallOptions): Promise<Result> => {
    const others = before.get(code);
    const numbered = { ...input, code, order: ++order, tab };
    const result = call(`POST /v1/rooms/{code}/${action}`, numbered, options, true, (whole) =>
      Promise.race([others, new Promise((stop) => (whole.onabort = stop))]),
    );
    const mine = result
      .then(() => others)
      .then(() => {
        if (before.get(code) === mine) before.delete(code);
      });
    before.set(code, mine);
    return result;
  };

  const calls =
    (route: Route, more: Input = {}) =>
    (input: object, options?: ServerCallOptions): Promise<Result> =>
      call(route, { ...(input as Input), ...more }, options);

  const read = ({ types, ...wanted }: EventsWanted & { wait?: number } = {}, options?: ServerCallOptions) =>
    call('GET /v1/events', { ...wanted, types: types?.join() }, options) as Promise<EventsResult<EventType>>;

  async function* follow(wanted: EventsWanted = {}, { signal }: ServerCallOptions = {}): AsyncGenerator<EventsResult<EventType>> {
    for (let [after, failures] = [wanted.after, 0]; !signal?.aborted;) {
      const page = await read({ ...wanted, after, wait: FOLLOW_SECONDS }, signal && { signal });
      if (page.ok) {
        failures = 0;
        after = page.cursor;
        if (page.events.length > 0) yield page;
      } else if (signal?.aborted) return;
      else if (isTemporary(page.error)) await sleep(backoff(failures++, page.error, FOLLOW_AGAIN_MS), ...(signal ? [signal] : []));
      else return yield page;
    }
  }

  const room = (code: string): HostedRoom => {
    const acts =
      (action: ActionName) =>
      (input: object, options?: ServerCallOptions): Promise<Result> =>
        act(code, action, input, options);
    const plain =
      (action: ActionName) =>
      (options?: ServerCallOptions): Promise<Result> =>
        act(code, action, {}, options);
    return {
      read: (options?: ServerCallOptions) => call('GET /v1/rooms/{code}', { code }, options),
      start: plain('start'),
      end: plain('end'),
      kick: acts('kick'),
      transfer: acts('transfer'),
      lock: plain('lock'),
      unlock: plain('unlock'),
      settings: acts('settings'),
      state: acts('state'),
      rematch: plain('rematch'),
      verifyTicket: calls('POST /v1/rooms/{code}/ticket/verify', { code }),
    } as HostedRoom;
  };

  const playRoom = (code: string): ServedRoom => {
    const credential = { authorization: `Bearer ${key}` };
    return playedRoom({
      code,
      to: async (...request) => clean(await sendOnce(fetch, base, ...request)),
      credential: async () => credential,
      follow: ({ path, ...followed }, onState) =>
        watch({
          ...followed,
          patched,
          freeze,
          socketUrl: base.replace('http', 'ws') + path,
          WebSocket: WebSocket ?? platform.WebSocket,
          onState: guarded(onState),
        }),
      pace: paceOfServer(),
    }).room;
  };

  return {
    events: { read, follow },
    grant: calls('POST /v1/coins/credit'),
    purchase: calls('POST /v1/coins/purchase'),
    debit: calls('POST /v1/coins/debit'),
    balance: calls('GET /v1/balance'),
    history: calls('GET /v1/coins/history'),
    submitScore: calls('POST /v1/highscores/{game}'),
    verifySession: (sessionToken: string, options?: ServerCallOptions) => call('POST /v1/sessions/verify', { sessionToken }, options),
    room,
    // The call is not repeated: after a lost answer, a repetition would open a second room.
    createRoom: (input: Input, options?: ServerCallOptions) => call('POST /v1/rooms', { ...input, seatless: true }, options, false),
    playRoom,
  } as ServerClient;
}
