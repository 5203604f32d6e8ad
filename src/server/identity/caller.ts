import { accountKey, standingKey, signedOutKey } from '../../accounts/account-keys.ts';
import type { ScriptCaller } from '../../accounts/caller-scripts.ts';
import { addressGroup } from '../address.ts';
import type { Admission } from '../admission.ts';
import type { Session } from './sessions.ts';

/** The account for which a request acts, as a session or an installId names it. */
export interface Caller extends ScriptCaller {
  readonly accountId: string;
  readonly session: Session | undefined;
}

/**
 * @param admission counts the account, if the call creates it, against the client's address; undefined if the endpoint has counted a
 * creation already
 */
export function callerFrom(
  client: { readonly address: string },
  accountId: string,
  session: Session | undefined,
  admission: Admission | undefined,
): Caller {
  return new AccountCaller(accountId, session, client, admission);
}

/**
 * The caller when an operator acts for an account, without a session of the account. Accounts that an operator creates count against no
 * limit.
 */
export function operatorFor(accountId: string): Caller {
  return callerFrom({ address: '' }, accountId, undefined, undefined);
}

/** Like `operatorFor`, but also for a banned, moving, moved or deleted account. Such a caller creates no account. */
export function uncheckedOperatorFor(accountId: string): Caller {
  return new UncheckedCaller(accountId, undefined, { address: '' }, undefined);
}

/** The caller of an earlier request, restored from the ids in a signed text. @param sessionId undefined: an installId named the account */
export function callerNamed(accountId: string, sessionId: string | undefined): ScriptCaller {
  const standing = standingKey(accountId);
  return {
    accountKey: accountKey(accountId),
    standingKey: standing,
    signedOutKey: sessionId === undefined ? undefined : signedOutKey(accountId, sessionId),
    createsFreely: true,
    reserveCreation: () => 0,
    giveBackCreation() {},
  };
}

class AccountCaller implements Caller {
  readonly accountId: string;
  readonly session: Session | undefined;
  readonly #client: { readonly address: string };
  readonly #admission: Admission | undefined;

  constructor(accountId: string, session: Session | undefined, client: { readonly address: string }, admission: Admission | undefined) {
    this.accountId = accountId;
    this.session = session;
    this.#client = client;
    this.#admission = admission;
  }

  get accountKey(): string {
    return accountKey(this.accountId);
  }

  get standingKey(): string {
    return standingKey(this.accountId);
  }

  get signedOutKey(): string | undefined {
    return this.session === undefined ? undefined : signedOutKey(this.session.accountId, this.session.id);
  }

  get createsFreely(): boolean {
    return this.#admission === undefined || !this.#admission.limitsAddresses;
  }

  reserveCreation(): number | Promise<number> {
    return this.#admission?.reserve('creations', this.#group) ?? 0;
  }

  giveBackCreation(): void {
    this.#admission?.giveBack('creations', this.#group);
  }

  /** The address group of the client. Computed on demand, because few calls create an account. */
  get #group(): string {
    return addressGroup(this.#client.address);
  }
}

class UncheckedCaller extends AccountCaller {
  readonly isUnchecked = true;
}
