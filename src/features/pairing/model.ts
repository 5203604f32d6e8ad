import { hash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { cookieValue } from '../../server/identity/cookies.ts';

/** How long a pairing can be claimed. Long enough to find the phone, short enough that a photo of the code is soon worthless. */
export const PAIR_LIFE_SECONDS = 180;

/** How long a pairing is kept after that, so that a late poll learns what became of it. */
export const PAIR_KEPT_SECONDS = 600;

/** How often a browser need poll. */
export const POLL_INTERVAL_SECONDS = 2;

export const PairStatus = z.enum(['pending', 'scanned', 'claimed', 'denied', 'expired']);

export type PairStatusWord = z.output<typeof PairStatus>;

/**
 * Any text may be asked for: what cannot be a token is one that does not exist, not a malformed request. So a client has
 * one case less to tell apart, and a guess counts as a guess.
 */
export const PairToken = z.string().min(1, 'Must not be empty').meta({ description: 'The token of a pairing, from POST /v1/pair/new.' });

/** 144 bits: nobody guesses one, and the QR code stays coarse enough for a bad camera. */
export function newPairToken(): string {
  return randomBytes(18).toString('base64url');
}

/** Whether `POST /v1/pair/new` can have given this token. */
export function mayBePairToken(token: string): boolean {
  return /^[\w-]{24}$/.test(token);
}

export const pairKeys = {
  pair: (token: string) => `{pair:${token}}`,
};

/**
 * Holds a secret for each of the browser's latest pairings, newest first, dots between: a second tab must not take the
 * first one's session away. Each secret is good for the one pairing it was made with, so planting one gains nothing.
 */
export const PAIR_COOKIE = 'svc_pair';

/** More tabs than anybody pairs at once. */
export const MAX_HELD_SECRETS = 4;

export function newPairSecret(): string {
  return randomBytes(24).toString('base64url');
}

/** The secrets that the browser's svc_pair holds. */
export function heldSecrets(cookieHeader: string): string[] {
  const secrets = cookieValue(cookieHeader, PAIR_COOKIE)?.split('.') ?? [];
  return secrets.filter((secret) => /^[\w-]{32}$/.test(secret)).slice(0, MAX_HELD_SECRETS);
}

/** What Redis keeps of a secret. The secret is random, so it needs no salt. */
export function secretHash(secret: string): string {
  return hash('sha256', secret, 'base64url');
}
