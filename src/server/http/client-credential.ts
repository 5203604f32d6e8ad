import { accountIdOf } from '../../accounts/ids.ts';
import { SessionEnded } from '../../accounts/caller-scripts.ts';
import { invalid, refuse, Refusal } from '../../errors.ts';
import type { Admission } from '../admission.ts';
import { callerFrom, type Caller } from '../identity/caller.ts';
import type { Session, Sessions } from '../identity/sessions.ts';
import type { Credential, Identified, PlainCall } from './credential.ts';
import type { CallerRule } from './endpoint.ts';
import type { Exchange } from './exchange.ts';
import { invalidBearer } from './error-answer.ts';

export interface ClientCredentialsOptions {
  readonly sessions: Sessions;
  readonly admission: Admission;
  /**
   * Checks the caller's session or installId in Redis.
   * @throws SessionEnded, or Refusal `sign_in_required`, `account_deleted`, `account_banned`
   */
  readonly checkCaller: (caller: Caller) => Promise<unknown>;
}

/** Finds the credential (session or installId) of each request to one endpoint, by the endpoint's caller rule. */
export class ClientCredentials {
  readonly rule: CallerRule;
  /** Whether the request goes on without a credential that was refused: with the rules `lenient`, `any` and `public`. */
  readonly isLenient: boolean;
  /** Whether the request goes on with any invalid credential: with the rules `any` and `public`. */
  readonly refusesNone: boolean;
  /** Whether a session names the caller even if the request has an installId too. */
  readonly isSessionFirst: boolean;
  /**
   * Counts the account that the call may create against the client's address. Undefined: every call of the endpoint is counted as a
   * creation already.
   */
  readonly countsCreation: Admission | undefined;
  readonly sessions: Sessions;
  readonly #checkCaller: ClientCredentialsOptions['checkCaller'];
  readonly #withoutSession = new ClientCredential(this, undefined, false);

  constructor(
    { caller, creates }: { readonly caller: CallerRule; readonly creates?: boolean },
    { sessions, admission, checkCaller }: ClientCredentialsOptions,
  ) {
    this.rule = caller;
    this.refusesNone = caller === 'any' || caller === 'public';
    this.isLenient = caller === 'lenient' || this.refusesNone;
    this.isSessionFirst = caller !== 'lenient';
    this.countsCreation = creates === true ? undefined : admission;
    this.sessions = sessions;
    this.#checkCaller = checkCaller;
  }

  /** The credential for the first attempt to answer the request. */
  of(exchange: Exchange): Credential | Refusal | Promise<Credential | Refusal> {
    if (this.rule === 'none') return this.#withoutSession;
    const { bearer, cookie } = exchange.headers;
    if (bearer !== undefined) return this.#ofBearer(bearer, this.sessions.find(bearer), exchange);
    // A cookie that does not verify is treated as if the request had no session.
    return this.rule === 'install' ? this.#withoutSession : this.#ofSession(this.sessions.ofCookies(cookie));
  }

  #ofSession(session: Session | undefined): Credential {
    return session === undefined ? this.#withoutSession : new ClientCredential(this, session, this.isSessionFirst);
  }

  #ofBearer(token: string, session: Session | undefined, exchange: Exchange): Credential | Refusal | Promise<Credential> {
    if (session === undefined) {
      const isIgnored = this.refusesNone || (this.rule === 'lenient' && this.sessions.isKnownToHaveEnded(token));
      return isIgnored ? this.#withoutSession : invalidBearer();
    }
    return this.rule === 'install' ? this.#besideInstallId(session, exchange) : this.#ofSession(session);
  }

  /**
   * Returns the credential of a request whose caller is named by its installId. No script checks the session of such a request, but a
   * bearer whose session has ended must still be refused.
   */
  async #besideInstallId(session: Session, exchange: Exchange): Promise<Credential> {
    try {
      await this.#checkCaller(callerFrom(exchange, session.accountId, session, undefined));
    } catch (error) {
      if (error instanceof SessionEnded) this.sessions.markEnded(session);
      throw error;
    }
    return this.#withoutSession;
  }
}

/** The credential of a request without a server key: a session, or the installId if there is no session. */
class ClientCredential implements Credential {
  readonly key = undefined;
  readonly session: Session | undefined;
  readonly ignoresInstallId: boolean;
  readonly #endpoint: ClientCredentials;

  constructor(endpoint: ClientCredentials, session: Session | undefined, ignoresInstallId: boolean) {
    this.#endpoint = endpoint;
    this.session = session;
    this.ignoresInstallId = ignoresInstallId;
  }

  callerOf(call: PlainCall): Identified {
    const { rule, countsCreation } = this.#endpoint;
    if (rule === 'none') return undefined;
    // If a session comes first, validation has already removed the installId from query and body.
    const installId = call.body?.['installId'] ?? call.query?.['installId'];
    if (typeof installId === 'string') return callerFrom(call.meta, accountIdOf(installId), undefined, countsCreation);
    const { session } = this;
    if (session !== undefined) return callerFrom(call.meta, session.accountId, session, countsCreation);
    if (rule === 'session') return refuse('session_required');
    if (rule === 'install') return invalid('installId', 'Must be sent, here or in the header x-install-id');
    return rule === 'required' ? refuse('identity_required') : undefined;
  }

  /**
   * The credential that remains after a script refused a part of it. A cookie whose session has ended is left out. A lenient endpoint also
   * leaves out a bearer whose session has ended, and the credential of a moved or deleted account.
   */
  after(error: unknown, { caller, meta }: PlainCall): Credential | undefined {
    if (caller === undefined) return undefined;
    const { session } = this;
    const { isLenient, isSessionFirst, sessions } = this.#endpoint;
    if (isLenient && error instanceof Refusal && this.#isIgnored(error))
      return new ClientCredential(this.#endpoint, caller.session === undefined ? session : undefined, true);
    if (session === undefined || !(error instanceof SessionEnded)) return undefined;
    sessions.markEnded(session);
    if (meta.hasBearer && !isLenient) return undefined;
    return new ClientCredential(this.#endpoint, undefined, this.ignoresInstallId && !isSessionFirst);
  }

  /** Whether a lenient endpoint handles the request without the credential that led to this refusal. */
  #isIgnored({ code }: Refusal): boolean {
    return code === 'sign_in_required' || code === 'account_deleted' || (code === 'account_banned' && this.#endpoint.refusesNone);
  }
}
