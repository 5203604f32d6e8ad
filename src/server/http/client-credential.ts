import { accountIdOf } from '../../accounts/ids.ts';
import { SessionEnded } from '../../accounts/caller-scripts.ts';
import { invalid, refuse, Refusal } from '../../errors.ts';
import type { Admission } from '../admission.ts';
import { callerFrom, type Caller } from '../identity/caller.ts';
import type { Session, Sessions } from '../identity/sessions.ts';
import type { Credential, Identified, PlainCall } from './credential.ts';
import type { CallerRule } from './endpoint.ts';
import type { Exchange } from './exchange.ts';
import { invalidBearer } from './refusals.ts';

export interface ClientCredentialsOptions {
  readonly sessions: Sessions;
  readonly admission: Admission;
  /**
   * Checks the caller's session or installId in Redis.
   * @throws SessionEnded, or Refusal `sign_in_required`, `account_deleted`, `account_banned`
   */
  readonly checkCaller: (caller: Caller) => Promise<unknown>;
}

/** The credentials of an endpoint's clients. */
export class ClientCredentials {
  readonly rule: CallerRule;
  /** `lenient`, `any` and `public` go on without a credential that was refused. */
  readonly isLenient: boolean;
  /** `any` and `public` refuse no credential. */
  readonly refusesNone: boolean;
  /** A session comes before an installId. */
  readonly isSessionFirst: boolean;
  /** Counts the creation of the caller's account. Undefined: the endpoint counts a creation with every call already. */
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

  /** The credential of a request. */
  of(exchange: Exchange): Credential | Refusal | Promise<Credential | Refusal> {
    if (this.rule === 'none') return this.#withoutSession;
    const { bearer, cookie } = exchange.headers;
    if (bearer !== undefined) return this.#ofBearer(bearer, this.sessions.find(bearer), exchange);
    // A malformed cookie counts as no session.
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

  /** The installId names the caller here, so no script checks the session. A bearer whose session has ended must still be refused. */
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

/** A session, or the installId of a request without one. */
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
    // If a session comes first, validation has dropped the installId.
    const installId = call.body?.['installId'] ?? call.query?.['installId'];
    if (typeof installId === 'string') return callerFrom(call.meta, accountIdOf(installId), undefined, countsCreation);
    const { session } = this;
    if (session !== undefined) return callerFrom(call.meta, session.accountId, session, countsCreation);
    if (rule === 'session') return refuse('session_required');
    if (rule === 'install') return invalid('installId', 'Must be sent, here or in the header x-install-id');
    return rule === 'required' ? refuse('identity_required') : undefined;
  }

  /**
   * A cookie whose session has ended counts as not sent. On a lenient endpoint a bearer whose session has ended, and a credential of a
   * moved or deleted account, count as not sent too.
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

  /** Whether a lenient endpoint goes on without the credential that was refused. */
  #isIgnored({ code }: Refusal): boolean {
    return code === 'sign_in_required' || code === 'account_deleted' || (code === 'account_banned' && this.#endpoint.refusesNone);
  }
}
