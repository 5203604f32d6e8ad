import { z } from 'zod';
import { ACCOUNT_ID, AccountId, accountIdOf, InstallId } from '../../accounts/ids.ts';
import { invalid, refuse, type Refusal } from '../../errors.ts';
import type { Scope, ServerKey } from '../identity/server-keys.ts';
import type { EndpointDeclaration } from './endpoint.ts';
import type { Exchange } from './exchange.ts';
import { check, withInstallId } from './request-data.ts';

/** How a request with a server key names the account that it is about. Without a key the service reads no accountId. */
export const AccountNames = z.object({
  accountId: AccountId.regex(ACCOUNT_ID, 'Must be the accountId that this service gave')
    .optional()
    .meta({ description: 'With a server key only: the account, if `installId` does not name it.' }),
  installId: InstallId.optional(),
});

/** The refusal of a key that may not call the endpoint. */
export function refuseKey(key: ServerKey, { keyScope }: { readonly keyScope?: Scope }): Refusal | undefined {
  if (keyScope === undefined) return refuse('forbidden', { message: 'No server key may do this.' });
  if (key.scopes.includes(keyScope)) return undefined;
  return refuse('forbidden', { message: `This server key lacks the scope ${keyScope}.`, scope: keyScope });
}

/** The refusal of a key of one game for a request that names another one. Of a room the script knows the game. */
export function refuseGame(key: ServerKey, call: { readonly params: unknown; readonly body: unknown }): Refusal | undefined {
  if (key.game === undefined) return undefined;
  const { game = key.game } = { ...(call.body as object | undefined), ...(call.params as object | undefined) } as { game?: string };
  return game === key.game ? undefined : refuse('forbidden', { message: `This server key is for the game ${key.game}.`, field: 'game' });
}

/**
 * The ids of the accounts that a request names: none, one, or two if its accountId and its installId differ. They may still be the
 * same account: the install may have moved into it.
 * @throws Refusal `invalid_request`
 */
export function accountsNamed(exchange: Exchange, body: unknown, { method }: EndpointDeclaration): readonly string[] {
  const given = method === 'GET' ? namesIn(new URLSearchParams(exchange.query)) : isFields(body) ? body : {};
  const { installId: ofHeader } = exchange.headers;
  const { accountId, installId } = check(AccountNames, ofHeader === '' ? given : withInstallId(given, ofHeader)) as z.output<
    typeof AccountNames
  >;
  const ids = [accountId, installId === undefined ? undefined : accountIdOf(installId)];
  return [...new Set(ids.filter((id) => id !== undefined))];
}

/** @throws Refusal `invalid_request` if the query has a name twice: a proxy may have read the other one */
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
