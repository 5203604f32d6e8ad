import { z } from 'zod';
import { Refusal, type ErrorCode } from '../../errors.ts';
import type { Caller } from '../identity/caller.ts';
import type { CookieScope } from '../identity/cookies.ts';
import type { Reach, Scope, ServerKey } from '../identity/server-keys.ts';
import type { Session } from '../identity/sessions.ts';

/**
 * An endpoint is data. The router, validation, OpenAPI, the discovery list, metrics labels and tests all read this one
 * declaration.
 */

export type Method = 'GET' | 'POST';

/**
 * The credential that names the caller.
 *
 * - `none`: the endpoint reads no credential.
 * - `install`: the installId, else 400 `invalid_request`. A session is ignored.
 * - `optional`: the session, else the installId, else no caller.
 * - `required`: the session, else the installId, else 401 `identity_required`.
 * - `session`: the session, else 401 `session_required`.
 * - `lenient`: the installId, else the session, else no caller.
 * - `any`: the session, else the installId where the endpoint takes one, else no caller.
 * - `public`: the session, else the installId, else no caller. The answer is for everybody, and has a part for its caller.
 *
 * The installId comes in the query or the body, or in the header x-install-id. If the two disagree, the request is 400 `invalid_request`,
 * unless a session comes first.
 *
 * A session comes as the cookie svc_session or as a bearer. A request with a bearer has no cookie svc_session: the bearer alone
 * names the session.
 *
 * A cookie that does not verify, or whose session has ended, counts as not sent. Such a bearer is refused with 401 `session_required`, also
 * by `install`, and no other credential takes its place. A credential of a moved account is refused with 401 `sign_in_required`. `lenient`
 * treats a bearer whose session has ended, and every credential of a moved account, as not sent. `any` and `public` treat every invalid
 * credential, and every credential of a banned account, as not sent.
 *
 * A deleted account is 410 `account_deleted`, a banned one 403 `account_banned`. `lenient` treats a credential of a deleted account as not
 * sent.
 */
export type CallerRule = 'none' | 'install' | 'optional' | 'required' | 'session' | 'lenient' | 'any' | 'public';

export type Shape = z.ZodType;

export interface EndpointDeclaration {
  readonly method: Method;
  /** With parameters in braces: `/v1/rooms/{code}`. */
  readonly path: string;
  /** The operation's name in OpenAPI. Generated clients name their methods after it. Default: made of method and path. */
  readonly operationId?: string;
  /** Other paths of the same operation. */
  readonly aliases?: readonly string[];
  readonly caller: CallerRule;
  /**
   * The scope of the server keys that may call too. Undefined: no key may; with `caller: 'none'` a key makes no difference.
   *
   * A request with a key names the account by `accountId` or installId, in the query of a GET and in the body of a POST. Its cookies
   * do not count.
   */
  readonly keyScope?: Scope;
  /** With `keyScope`: the data that a key of one game reaches. Undefined: such a key may not call. */
  readonly reach?: Reach;
  /**
   * A page of the service's own origin may send the key, because its user types it: the sign-in of the console. Everywhere else a key from a
   * browser is refused.
   */
  readonly takesTypedKey?: boolean;
  /** False: a request with a key need not name an account, and has no caller then. */
  readonly keyNeedsAccount?: boolean;
  /** The documented `auth`, if it differs from the caller rule: the endpoint reads a session that it does not ask for. */
  readonly auth?: 'none';
  readonly summary: string;
  /** Rules that a reader of the API needs beyond the summary. */
  readonly description?: string;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodObject;
  /** The body is a form (application/x-www-form-urlencoded), as OAuth's token endpoint takes it (RFC 6749, section 4). */
  readonly form?: boolean;
  /**
   * The most bytes of a body, with a server key of the endpoint's scope. All other requests, and all other endpoints, have
   * `BODY_LIMIT_BYTES`.
   */
  readonly bodyLimitBytes?: number;
  /** An empty body counts as `{}`. For an endpoint whose documented body is an empty object, or has optional fields only. */
  readonly emptyBody?: boolean;
  /** The fields of the reply beside `ok`. */
  readonly reply: z.ZodObject;
  /** The error codes beyond those that follow from the rest of the declaration (`declaredErrors`). */
  readonly errors?: readonly ErrorCode[];
  /** Each call counts as one creation of the client's address. */
  readonly creates?: boolean;
  /**
   * Whether the call with this reply appended an entry to a ledger, or added as much data that stays for ever. The entry counts for the
   * daily budget of the client's address.
   */
  readonly writesEntry?: (reply: never) => boolean;
  /**
   * The codes of a wrong guess, such as an unknown room code. Each answer with one of them counts as one miss of the client's address,
   * which limits guessing.
   */
  readonly misses?: readonly ErrorCode[];
  /** For a long-poll: the seconds that the client asks to wait. A waiting request takes no place among the requests in flight. */
  readonly waitSeconds?: (query: never) => number;
  /**
   * The request reads much. A process runs such requests one at a time, with pauses (`costly-work.ts`). The handler works in parts of a few
   * milliseconds, and stops once `meta.isOver`.
   */
  readonly costly?: boolean;
  /** Milliseconds that the answer may take, for an endpoint that calls more than Redis. Otherwise `REDIS_DEADLINE_MS`. */
  readonly deadlineMs?: number;
  /** Served on METRICS_PORT instead, where that is set. */
  readonly hasOwnPort?: boolean;
  /** For monitoring: answered under any load, outside the bound on requests in flight. */
  readonly probe?: boolean;
  /** Exempt from the rate limit. */
  readonly unlimited?: boolean;
  /** The media type of an answer that is not JSON with `ok`. */
  readonly mediaType?: string;
  /** The endpoint answers with a page (text/html), unless this is the query: `format=json`. */
  readonly pageUnless?: string;
  /** A page of any origin may read the answer, without credentials. */
  readonly anyOrigin?: boolean;
  /** Further request headers that the handler reads, each with a description. With `if-none-match` it may answer 304. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A curl command that works against a local service; `$base` stands for its address. */
  readonly example: string;
  /** For an endpoint whose last path parameter decides which fields the body needs: an operation for each value. */
  readonly variants?: readonly OperationVariant[];
}

/** How OpenAPI describes an endpoint for one value of its last path parameter, as an operation with a path of its own. */
export interface OperationVariant extends Pick<EndpointDeclaration, 'summary' | 'description' | 'body' | 'example'> {
  readonly operationId: string;
  /** The value of the path parameter. */
  readonly value: string;
  /** False: the endpoint refuses server keys for this value. */
  readonly takesKey?: boolean;
  /** The codes of the endpoint's `errors` that apply to this value, in place of all of them. */
  readonly errors: readonly ErrorCode[];
}

/** The data that a handler receives: plain and validated. */
export interface Call<Params, Query, Body, Who> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** With a server key: the account that the request names, or the one that it moved into. */
  readonly caller: Who;
  /**
   * The session that the request brought, even if an installId names the caller: then no script has checked whether the session has ended.
   */
  readonly session: Session | undefined;
  /** The server key of the request, with the endpoint's `keyScope`. */
  readonly key: ServerKey | undefined;
  readonly meta: RequestMeta;
}

/** Data about a request that only a few features need. */
export interface RequestMeta {
  readonly address: string;
  readonly userAgent: string;
  readonly cookie: string;
  readonly authorization: string;
  /** The request has a bearer: its answer sets no session cookie. */
  readonly hasBearer: boolean;
  /** The answer's body is not sent (HEAD), so the handler must not spend anything that is given only once. */
  readonly isHead: boolean;
  /** The header traceparent for calls to other services that this request causes. */
  readonly traceparent: string | undefined;
  readonly deviceId: string;
  readonly pairSecret: string;
  readonly ifNoneMatch: string;
  readonly accept: string;
  readonly acceptEncoding: string;
  /** `https://coinop.example`: how the client reached the service. */
  readonly origin: string;
  /** For the cookies that the answer sets. */
  readonly cookieScope: CookieScope;
  /** The client has gone, or the request was answered at its deadline: nothing more can be sent. */
  readonly isOver: boolean;
  /** Waits for news. A costly request leaves its turn to others meanwhile. */
  rest(wait: () => Promise<void>): Promise<void>;
  /** Calls back when the client aborts before the answer; at once if the exchange has finished. */
  onGone(callback: () => void): void;
  /**
   * Counts an answer that costs as much as this number of further requests. 0 if the client may have it, else the milliseconds to wait: the
   * handler then throws `rateLimited`.
   */
  charge(requests: number): number;
  /** Gives the reserved miss back: the room or pairing exists, and its answer may take long. */
  found(): void;
}

interface ReplyExtras {
  readonly cookies?: readonly string[];
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly status?: number;
  readonly mediaType?: string;
}

/** A handler's answer with cookies, headers, a status or a media type of its own. */
export class Reply<Body> {
  readonly body: Body | Encoded;
  readonly cookies: readonly string[];
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly status: number;
  /** Undefined: the endpoint's. */
  readonly mediaType: string | undefined;

  constructor(body: Body | Encoded, more: ReplyExtras = {}) {
    this.body = body;
    this.cookies = more.cookies ?? [];
    this.headers = more.headers ?? [];
    this.status = more.status ?? 200;
    this.mediaType = more.mediaType;
  }
}

/** An answer whose body is text already: a script made it, or the service keeps it and sends it many times. */
export class Encoded {
  readonly text: string;
  #bytes: Buffer | undefined;
  #wasSent = false;

  constructor(text: string) {
    this.text = text;
  }

  /** Encodes a body with `ok: true` in front. */
  static ok(body: object): Encoded {
    return new Encoded(okBody(body));
  }

  /**
   * The text for the first answer, its bytes for later ones: uWS measures and converts a text for each answer, which costs 1 µs for a top
   * ten.
   */
  get wire(): string | Buffer {
    if (this.#wasSent) return (this.#bytes ??= Buffer.from(this.text));
    this.#wasSent = true;
    return this.text;
  }
}

/** An answer whose bytes are made already, such as a compressed one. */
export class EncodedBytes extends Encoded {
  readonly #given: Buffer;

  constructor(bytes: Buffer) {
    super('');
    this.#given = bytes;
  }

  override get wire(): Buffer {
    return this.#given;
  }
}

/**
 * An answer that a handler gives without running a script for its caller, and that a caller with an invalid credential must not
 * get. The pipeline first checks in Redis that the session has not ended and that the account has not moved. An answer that any
 * caller may get, such as a refusal of malformed input, is plain.
 */
export class Unchecked<Answer> {
  readonly answer: Answer;

  constructor(answer: Answer) {
    this.answer = answer;
  }
}

/** `{"ok":true, …}` */
export function okBody(body: object): string {
  const text = JSON.stringify(body);
  return text === '{}' ? '{"ok":true}' : `{"ok":true,${text.slice(1)}`;
}

/** The query's `wait`: how long a long-poll waits for news. */
export const WaitSeconds = z
  .string()
  .regex(/^\d{1,2}$/, 'Must be a whole number of seconds from 0 to 25')
  .refine((text) => Number(text) <= 25, 'Must be a whole number of seconds from 0 to 25')
  .optional()
  .meta({ type: 'integer', minimum: 0, maximum: 25, description: 'Seconds to wait for news, 0 to 25.' });

/**
 * The query's `limit`, as text.
 * @param most the highest that is allowed, 9,999 or less
 * @param description names what is limited, and the default
 */
export function limitParameter(most: number, description: string) {
  const rule = `Must be a whole number from 1 to ${most}`;
  return z
    .string()
    .regex(most > 999 ? /^\d{1,4}$/ : /^\d{1,3}$/, { error: rule, abort: true })
    .refine((text) => Number(text) >= 1 && Number(text) <= most, rule)
    .optional()
    .meta({ type: 'integer', minimum: 1, maximum: most, description });
}

/** The codes that follow from the caller rule: a handler may return them without declaring them (`declaredErrors`). */
type ImpliedCode<Rule extends CallerRule> = Rule extends 'none' | 'any' | 'public'
  ? never
  : Rule extends 'lenient'
    ? 'session_required' | 'account_banned'
    : 'session_required' | 'account_banned' | 'sign_in_required' | 'account_deleted';

type Awaitable<Value> = Value | Promise<Value>;

type Output<S, Otherwise> = S extends Shape ? z.output<S> : Otherwise;
type WhoFor<Rule extends CallerRule> = Rule extends 'none'
  ? undefined
  : Rule extends 'optional' | 'lenient' | 'any' | 'public'
    ? Caller | undefined
    : Caller;

type Plain<Body, Code extends ErrorCode> = Body | Encoded | Reply<Body | Encoded> | Refusal<Code>;

export type Answered<Body, Code extends ErrorCode> = Plain<Body, Code> | Unchecked<Plain<Body, Code>>;

/** The part of a declaration that the client library uses. A type only: no endpoint has a value of it. */
export interface Wire<Route extends string, Input, ReplyBody, Code extends ErrorCode> {
  /** `POST /v1/coins/credit` */
  readonly route: Route;
  /** Path parameters, query and body of the request as one object. */
  readonly input: Input;
  /** The fields of the reply beside `ok`. */
  readonly reply: ReplyBody;
  readonly code: Code;
}

type Input<S> = S extends Shape ? z.input<S> : unknown;

/** As `declaredErrors`, for types. It has a few codes that a probe or an endpoint without input cannot give. */
type WireCode<M extends Method, Rule extends CallerRule, Code extends ErrorCode> =
  | Code
  | 'invalid_request'
  | 'rate_limited'
  | (typeof OUTAGE_CODES)[number]
  | (M extends 'POST' ? (typeof POST_CODES)[number] : never)
  | ImpliedCode<Rule>
  | (Rule extends 'required' ? 'identity_required' : never)
  | (Rule extends 'session' ? 'session_required' : never);

/** @typeParam Taken the services that the handler takes. The endpoint then fits into any list of endpoints whose services include these. */
export interface Endpoint<Taken> extends EndpointDeclaration {
  // `endpoint` types each handler by the declared shapes, and the pipeline validates by the same shapes.
  readonly handle: (call: Call<never, never, never, never>, services: Taken) => unknown;
}

/**
 * Declares an endpoint. The declaration types the handler's data, reply and refusals. The handler's second parameter names its services.
 */
export function endpoint<
  const Rule extends CallerRule,
  ReplyShape extends z.ZodObject,
  Params extends z.ZodObject | undefined = undefined,
  Query extends z.ZodObject | undefined = undefined,
  Body extends z.ZodObject | undefined = undefined,
  const Code extends ErrorCode = never,
  const M extends Method = Method,
  const Path extends string = string,
  const KeyNeedsAccount extends boolean = true,
  // A second parameter without a type gives nothing to infer from. Then the handler has no service.
  Taken extends object = object,
>(
  declaration: Omit<
    EndpointDeclaration,
    'method' | 'path' | 'caller' | 'params' | 'query' | 'body' | 'reply' | 'errors' | 'keyNeedsAccount'
  > & {
    method: M;
    path: Path;
    caller: Rule;
    params?: Params;
    query?: Query;
    body?: Body;
    reply: ReplyShape;
    errors?: readonly Code[];
    keyNeedsAccount?: KeyNeedsAccount;
    handle: (
      call: Call<
        Output<Params, undefined>,
        Output<Query, undefined>,
        Output<Body, undefined>,
        WhoFor<Rule> | (KeyNeedsAccount extends true ? never : undefined)
      >,
      services: Taken,
      // Without NoInfer TypeScript infers Code from the handler too, and every code it returns counts as declared.
    ) => Awaitable<Answered<z.input<ReplyShape>, NoInfer<Code> | ImpliedCode<Rule>>>;
  },
): Endpoint<Taken> & {
  readonly wire?: Wire<`${M} ${Path}`, Input<Params> & Input<Query> & Input<Body>, z.input<ReplyShape>, WireCode<M, Rule, Code>>;
} {
  return declaration as unknown as Endpoint<Taken>;
}

/** The `auth` that the list of endpoints and OpenAPI show. */
export function authOf(endpoint: EndpointDeclaration): 'none' | 'session (optional)' | 'session (required)' {
  if (endpoint.auth !== undefined) return endpoint.auth;
  if (endpoint.caller === 'none' || endpoint.caller === 'install' || endpoint.caller === 'public') return 'none';
  return endpoint.caller === 'session' ? 'session (required)' : 'session (optional)';
}

/** Every error code of the endpoint: the declared codes, and those that follow from the rest of the declaration. */
export function declaredErrors(endpoint: EndpointDeclaration): ErrorCode[] {
  const codes = new Set<ErrorCode>(endpoint.errors ?? []);
  if (endpoint.method === 'POST') {
    for (const code of POST_CODES) codes.add(code);
  }
  if (endpoint.params !== undefined || endpoint.query !== undefined || endpoint.body !== undefined) codes.add('invalid_request');
  if (endpoint.caller === 'required') codes.add('identity_required');
  if (endpoint.caller !== 'none' && endpoint.caller !== 'any' && endpoint.caller !== 'public') {
    codes.add('session_required').add('account_banned');
    if (endpoint.caller !== 'lenient') codes.add('sign_in_required').add('account_deleted');
  }
  if (endpoint.keyScope !== undefined) for (const code of KEY_CODES) codes.add(code);
  if (endpoint.unlimited !== true) codes.add('rate_limited');
  if (endpoint.probe !== true) for (const code of OUTAGE_CODES) codes.add(code);
  return [...codes];
}

/** Any endpoint refuses a bad key. Endpoints that no key may call are documented without these codes. */
export const KEY_CODES = ['bad_key', 'forbidden'] as const;
const POST_CODES = ['invalid_json', 'cross_site', 'payload_too_large', 'unsupported_media_type'] as const;
const OUTAGE_CODES = ['overloaded', 'store_unavailable', 'internal'] as const;
