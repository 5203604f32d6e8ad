import fc from 'fast-check';
import { api } from '../../api.ts';
import type { TestService } from '../../harness.ts';
import { nameOf, validRequests } from '../../valid-requests.ts';

/** A value that is known only during the run: the service gave it out under this name, or it is one of the run's own ids. */
interface Given {
  readonly given: string;
  readonly at: number;
}

/** How a request names its caller. None of these is a valid server key. */
export type Credential = 'none' | 'install' | 'cookie' | 'bearer' | 'wrong key';

/** A request as data, so that fast-check can print and shrink it. */
export interface AnyRequest {
  /** `POST /v1/coins/credit` */
  readonly send: string;
  readonly as: Credential;
  readonly at: number;
  readonly fields: Readonly<Record<string, unknown>>;
}

export const given = (name: string, at: number): Given => ({ given: name, at });

export const anyCredential = fc.constantFrom<Credential>('none', 'install', 'cookie', 'bearer', 'wrong key');

/** A request to any endpoint of the service. Each of its fields is left out, valid, or was given out before. */
export const anyRequest: fc.Arbitrary<AnyRequest> = fc.oneof(
  ...api.map((endpoint) => {
    const { params, query, body, headers = {} } = endpoint;
    const valid = validRequests[nameOf(endpoint)] ?? {};
    // Without a server key a request must not name the account by its id.
    const names = ['accountId', ...[params, query, body].flatMap((shape) => Object.keys(shape?.shape ?? {})), ...Object.keys(headers)];
    const anyOf = (name: string) =>
      fc.oneof(
        fc.constant(valid[name] ?? 1),
        fc.nat(7).map((at) => given(HEADERS[name] ?? name, at)),
      );
    const fields = fc.record(Object.fromEntries(names.map((name) => [name, anyOf(name)])), { requiredKeys: [] });
    return fc.record({ send: fc.constant(nameOf(endpoint)), as: anyCredential, at: fc.nat(5), fields });
  }),
);

/** Headers that a handler reads, and the field of replies that has their values. */
const HEADERS: Readonly<Record<string, string>> = { 'x-pair-secret': 'secret', 'x-device-id': 'deviceId' };

/** A header that looks like a server key but is none. */
const WRONG_KEY = `coinop_sk_abcd1234_${'A'.repeat(32)}`;

/** A field of this name may also have values that the service gave out under these names. */
const ALSO: Readonly<Record<string, readonly string[]>> = {
  token: ['purchaseToken', 'integrityToken', 'secret'],
  sessionToken: ['token'],
  installId: ['deviceId'],
};

/** Sends requests without a server key, and remembers the tokens, codes and sessions that the service gives out. */
export class Visitor {
  readonly #service: TestService;
  /** Remembered texts, by the names of their fields or cookies. */
  readonly #given: Map<string, string[]>;
  readonly #onAnswer: (send: string, status: number) => Promise<void>;

  /**
   * @param own the run's installs, coin keys and so on, by the name of their field
   * @param onAnswer called before `send` returns
   */
  constructor(service: TestService, own: Record<string, readonly string[]>, onAnswer: (send: string, status: number) => Promise<void>) {
    this.#service = service;
    this.#onAnswer = onAnswer;
    this.#given = new Map(Object.entries(own).map(([name, texts]) => [name, [...texts]]));
  }

  /** @returns the answer's body if it is JSON */
  async send({ send, as, at, fields }: AnyRequest): Promise<Record<string, unknown>> {
    const { method, path, query, form } = api.find((endpoint) => nameOf(endpoint) === send)!;
    const left = new Map(Object.entries(fields).map(([name, value]) => [name, isGiven(value) ? this.#pick(value) : value]));
    const take = (name: string): string => {
      const text = textOf(left.get(name) ?? 'x');
      left.delete(name);
      return text;
    };
    const target = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(take(name)));
    const headers = this.#headersOf(as, at);
    const search = new URLSearchParams();
    for (const name of left.keys()) {
      if (name.startsWith('x-')) headers[name] = take(name);
      else if (method === 'GET' || name in (query?.shape ?? {})) search.set(name, take(name));
    }
    // A long-poll would only wait.
    search.delete('wait');
    const texts = (): string => String(new URLSearchParams([...left].map(([name, value]): [string, string] => [name, textOf(value)])));
    if (method === 'POST') headers['content-type'] = form === true ? 'application/x-www-form-urlencoded' : 'application/json';
    const response = await fetch(`${this.#service.url}${target}?${String(search)}`, {
      ...{ method, redirect: 'manual', headers },
      ...(method === 'POST' ? { body: form === true ? texts() : JSON.stringify(Object.fromEntries(left)) } : {}),
    });
    const text = await response.text();
    if (response.status === 500) throw new Error(`${send} answered 500: ${text}`);
    for (const cookie of response.headers.getSetCookie()) this.#remember(...(cookie.split(';')[0]!.split('=') as [string, string]));
    const body = (text.startsWith('{') ? JSON.parse(text) : {}) as Record<string, unknown>;
    this.#harvest(body);
    await this.#onAnswer(send, response.status);
    return body;
  }

  #headersOf(as: Credential, at: number): Record<string, string> {
    const pick = (name: string): string | undefined => pickFrom(this.#given.get(name), at);
    const session = pick('svc_session');
    const bearer = as === 'wrong key' ? WRONG_KEY : as === 'bearer' ? (pick('sessionToken') ?? session) : undefined;
    const cookies = ['svc_session', 'svc_pair'].flatMap((name) => (as === 'cookie' && pick(name) ? [`${name}=${pick(name)}`] : []));
    return {
      ...(as === 'install' || as === 'wrong key' ? { 'x-install-id': pick('installId')! } : {}),
      ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
      ...(cookies.length === 0 ? {} : { cookie: cookies.join('; ') }),
    };
  }

  #pick({ given: name, at }: Given): string {
    const texts = [name, ...(ALSO[name] ?? [])].flatMap((each) => this.#given.get(each) ?? []);
    return pickFrom(texts, at) ?? 'nothing-given';
  }

  #remember(name: string, text: string): void {
    if (text !== '') this.#given.set(name, [...(this.#given.get(name) ?? []), text].slice(-8));
  }

  #harvest(value: object): void {
    for (const [name, inner] of Object.entries(value) as [string, unknown][]) {
      if (typeof inner === 'object' && inner !== null) this.#harvest(inner);
      else if (typeof inner === 'string') this.#remember(name, inner);
    }
  }
}

function isGiven(value: unknown): value is Given {
  return typeof value === 'object' && value !== null && 'given' in value;
}

function pickFrom(texts: readonly string[] | undefined, at: number): string | undefined {
  return texts?.[at % texts.length];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
