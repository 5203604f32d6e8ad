import { hash } from 'node:crypto';
import type { ScriptCaller } from '../redis/script.ts';
import { addressGroup } from './address.ts';
import type { RateLimits } from './rate-limit.ts';
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

/** Everything of one account shares its hash tag. */
export function accountKey(accountId: string): string {
  return `{${accountId}}:account`;
}

/** Stands for as long as a signed-out session's cookie could still verify. */
export function signedOutKey(accountId: string, sessionId: string): string {
  return `{${accountId}}:out:${sessionId}`;
}

/** @param limits where a first write counts against its address; undefined where it does not */
export function callerFrom(
  address: string,
  accountId: string,
  session: Session | undefined,
  limits: RateLimits | undefined,
  now: () => number,
): Caller {
  const group = addressGroup(address);
  return new AccountCaller(accountId, session, {
    waitMs: () => limits?.creations.wait(group, now()) ?? 0,
    created: () => limits?.creations.charge(group, now()),
  });
}

class AccountCaller implements Caller {
  readonly accountId: string;
  readonly session: Session | undefined;
  readonly #creations: { waitMs: () => number; created: () => void };

  constructor(accountId: string, session: Session | undefined, creations: { waitMs: () => number; created: () => void }) {
    this.accountId = accountId;
    this.session = session;
    this.#creations = creations;
  }

  get accountKey(): string {
    return accountKey(this.accountId);
  }

  get signedOutKey(): string | undefined {
    return this.session === undefined ? undefined : signedOutKey(this.accountId, this.session.id);
  }

  get creationWaitMs(): number {
    return this.#creations.waitMs();
  }

  accountCreated(): void {
    this.#creations.created();
  }
}
