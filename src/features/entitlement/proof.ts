import { SignJWT } from 'jose';
import type { z } from 'zod';
import type { Entitlement } from './model.ts';
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

/**
 * A compact JWS (ES256) of the account's entitlement, which an app verifies offline. It expires no later than the access
 * that it shows.
 * @param at milliseconds since 1970: the time of the entitlement's decision
 */
export function proofOf(accountId: string, entitlement: z.output<typeof Entitlement>, at: number, keys: ProofKeys): Promise<string> {
  const { state, access, expiresAt } = entitlement;
  const issuedAt = Math.floor(at / 1000);
  const endsAt = access && expiresAt !== undefined ? Math.floor(Date.parse(expiresAt) / 1000) : Infinity;
  // Signing costs about 60 µs of CPU, 25 of them on the event loop: as much as the rest of the request. A cache would not
  // help, because an app with a proof asks again only hours later.
  return new SignJWT({ state, access, expiresAt })
    .setProtectedHeader({ alg: 'ES256', kid: keys.signing.kid, typ: PROOF_TYPE })
    .setIssuer(PROOF_ISSUER)
    .setSubject(accountId)
    .setIssuedAt(issuedAt)
    .setExpirationTime(Math.min(issuedAt + PROOF_LIFE_SECONDS, endsAt))
    .sign(keys.signing.privateKey);
}
