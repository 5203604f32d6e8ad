import { hash } from 'node:crypto';
import type { ScriptCaller } from '../../redis/script-runner.ts';
import { addressGroup } from '../address.ts';
import type { Admission } from '../admission.ts';
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

/**
 * Key of the record that every caller's script reads: where the account moved to, or since which generation its sessions
 * stand and which guests moved into it (`redis/script.ts` has the format). Most accounts have none.
 */
export function movesKey(accountId: string): string {
  return `{${accountId}}:moves`;
}

/** Stands for as long as a signed-out session's cookie could still verify. */
export function signedOutKey(accountId: string, sessionId: string): string {
  return `{${accountId}}:out:${sessionId}`;
}

/** @param admission where a first write counts against its address; undefined where it does not */
export function callerFrom(
  client: { readonly address: string },
  accountId: string,
  session: Session | undefined,
  admission: Admission | undefined,
): Caller {
  return new AccountCaller(accountId, session, client, admission);
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

  get movesKey(): string {
    return movesKey(this.accountId);
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

  /** Made out when it is asked for, which is seldom. */
  get #group(): string {
    return addressGroup(this.#client.address);
  }
}
