import { Agent as HttpAgent, request as httpRequest, type ClientRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { urlToHttpOptions } from 'node:url';
import { retryAfter } from '../../server/retry-after.ts';
import { version } from '../../web/version.ts';
import { hostOf } from './hook-url.ts';
import { isAllowedAddress } from './allowed-addresses.ts';
import type { Resolve } from './resolve-host.ts';
import { signatures } from './signature.ts';

/**
 * How long an attempt may take, in milliseconds. The time includes the lookup of the name, the connection, the request and the whole
 * answer.
 */
export const ANSWER_MS = 10_000;

/**
 * Operators see at most this many characters of a failed answer. These characters are enough, because an error page gives its reason at the
 * top.
 */
const SHOWN_CHARACTERS = 200;

/**
 * The most bytes of an answer's body. The service ignores what a success says. A receiver that sends more is probably not an endpoint for
 * webhooks.
 */
const MOST_ANSWER_BYTES = 64 * 1024;

/** An idle connection is closed after this many milliseconds. Many servers close it after 5 s, and announce this time in a header. */
const IDLE_MS = 20_000;

/** The reason why a request got no valid answer. */
export type FailureWord =
  /** The name has no address, or DNS did not answer. */
  | 'dns'
  /**
   * WEBHOOKS_PRIVATE is not `on`, and the endpoint has only addresses to which webhooks must not be sent, or its URL begins with `http:`.
   */
  | 'private_address'
  | 'connection'
  /** The certificate is not valid, or the other side does not use TLS. */
  | 'tls'
  | 'timeout'
  | 'answer_too_large'
  /** The answer is not HTTP, or it broke off. */
  | 'bad_answer';

/** The outcome of one attempt to send an event. */
export interface Attempt {
  /** The HTTP status of a complete answer. */
  readonly status?: number;
  readonly error?: FailureWord;
  readonly durationMs: number;
  /** The first characters of an answer that is not a success, for people to read. */
  readonly answer?: string;
  /** The wait that the answer's Retry-After asks for, in milliseconds. */
  readonly retryAfterMs?: number;
}

export interface Message {
  /** The id of the event, which is the same at each attempt. */
  readonly id: string;
  readonly body: string;
}

export interface SenderOptions {
  readonly url: string;
  /** Whether WEBHOOKS_PRIVATE is on, so that the endpoint may be in a private network. */
  readonly allowsPrivate: boolean;
  readonly resolve: Resolve;
  /** The most connections to the endpoint at a time. */
  readonly connections: number;
  /** The time now, in milliseconds since 1970. */
  readonly now: () => number;
  /** For tests: the certificate that signed the receiver's certificate. By default, the certificates that Node trusts. */
  readonly ca?: string;
  /** For tests: how long an attempt may take. Default: ANSWER_MS. */
  readonly answerMs?: number;
}

/** Whether the receiver accepted the event. */
export function isDelivered({ status, error }: Attempt): boolean {
  return error === undefined && status !== undefined && status >= 200 && status < 300;
}

/**
 * Sends signed events to the endpoint of one hook.
 *
 * A sender resolves the endpoint's name, checks the addresses, and connects to a checked address. So nobody can redirect the request by
 * changing the name's address in between. TLS still compares the certificate with the name. No redirect is followed.
 */
export class Sender {
  readonly #options: SenderOptions;
  readonly #agent: HttpAgent | HttpsAgent;
  readonly #request: typeof httpRequest;
  readonly #requestOptions: RequestOptions;
  readonly #isBarred: boolean;

  constructor(options: SenderOptions) {
    this.#options = options;
    const { connections: maxSockets, ca, allowsPrivate } = options;
    const url = new URL(options.url);
    const host = hostOf(url);
    const isPlain = url.protocol === 'http:';
    const agentOptions = { keepAlive: true, maxSockets, timeout: IDLE_MS };
    this.#agent = isPlain ? new HttpAgent(agentOptions) : new HttpsAgent({ ...agentOptions, ...(ca === undefined ? {} : { ca }) });
    this.#request = isPlain ? httpRequest : httpsRequest;
    this.#requestOptions = { ...urlToHttpOptions(url), method: 'POST', agent: this.#agent, lookup: this.#lookup };
    // WEBHOOKS_PRIVATE may have been on when the hook was added. Node calls `lookup` only for host names, so if the URL has an address,
    // this constructor checks it.
    this.#isBarred = (isPlain && !allowsPrivate) || (isIP(host) !== 0 && !isAllowedAddress(host, allowsPrivate));
  }

  /**
   * Sends an event once. Never throws.
   * @param secrets the secrets that sign: several while a secret is rotated
   */
  async send({ id, body }: Message, secrets: readonly string[]): Promise<Attempt> {
    const begunAt = performance.now();
    const timestamp = Math.floor(this.#options.now() / 1000);
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'user-agent': `coinop-webhooks/${version}`,
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': signatures(secrets, id, timestamp, body),
    };
    const endsAt = begunAt + (this.#options.answerMs ?? ANSWER_MS);
    const attempt = await this.#post(headers, body, endsAt, true).catch((error: NodeJS.ErrnoException): Omit<Attempt, 'durationMs'> => ({
      error: wordOf(error),
    }));
    return { ...attempt, durationMs: Math.round(performance.now() - begunAt) };
  }

  /** Closes the connections. Open requests fail. */
  close(): void {
    this.#agent.destroy();
  }

  /**
   * @param endsAt when the attempt times out, on the clock of `performance.now()`
   * @param mayRepeat whether to repeat the request if it used a kept-alive connection that the server closed at the same moment
   */
  async #post(
    headers: Record<string, string | number>,
    body: string,
    endsAt: number,
    mayRepeat: boolean,
  ): Promise<Omit<Attempt, 'durationMs'>> {
    if (this.#isBarred) return { error: 'private_address' };
    const request = this.#request({ ...this.#requestOptions, headers });
    // A timer takes less time than an AbortSignal for each request.
    const timer = setTimeout(() => request.destroy(new Late()), Math.max(0, endsAt - performance.now()));
    try {
      return await answerTo(request, body, this.#options.now);
    } catch (error) {
      const isClosed = request.reusedSocket && ['ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '');
      if (!mayRepeat || !isClosed) throw error;
      return await this.#post(headers, body, endsAt, false);
    } finally {
      clearTimeout(timer);
    }
  }

  readonly #lookup: LookupFunction = (hostname, { all }, callback) => {
    const { resolve, allowsPrivate } = this.#options;
    resolve(hostname).then(
      (found) => {
        const addresses = found
          .filter((address) => isAllowedAddress(address, allowsPrivate))
          .map((address) => ({ address, family: isIP(address) }));
        const [chosen] = addresses;
        if (chosen === undefined) callback(new Unreachable('private_address'), '', 0);
        else if (all === true) callback(null, addresses);
        else callback(null, chosen.address, chosen.family);
      },
      () => callback(new Unreachable('dns'), '', 0),
    );
  };
}

/** The endpoint's name has no address, or no address to which webhooks may be sent. */
class Unreachable extends Error {
  readonly word: 'dns' | 'private_address';

  constructor(word: 'dns' | 'private_address') {
    super(word);
    this.word = word;
  }
}

class AnswerTooLarge extends Error {}

/** The endpoint's answer did not arrive within `answerMs` of `SenderOptions`. */
class Late extends Error {}

function answerTo(request: ClientRequest, body: string, now: () => number): Promise<Omit<Attempt, 'durationMs'>> {
  return new Promise((resolve, reject) => {
    request.once('error', reject);
    request.once('response', (response: IncomingMessage) => {
      let sizeBytes = 0;
      const first: Buffer[] = [];
      response.on('data', (chunk: Buffer) => {
        if (sizeBytes < 4 * SHOWN_CHARACTERS) first.push(chunk);
        sizeBytes += chunk.length;
        if (sizeBytes > MOST_ANSWER_BYTES) request.destroy(new AnswerTooLarge());
      });
      response.once('error', reject);
      // `close` also comes after `end`. The promise is then settled already.
      response.once('close', () => reject(Object.assign(new Error('broke off'), { code: 'HPE_BROKE_OFF' })));
      response.once('end', () => {
        const retryAfterMs = retryAfter(response.headers['retry-after'], now());
        const status = response.statusCode!;
        const answer = isDelivered({ status, durationMs: 0 }) ? '' : shownAnswer(Buffer.concat(first));
        resolve({ status, ...(answer === '' ? {} : { answer }), ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });
      });
    });
    request.end(body);
  });
}

/** The text without control characters and line breaks. */
function shownAnswer(bytes: Buffer): string {
  const text = bytes
    .subarray(0, 4 * SHOWN_CHARACTERS)
    .toString()
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\s]+/gu, ' ');
  return [...text.trim()].slice(0, SHOWN_CHARACTERS).join('');
}

/** The word for an error. The error's own text is not passed on, because it may contain the URL. */
function wordOf(error: NodeJS.ErrnoException): FailureWord {
  if (error instanceof Unreachable) return error.word;
  if (error instanceof Late) return 'timeout';
  if (error instanceof AnswerTooLarge) return 'answer_too_large';
  const { code = '' } = error;
  if (code.startsWith('HPE_')) return 'bad_answer';
  if (/^ERR_(TLS|SSL)|CERT|^EPROTO$|SIGNATURE|ISSUER/.test(code)) return 'tls';
  return 'connection';
}
