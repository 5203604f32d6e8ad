import { request as requestHttp, type IncomingHttpHeaders } from 'node:http';
import { request as requestHttps } from 'node:https';
import { retryAfter } from '../server/retry-after.ts';

/** The most bytes of an answer, unless the request says otherwise. Most answers of stores have a few KiB, so a larger one is a fault. */
const ANSWER_LIMIT_BYTES = 64 * 1024;

/**
 * A request that got no usable answer; a retry may help. The message is a short reason for the log. The message never quotes the original
 * error, whose text may contain the URL, which contains a purchase token.
 */
export class Fault extends Error {
  /** The server's Retry-After, in milliseconds from now. */
  readonly retryAfterMs: number | undefined;

  constructor(reason: string, retryAfterMs?: number) {
    super(reason);
    this.retryAfterMs = retryAfterMs;
  }
}

export interface BoundedRequest {
  readonly method?: 'GET' | 'POST' | 'PUT';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The most bytes of the answer. Default: 64 KiB. */
  readonly answerBytes?: number;
}

export interface TextAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly retryAfterMs: number | undefined;
}

/**
 * Sends one request, with a timeout and a limit on the answer's size. Redirects are not followed, so that the credential of the request
 * reaches no other server.
 * @throws Fault on a timeout, a network error or an answer that is too long
 */
export async function boundedFetch(url: string, request: BoundedRequest, timeoutMs: number): Promise<TextAnswer> {
  try {
    return await answerTo(url, request, timeoutMs);
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault((error as NodeJS.ErrnoException).code ?? 'network');
  }
}

/** Uses node:http, because the global fetch with a timeout takes three times as much CPU time. A purchase makes two requests. */
function answerTo(url: string, bounded: BoundedRequest, timeoutMs: number): Promise<TextAnswer> {
  const { method = 'GET', headers, body, answerBytes = ANSWER_LIMIT_BYTES } = bounded;
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    const request = url.startsWith('https:') ? requestHttps : requestHttp;
    const sent = request(url, { method, headers: { ...headers, ...length } }, (response) => {
      const chunks: Buffer[] = [];
      let sizeBytes = 0;
      response.on('data', (chunk: Buffer) => {
        sizeBytes += chunk.length;
        if (sizeBytes > answerBytes) sent.destroy(new Fault('too large'));
        else chunks.push(chunk);
      });
      response.on('error', reject);
      response.on('end', () => {
        const retryAfterMs = retryAfter(response.headers['retry-after'], Date.now());
        resolve({ status: response.statusCode!, headers: response.headers, text: Buffer.concat(chunks).toString(), retryAfterMs });
      });
    });
    const timer = setTimeout(() => sent.destroy(new Fault('timeout')), timeoutMs);
    sent.on('close', () => clearTimeout(timer));
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Parses the JSON of an answer. @throws Fault if the text is not JSON */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new Fault('not JSON');
  }
}
