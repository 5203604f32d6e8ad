import type { ActionName, Details, Route, Wire } from './wire.ts';

/** The routes of the calls that go through the outbox, by the type of their operation. */
export const operations = {
  credit: 'POST /v1/coins/credit',
  purchase: 'POST /v1/coins/purchase',
  debit: 'POST /v1/coins/debit',
  buy: 'POST /v1/purchases',
} as const satisfies Record<string, Route>;

/** In place of a route that only the module `sign-ins.ts` needs, which has it: each byte of this module counts. */
const later = '' as never;

/**
 * The calls of the client: method and path. `Calls` has their types. `!` marks a call that must not be repeated after a lost answer: it
 * would open a second room, send a message twice, or use up a nonce.
 */
export const routes = {
  accounts: {
    resolve: later as 'POST /v1/account/resolve',
    export: 'GET /v1/account/export',
    delete: later as 'POST /v1/account/delete',
    storeIds: 'GET /v1/account/store-ids',
  },
  sessions: {
    login: later as 'POST /v1/login',
    logout: later as 'POST /v1/logout',
    current: 'GET /v1/session',
    list: 'GET /v1/sessions',
    end: later as 'POST /v1/sessions/end',
  },
  signIns: {
    list: 'GET /v1/account/sign-ins',
    nonce: 'POST /v1/account/sign-ins/nonce',
    add: later as '!POST /v1/account/sign-ins',
    remove: later as 'POST /v1/account/sign-ins/remove',
  },
  coins: {
    balance: 'GET /v1/balance',
    credit: operations.credit,
    purchase: operations.purchase,
    debit: operations.debit,
    history: 'GET /v1/coins/history',
  },
  highscores: {
    top: 'GET /v1/highscores/{game}',
    submit: 'POST /v1/highscores/{game}',
    entries: 'GET /v1/highscores/{game}/entries',
    around: 'GET /v1/highscores/{game}/around',
  },
  catalogue: { list: 'GET /v1/catalogue' },
  products: { list: 'GET /v1/products' },
  purchases: { buy: operations.buy, list: 'GET /v1/purchases' },
  pairing: { open: later as 'POST /v1/pair/new', claim: 'POST /v1/pair/claim', status: later as 'GET /v1/pair/status' },
  rooms: {
    create: '!POST /v1/rooms',
    read: 'GET /v1/rooms/{code}',
    ticket: 'POST /v1/rooms/{code}/ticket',
    join: 'POST /v1/rooms/{code}/join',
    message: '!POST /v1/rooms/{code}/message',
  },
  trial: { touch: 'POST /v1/trial/touch', current: 'GET /v1/trial/status', link: 'POST /v1/trial/link' },
  subscription: { current: 'GET /v1/subscription', report: 'POST /v1/subscription/report', purchase: 'POST /v1/subscription/purchase' },
  entitlement: { current: 'GET /v1/entitlement', firstRun: 'POST /v1/entitlement/first-run' },
  store: {
    provision: later as 'POST /v1/account/store-provision',
    nonce: 'GET /v1/account/store-install/nonce',
    install: '!POST /v1/account/store-install',
  },
} as const satisfies Record<string, Record<string, Route>>;

/** The actions of a player in a room, each done once and in the order of the calls: `client.rooms.ready({ code })`. */
type ActName = Exclude<ActionName, 'join' | 'message'>;

/** Written as one text, which is shorter than a list in the bundle. */
export const acts = 'leave ready state kick unready lock unlock rematch start settings data private transfer end'.split(' ') as ActName[];

/** Why a call has no answer from the service. `network`: no answer came, or a proxy answered that the service is down. */
export type ClientCode = 'network' | 'timeout' | 'aborted' | 'not_coinop';

/** An error with its code. Each code has the fields that it has in the service's answer. */
export type CoinopError<Code extends string = string> = {
  [C in Code]: { code: C; message: string } & Details['any'] & (C extends keyof Details['of'] ? Details['of'][C] : unknown);
}[Code];

export interface Failure<Code extends string = string> {
  ok: false;
  error: CoinopError<Code>;
  requestId?: string;
  /** The HTTP status, if the service has answered. */
  status?: number;
  /** The operation waits in the store and will be finished. Only coin operations, purchases and saves have this field. */
  pending?: true;
}

/** The result of a call: the reply, or an error. `ok` distinguishes them, and `error.code` distinguishes the errors. */
export type Result<Reply = object, Code extends string = string> = ({ ok: true } & Reply) | Failure<Code | ClientCode>;

export interface CallOptions {
  /** Aborts the call. A coin operation stays in the outbox. */
  signal?: AbortSignal;
  /** Milliseconds for the call with all its repetitions. The default is 15,000, plus the `wait` of a long-poll. */
  timeoutMs?: number;
}

export type Room = Wire['GET /v1/rooms/{code}']['reply']['room'];
export type PairStatus = Wire['GET /v1/pair/status']['reply']['status'];
