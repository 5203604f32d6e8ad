import { sign } from 'node:crypto';
import { compactJws, jwsPart } from '../../server/identity/compact-jws.ts';
import { LruCache } from '../../server/lru-cache.ts';
import type { ProofKeys } from './proof-keys.ts';

/**
 * The header `typ` of a proof. Verifiers compare the type, so that they do not take another JWT for a proof, or a proof for another JWT
 * (RFC 8725, section 3.11).
 */
export const PROOF_TYPE = 'entitlement+jwt';

/**
 * The claim `iss` of a proof. The claim is a constant. PUBLIC_URL is not used for it, because the proofs that apps have must stay valid if
 * PUBLIC_URL changes. The signing key identifies the service.
 */
export const PROOF_ISSUER = 'coinop';

/** How long a proof is valid, in seconds. A proof cannot be revoked: after a refund it still shows the purchase for up to a day. */
const PROOF_LIFE_SECONDS = 86_400;

/** For how many seconds an account's last proof is returned again. So a proof may already be this old when an app gets it. */
const KEPT_SECONDS = 60;

/** The most accounts whose last proof is kept: about 2 MB of memory. */
const KEPT_PROOFS = 2000;

/** The statements of a proof about an account, as in an entitlement. */
interface Proven {
  readonly state: string;
  readonly access: boolean;
  readonly expiresAt?: string | undefined;
}

interface Kept {
  /** The statements of the proof about the account, as one text. */
  readonly fact: string;
  /** When the proof was signed, in seconds since 1970. */
  readonly issuedAt: number;
  readonly proof: string;
}

/**
 * Makes signed proofs of entitlements (compact JWS, ES256), which apps verify offline. The last proof of an account is kept for a minute,
 * unless the entitlement changes, because a signature takes 38 µs, more than the rest of the request. With jose, a signature takes as long
 * on the event loop, and as long again on a thread.
 */
export class Proofs {
  readonly #keys: ProofKeys;
  readonly #header: string;
  /** The last proof of each account, by account id. */
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
   * Makes or returns the proof of an entitlement. A proof of access expires no later than the access itself. The caller has to check first
   * whether the account may get a proof.
   * @param at milliseconds since 1970, by this machine's clock: apps compare the times in a proof with their own clocks
   */
  of(accountId: string, { state, access, expiresAt }: Proven, at: number): string {
    const issuedAt = Math.floor(at / 1000);
    const fact = `${state} ${access} ${expiresAt}`;
    const kept = this.#kept.get(accountId);
    // If the clock was set back, the time of the kept proof may be in the future. A new proof is made then.
    if (kept?.fact === fact && kept.issuedAt <= issuedAt && issuedAt < kept.issuedAt + KEPT_SECONDS) return kept.proof;
    const endsAt = access && expiresAt !== undefined ? Math.floor(Date.parse(expiresAt) / 1000) : Infinity;
    const exp = Math.min(issuedAt + PROOF_LIFE_SECONDS, endsAt);
    const claims = { state, access, expiresAt, iss: PROOF_ISSUER, sub: accountId, iat: issuedAt, exp };
    const proof = compactJws(this.#header, claims, (text) => this.#signatureOf(text));
    this.#kept.set(accountId, { fact, issuedAt, proof });
    return proof;
  }

  /** The signature of a JWS (RFC 7518, section 3.4): the two numbers of the signature one after the other, without DER. */
  #signatureOf(text: string): Buffer {
    return sign('sha256', Buffer.from(text), { key: this.#keys.signing.privateKey, dsaEncoding: 'ieee-p1363' });
  }
}
