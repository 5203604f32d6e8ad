import { createECDH, createPrivateKey, hkdfSync, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import type { SessionKey } from '../../config.ts';

/** A P-256 public key as a JWK (RFC 7517, section 4; RFC 7518, section 6.2.1). */
export const PublishedKey = z
  .object({
    kty: z.literal('EC'),
    crv: z.literal('P-256'),
    x: z.string(),
    y: z.string(),
    kid: z.string().meta({ description: 'The `kid` in the header of the proofs that this key verifies.' }),
    alg: z.literal('ES256'),
    use: z.literal('sig'),
  })
  .meta({
    id: 'ProofKey',
    example: {
      kty: 'EC',
      crv: 'P-256',
      x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
      y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
      kid: 'k1',
      alg: 'ES256',
      use: 'sig',
    },
  });

/**
 * The keys that sign entitlement proofs (ES256). Each key is derived from one of SESSION_KEYS and has the same `kid`. So proof keys need no
 * setting, all processes share them, and they rotate with the session keys. HKDF (RFC 5869) is one-way: neither the public nor the private
 * key reveals the secret that signs sessions.
 *
 * The first key signs; all keys are published. A verifier may have an old copy of the key set. So that every proof can be verified during a
 * rotation, add the new key last, wait until caches have dropped the old set (MAX_AGE_SECONDS in `jwks.ts`), then move the new key to the
 * front.
 */
export class ProofKeys {
  readonly signing: { readonly kid: string; readonly privateKey: KeyObject };
  /** The public keys, which verify proofs. */
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
  // The point consists of a byte that means "uncompressed", then x and y of 32 bytes each (SEC 1, section 2.3.3).
  const point = pair.getPublicKey();
  const x = point.toString('base64url', 1, 33);
  const y = point.toString('base64url', 33);
  const d = scalar.toString('base64url');
  return { x, y, privateKey: createPrivateKey({ format: 'jwk', key: { kty: 'EC', crv: 'P-256', d, x, y } }) };
}

/** The order of P-256 (SEC 2, section 2.4.2). A private key is a number from 1 to ORDER - 1. */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/**
 * The first candidate that is a valid private key. About one candidate in 2^32 is invalid and is skipped, as FIPS 186-5, appendix A.2.2,
 * requires. If candidates were taken modulo ORDER instead, some keys would be more likely than others.
 */
export function firstScalar(candidate: (counter: number) => Buffer): Buffer {
  for (let counter = 0; ; counter++) {
    const bytes = candidate(counter);
    const number = BigInt(`0x${bytes.toString('hex')}`);
    if (number >= 1n && number < ORDER) return bytes;
  }
}
