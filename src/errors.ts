/** Every error code of the service, with its HTTP status and its message for people. Codes are stable; messages may change. */
export const errors = {
  invalid_json: { status: 400, message: 'The body is not valid JSON.' },
  invalid_request: { status: 400, message: 'The request is not valid.' },
  unknown_action: { status: 400, message: 'Rooms have no such action.' },
  identity_required: { status: 401, message: 'Say who is calling: send a session or an installId.' },
  session_required: { status: 401, message: 'This needs a session: sign in first.' },
  sign_in_required: { status: 401, message: 'This install moved into a store account: sign in with the store.' },
  bad_token: { status: 401, message: 'The token does not verify.' },
  forbidden: { status: 403, message: 'This is not allowed.' },
  cross_site: { status: 403, message: 'A request with cookies from another origin is refused.' },
  server_only: { status: 403, message: 'Only servers may do this.' },
  not_host: { status: 403, message: 'Only the host of the room may do this.' },
  not_in_room: { status: 403, message: 'Only players in the room may do this.' },
  integrity_failed: { status: 403, message: 'The install could not be proven genuine.' },
  not_found: { status: 404, message: 'There is nothing at this path.' },
  game_not_found: { status: 404, message: 'The catalogue lists no such game, and it has no board.' },
  room_not_found: { status: 404, message: 'There is no room with this code.' },
  pair_not_found: { status: 404, message: 'There is no pairing with this token.' },
  method_not_allowed: { status: 405, message: 'This path does not take this method.' },
  insufficient_coins: { status: 409, message: 'The balance is too low for this debit.' },
  balance_limit: { status: 409, message: 'This would pass a limit of the balance.' },
  already_claimed: { status: 409, message: 'This pairing is taken already.' },
  pair_expired: { status: 409, message: 'This pairing has expired.' },
  pair_denied: { status: 409, message: 'This pairing was denied.' },
  room_full: { status: 409, message: 'The room is full.' },
  room_started: { status: 409, message: 'The game has started.' },
  room_ended: { status: 409, message: 'The room has ended.' },
  room_locked: { status: 409, message: 'The room is locked.' },
  not_enough_players: { status: 409, message: 'There are not enough players to start.' },
  nonce_used: { status: 409, message: 'The nonce is unknown, expired or already used.' },
  purchase_owned: { status: 409, message: 'This purchase belongs to another account.' },
  no_trial: { status: 409, message: 'There is no trial to link: touch one first.' },
  payload_too_large: { status: 413, message: 'The body is larger than 16 KiB.' },
  unsupported_media_type: { status: 415, message: 'Send the body as content-type: application/json.' },
  key_reused: { status: 422, message: 'This key was used for another operation or amount.' },
  upgrade_required: { status: 426, message: 'Channels speak version 13 of the WebSocket protocol.' },
  rate_limited: { status: 429, message: 'Too many requests: wait and try again.' },
  internal: { status: 500, message: 'Something went wrong here.' },
  store_unavailable: { status: 503, message: 'The data store does not answer just now: try again.' },
  store_unconfigured: { status: 503, message: 'No app store is configured on this service.' },
  overloaded: { status: 503, message: 'Too much is under way here: try again.' },
} as const satisfies Record<string, { status: number; message: string }>;

export type ErrorCode = keyof typeof errors;

/** Further fields of `error` in the JSON: figures and names that a client can act on. */
export interface RefusalDetails {
  message?: string;
  field?: string;
  issues?: { path: string; message: string }[];
  retryAfterMs?: number;
  [detail: string]: unknown;
}

/** The details that every refusal with the code has: clients may rely on them. */
export interface RequiredDetails {
  insufficient_coins: { balanceCoins: number };
  balance_limit: { balanceCoins: number };
  integrity_failed: { failed: string[] };
  rate_limited: { retryAfterMs: number };
}

/** The details of a code as `refuse` takes them. */
type DetailsOf<Code> = Code extends keyof RequiredDetails ? [details: RefusalDetails & RequiredDetails[Code]] : [details?: RefusalDetails];

/** A refused request, with its code and details. Handlers return it; code below them throws it. */
export class Refusal<Code extends ErrorCode = ErrorCode> extends Error {
  readonly code: Code;
  readonly details: RefusalDetails;

  /** @param cause why, for the log alone: the client does not get it */
  constructor(code: Code, details: RefusalDetails = {}, cause?: unknown) {
    super(details.message ?? errors[code].message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.details = details;
  }
}

/** Creates a Refusal without a stack trace: refusals are frequent and expected, and a trace costs time. */
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
