import { verify, type X509Certificate } from 'node:crypto';
import { z } from 'zod';
import { tooNestedField } from '../../server/http/json-depth.ts';
import { LruCache } from '../../server/lru-cache.ts';
import { isCompact } from '../compact-token.ts';
import { chainOf, type Chain } from './certificates.ts';

/** The most chains that are kept. Apple signs with a few at a time. */
const MOST_CHAINS = 32;

/** Milliseconds by which the clock of Apple, or of the device that signed, may run ahead. */
const AHEAD_MS = 60_000;

/** The bytes of an ES256 signature (RFC 7518, section 3.4). */
const SIGNATURE_BYTES = 64;

const Header = z.object({
  alg: z.literal('ES256'),
  x5c: z.tuple([z.string(), z.string(), z.string()]),
  // A header that demands an extension (RFC 7515, section 4.1.11) is refused, because the service knows no extensions.
  crit: z.never().optional(),
});

/**
 * All that Apple signs says when. Apple's documents name no times at which a text becomes valid or expires. If a text has such a time, it
 * has to be obeyed (RFC 7519).
 */
const Signed = z.looseObject({ signedDate: z.int().min(0), nbf: z.number().optional(), exp: z.number().optional() });

export interface SignedTextsOptions {
  /** The roots at which chains may end. */
  readonly roots: () => readonly X509Certificate[] | Promise<readonly X509Certificate[]>;
  /** The time by the clock that the signer uses, in milliseconds since 1970. */
  readonly wallClock: () => number;
}

/**
 * Texts that Apple has signed: JWS (RFC 7515) by ES256 with a chain of three certificates
 * (https://developer.apple.com/documentation/appstoreserverapi/jwsdecodedheader).
 */
export class SignedTexts {
  readonly #options: SignedTextsOptions;
  /** By the certificates of the chain. Verifying a chain takes some 1.5 ms, and verifying a text some 0.1 ms. */
  readonly #chains = new LruCache<string, Chain>(MOST_CHAINS);

  constructor(options: SignedTextsOptions) {
    this.#options = options;
  }

  /**
   * Verifies the form, the chain, the signature and the time of a text. The caller has to check the content.
   * @param longest the most characters
   * @returns what was signed; undefined: the text does not verify
   */
  async read(text: string, longest: number): Promise<z.output<typeof Signed> | undefined> {
    if (!isCompact(text, 3, longest)) return undefined;
    const [head, body, signature] = text.split('.').map((part) => Buffer.from(part, 'base64url')) as [Buffer, Buffer, Buffer];
    const header = parsed(head, Header);
    if (header === undefined || signature.length !== SIGNATURE_BYTES) return undefined;
    const chain = await this.#chainOf(header.x5c);
    if (chain === undefined) return undefined;
    const key = { key: chain.leaf.publicKey, dsaEncoding: 'ieee-p1363' as const };
    if (!verify('sha256', Buffer.from(text.slice(0, text.lastIndexOf('.'))), key, signature)) return undefined;
    const signed = parsed(body, Signed);
    const now = this.#options.wallClock();
    if (signed === undefined || signed.signedDate > now + AHEAD_MS) return undefined;
    const { nbf = -Infinity, exp = Infinity } = signed;
    const seconds = Math.floor(now / 1000);
    if (nbf > seconds || exp <= seconds) return undefined;
    return signed.signedDate < chain.validFrom || signed.signedDate > chain.validTo ? undefined : signed;
  }

  async #chainOf(x5c: [string, string, string]): Promise<Chain | undefined> {
    const name = `${x5c[0]} ${x5c[1]}`;
    const known = this.#chains.get(name);
    if (known !== undefined) return known;
    const chain = chainOf(x5c, await this.#options.roots());
    if (chain !== undefined) this.#chains.set(name, chain);
    return chain;
  }
}

/** Parses JSON within the bounds that hold for requests. Undefined: it is not of this shape. */
function parsed<Shape extends z.ZodType>(bytes: Buffer, shape: Shape): z.output<Shape> | undefined {
  if (tooNestedField(bytes) !== undefined) return undefined;
  try {
    return shape.safeParse(JSON.parse(bytes.toString())).data;
  } catch {
    return undefined;
  }
}
