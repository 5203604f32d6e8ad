/**
 * Every error code of the service, with its HTTP status, its message for people, and advice for the caller. The page `/docs/errors` shows
 * the advice, in which backquotes mark code. Codes are stable; messages and advice may change.
 */
export const errors = {
  invalid_json: {
    status: 400,
    message: 'The body is not valid JSON.',
    advice: 'Correct the body: it must be one JSON value (RFC 8259) in UTF-8. The same body is refused again.',
  },
  invalid_request: {
    status: 400,
    message: 'The request is not valid.',
    advice: 'Correct the fields that `error.issues` lists, each with its problem. The same request is refused again.',
  },
  unknown_action: {
    status: 400,
    message: 'Rooms have no such action.',
    advice: 'Use an action that the reference lists for rooms.',
  },
  identity_required: {
    status: 401,
    message: 'Say who is calling: send a session or an installId.',
    advice: 'Send the installId as `x-install-id` or in the request, or a session as cookie or bearer.',
  },
  session_required: {
    status: 401,
    message: 'This needs a session: sign in first, with POST /v1/login or client.sessions.login().',
    advice:
      'Drop the session that you sent, sign in again, and repeat the request with the new session. An account of installs signs in with `POST /v1/login`.',
  },
  sign_in_required: {
    status: 401,
    message: 'This install moved into a store account: sign in with the store.',
    advice:
      'Have the user sign in with the app store (`POST /v1/account/store-provision`). Repeat the request with the session of that sign-in.',
  },
  bad_token: {
    status: 401,
    message: 'The token does not verify.',
    advice: 'Get a new token from the app store and send it. The store does not confirm this token, or its signature is wrong.',
  },
  bad_key: {
    status: 401,
    message: 'The server key is not valid.',
    advice:
      'Send a server key that `npm run admin -- keys list` shows as valid, from a server and not from a browser. A game or an app has no server key.',
  },
  forbidden: {
    status: 403,
    message: 'This is not allowed.',
    advice:
      'With a server key: use one that has the scope `error.scope` and the game of the request; an endpoint without a scope takes no key. A session from a pairing ends no other session. A notification of the app store comes from the Google account that GOOGLE_NOTIFICATIONS_EMAIL names.',
  },
  cross_site: {
    status: 403,
    message: 'A request with cookies from another origin is refused.',
    advice:
      "Add the origin of the page to ALLOWED_ORIGINS of the service, or call from the service's own origin. Apps send no cookies, so they never get this code.",
  },
  proof_required: {
    status: 403,
    message: 'Prove that it is you: sign in again with a provider that this account has.',
    advice:
      'Have the user sign in with one of the providers of `GET /v1/account/sign-ins`, and send that ID token as `proof` within ten minutes.',
  },
  server_only: {
    status: 403,
    message: 'Only servers may do this.',
    advice: 'Let your own server make this call, with a server key of the scope that the reference names. A game or an app cannot make it.',
  },
  account_banned: {
    status: 403,
    message: 'This account is banned.',
    advice:
      'Tell the player that the account is banned: until `error.until`, or for ever if that is missing. Sending the request again gives the same answer. Signing out still works.',
  },
  not_host: {
    status: 403,
    message: 'Only the host of the room may do this.',
    advice: 'Offer this action to the host of the room only: the player with `host: true`.',
  },
  not_writer: {
    status: 403,
    message: "Only a server may write this room's state.",
    advice: 'Let your own server write the state, with a server key of the scope `rooms`, because `writers` of the room is `server`.',
  },
  not_in_room: {
    status: 403,
    message: 'Only players in the room may do this.',
    advice: 'Join the room first, as the same caller.',
  },
  kicked: {
    status: 403,
    message: 'The host removed this player from the room.',
    advice: 'Offer another room. This account cannot join this one again.',
  },
  integrity_failed: {
    status: 403,
    message: 'The install could not be proven genuine.',
    advice:
      'Prove the install with `POST /v1/account/store-install`. If that call gave this code, `error.failed` names the checks that the device did not pass: do not repeat it.',
  },
  not_found: {
    status: 404,
    message: 'There is nothing at this path.',
    advice: 'Check the path against the reference. Capital letters and a slash at the end make a difference.',
  },
  account_not_found: {
    status: 404,
    message: 'There is no such account.',
    advice:
      'Check the id. An account exists from its first write on: an install that has only read data has none. `POST /v1/admin/find` ' +
      'takes an installId or a store subject too.',
  },
  entry_not_found: {
    status: 404,
    message: 'There is no such entry or archive on this board.',
    advice: 'List the entries of the board or its archives again: somebody may have removed this entry or archive.',
  },
  game_not_found: {
    status: 404,
    message: 'The catalogue does not list this game, and the game has no board.',
    advice: 'Use a `game` of `GET /v1/catalogue`.',
  },
  sign_in_not_found: {
    status: 404,
    message: 'This account has no such sign-in.',
    advice: 'Use an `id` of `GET /v1/account/sign-ins`. Another browser of the user may have removed this one.',
  },
  season_not_found: {
    status: 404,
    message: 'This game has no such season, or its board is no longer kept.',
    advice: 'Ask without `season` for the current one.',
  },
  room_not_found: {
    status: 404,
    message: 'There is no room with this code.',
    advice: 'Ask the player for the code again, or open a new room. A room expires when nothing changes in it.',
  },
  pair_not_found: {
    status: 404,
    message: 'There is no pairing with this token.',
    advice: 'Open a new pairing and show its QR code. A pairing is forgotten some minutes after it ended.',
  },
  session_not_found: {
    status: 404,
    message: 'The account has no such session.',
    advice: 'List the sessions again with `GET /v1/sessions`: this one has ended, or belongs to another account.',
  },
  method_not_allowed: {
    status: 405,
    message: 'This path does not take this method.',
    advice: 'Use a method that the header `allow` of the answer lists.',
  },
  insufficient_coins: {
    status: 409,
    message: 'The balance is too low for this debit.',
    advice:
      'Tell the player how many coins are missing: `error.balanceCoins` is the balance, and `error.debtCoins`, if it is there, the debt ' +
      'that a refund left. The ' +
      'same key may be used again once there are enough coins.',
  },
  balance_limit: {
    status: 409,
    message: 'This would exceed a limit of the balance.',
    advice:
      'Stop crediting for now: the balance, or the credits of this UTC day, have reached their limit. `error.balanceCoins` is the balance.',
  },
  already_claimed: {
    status: 409,
    message: 'This pairing is taken already.',
    advice: 'Tell the user that another phone has claimed this code. Open a new pairing for a second try.',
  },
  pair_expired: {
    status: 409,
    message: 'This pairing has expired.',
    advice: 'Open a new pairing and show its QR code.',
  },
  pair_denied: {
    status: 409,
    message: 'This pairing was denied.',
    advice: 'Tell the user that the phone said no. Open a new pairing if that was a mistake.',
  },
  room_full: {
    status: 409,
    message: 'The room is full.',
    advice: 'Offer another room, or wait until a player leaves.',
  },
  room_started: {
    status: 409,
    message: 'The game has started.',
    advice: 'Wait for the end of the game, or offer another room. Only the lobby takes new players.',
  },
  sign_in_taken: {
    status: 409,
    message: 'This sign-in has an account of its own.',
    advice:
      'Show the user what `error.holds` says. To merge that account into this one, send the same request again with `error.confirm` within five minutes.',
  },
  last_sign_in: {
    status: 409,
    message: 'This is the only sign-in of the account.',
    advice: 'Add another sign-in first, or delete the account with `POST /v1/account/delete`.',
  },
  merge_refused: {
    status: 409,
    message: 'The two accounts cannot be merged.',
    advice: 'Tell the user why: `error.reason` is `too_many_guests`, `balance_limit` or `account_banned`. Nothing has changed.',
  },
  room_ended: {
    status: 409,
    message: 'The room has ended.',
    advice: 'Leave the room, or have its host open a rematch.',
  },
  room_locked: {
    status: 409,
    message: 'The room is locked.',
    advice: 'Ask the host to unlock the room.',
  },
  not_enough_players: {
    status: 409,
    message: 'There are not enough players to start.',
    advice: "Wait for more players: the room's `minPlayers` says how many it needs.",
  },
  stale_state: {
    status: 409,
    message: "The room's state is not the one that `ifStateSeq` names.",
    advice: 'Make the change again from `error.state`, and send it with `error.stateSeq`.',
  },
  stale_save: {
    status: 409,
    message: 'The latest version of the save is not the one that `ifVersion` names.',
    advice:
      'Merge your data with `error.data`, the latest, and send the result with `ifVersion: error.version`. Version 0: no such save exists.',
  },
  save_limit: {
    status: 409,
    message: 'The save is too large, or the player has too many saves.',
    advice: 'Save less, or delete a save that nobody needs. `error.message` says which limit is reached.',
  },
  nonce_used: {
    status: 409,
    message: 'The nonce is unknown, expired or already used.',
    advice: 'Ask for a new nonce, make a new integrity token with it, and send that.',
  },
  test_purchase: {
    status: 403,
    message: 'This is a test purchase: nobody paid for it.',
    advice:
      'Test against a service that is not in production. Whoever runs the service may set `TEST_PURCHASES=capped`: over the cap of a day ' +
      'nothing is recorded, and the purchase may be sent again on the next day (UTC).',
  },
  product_not_found: {
    status: 404,
    message: 'The catalogue has no such product.',
    advice: 'Keep the purchase and send it again later. Whoever runs the service adds the product to `products` of the catalogue.',
  },
  save_not_found: {
    status: 404,
    message: 'There is no such save.',
    advice: 'Begin the game anew: nothing was saved under this name. If you asked for an older version: only the last five are kept.',
  },
  purchase_not_found: {
    status: 404,
    message: 'There is no such purchase here.',
    advice: "Look for the purchase by the store's order number, or in the account of the buyer: perhaps no client has sent its token yet.",
  },
  webhook_not_found: {
    status: 404,
    message: 'There is no such webhook.',
    advice: 'Use an id of `GET /v1/admin/webhooks`: somebody may have removed this one.',
  },
  event_not_found: {
    status: 404,
    message: 'The log of events has no such event.',
    advice: 'Use the id of an event that `GET /v1/events` shows. The log keeps events for EVENTS_DAYS, and has none with EVENTS=off.',
  },
  webhooks_full: {
    status: 409,
    message: 'The number of webhooks, or of repetitions of one webhook, is at its limit.',
    advice: 'Remove a webhook that nobody needs. To deliver many events again, replay the webhook from a time.',
  },
  purchase_owned: {
    status: 409,
    message: 'This purchase belongs to another account.',
    advice: 'Have the user sign in to the account that made the purchase. A purchase entitles one account.',
  },
  no_trial: {
    status: 409,
    message: 'There is no trial to link: touch one first.',
    advice: 'Start the trial of this device with `POST /v1/trial/touch`, then link it.',
  },
  account_deleted: {
    status: 410,
    message: 'This account was deleted.',
    advice:
      'Forget the installId, the session and the outbox of this account. A new installId, or a new sign-in with the app store, opens a new account.',
  },
  payload_too_large: {
    status: 413,
    message: 'The body is larger than 16 KiB.',
    advice: 'Send less: a body has at most 16 KiB, and the body of a save at most 80 KiB.',
  },
  unsupported_media_type: {
    status: 415,
    message: 'Send the body as content-type: application/json.',
    advice: 'Send the header `content-type: application/json`.',
  },
  key_reused: {
    status: 422,
    message: 'This key was used for another operation or amount.',
    advice: 'Make a new key for a new operation. To repeat an operation, send the same key with the same operation and amount.',
  },
  upgrade_required: {
    status: 426,
    message: 'Channels speak version 13 of the WebSocket protocol.',
    advice: 'Use a WebSocket client of RFC 6455: it sends `sec-websocket-version: 13`.',
  },
  rate_limited: {
    status: 429,
    message: 'Too many requests: wait and try again.',
    advice: 'Wait `error.retryAfterMs`, then send the same request again. If it happens often, send fewer requests.',
  },
  internal: {
    status: 500,
    message: 'Something went wrong here.',
    advice:
      'Send the same request again, later, with the same key. If the error stays, give `requestId` to the operator of the service: the log has the cause.',
  },
  store_unavailable: {
    status: 503,
    message: 'The data store does not answer just now: try again.',
    advice:
      'Send the same request again, with the same key, after `error.retryAfterMs` or a second. With `outcome: "unknown"` the write may have happened: the key keeps it from counting twice.',
  },
  app_store_unavailable: {
    status: 503,
    message: 'The app store does not answer just now: try again.',
    advice: 'Send the same request again after `error.retryAfterMs`; an install proof needs a new nonce. The service itself is well.',
  },
  store_unconfigured: {
    status: 503,
    message: 'No app store is configured on this service.',
    advice: 'Do not repeat the request. Whoever runs the service sets `STORE` and the `GOOGLE_…` settings.',
  },
  overloaded: {
    status: 503,
    message: 'Too much is under way here: try again.',
    advice: 'Wait `error.retryAfterMs` and a random moment more, then send the same request again. It did nothing.',
  },
} as const satisfies Record<string, { status: number; message: string; advice: string }>;

export type ErrorCode = keyof typeof errors;

/** More fields of `error` in the JSON: figures and names that a client can use. */
export interface RefusalDetails {
  message?: string;
  field?: string;
  issues?: { path: string; message: string }[];
  retryAfterMs?: number;
  [detail: string]: unknown;
}

/** The holdings of an account that would be merged, for its user to see. */
export interface HeldByAccount {
  balanceCoins: number;
  debtCoins?: number;
  /** Entries of the ledger. */
  entries: number;
  /** Boards with a score. */
  boards: number;
  /** Purchases of coins. */
  purchases: number;
  /** Guests that moved in. */
  guests: number;
  /** The names of the providers of the account's sign-ins. */
  signIns: string[];
}

/** The details that every refusal with this code has, so that clients may rely on them. */
export interface RequiredDetails {
  insufficient_coins: { balanceCoins: number; debtCoins?: number };
  balance_limit: { balanceCoins: number; debtCoins?: number };
  integrity_failed: { failed: string[] };
  rate_limited: { retryAfterMs: number };
  stale_state: { stateSeq: number; state: unknown };
  stale_save: { version: number; updatedAt?: string; data?: unknown };
  sign_in_taken: { holds: HeldByAccount; confirm: string; expiresAt: string };
  merge_refused: { reason: string };
}

/** The type of the parameter with which `refuse` takes the details of a code. */
type DetailsOf<Code> = Code extends keyof RequiredDetails ? [details: RefusalDetails & RequiredDetails[Code]] : [details?: RefusalDetails];

/** A refused request, with its error code and details. Handlers return a Refusal; functions that handlers call throw it. */
export class Refusal<Code extends ErrorCode = ErrorCode> extends Error {
  readonly code: Code;
  readonly details: RefusalDetails;

  /** @param cause the error behind the refusal, for the log only: the client does not get it */
  constructor(code: Code, details: RefusalDetails = {}, cause?: unknown) {
    super(details.message ?? errors[code].message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.details = details;
  }
}

/** Makes a Refusal without a stack trace, because refusals are frequent and expected, and a stack trace costs time. */
export function refuse<Code extends ErrorCode>(code: Code, ...more: [...DetailsOf<Code>, cause?: unknown]): Refusal<Code> {
  const [details, cause] = more as readonly unknown[] as readonly [details?: RefusalDetails, cause?: unknown];
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    return new Refusal(code, details, cause);
  } finally {
    Error.stackTraceLimit = limit;
  }
}

/** @param waitMs milliseconds until a retry may succeed */
export function rateLimited(waitMs: number, message?: string): Refusal<'rate_limited'> {
  return refuse('rate_limited', { ...(message === undefined ? {} : { message }), retryAfterMs: Math.ceil(waitMs) });
}

/** @param field name of the field or header with the bad value */
export function invalid(field: string, message: string): Refusal<'invalid_request'> {
  return refuse('invalid_request', { message: `${field}: ${message}`, field, issues: [{ path: field, message }] });
}
