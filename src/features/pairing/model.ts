import { hash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { ListedKind } from '../../accounts/session-list.ts';
import { cookieValue } from '../../server/identity/cookies.ts';

/**
 * How long a pairing can be claimed. The time is long enough to find the phone, and short enough that a photo of the QR code is soon
 * worthless.
 */
export const PAIR_LIFE_SECONDS = 180;

/** How long Redis keeps a pairing after it can no longer be claimed, so that a late poll still reads the pairing's status. */
export const PAIR_KEPT_SECONDS = 600;

/** How often a browser should poll the status of its pairing. */
export const POLL_INTERVAL_SECONDS = 2;

export const PairStatus = z.enum(['pending', 'scanned', 'claimed', 'denied', 'expired']).meta({ id: 'PairingStatus' });

/** The kinds that the session of a pairing may have in the account's list of sessions. */
export type PairedKind = Extract<ListedKind, 'pairing' | 'passed'>;

export type PairStatusWord = z.output<typeof PairStatus>;

/**
 * The token of a pairing in a request. Accepts any text: a text that cannot be a token is `pair_not_found` (404), not `invalid_request`
 * (400). So a client has one case less to handle, and every wrong token counts as a wrong guess, of which a client has only a limited
 * number.
 */
export const PairToken = z.string().min(1, 'Must not be empty').meta({ description: 'The token of a pairing, from POST /v1/pair/new.' });

/** Makes a token of 144 random bits: too many to guess, and few enough that a bad camera can read the QR code. */
export function newPairToken(): string {
  return randomBytes(18).toString('base64url');
}

/** Whether the text has the form of a token from `POST /v1/pair/new`. */
export function mayBePairToken(token: string): boolean {
  return /^[\w-]{24}$/.test(token);
}

/** The content of the QR code: the URL of the page that a phone opens. */
export function pairingUrl(base: string, token: string): string {
  return `${base}/pair?token=${token}`;
}

export const pairKeys = {
  pair: (token: string) => `{pair:${token}}`,
};

/**
 * The id of a pairing in events. Nobody can compute the pairing's token, which is a secret, from this id. `claim.lua` makes the same id.
 */
export function pairingIdOf(token: string): string {
  return hash('sha1', `coinop:pairing:${token}`).slice(0, 22);
}

/**
 * The cookie with a secret for each of the browser's latest pairings, newest first, separated by dots. If it had only one secret, a pairing
 * in a second tab would take the session away from the first tab. Each secret is valid only for the pairing with which it was made, so an
 * attacker gains nothing by planting a secret in another browser.
 */
export const PAIR_COOKIE = 'svc_pair';

/** The most secrets in the cookie svc_pair: more tabs than a person pairs at the same time. */
export const MAX_HELD_SECRETS = 4;

export function newPairSecret(): string {
  return randomBytes(24).toString('base64url');
}

/** The well-formed secrets in the browser's cookie svc_pair. */
export function heldSecrets(cookieHeader: string): string[] {
  const secrets = cookieValue(cookieHeader, PAIR_COOKIE)?.split('.') ?? [];
  return secrets.filter(mayBeSecret).slice(0, MAX_HELD_SECRETS);
}

/** The well-formed secrets in a request's cookie svc_pair and in its header x-pair-secret. */
export function givenSecrets({ cookie, pairSecret }: { readonly cookie: string; readonly pairSecret: string }): string[] {
  const held = heldSecrets(cookie);
  return mayBeSecret(pairSecret) ? [...held, pairSecret] : held;
}

function mayBeSecret(text: string): boolean {
  return /^[\w-]{32}$/.test(text);
}

/**
 * The unique part of the id of the session that a pairing gives. The same pairing always gives the same session id, so a poll that is
 * repeated after a crash lists no second session. The session id does not reveal the pairing's token.
 */
export function pairedSessionName(token: string): string {
  return hash('sha256', `coinop:session:${token}`, 'base64url').slice(0, 16);
}

/** The hash of a browser's pairing secret, which Redis keeps in place of the secret. The secret is random, so the hash needs no salt. */
export function secretHash(secret: string): string {
  return hash('sha256', secret, 'base64url');
}
