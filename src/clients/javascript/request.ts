import type { ClientCode, Failure, Result } from './routes.ts';
import type { Route } from './wire.ts';

/** The parts of `fetch` that the client uses, as a type. */
export type Fetch = (
  url: string,
  init: { method: string; headers: Record<string, string>; body?: string; signal: AbortSignal; credentials: 'omit'; redirect: 'manual' },
) => Promise<{ status: number; headers: { get(name: string): string | null }; text(): Promise<string> }>;

export type Input = Record<string, unknown>;
type Signals = readonly (AbortSignal | undefined)[];

/** The most milliseconds of one try. The service answers within 2 s; after a longer silence a new connection may help. */
export const TRY_MS = 5000;

const isAborted = (signals: Signals): boolean => signals.some((signal) => signal?.aborted);

/**
 * Runs work with a signal that aborts after `ms` milliseconds, or when one of the given signals aborts. React Native has neither
 * AbortSignal.any nor AbortSignal.timeout.
 */
export async function within<T>(ms: number, signals: Signals, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  // At most 2e9, because a timer of more than 2^31 ms would fire at once.
  const timer = setTimeout(abort, Math.min(ms, 2e9));
  for (const signal of signals) signal?.addEventListener('abort', abort);
  if (isAborted(signals)) abort();
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
    for (const signal of signals) signal?.removeEventListener('abort', abort);
  }
}

/** Resolves after `ms` milliseconds, or when a signal aborts. */
export const sleep = (ms: number, ...signals: AbortSignal[]): Promise<void> =>
  within(ms, signals, (signal) => new Promise((resolve) => (signal.aborted ? resolve() : (signal.onabort = () => resolve()))));

export const failure = (code: ClientCode, message: string = code): Failure<ClientCode> => ({ ok: false, error: { code, message } });

/** The failure of a call that was stopped: `aborted` by one of the signals, or else `timeout`. */
export const stopped = (signals: Signals): Failure<ClientCode> => failure(isAborted(signals) ? 'aborted' : 'timeout');

/**
 * Sends a request once. It never throws: every failure is a result.
 * @param route method and path. `{name}` in the path is replaced by that field of the input; the other fields are the query or the body
 */
export const sendOnce = (
  fetch: Fetch,
  base: string,
  route: Route,
  input: Input,
  headers: Record<string, string>,
  signal: AbortSignal,
  tryMs = TRY_MS,
): Promise<Result> =>
  within(tryMs, [signal], async (stop) => {
    try {
      const [method = '', path = ''] = route.replace('!', '').split(' ');
      const isRead = method === 'GET';
      /** The query or the body: the input without the fields of the path. */
      const rest = { ...input };
      let field;
      let url =
        base +
        path.replace(/{(\w+)}/g, (_, name: string) => {
          const value = rest[name] || (field = name);
          delete rest[name];
          return encodeURIComponent(value as string);
        });
      // Else a game without types would save under the name "undefined".
      if (field) return { ok: false, error: { code: 'invalid_request', message: field + ' is missing', field } };
      let mark = '?';
      if (isRead)
        for (const name in rest)
          if (rest[name] !== undefined) {
            url += mark + name + '=' + encodeURIComponent(rest[name] as string);
            mark = '&';
          }
      const response = await fetch(url, {
        method,
        headers: isRead ? headers : { ...headers, 'content-type': 'application/json' },
        body: isRead ? undefined : JSON.stringify(rest),
        signal: stop,
        // No cookies are sent, because the cookie of another sign-in must not name the caller.
        credentials: 'omit',
        // Redirects are not followed: the service never redirects, and a proxy's redirect could send the installId to another host. As the
        // answer of a captive portal a redirect is `not_coinop`: with 'error' it would be `network`, and tried again.
        redirect: 'manual',
      });
      return answerOf(response.status, (response.headers.get('retry-after') as never) * 1000, await response.text());
    } catch {
      return stop.aborted ? stopped([signal]) : failure('network', `No answer from ${base}`);
    }
  });

/** `sendOnce` for one service, so without its first two parameters. */
export type SendOnce = Parameters<typeof sendOnce> extends [Fetch, string, ...infer Rest] ? (...request: Rest) => Promise<Result> : never;

/**
 * The result of an answer. An answer is accepted only in the form of the service's answers, because a proxy, a captive portal or another
 * server may have sent it.
 */
function answerOf(status: number, retryAfterMs: number, text: string): Result {
  let reply: Result = failure(status >= 500 || status === 429 ? 'network' : 'not_coinop', `Status ${status}`);
  try {
    const body = JSON.parse(text) as Result;
    if (body.ok === (status === 200) && (body.ok || body.error.code)) reply = body.ok ? body : { ...body, status };
  } catch {
    // The answer is not JSON, or has no error in the service's form.
  }
  if (!reply.ok && retryAfterMs > 0) reply.error.retryAfterMs ??= retryAfterMs;
  return reply;
}

/** The error codes after which the service may have carried out the request. */
const UNCLEAR = ['network', 'timeout', 'internal'];

/** The error codes after which the same request may succeed later. */
const TEMPORARY = [...UNCLEAR, 'rate_limited', 'overloaded', 'store_unavailable', 'app_store_unavailable'];

/** Whether the same request may succeed later. */
export const isTemporary = ({ code }: { code: string }): boolean => TEMPORARY.includes(code);

/**
 * Milliseconds before the next try: exponential backoff with full jitter, in addition to the time that the service asked for (Retry-After).
 * At most a minute of that time is waited, so that a wrong Retry-After cannot stop the client.
 */
export const backoff = (tries: number, { retryAfterMs = 0 }: { retryAfterMs?: number } = {}, mostMs = 5000, firstMs = 300): number =>
  Math.min(retryAfterMs, 60_000) + Math.random() * Math.min(mostMs, firstMs * 2 ** tries);

/**
 * Repeats a request until it has an answer, the time is up, or a signal aborts.
 * @param mayRepeat whether the request may be sent again after its answer was lost
 */
export const repeat = (mayRepeat: boolean, ms: number, signals: Signals, send: (signal: AbortSignal) => Promise<Result>): Promise<Result> =>
  within(ms, signals, async (whole) => {
    let last: Failure | undefined;
    for (let tries = 0; ; tries++) {
      const result = await send(whole);
      if (result.ok) return result;
      // When the time is up, the last failure from the service tells more than `timeout`.
      if (whole.aborted) return (!isAborted(signals) && (last as typeof result)) || stopped(signals);
      const { error } = (last = result);
      if (!isTemporary(error) || (!mayRepeat && (error.outcome || UNCLEAR.includes(error.code)))) return result;
      await sleep(backoff(tries, error), whole);
    }
  });
