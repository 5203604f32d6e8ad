// Types only: what the service declares, as the client uses it. The package of the client carries these types written out
// (scripts/pack-client.mjs), because the declarations need zod and the service's other files.
import type { features } from '../api.ts';
import type { RefusalDetails, RequiredDetails } from '../errors.ts';

type Endpoints = (typeof features)[keyof typeof features][number];
type WireOf<E> = E extends { readonly wire?: infer W } ? Exclude<W, undefined> : never;
type Declared = WireOf<Endpoints>;

/** Path parameters and values of the query may be numbers: the client writes them into the address. */
type Loose<T> = { [K in keyof T]: string extends T[K] ? T[K] | number : T[K] };

/** Credentials, which the client adds itself. */
type Credential = 'installId' | 'session';

type Input<W> = W extends { route: `GET ${string}`; input: infer I }
  ? Loose<Omit<I, Credential>>
  : W extends { input: infer I }
    ? Omit<I, Credential>
    : never;

/** Codes that only a request with a server key gets (`KEY_CODES`). server.ts adds them. */
type OfKeys = 'bad_key' | 'forbidden';

/** A session from a pairing gets `forbidden` as well. */
type CodeOf<W extends { route: string; code: string }> = W['route'] extends 'POST /v1/sessions/end'
  ? W['code']
  : Exclude<W['code'], OfKeys>;

/** Every endpoint by method and path, with its input, its reply beside `ok`, and its error codes. */
export type Wire = { [W in Declared as W['route']]: { input: Input<W>; reply: W['reply']; code: CodeOf<W> } };

/** The fields of errors beside `code` and `message`: the fields of every error, and the fields of the error's code. */
export interface Details {
  any: Pick<RefusalDetails, 'field' | 'issues' | 'retryAfterMs'> & { outcome?: 'unknown' };
  of: RequiredDetails;
}
