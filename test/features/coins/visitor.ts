import type { TestService } from '../../harness.ts';
import { endpointOf, type AnyRequest, type Credential, type Value } from './any-request.ts';

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
  /** Remembered texts, by the names of their fields. */
  readonly #given: Map<string, string[]>;
  readonly #cookies = new Map<string, string[]>();
  readonly #onAnswer: (send: string, status: number) => Promise<void>;

  /**
   * @param own the run's installs, coin keys and so on, by the name of their field
   * @param onAnswer called before `send` returns
   */
  constructor(
    service: TestService,
    own: Readonly<Record<string, readonly string[]>>,
    onAnswer: (send: string, status: number) => Promise<void>,
  ) {
    this.#service = service;
    this.#onAnswer = onAnswer;
    this.#given = new Map(Object.entries(own).map(([name, texts]) => [name, [...texts]]));
  }

  /** @returns the answer's body if it is JSON */
  async send({ send, as, at, fields }: AnyRequest): Promise<Record<string, unknown>> {
    const { method, path, query, form } = endpointOf(send);
    const values = this.#resolved(fields) as Record<string, unknown>;
    const left = { ...values };
    const target = path.replace(/\{(\w+)\}/g, (_, name: string) => {
      delete left[name];
      return encodeURIComponent(textOf(values[name] ?? 'x'));
    });
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries(values)) {
      if (!name.startsWith('x-')) continue;
      headers[name] = textOf(value);
      delete left[name];
    }
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(left)) if (method === 'GET' || name in (query?.shape ?? {})) search.set(name, textOf(value));
    // A long-poll would only wait.
    search.delete('wait');
    const response = await fetch(`${this.#service.url}${target}?${String(search)}`, {
      method,
      redirect: 'manual',
      headers: {
        ...this.#headersOf(as, at),
        ...headers,
        ...(method === 'POST' ? { 'content-type': form === true ? 'application/x-www-form-urlencoded' : 'application/json' } : {}),
      },
      ...(method === 'POST' ? { body: form === true ? String(new URLSearchParams(mapped(left, textOf))) : JSON.stringify(left) } : {}),
    });
    const text = await response.text();
    if (response.status === 500) throw new Error(`${send} answered 500: ${text}`);
    for (const cookie of response.headers.getSetCookie()) this.#keepCookie(cookie.split(';')[0]!);
    const body: unknown = text.startsWith('{') ? JSON.parse(text) : {};
    this.#harvest(body);
    await this.#onAnswer(send, response.status);
    return body as Record<string, unknown>;
  }

  #headersOf(as: Credential, at: number): Record<string, string> {
    const pick = (name: string): string | undefined => pickFrom(this.#given.get(name), at);
    const session = pickFrom(this.#cookies.get('svc_session'), at);
    const bearer = pick('sessionToken') ?? session;
    switch (as) {
      case 'none':
        return {};
      case 'install':
        return { 'x-install-id': pick('installId')! };
      case 'wrong key':
        return { authorization: `Bearer ${WRONG_KEY}`, 'x-install-id': pick('installId')! };
      case 'bearer':
        return bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
      case 'cookie': {
        const jar = [...this.#cookies].map(([name, values]) => `${name}=${name === 'svc_session' ? session! : values.at(-1)!}`);
        return jar.length === 0 ? {} : { cookie: jar.join('; ') };
      }
    }
  }

  #resolved(value: Value): unknown {
    if (Array.isArray(value)) return value.map((one: Value) => this.#resolved(one));
    if (value === null || typeof value !== 'object') return value;
    if ('given' in value && typeof value.given === 'string') {
      const names = [value.given, ...(ALSO[value.given] ?? [])];
      const texts = names.flatMap((name) => this.#given.get(name) ?? []);
      return pickFrom(texts, value.at as number) ?? 'nothing-given';
    }
    return mapped(value as Record<string, Value>, (one) => this.#resolved(one));
  }

  #keepCookie(cookie: string): void {
    const [name = '', value = ''] = cookie.split('=');
    if (value !== '') this.#cookies.set(name, [...(this.#cookies.get(name) ?? []), value]);
  }

  #harvest(value: unknown): void {
    if (value === null || typeof value !== 'object') return;
    for (const [name, inner] of Object.entries(value)) {
      if (typeof inner === 'object') this.#harvest(inner);
      else if (typeof inner === 'string') this.#given.set(name, [...(this.#given.get(name) ?? []), inner].slice(-8));
    }
  }
}

function pickFrom(texts: readonly string[] | undefined, at: number): string | undefined {
  return texts?.[at % texts.length];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function mapped<In, Out>(values: Readonly<Record<string, In>>, change: (value: In) => Out): Record<string, Out> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]));
}
