import { z } from 'zod';
import { Refusal, type ErrorCode } from '../../errors.ts';
import type { Caller } from '../identity/caller.ts';
import type { CookieScope } from '../identity/cookies.ts';
import type { Reach, Scope, ServerKey } from '../identity/server-keys.ts';
import type { Session } from '../identity/sessions.ts';

/**
 * Endpoints are declared as data. The router, validation, OpenAPI, the discovery list, metrics labels and tests all read the same
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
 * - `public`: the session, else the installId, else no caller. Everybody gets an answer; a part of it is for the caller.
 *
 * The installId comes in the query or the body, or in the header x-install-id. If the header and the query or body disagree, the request is
 * 400 `invalid_request`, unless a session comes first.
 *
 * A session comes as the cookie svc_session or as a bearer. A request with a bearer has no cookie svc_session: the bearer alone names the
 * session.
 *
 * A cookie that does not verify, or whose session has ended, is ignored. A bearer that does not verify, or whose session has ended, is
 * refused with 401 `session_required`, by the rule `install` too: no other credential takes its place. A credential of a moved account is
 * refused with 401 `sign_in_required`. `lenient` ignores a bearer whose session has ended, and every credential of a moved account. `any`
 * and `public` ignore every invalid credential, and every credential of a banned account.
 *
 * A credential of a deleted account is refused with 410 `account_deleted`, one of a banned account with 403 `account_banned`. `lenient`
 * ignores the credential of a deleted account.
 */
export type CallerRule = 'none' | 'install' | 'optional' | 'required' | 'session' | 'lenient' | 'any' | 'public';

export type Shape = z.ZodType;

export interface EndpointDeclaration {
  readonly method: Method;
  /** The path, with parameters in braces: `/v1/rooms/{code}`. */
  readonly path: string;
  /** The name of the operation in OpenAPI. Generated clients name their methods after it. Default: made of method and path. */
  readonly operationId?: string;
  /** Other paths at which the endpoint answers too. */
  readonly aliases?: readonly string[];
  readonly caller: CallerRule;
  /**
   * The scope that a server key needs to call the endpoint. Undefined: with `caller: 'none'` a server key is ignored, else requests with
   * one are refused.
   *
   * A request with a key names the account by `accountId` or installId, in the query of a GET and in the body of a POST. Its cookies are
   * ignored.
   */
  readonly keyScope?: Scope;
  /**
   * Only with `keyScope`: the data that a server key of one game can reach through this endpoint. Undefined: a key of one game may not call
   * the endpoint.
   */
  readonly reach?: Reach;
  /**
   * Whether a page of the service itself may send a server key that its user has typed, as the sign-in of the console does. At all other
   * endpoints a key from a browser is refused.
   */
  readonly takesTypedKey?: boolean;
  /** Whether a request with a server key must name an account. False: the request may leave it out, and then has no caller. */
  readonly keyNeedsAccount?: boolean;
  /**
   * The `auth` to document, if it does not follow from the caller rule. For an endpoint that reads a session but does not ask for one.
   */
  readonly auth?: 'none';
  readonly summary: string;
  /** Rules that a reader of the API needs beyond the summary. */
  readonly description?: string;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodObject;
  /** Whether the body is a form (application/x-www-form-urlencoded), as for OAuth's token endpoint (RFC 6749, section 4). */
  readonly form?: boolean;
  /** The bounds of a body that differ from those of other endpoints (`BODY_BOUNDS`). */
  readonly bodyBounds?: Partial<BodyBounds>;
  /** The name of a field with any JSON, whose shape accepts a `CompactJson` too. In most bodies this field is then not parsed. */
  readonly textField?: string;
  /** The most bytes of a body with a server key of the endpoint's scope, if such a body may be longer than others. */
  readonly keyedBodyBytes?: number;
  /** Whether an empty body is read as `{}`. Only for an endpoint whose documented body is an empty object or has optional fields only. */
  readonly emptyBody?: boolean;
  /** The shape of the reply, without the field `ok`. */
  readonly reply: z.ZodObject;
  /** The error codes that the handler may return, beyond those that follow from the rest of the declaration (`declaredErrors`). */
  readonly errors?: readonly ErrorCode[];
  /** Whether each call counts as one creation of the client's address (RATE_LIMIT_CREATIONS_PER_MINUTE). */
  readonly creates?: boolean;
  /**
   * Whether the call with this reply appended an entry to a ledger, or added as much data that is kept forever. The entry is taken from the
   * daily budget of the client's address.
   */
  readonly writesEntry?: (reply: never) => boolean;
  /**
   * `most`: the most bytes that a call with this body writes of a player's saves. `hasWritten`: whether the call with this reply has
   * written them. The bytes are taken from the daily budget of the client's address.
   */
  readonly writesBytes?: { readonly most: (body: never) => number; readonly hasWritten: (reply: never) => boolean };
  /**
   * The error codes that mean a wrong guess, such as the code for an unknown room. Each answer with one of them counts as one miss of the
   * client's address, which limits guessing.
   */
  readonly misses?: readonly ErrorCode[];
  /** Only for a long-poll: the seconds that the client asks to wait. A waiting request does not count as a request in flight. */
  readonly waitSeconds?: (query: never) => number;
  /**
   * Whether the request reads so much data that it is handled apart from others. A process runs such requests one at a time, with pauses
   * (`costly-work.ts`). The handler works in parts of a few milliseconds, and stops once `meta.isOver`.
   */
  readonly costly?: boolean;
  /** Only for an endpoint that calls other services than Redis: the milliseconds that the answer may take. Default: `REDIS_DEADLINE_MS`. */
  readonly deadlineMs?: number;
  /** Whether the endpoint is served on METRICS_PORT in place of the main port, if METRICS_PORT is set. */
  readonly hasOwnPort?: boolean;
  /** Whether the endpoint is for monitoring: it is answered under any load, and MAX_IN_FLIGHT does not apply. */
  readonly probe?: boolean;
  /** Whether the endpoint is exempt from the rate limit. */
  readonly unlimited?: boolean;
  /** The media type of an answer that is not JSON with `ok`. */
  readonly mediaType?: string;
  /**
   * The query parameter and its value, such as `format=json`, with which the endpoint answers JSON. Without them the answer is a page
   * (text/html).
   */
  readonly pageUnless?: string;
  /** Further media types of texts that the endpoint may answer with. A `Reply` names the type in `mediaType`. */
  readonly otherMediaTypes?: readonly string[];
  /** Whether pages of every origin may read the answer. They send no cookies. */
  readonly anyOrigin?: boolean;
  /**
   * Further request headers that the handler reads, each with a description. If `if-none-match` is among them, the handler may answer 304.
   */
  readonly headers?: Readonly<Record<string, string>>;
  /** A curl command that works against a local service; `$base` stands for its address. */
  readonly example: string;
  /**
   * Only for an endpoint whose last path parameter decides which fields the body needs: one OpenAPI operation for each value of the
   * parameter.
   */
  readonly variants?: readonly OperationVariant[];
}

/** What a body may cost before its JSON is parsed. */
export interface BodyBounds {
  readonly bytes: number;
  /** The most levels to which the JSON nests, the body included. */
  readonly depth: number;
  /** The most lists and objects. Infinity: as many as the bytes allow. */
  readonly containers: number;
}

/** The description of an endpoint in OpenAPI for one value of its last path parameter: an operation with a path of its own. */
export interface OperationVariant extends Pick<EndpointDeclaration, 'summary' | 'description' | 'body' | 'example'> {
  readonly operationId: string;
  /** The value of the path parameter. */
  readonly value: string;
  /** False: a request with a server key is refused for this value. */
  readonly takesKey?: boolean;
  /** The codes among the endpoint's `errors` that apply to this value. */
  readonly errors: readonly ErrorCode[];
}

/** The data that a handler receives: plain and validated. */
export interface Call<Params, Query, Body, Who> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** The account that calls. With a server key: the account that the request names, or the account into which the named account moved. */
  readonly caller: Who;
  /**
   * The session that the request brought, even if an installId names the caller. In that case no script has checked whether the session has
   * ended.
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
  /** Whether the request has a bearer. Its answer then sets no session cookie. */
  readonly hasBearer: boolean;
  /** Whether the request is a HEAD, whose answer has no body: the handler must not use up anything that is given only once. */
  readonly isHead: boolean;
  /** The header traceparent for calls to other services that this request causes. */
  readonly traceparent: string | undefined;
  readonly deviceId: string;
  readonly pairSecret: string;
  readonly ifNoneMatch: string;
  readonly accept: string;
  readonly acceptEncoding: string;
  /** The origin at which the client reached the service, such as `https://coinop.example`. */
  readonly origin: string;
  /** The attributes of the cookies that the answer sets. */
  readonly cookieScope: CookieScope;
  /** Whether the page of the console sent the request (`isFromConsole`). */
  readonly isFromConsole: boolean;
  /** Whether nothing more can be sent: the client has gone, or the request was answered at its deadline. */
  readonly isOver: boolean;
  /** Waits for news by calling `wait`. A costly request lets other costly requests run while it waits. */
  rest(wait: () => Promise<void>): Promise<void>;
  /** Registers a callback for the client's abort before the answer. The callback is called at once if the exchange has finished. */
  onGone(callback: () => void): void;
  /**
   * Counts the extra cost of an answer, as this number of further requests.
   * @returns 0 if the client may have the answer, else the milliseconds to wait: the handler then throws `rateLimited`
   */
  charge(requests: number): number;
  /** Gives the reserved miss back, because the guess was right: the room or pairing exists. A long-poll calls it before it waits. */
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
  /** The media type of this answer. Undefined: the media type that the endpoint declares. */
  readonly mediaType: string | undefined;

  constructor(body: Body | Encoded, more: ReplyExtras = {}) {
    this.body = body;
    this.cookies = more.cookies ?? [];
    this.headers = more.headers ?? [];
    this.status = more.status ?? 200;
    this.mediaType = more.mediaType;
  }
}

/** An answer whose body is text already. A script made the text, or the service keeps it and sends it many times. */
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
   * The body to send: the text at the first answer, its bytes at later ones. When uWS gets a text, it makes the bytes at each answer, which
   * costs 1 µs for a top ten.
   */
  get wire(): string | Buffer {
    if (this.#wasSent) return (this.#bytes ??= Buffer.from(this.text));
    this.#wasSent = true;
    return this.text;
  }
}

/** An answer whose body is bytes already, such as a compressed body. */
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
 * An answer that a handler gives without a script that checks its caller, although a caller with an invalid credential must not get it. The
 * pipeline first checks in Redis that the session has not ended and that the account has not moved. A handler returns an answer that any
 * caller may get, such as a refusal of malformed input, without this wrapper.
 */
export class Unchecked<Answer> {
  readonly answer: Answer;

  constructor(answer: Answer) {
    this.answer = answer;
  }
}

/** The JSON of a reply: `{"ok":true, …}`, with the fields of the body. */
export function okBody(body: object): string {
  const text = JSON.stringify(body);
  return text === '{}' ? '{"ok":true}' : `{"ok":true,${text.slice(1)}`;
}

/** The query parameter `wait`: how many seconds a long-poll waits for news. */
export const WaitSeconds = z
  .string()
  .regex(/^\d{1,2}$/, 'Must be a whole number of seconds from 0 to 25')
  .refine((text) => Number(text) <= 25, 'Must be a whole number of seconds from 0 to 25')
  .optional()
  .meta({ type: 'integer', minimum: 0, maximum: 25, description: 'Seconds to wait for news, 0 to 25.' });

/**
 * The query parameter `limit`, as text.
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

/** The error codes that follow from the caller rule. A handler may return them without declaring them (`declaredErrors`). */
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

/** The part of a declaration that the client library uses. It is only a type: no endpoint has such a value. */
export interface Wire<Route extends string, Input, ReplyBody, Code extends ErrorCode> {
  /** Method and path: `POST /v1/coins/credit`. */
  readonly route: Route;
  /** Path parameters, query and body of the request as one object. */
  readonly input: Input;
  /** The fields of the reply, without `ok`. */
  readonly reply: ReplyBody;
  readonly code: Code;
}

type Input<S> = S extends Shape ? z.input<S> : unknown;

/** The codes of `declaredErrors`, as a type. The type also has a few codes that a probe or an endpoint without input never answers with. */
type WireCode<M extends Method, Rule extends CallerRule, Code extends ErrorCode> =
  | Code
  | 'invalid_request'
  | 'rate_limited'
  | (typeof OUTAGE_CODES)[number]
  | (M extends 'POST' ? (typeof POST_CODES)[number] : never)
  | ImpliedCode<Rule>
  | (Rule extends 'required' ? 'identity_required' : never)
  | (Rule extends 'session' ? 'session_required' : never);

/** @typeParam Taken the services that the handler takes. The endpoint fits into any list of endpoints whose services include them. */
export interface Endpoint<Taken> extends EndpointDeclaration {
  // The parameters are `never` because `endpoint` has checked the handler against the declared shapes, and the pipeline validates by the
  // same shapes.
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
  // Default: no services. A handler without a second parameter gives TypeScript nothing to infer `Taken` from.
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
      // Without NoInfer TypeScript would infer Code from the handler too. It would then accept codes that the declaration does not name.
    ) => Awaitable<Answered<z.input<ReplyShape>, NoInfer<Code> | ImpliedCode<Rule>>>;
  },
): Endpoint<Taken> & {
  readonly wire?: Wire<`${M} ${Path}`, Input<Params> & Input<Query> & Input<Body>, z.input<ReplyShape>, WireCode<M, Rule, Code>>;
} {
  return declaration as unknown as Endpoint<Taken>;
}

/** The `auth` of the endpoint for the discovery list and OpenAPI. */
export function authOf(endpoint: EndpointDeclaration): 'none' | 'session (optional)' | 'session (required)' {
  if (endpoint.auth !== undefined) return endpoint.auth;
  if (endpoint.caller === 'none' || endpoint.caller === 'install' || endpoint.caller === 'public') return 'none';
  return endpoint.caller === 'session' ? 'session (required)' : 'session (optional)';
}

/** Every error code that the endpoint may answer with: its `errors`, and the codes that follow from the rest of its declaration. */
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

/**
 * The codes with which an endpoint refuses a server key. Every endpoint may answer with them, but only endpoints that take keys document
 * them.
 */
export const KEY_CODES = ['bad_key', 'forbidden'] as const;

/** The codes that every POST may answer with, because of its body or its origin. */
const POST_CODES = ['invalid_json', 'cross_site', 'payload_too_large', 'unsupported_media_type'] as const;

/** The codes that every endpoint except a probe may answer with. */
const OUTAGE_CODES = ['overloaded', 'store_unavailable', 'internal'] as const;
