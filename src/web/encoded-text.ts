import { hash } from 'node:crypto';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { gzip } from 'node:zlib';
import { namesTag } from '../server/http/entity-tag.ts';
import { Encoded, EncodedBytes, Reply, type RequestMeta } from '../server/http/endpoint.ts';

/** A text as the service sends it: plain, gzipped, and with an ETag that changes with the text. */
export interface Edition {
  readonly tag: string;
  readonly plain: Encoded;
  readonly gzipped: Encoded;
}

const compress = promisify(gzip);

/** Makes the edition of a text. A thread of Node's pool compresses the text, so that other requests do not wait. */
export async function editionOf(text: string): Promise<Edition> {
  return {
    tag: hash('sha256', text, 'base64url').slice(0, 16),
    plain: new Encoded(text),
    gzipped: new EncodedBytes(await compress(text, { level: 9 })),
  };
}

/**
 * Makes the editions of texts that take long to make. A worker thread makes the texts, so that other requests do not wait. The texts are
 * made at the first call, because most processes never serve them.
 * @param worker a module that posts one message: its texts by name
 */
export function editionsFrom<Name extends string>(worker: URL, data?: () => unknown): () => Promise<ReadonlyMap<Name, Edition>> {
  return madeOnce(async () => {
    const [texts] = (await once(new Worker(worker, { workerData: data?.() }), 'message')) as [Record<Name, string>];
    const entries = Object.entries<string>(texts).map(async ([name, text]) => [name as Name, await editionOf(text)] as const);
    return new Map(await Promise.all(entries));
  });
}

export type Headers = readonly (readonly [name: string, value: string])[];

/** The part that all endpoints which answer with `sendEdition` have in their declarations. */
export const SENDS_EDITION = {
  headers: { 'if-none-match': 'The ETag of an earlier reply.' },
  /**
   * The deadline in milliseconds. The first request waits until its edition is made, which on a busy machine takes longer than the usual
   * two seconds.
   */
  deadlineMs: 20_000,
} as const;

/** The header `no-cache`: browsers keep a file, but ask each time whether it has changed. So a page never mixes files of two versions. */
export const ASKED_EACH_TIME = [['cache-control', 'no-cache']] as const;

/**
 * The answer with an edition, in the encoding that the client accepts, or 304 if the client already has the edition.
 * @param more further headers, such as how long caches may keep the answer
 * @param mediaType the media type. Undefined: the one that the endpoint declares
 */
export function sendEdition(
  { tag, plain, gzipped }: Edition,
  { acceptEncoding, ifNoneMatch }: RequestMeta,
  more: Headers,
  mediaType?: string,
): Reply<Encoded> {
  const typed = mediaType === undefined ? {} : { mediaType };
  const isGzipped = /\bgzip\b(?!\s*;\s*q=0)/.test(acceptEncoding);
  const tags = { plain: `"${tag}"`, gzipped: `"${tag}-gzip"` };
  const headers: Headers = [['etag', isGzipped ? tags.gzipped : tags.plain], ['vary', 'Accept-Encoding'], ...more];
  // The ETag of either encoding is accepted, because both encodings have the same text.
  if (Object.values(tags).some((known) => namesTag(ifNoneMatch, known)))
    return new Reply<Encoded>(new Encoded(''), { status: 304, headers, ...typed });
  return isGzipped
    ? new Reply<Encoded>(gzipped, { headers: [...headers, ['content-encoding', 'gzip']], ...typed })
    : new Reply<Encoded>(plain, { headers, ...typed });
}

/** Makes a value at the first call and keeps it. If making it fails, the next call tries again. */
export function madeOnce<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () =>
    (made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    }));
}
