import type { CallOptions, Result } from './routes.ts';
import type { Wire } from './wire.ts';

type CoinOperation = 'POST /v1/coins/credit' | 'POST /v1/coins/purchase' | 'POST /v1/coins/debit';
type Optional<T, K extends PropertyKey> = Omit<T, K> & { [P in K & keyof T]?: T[P] };

/** The input of a call. The key of a coin operation may be left out: the client then makes one. */
type InputOf<R extends keyof Wire> = R extends CoinOperation
  ? Optional<Wire[R]['input'], 'key'>
  : R extends 'GET /v1/pair/status'
    ? Wire[R]['input'] & { /** From `pairing.open`. With it, the claimed status gives the session. */ secret?: string }
    : Wire[R]['input'];

/** A function that calls this endpoint. */
export type Call<R extends keyof Wire> =
  object extends InputOf<R>
    ? (input?: InputOf<R>, options?: CallOptions) => Promise<Result<Wire[R]['reply'], Wire[R]['code']>>
    : (input: InputOf<R>, options?: CallOptions) => Promise<Result<Wire[R]['reply'], Wire[R]['code']>>;

/**
 * `client.coins.credit({ coins: 5 })`: every call by feature and name. Each call is written out, because some editors do not show the
 * comments of computed properties.
 */
export interface Calls {
  readonly accounts: {
    /** Finds the account of the install, and creates it at the first call. */
    readonly resolve: Call<'POST /v1/account/resolve'>;
    /** Reads all data of the caller, in pages: send the `cursor` of a page to get the next. */
    readonly export: Call<'GET /v1/account/export'>;
    /** Deletes the caller's account permanently. The first call answers with a `confirm`, and the second call sends it. */
    readonly delete: Call<'POST /v1/account/delete'>;
    /** Reads the ids to pass to an app store at a purchase. They bind the purchase to the caller's account. */
    readonly storeIds: Call<'GET /v1/account/store-ids'>;
  };
  readonly sessions: {
    /** Signs the install in. From then on the client sends the session. */
    readonly login: Call<'POST /v1/login'>;
    /** Signs the caller out: ends the session. The caller is the install again. */
    readonly logout: Call<'POST /v1/logout'>;
    /** Tells whether the session is valid, and for which account. */
    readonly current: Call<'GET /v1/session'>;
    /** Lists the sessions of the caller's account: its signed-in browsers. */
    readonly list: Call<'GET /v1/sessions'>;
    /** Ends one session of the caller's account. */
    readonly end: Call<'POST /v1/sessions/end'>;
  };
  readonly signIns: {
    /** Lists the sign-ins of the caller's account: the providers with which its user signs in. It needs a session. */
    readonly list: Call<'GET /v1/account/sign-ins'>;
    /** Makes a nonce for `add`: give it to the provider, whose token then carries it. It is valid for five minutes, once. */
    readonly nonce: Call<'POST /v1/account/sign-ins/nonce'>;
    /**
     * Adds a sign-in to the caller's account, by a `token` with the nonce and a `proof`, a recent token of a sign-in that the account has. If
     * the sign-in has an account of its own (`sign_in_taken`), show what it `holds`, and call again with `confirm` to merge that account.
     */
    readonly add: Call<'POST /v1/account/sign-ins'>;
    /** Removes a sign-in from the caller's account, with its sessions. If the caller's own session ends too, the caller is the install again. */
    readonly remove: Call<'POST /v1/account/sign-ins/remove'>;
  };
  readonly coins: {
    /** Reads the caller's balance. It is 0 for an install without an account. */
    readonly balance: Call<'GET /v1/balance'>;
    /**
     * Adds coins to the caller's balance, once per idempotency key. The client makes a key, keeps the operation, and finishes it after an
     * outage or a crash.
     */
    readonly credit: Call<'POST /v1/coins/credit'>;
    /**
     * Adds coins to the caller's balance that the caller has bought, once per idempotency key, and finishes the operation as `credit`
     * does. To sell something for coins, use `debit`.
     */
    readonly purchase: Call<'POST /v1/coins/purchase'>;
    /**
     * Takes coins from the caller's balance, once per idempotency key, and never more than the balance (`insufficient_coins`). The client
     * finishes the operation after an outage, as with `credit`.
     */
    readonly debit: Call<'POST /v1/coins/debit'>;
    /** Reads the caller's ledger, newest entry first, in pages. It needs a session: a guest calls `sessions.login` before. */
    readonly history: Call<'GET /v1/coins/history'>;
  };
  readonly highscores: {
    /** Reads the ten best scores of a game. */
    readonly top: Call<'GET /v1/highscores/{game}'>;
    /** Submits a score of the caller. The board keeps the best score of each account. */
    readonly submit: Call<'POST /v1/highscores/{game}'>;
    /** Reads a page of a board, best first. `nextCursor` leads to the next page. */
    readonly entries: Call<'GET /v1/highscores/{game}/entries'>;
    /** Reads the caller's entry and the entries on both sides of it. `you` is null if the caller has no score. */
    readonly around: Call<'GET /v1/highscores/{game}/around'>;
  };
  readonly catalogue: {
    /** Lists the apps and games of the portfolio. */
    readonly list: Call<'GET /v1/catalogue'>;
  };
  readonly products: {
    /** Lists the coins that app stores sell, with the id of each in its store. */
    readonly list: Call<'GET /v1/products'>;
  };
  readonly purchases: {
    /**
     * Adds coins to the caller's balance that the caller bought in an app store. Like `coins.credit`, the purchase is finished after an outage or a crash. `pending`:
     * the client will send the purchase again, because the store is down or the product is not in the catalogue yet.
     */
    readonly buy: Call<'POST /v1/purchases'>;
    /** Lists the caller's purchases, newest first, in pages. */
    readonly list: Call<'GET /v1/purchases'>;
  };
  readonly pairing: {
    /** Opens a pairing, to sign in this screen: show its QR code, and watch it with `watchPairing`. */
    readonly open: Call<'POST /v1/pair/new'>;
    /** Signs another screen in as the caller, in two steps: `scan`, then `confirm` or `deny`. */
    readonly claim: Call<'POST /v1/pair/claim'>;
    /** Reads the status of a pairing. With the `secret` of `open`, the status `claimed` comes with the session. */
    readonly status: Call<'GET /v1/pair/status'>;
  };
  readonly rooms: {
    /** Opens a room with the caller as host and first player. */
    readonly create: Call<'POST /v1/rooms'>;
    /** Reads a room's public state. */
    readonly read: Call<'GET /v1/rooms/{code}'>;
    /** Makes a ticket that proves the caller's seat to the game's own server. */
    readonly ticket: Call<'POST /v1/rooms/{code}/ticket'>;
    /** Takes a seat for the caller in a room's lobby. The same caller gets the same seat again, in any phase. */
    readonly join: Call<'POST /v1/rooms/{code}/join'>;
    /** Gives up the caller's seat. If the host leaves, the longest-seated player becomes the host; if the last player leaves, the room ends. */
    readonly leave: Call<'POST /v1/rooms/{code}/leave'>;
    /** Tells the other players that the caller is ready. */
    readonly ready: Call<'POST /v1/rooms/{code}/ready'>;
    /** Tells the other players that the caller is not ready any more. */
    readonly unready: Call<'POST /v1/rooms/{code}/unready'>;
    /** (Host) moves the room from lobby to playing. */
    readonly start: Call<'POST /v1/rooms/{code}/start'>;
    /** (Host) ends the room, in any phase. */
    readonly end: Call<'POST /v1/rooms/{code}/end'>;
    /** (Host) removes another player, who cannot join again. */
    readonly kick: Call<'POST /v1/rooms/{code}/kick'>;
    /** (Host) makes another player the host. */
    readonly transfer: Call<'POST /v1/rooms/{code}/transfer'>;
    /** (Host) lets the room refuse new players. */
    readonly lock: Call<'POST /v1/rooms/{code}/lock'>;
    /** (Host) lets the room take new players again. */
    readonly unlock: Call<'POST /v1/rooms/{code}/unlock'>;
    /** (Host) changes settings of the lobby. Omitted settings stay. */
    readonly settings: Call<'POST /v1/rooms/{code}/settings'>;
    /** Replaces the room's state by `state` (any JSON of 8 KiB), or merges `merge` into it. The room's `writers` says who may do so. */
    readonly state: Call<'POST /v1/rooms/{code}/state'>;
    /** Replaces the caller's own public data by `data` (any JSON of 1 KiB), or merges `merge` into it. */
    readonly data: Call<'POST /v1/rooms/{code}/data'>;
    /** (Host) sets the private parts of players, by player id. Each player sees only its own part. */
    readonly private: Call<'POST /v1/rooms/{code}/private'>;
    /** Sends a message of 1 KiB to all channels of the room, or to the channels of the players in `to`. */
    readonly message: Call<'POST /v1/rooms/{code}/message'>;
    /** (Host) opens a lobby with the same game and settings. The `nextCode` of the old room is the code of the new one. */
    readonly rematch: Call<'POST /v1/rooms/{code}/rematch'>;
  };
  readonly trial: {
    /** Starts the trial of a device. Later calls only read its state. */
    readonly touch: Call<'POST /v1/trial/touch'>;
    /** Reads the state of a trial. It starts no trial. */
    readonly current: Call<'GET /v1/trial/status'>;
    /** Links the device's trial to the caller's signed-in account. */
    readonly link: Call<'POST /v1/trial/link'>;
  };
  readonly subscription: {
    /** Reads whether the caller's subscription gives access now, and whether the store or the app says so. */
    readonly current: Call<'GET /v1/subscription'>;
    /** Records the app's report that its user has subscribed, or no longer subscribes. */
    readonly report: Call<'POST /v1/subscription/report'>;
    /** Records a subscription of the caller that was bought in the app store, once the store confirms it. */
    readonly purchase: Call<'POST /v1/subscription/purchase'>;
  };
  readonly entitlement: {
    /** Reads the caller's access now, and its end. */
    readonly current: Call<'GET /v1/entitlement'>;
    /** Records the app's first run, once. */
    readonly firstRun: Call<'POST /v1/entitlement/first-run'>;
  };
  readonly store: {
    /** Signs the caller in with an account of the app store. If possible, the guest account of this install moves into the store's account. */
    readonly provision: Call<'POST /v1/account/store-provision'>;
    /** Makes a nonce for one install proof. */
    readonly nonce: Call<'GET /v1/account/store-install/nonce'>;
    /** Proves that this install of the app is genuine, with an integrity token that was made for a nonce. */
    readonly install: Call<'POST /v1/account/store-install'>;
  };
}
