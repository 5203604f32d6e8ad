import { sign } from 'node:crypto';
import { compactJws, jwsPart } from '../../server/identity/compact-jws.ts';
import { LruCache } from '../../server/lru-cache.ts';
import type { ProofKeys } from './proof-keys.ts';

/** `typ` of a proof. Verifiers compare it, so no other JWT is taken for a proof, and no proof for another JWT (RFC 8725, section 3.11). */
export const PROOF_TYPE = 'entitlement+jwt';

/**
 * `iss` of a proof: a constant, not PUBLIC_URL. PUBLIC_URL is the site that QR codes lead to, and the proofs that apps hold
 * must survive its change. The signing key identifies the service.
 */
export const PROOF_ISSUER = 'coinop';

/** A proof cannot be revoked: after a refund it still shows the purchase for up to a day. */
const PROOF_LIFE_SECONDS = 86_400;

/** An app that asks more often gets the same proof. So the proof may be as old, and ends as much sooner. */
const KEPT_SECONDS = 60;

/** Bounds the memory for kept proofs to about 2 MB. */
const KEPT_PROOFS = 2000;

/** The statements of a proof about an account, as in an entitlement. */
interface Proven {
  readonly state: string;
  readonly access: boolean;
  readonly expiresAt?: string | undefined;
}

interface Kept {
  /** The statements about the account. */
  readonly fact: string;
  /** Seconds since 1970. */
  readonly issuedAt: number;
  readonly proof: string;
}

/**
 * Makes compact JWS (ES256) of entitlements, which apps verify offline. The last proof of an account is kept for a minute, as long as the
 * entitlement does not change: a signature takes 38 µs, more than the rest of the request. jose takes as long on the event loop, and as long
 * again on a thread.
 */
export class Proofs {
  readonly #keys: ProofKeys;
  readonly #header: string;
  /** By account. */
  readonly #kept = new LruCache<string, Kept>(KEPT_PROOFS);

  constructor(keys: ProofKeys) {
    this.#keys = keys;
    this.#header = jwsPart({ alg: 'ES256', kid: keys.signing.kid, typ: PROOF_TYPE });
  }

  /** The public keys, which verify proofs. */
  get published(): ProofKeys['published'] {
    return this.#keys.published;
  }

  /**
   * The proof expires no later than the access that it shows. The caller has to check first whether the account may have one.
   * @param at milliseconds since 1970, by the clock of this machine: apps compare it with theirs
   */
  of(accountId: string, { state, access, expiresAt }: Proven, at: number): string {
    const issuedAt = Math.floor(at / 1000);
    const fact = `${state} ${access} ${expiresAt}`;
    const kept = this.#kept.get(accountId);
    // After a clock was set back, the time of the kept proof lies in the future.
    if (kept?.fact === fact && kept.issuedAt <= issuedAt && issuedAt < kept.issuedAt + KEPT_SECONDS) return kept.proof;
    const endsAt = access && expiresAt !== undefined ? Math.floor(Date.parse(expiresAt) / 1000) : Infinity;
    const exp = Math.min(issuedAt + PROOF_LIFE_SECONDS, endsAt);
    const claims = { state, access, expiresAt, iss: PROOF_ISSUER, sub: accountId, iat: issuedAt, exp };
    const proof = compactJws(this.#header, claims, (text) => this.#signatureOf(text));
    this.#kept.set(accountId, { fact, issuedAt, proof });
    return proof;
  }

  /** RFC 7518, section 3.4: the two numbers of the signature one after the other, not in DER. */
  #signatureOf(text: string): Buffer {
    return sign('sha256', Buffer.from(text), { key: this.#keys.signing.privateKey, dsaEncoding: 'ieee-p1363' });
  }
}
