import { hash } from 'node:crypto';
import type { ScriptCaller } from '../redis/scripts.ts';
import { addressGroup } from './address.ts';
import type { RateLimit, RateLimits } from './rate-limit.ts';
import { Recent } from './recent.ts';
import type { Session } from './sessions.ts';

/** Who is calling: an account, named by a session or by an installId. */
export interface Caller extends ScriptCaller {
  readonly accountId: string;
  readonly session: Session | undefined;
}

/**
 * The account of an install: 132 bits of its SHA-256, so that finding it costs no look-up. It cannot be turned back
 * into the installId as long as that is as random as a bearer secret must be.
 */
export function accountIdOf(installId: string): string {
  return hash('sha256', `coinop:account:${installId}`, 'base64url').slice(0, 22);
}

/** The account of a store's user, found by the store's own id of them as an install's is by its installId. */
export function storeAccountIdOf(store: 'google' | 'sandbox', subject: string): string {
  return hash('sha256', `coinop:${store}:${subject}`, 'base64url').slice(0, 22);
}

/** Everything of one account shares its hash tag. */
export function accountKey(accountId: string): string {
  return `{${accountId}}:account`;
}

/** Where an account moved to, or which accounts moved into it (`redis/script.ts` says how). Not there for most. */
export function movesKey(accountId: string): string {
  return `{${accountId}}:moves`;
}

/** Stands for as long as a signed-out session's cookie could still verify. */
export function signedOutKey(accountId: string, sessionId: string): string {
  return `{${accountId}}:out:${sessionId}`;
}

/**
 * Accounts known to have moved into another, by `movesKey`: a move is for good, so who was sent on once need not be
 * again. Bounded: what it forgets, the next script tells again. Forgotten when the link to Redis broke, for a Redis that
 * was restored from before a move knows nothing of it.
 */
export class KnownMoves {
  #targets = new Recent<string, string>(KNOWN_MOVES);
  #isEmpty = true;

  learn({ movesKey, target }: { movesKey: string; target: string }): void {
    this.#isEmpty = false;
    this.#targets.set(movesKey, target);
  }

  forget(): void {
    this.#isEmpty = true;
    this.#targets = new Recent(KNOWN_MOVES);
  }

  /** The account that this one is now. */
  follow(accountId: string): string {
    return this.#isEmpty ? accountId : (this.#targets.get(movesKey(accountId)) ?? accountId);
  }
}

const KNOWN_MOVES = 50_000;

/** @param limits where a first write counts against its address; undefined where it does not */
export function callerFrom(
  client: { readonly address: string },
  accountId: string,
  session: Session | undefined,
  limits: RateLimits | undefined,
  now: () => number,
): Caller {
  return new AccountCaller(accountId, session, client, limits?.creations, now);
}

class AccountCaller implements Caller {
  readonly accountId: string;
  readonly session: Session | undefined;
  readonly #client: { readonly address: string };
  readonly #creations: RateLimit | undefined;
  readonly #now: () => number;

  constructor(
    accountId: string,
    session: Session | undefined,
    client: { readonly address: string },
    creations: RateLimit | undefined,
    now: () => number,
  ) {
    this.accountId = accountId;
    this.session = session;
    this.#client = client;
    this.#creations = creations;
    this.#now = now;
  }

  get accountKey(): string {
    return accountKey(this.accountId);
  }

  get movesKey(): string {
    return movesKey(this.accountId);
  }

  /** A session of an account that moved since stays that account's. */
  get signedOutKey(): string | undefined {
    return this.session === undefined ? undefined : signedOutKey(this.session.accountId, this.session.id);
  }

  get creationWaitMs(): number {
    return this.#creations === undefined ? 0 : this.#creations.wait(addressGroup(this.#client.address), this.#now());
  }

  accountCreated(): void {
    this.#creations?.charge(addressGroup(this.#client.address), this.#now());
  }
}
