import { SignJWT } from 'jose';
import type { z } from 'zod';
import type { Entitlement } from './model.ts';
import type { ProofKeys } from './proof-keys.ts';

/**
 * Says what kind of JWT it is, so that none of another kind passes for a proof, nor a proof for another (RFC 8725,
 * section 3.11).
 */
export const PROOF_TYPE = 'entitlement+jwt';

/**
 * Always the same, whatever the address: PUBLIC_URL names the site that QR codes lead to, and apps that hold proofs
 * should outlive its change. Which service signed, its keys tell.
 */
export const PROOF_ISSUER = 'coinop';

/** Nobody can take a proof back: after a refund it still shows for up to a day what was bought. */
const PROOF_LIFE_SECONDS = 86_400;

/**
 * A compact JWS (ES256) of what the account may use, to be verified without asking. It ends no later than the access
 * that it shows.
 * @param at milliseconds since 1970: when the entitlement was decided
 */
export function proofOf(accountId: string, entitlement: z.output<typeof Entitlement>, at: number, keys: ProofKeys): Promise<string> {
  const { state, access, expiresAt } = entitlement;
  const issuedAt = Math.floor(at / 1000);
  const endsAt = access && expiresAt !== undefined ? Math.floor(Date.parse(expiresAt) / 1000) : Infinity;
  // Some 60 µs of CPU, 25 of them on the event loop: as much again as the rest of the request. Remembering proofs would
  // not pay all the same, for an app that holds one asks again hours later.
  return new SignJWT({ state, access, expiresAt })
    .setProtectedHeader({ alg: 'ES256', kid: keys.signing.kid, typ: PROOF_TYPE })
    .setIssuer(PROOF_ISSUER)
    .setSubject(accountId)
    .setIssuedAt(issuedAt)
    .setExpirationTime(Math.min(issuedAt + PROOF_LIFE_SECONDS, endsAt))
    .sign(keys.signing.privateKey);
}
