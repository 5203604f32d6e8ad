import { hash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { ListedKind } from '../../accounts/session-list.ts';
import { cookieValue } from '../../server/identity/cookies.ts';

/** How long a pairing can be claimed. Long enough to find the phone, short enough that a photo of the code is soon worthless. */
export const PAIR_LIFE_SECONDS = 180;

/** How long a pairing is kept after its life, so that a late poll still reads its status. */
export const PAIR_KEPT_SECONDS = 600;

/** How often a browser should poll. */
export const POLL_INTERVAL_SECONDS = 2;

export const PairStatus = z.enum(['pending', 'scanned', 'claimed', 'denied', 'expired']).meta({ id: 'PairingStatus' });

/** The kinds of the list of sessions that a pairing's session may have. */
export type PairedKind = Extract<ListedKind, 'pairing' | 'passed'>;

export type PairStatusWord = z.output<typeof PairStatus>;

/**
 * Accepts any text: one that cannot be a token is `pair_not_found` (404), not `invalid_request` (400). A client has one case
 * less to handle, and every guess counts as a miss.
 */
export const PairToken = z.string().min(1, 'Must not be empty').meta({ description: 'The token of a pairing, from POST /v1/pair/new.' });

/** 144 bits: too many to guess, and few enough that the QR code stays coarse enough for a bad camera. */
export function newPairToken(): string {
  return randomBytes(18).toString('base64url');
}

/** Whether the text has the form of a token from `POST /v1/pair/new`. */
export function mayBePairToken(token: string): boolean {
  return /^[\w-]{24}$/.test(token);
}

/** The content of the QR code: the page that a phone opens. */
export function pairingUrl(base: string, token: string): string {
  return `${base}/pair?token=${token}`;
}

export const pairKeys = {
  pair: (token: string) => `{pair:${token}}`,
};

/** Names a pairing in events. The token, which opens the pairing, cannot be computed from it. `claim.lua` makes the same. */
export function pairingIdOf(token: string): string {
  return hash('sha1', `coinop:pairing:${token}`).slice(0, 22);
}

/**
 * Holds a secret for each of the browser's latest pairings, newest first, separated by dots. With a single secret, a second
 * tab would take the session away from the first. Each secret is valid only for the pairing it was made with, so planting
 * one in another browser gains nothing.
 */
export const PAIR_COOKIE = 'svc_pair';

/** More tabs than a person pairs at once. */
export const MAX_HELD_SECRETS = 4;

export function newPairSecret(): string {
  return randomBytes(24).toString('base64url');
}

/** The well-formed secrets in the browser's cookie svc_pair. */
export function heldSecrets(cookieHeader: string): string[] {
  const secrets = cookieValue(cookieHeader, PAIR_COOKIE)?.split('.') ?? [];
  return secrets.filter(mayBeSecret).slice(0, MAX_HELD_SECRETS);
}

/** The well-formed secrets of a request: of the cookie svc_pair, and of the header x-pair-secret. */
export function givenSecrets({ cookie, pairSecret }: { readonly cookie: string; readonly pairSecret: string }): string[] {
  const held = heldSecrets(cookie);
  return mayBeSecret(pairSecret) ? [...held, pairSecret] : held;
}

function mayBeSecret(text: string): boolean {
  return /^[\w-]{32}$/.test(text);
}

/**
 * The unique part of the id of the session that a pairing gives. A pairing gives one session, so a poll that is repeated after a crash
 * lists no second one. The id does not reveal the token.
 */
export function pairedSessionName(token: string): string {
  return hash('sha256', `coinop:session:${token}`, 'base64url').slice(0, 16);
}

/** The form in which Redis keeps a secret. The secret is random, so the hash needs no salt. */
export function secretHash(secret: string): string {
  return hash('sha256', secret, 'base64url');
}
