import { z } from 'zod';
import { Refusal, type ErrorCode } from '../../errors.ts';
import type { Caller } from '../identity/caller.ts';

/**
 * An endpoint is data. Router, validation, OpenAPI, the discovery list, metrics labels and tests all read this one
 * declaration.
 */

export type Method = 'GET' | 'POST';

/**
 * Who may call. A credential of an account that moved is refused with 401 `sign_in_required`, but for `lenient`.
 * `none`: nobody is asked. `install`: the installId in the body, whatever session there is. `optional`: session, else
 * installId, else nobody. `required`: session, else installId, else 401 `identity_required`. `session`: the cookie, else
 * 401 `session_required`. `lenient`: installId, else session, else nobody; a credential that opens nothing any more counts
 * as not sent.
 */
export type CallerRule = 'none' | 'install' | 'optional' | 'required' | 'session' | 'lenient';

export type Shape = z.ZodType;

export interface EndpointDeclaration {
  readonly method: Method;
  /** With parameters in braces: `/v1/rooms/{code}`. */
  readonly path: string;
  /** Other paths of the same operation. */
  readonly aliases?: readonly string[];
  readonly caller: CallerRule;
  /** What the interface says of credentials, where a session is noticed though nobody is told to send one. */
  readonly auth?: 'none';
  readonly summary: string;
  /** Rules that a reader of the API needs beyond the summary. */
  readonly description?: string;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodObject;
  /** The body is a form (application/x-www-form-urlencoded), as OAuth's token endpoint takes it (RFC 6749, section 4). */
  readonly form?: boolean;
  /** The interface says "empty object": an empty body counts as `{}`. */
  readonly emptyBody?: boolean;
  /** The reply beside `ok`. */
  readonly reply: z.ZodObject;
  /** The codes beyond those that follow from the declaration itself (`declaredErrors`). */
  readonly errors?: readonly ErrorCode[];
  /** Creates something with every call: counts against the address's creations. */
  readonly creates?: boolean;
  /** Guessing at it is limited: these codes count against the address's misses. */
  readonly misses?: readonly ErrorCode[];
  /** May answer late, when there is news: how long its caller asked to wait for, in seconds. Takes no place among requests in flight meanwhile. */
  readonly waitSeconds?: (query: never) => number;
  /** How long its answer may take, in milliseconds, where it asks others than Redis. */
  readonly deadlineMs?: number;
  /** Belongs to the stand-in store: there only with STORE=sandbox. */
  readonly sandbox?: boolean;
  /** For those who watch over the service: answered however much else is in flight. */
  readonly probe?: boolean;
  /** Not rate-limited either. */
  readonly unlimited?: boolean;
  /** The media type, where the body is not JSON with `ok`. */
  readonly mediaType?: string;
  /** Answers with a page for people (text/html), unless the query is this: `format=json`. */
  readonly pageUnless?: string;
  /** Request headers that its handler looks at besides, with what they say. One that looks at `if-none-match` may answer 304. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A curl command that works against a local service; `$base` stands for its address. */
  readonly example: string;
}

/** What a handler is given: plain data, checked. */
export interface Call<Params, Query, Body, Who> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly caller: Who;
  readonly meta: RequestMeta;
}

/** Circumstances of a request that a few features look at. */
export interface RequestMeta {
  readonly requestId: string;
  readonly address: string;
  readonly userAgent: string;
  readonly cookie: string;
  readonly authorization: string;
  readonly deviceId: string;
  readonly ifNoneMatch: string;
  /** `https://coinop.example`: how the client reached the service. */
  readonly origin: string;
  /** Whether cookies set in the answer must be Secure: always but in development over plain http. */
  readonly secureCookies: boolean;
  /** Calls back when the client goes away before it was answered. */
  onGone(callback: () => void): void;
  /** What was asked for is there: however long the answer takes from now on, this request is no miss. */
  found(): void;
}

interface ReplyExtras {
  readonly cookies?: readonly string[];
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly status?: number;
  readonly mediaType?: string;
}

/** A handler's answer where the body alone does not say it all. */
export class Reply<Body> {
  readonly body: Body | Encoded;
  readonly cookies: readonly string[];
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly status: number;
  /** Where it differs from the endpoint's. */
  readonly mediaType: string | undefined;

  constructor(body: Body | Encoded, more: ReplyExtras = {}) {
    this.body = body;
    this.cookies = more.cookies ?? [];
    this.headers = more.headers ?? [];
    this.status = more.status ?? 200;
    this.mediaType = more.mediaType;
  }
}

/** An answer that was encoded before: a script's text, or one that is kept and sent many times. */
export class Encoded {
  readonly text: string;
  #bytes: Buffer | undefined;
  #wasSent = false;

  constructor(text: string) {
    this.text = text;
  }

  /** With `ok: true` in front, as every body has it. */
  static ok(body: object): Encoded {
    return new Encoded(okBody(body));
  }

  /** As bytes from the second time on: uWS measures and converts a text with each answer, 1 µs for a top ten. */
  get wire(): string | Buffer {
    if (this.#wasSent) return (this.#bytes ??= Buffer.from(this.text));
    this.#wasSent = true;
    return this.text;
  }
}

/**
 * An answer that a handler gives without running a script for its caller. The pipeline checks the caller in Redis first: an
 * ended session or a moved account is refused by every endpoint alike.
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

/** How long a long-poll may wait for news. */
export const WaitSeconds = z
  .string()
  .regex(/^\d{1,2}$/, 'Must be a whole number of seconds from 0 to 25')
  .refine((text) => Number(text) <= 25, 'Must be a whole number of seconds from 0 to 25')
  .optional()
  .meta({ description: 'Seconds to wait for news, 0 to 25.' });

type Output<S, Otherwise> = S extends Shape ? z.output<S> : Otherwise;
type WhoFor<Rule extends CallerRule> = Rule extends 'none' ? undefined : Rule extends 'optional' | 'lenient' ? Caller | undefined : Caller;

type Plain<Body, Code extends ErrorCode> = Body | Encoded | Reply<Body | Encoded> | Refusal<Code>;

export type Answered<Body, Code extends ErrorCode> = Plain<Body, Code> | Unchecked<Plain<Body, Code>>;

export interface Endpoint<Services> extends EndpointDeclaration {
  // Typed where it is declared; the pipeline has checked the data by the same shapes.
  readonly handle: (call: Call<never, never, never, never>, services: Services) => unknown;
}

/** Declares an endpoint: the handler's data, reply and refusals are typed by the declaration itself. */
export function endpointFor<Services>() {
  return function endpoint<
    const Rule extends CallerRule,
    Params extends z.ZodObject | undefined,
    Query extends z.ZodObject | undefined,
    Body extends z.ZodObject | undefined,
    ReplyShape extends z.ZodObject,
    const Code extends ErrorCode = never,
  >(
    declaration: Omit<EndpointDeclaration, 'caller' | 'params' | 'query' | 'body' | 'reply' | 'errors'> & {
      caller: Rule;
      params?: Params;
      query?: Query;
      body?: Body;
      reply: ReplyShape;
      errors?: readonly Code[];
      handle: (
        call: Call<Output<Params, undefined>, Output<Query, undefined>, Output<Body, undefined>, WhoFor<Rule>>,
        services: Services,
      ) => Answered<z.input<ReplyShape>, Code> | Promise<Answered<z.input<ReplyShape>, Code>>;
    },
  ): Endpoint<Services> {
    return declaration as unknown as Endpoint<Services>;
  };
}

/** `session (optional)` and its kin, as the interface words it. */
export function authOf(endpoint: EndpointDeclaration): 'none' | 'session (optional)' | 'session (required)' {
  if (endpoint.auth !== undefined) return endpoint.auth;
  if (endpoint.caller === 'none' || endpoint.caller === 'install') return 'none';
  return endpoint.caller === 'session' ? 'session (required)' : 'session (optional)';
}

/** Every code this endpoint can answer with: its own and those that follow from what it takes. */
export function declaredErrors(endpoint: EndpointDeclaration): ErrorCode[] {
  const codes = new Set<ErrorCode>(endpoint.errors ?? []);
  if (endpoint.method === 'POST') {
    for (const code of ['invalid_json', 'cross_site', 'payload_too_large', 'unsupported_media_type'] as const) codes.add(code);
  }
  if (endpoint.params !== undefined || endpoint.query !== undefined || endpoint.body !== undefined) codes.add('invalid_request');
  if (endpoint.caller === 'required') codes.add('identity_required');
  if (endpoint.caller === 'session') codes.add('session_required');
  if (endpoint.caller !== 'none' && endpoint.caller !== 'lenient') codes.add('sign_in_required');
  if (endpoint.unlimited !== true) codes.add('rate_limited');
  if (endpoint.probe !== true) for (const code of ['overloaded', 'store_unavailable', 'internal'] as const) codes.add(code);
  return [...codes];
}
