/** Answers of the store are a few KiB; one beyond this is none. */
const ANSWER_LIMIT_BYTES = 64 * 1024;

/** Why there is no answer that counts, in a word for the log: addresses hold purchase tokens, so no error's own text. */
export class Fault extends Error {
  /** When the server asked to be left alone that long. */
  readonly retryAfterMs: number | undefined;

  constructor(word: string, retryAfterMs?: number) {
    super(word);
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
 * Asks once, within a time and a size, and follows no redirect: a credential goes where it was sent, and nowhere else.
 * @throws Fault where no whole answer came
 */
export async function boundedFetch(url: string, request: RequestInit, timeoutMs: number): Promise<TextAnswer> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, { ...request, redirect: 'manual', signal });
    const text = await boundedText(response);
    return { status: response.status, headers: response.headers, text, retryAfterMs: retryAfter(response.headers.get('retry-after')) };
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
    // Leaving the loop cancels the rest.
    if (sizeBytes > ANSWER_LIMIT_BYTES) throw new Fault('too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** Seconds or a date (RFC 9110, section 10.2.3). */
function retryAfter(header: string | null): number | undefined {
  if (header === null) return undefined;
  const waitMs = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(waitMs) ? Math.max(waitMs, 0) : undefined;
}

/** @throws Fault where it is not JSON */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new Fault('not JSON');
  }
}
