import { retryAfter } from '../../server/retry-after.ts';

/** The store's answers are a few KiB. A larger one is a fault. */
const ANSWER_LIMIT_BYTES = 64 * 1024;

/**
 * A request that got no usable answer; a retry may help. The message is a short reason for the log. It never quotes the
 * original error, whose text may hold the URL and with it a purchase token.
 */
export class Fault extends Error {
  /** The server's Retry-After. */
  readonly retryAfterMs: number | undefined;

  constructor(reason: string, retryAfterMs?: number) {
    super(reason);
    this.retryAfterMs = retryAfterMs;
  }
}

export interface TextAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly retryAfterMs: number | undefined;
}

/**
 * One request with a timeout and a bound on the answer's size. It follows no redirect, so that its credential reaches no
 * other server.
 * @throws Fault on a timeout, a network error or an answer above 64 KiB
 */
export async function boundedFetch(url: string, request: RequestInit, timeoutMs: number): Promise<TextAnswer> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, { ...request, redirect: 'manual', signal });
    const text = await boundedText(response);
    return {
      status: response.status,
      headers: response.headers,
      text,
      retryAfterMs: retryAfter(response.headers.get('retry-after'), Date.now()),
    };
  } catch (error) {
    if (error instanceof Fault) throw error;
    if (signal.aborted) throw new Fault('timeout');
    const { cause } = error as { cause?: { code?: unknown } };
    throw new Fault(typeof cause?.code === 'string' ? cause.code : 'network');
  }
}

async function boundedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    sizeBytes += chunk.length;
    // An exception ends the loop, which cancels the rest of the body.
    if (sizeBytes > ANSWER_LIMIT_BYTES) throw new Fault('too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** @throws Fault when the text is not JSON */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new Fault('not JSON');
  }
}
