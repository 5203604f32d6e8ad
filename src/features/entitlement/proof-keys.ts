import { createECDH, createPrivateKey, hkdfSync, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import type { SessionKey } from '../../config.ts';

/** A public key of P-256, as a JWK (RFC 7517, section 4; RFC 7518, section 6.2.1). */
export const PublishedKey = z.object({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  x: z.string(),
  y: z.string(),
  kid: z.string().meta({ description: 'Stands in the header of the proofs that it verifies.' }),
  alg: z.literal('ES256'),
  use: z.literal('sig'),
});

/**
 * The keys that sign entitlement proofs (ES256), one made from each of SESSION_KEYS and of the same `kid`. So there is
 * no further setting, all processes share them, and they rotate together. HKDF (RFC 5869) is one-way: neither the
 * public key nor even the private one tells anything of the secret that signs sessions.
 *
 * The first signs, all are published. A verifier may hold a set that it fetched a while ago: to rotate without a gap put
 * the new key last, wait until the set that lacks it is out of all caches (`jwks.ts` says how long), then put it first.
 */
export class ProofKeys {
  readonly signing: { readonly kid: string; readonly privateKey: KeyObject };
  /** What others verify by. */
  readonly published: readonly z.output<typeof PublishedKey>[];

  constructor(sessionKeys: readonly SessionKey[]) {
    const keys = sessionKeys.map(({ kid, secret }) => ({ kid, ...keyPairOf(secret) }));
    this.signing = keys[0]!;
    this.published = keys.map(({ kid, x, y }) => ({ kty: 'EC', crv: 'P-256', x, y, kid, alg: 'ES256', use: 'sig' }));
  }
}

function keyPairOf(secret: Buffer): { x: string; y: string; privateKey: KeyObject } {
  const scalar = firstScalar((counter) => Buffer.from(hkdfSync('sha256', secret, '', `coinop:entitlement-proof:${counter}`, 32)));
  const pair = createECDH('prime256v1');
  pair.setPrivateKey(scalar);
  // A byte that says "uncompressed", then the two coordinates (SEC 1, section 2.3.3).
  const point = pair.getPublicKey();
  const x = point.toString('base64url', 1, 33);
  const y = point.toString('base64url', 33);
  const d = scalar.toString('base64url');
  return { x, y, privateKey: createPrivateKey({ format: 'jwk', key: { kty: 'EC', crv: 'P-256', d, x, y } }) };
}

/** The order of P-256 (SEC 2, section 2.4.2): a private key is a number from 1 to one less than it. */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/**
 * The first candidate that is a private key. About one in 2^32 is none and is passed over, as FIPS 186-5, appendix A.2.2
 * has it: reduced to fit, some keys would come out more often than others.
 */
export function firstScalar(candidate: (counter: number) => Buffer): Buffer {
  for (let counter = 0; ; counter++) {
    const bytes = candidate(counter);
    const number = BigInt(`0x${bytes.toString('hex')}`);
    if (number >= 1n && number < ORDER) return bytes;
  }
}
