import { MOST_FOLLOWED } from '../../accounts/standing-reader.ts';
import { z } from 'zod';
import { ACCOUNT_ID, AccountId, accountIdOf, InstallId } from '../../accounts/ids.ts';
import { invalid, refuse, Refusal } from '../../errors.ts';
import { callerFrom } from '../identity/caller.ts';
import { refuseBadKey } from '../identity/key-check.ts';
import type { KeyRing } from '../identity/key-ring.ts';
import { refuseBeyondGame, type Scope, type ServerKey } from '../identity/server-keys.ts';
import type { Credential, Identified, PlainCall } from './credential.ts';
import type { CallerRule, EndpointDeclaration } from './endpoint.ts';
import type { Exchange } from './exchange.ts';
import { redisUnavailable } from './error-answer.ts';
import { check, withInstallId } from './request-data.ts';

export interface ServerKeyCredentialOptions {
  readonly serverKeys: Pick<KeyRing, 'problemOf'>;
  /**
   * Finds the account into which an account has moved. For an account that has not moved, the result is the account itself. If a move of
   * the account is under way, it is first finished or undone.
   * @throws Refusal `store_unavailable` if the move does not end
   */
  readonly followMove: (accountId: string) => Promise<string>;
}

/** A request with a server key, and the parts of the request that may name an account. */
interface KeyedRequest {
  readonly key: ServerKey;
  readonly exchange: Exchange;
  /** The parsed body, not yet validated. */
  readonly body: unknown;
  readonly endpoint: EndpointDeclaration;
}

/** The credential of a request with a server key, or the refusal if the key may not call the endpoint. */
export function serverKeyCredential(request: KeyedRequest, options: ServerKeyCredentialOptions): Credential | Refusal {
  return refuseKey(request.key, request.endpoint) ?? new ServerKeyCredential(request, options, undefined, 0);
}

/** The credential of a request with a server key: the key itself, and the account that the request names. Such a request has no session. */
class ServerKeyCredential implements Credential {
  readonly key: ServerKey;
  readonly session = undefined;
  readonly ignoresInstallId = true;
  readonly #request: KeyedRequest;
  readonly #options: ServerKeyCredentialOptions;
  readonly #movedTo: string | undefined;
  readonly #followed: number;

  /**
   * @param movedTo the account into which the named account has moved, if that is known
   * @param followed how often a script has refused the account because it had moved
   */
  constructor(request: KeyedRequest, options: ServerKeyCredentialOptions, movedTo: string | undefined, followed: number) {
    this.key = request.key;
    this.#request = request;
    this.#options = options;
    this.#movedTo = movedTo;
    this.#followed = followed;
  }

  callerOf(call: PlainCall): Identified | Promise<Identified> {
    if (this.#movedTo !== undefined) return this.#identify(call, this.#movedTo);
    const { exchange, body, endpoint } = this.#request;
    const refusal = refuseBeyondGame(this.key, endpoint, { ...call.query, ...call.body, ...(call.params as object | undefined) });
    if (refusal !== undefined) return refusal;
    const { caller, keyNeedsAccount } = endpoint;
    const named = caller === 'none' ? [] : accountsNamed(exchange, body, endpoint);
    const isNeeded = keyNeedsAccount !== false && (caller === 'required' || caller === 'session');
    if (named.length === 0 && isNeeded) return invalid('accountId', 'Must be sent with a server key, or installId in its place');
    if (named.length < 2) return this.#identify(call, named[0]);
    return Promise.all(named.map((id) => this.#options.followMove(id))).then(([accountId, otherId]) =>
      accountId === otherId
        ? this.#identify(call, accountId)
        : invalid('accountId', 'Must be the account of the installId, where both are sent'),
    );
  }

  #identify({ meta }: PlainCall, accountId: string | undefined): Identified {
    // The request may have been answered 503 at its deadline, which says that nothing was written. So it must not write later.
    if (this.#request.exchange.isAnswered) return redisUnavailable(false);
    // The request may have waited 10 s for its body or for the end of a move. The key may have been revoked in that time.
    const ended = this.#options.serverKeys.problemOf(this.key);
    if (ended !== undefined) return refuseBadKey(ended);
    return accountId === undefined ? undefined : callerFrom(meta, accountId, undefined, undefined);
  }

  /** The credential for another attempt, if the script found that the account has moved since `callerOf`. */
  after(error: unknown, { caller }: PlainCall): Promise<Credential> | undefined {
    const hasMoved = error instanceof Refusal && error.code === 'sign_in_required';
    if (caller === undefined || !hasMoved || this.#followed === MOST_FOLLOWED) return undefined;
    return this.#options
      .followMove(caller.accountId)
      .then((target) => new ServerKeyCredential(this.#request, this.#options, target, this.#followed + 1));
  }
}

/** What an endpoint or a channel declares about credentials. A channel has no `caller`; an endpoint has no `takesSession`. */
export interface KeyTraits {
  readonly keyScope?: Scope;
  readonly caller?: CallerRule;
  readonly takesSession?: boolean;
  readonly takesTypedKey?: boolean;
}

/** Whether a request is handled in the same way with and without a server key. */
export function ignoresKeys({ keyScope, caller, takesSession = false }: KeyTraits): boolean {
  return keyScope === undefined && (caller === undefined ? !takesSession : caller === 'none' || caller === 'public');
}

/** The fields by which a request with a server key names its account. Without a server key the service does not read accountId. */
export const AccountNames = z.object({
  accountId: AccountId.regex(ACCOUNT_ID, 'Must be the accountId that this service gave')
    .optional()
    .meta({ description: 'With a server key only: the account, if `installId` does not name it.' }),
  installId: InstallId.optional(),
});

/** The refusal of a server key that lacks the endpoint's scope. Undefined if it has the scope. */
export function refuseKey(key: ServerKey, { keyScope }: { readonly keyScope?: Scope }): Refusal | undefined {
  if (keyScope === undefined) return refuse('forbidden', { message: 'No server key may do this.' });
  if (key.scopes.includes(keyScope)) return undefined;
  return refuse('forbidden', { message: `This server key lacks the scope ${keyScope}.`, scope: keyScope });
}

/**
 * The ids of the accounts that a request names: none, one, or two if its accountId and its installId differ. Two ids may still mean one
 * account, because the install's account may have moved into the other account.
 * @throws Refusal `invalid_request`
 */
function accountsNamed(exchange: Exchange, body: unknown, { method }: EndpointDeclaration): readonly string[] {
  const given = method === 'GET' ? namesIn(new URLSearchParams(exchange.query)) : isFields(body) ? body : {};
  const { installId: ofHeader } = exchange.headers;
  const { accountId, installId } = check(AccountNames, ofHeader === '' ? given : withInstallId(given, ofHeader)) as z.output<
    typeof AccountNames
  >;
  const ids = [accountId, installId === undefined ? undefined : accountIdOf(installId)];
  return [...new Set(ids.filter((id) => id !== undefined))];
}

/**
 * @throws Refusal `invalid_request` if the query has a name twice with different values: a proxy in front may have read the first, and this
 * service the second
 */
function namesIn(query: URLSearchParams): Record<string, string> {
  const names: Record<string, string> = {};
  for (const name of ['accountId', 'installId']) {
    const [value, ...others] = new Set(query.getAll(name).filter((text) => text !== ''));
    if (others.length > 0) throw invalid(name, 'Must be sent once');
    if (value !== undefined) names[name] = value;
  }
  return names;
}

function isFields(body: unknown): body is object {
  return typeof body === 'object' && body !== null && !Array.isArray(body);
}
