import { z } from 'zod';
import { accountEvents } from '../../accounts/account-events.ts';
import { accountKey } from '../../accounts/account-keys.ts';
import { checksCaller } from '../../accounts/prologues.ts';
import { SESSION_LIFE_MS, sessionLibrary, sessionsKey } from '../../accounts/session-list.ts';
import { signInLibrary } from '../../accounts/sign-ins.ts';
import { endSignIn } from '../../accounts/store-accounts.ts';
import { endpoint, type Services } from '../../declare.ts';
import { refuse } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import { afterWrites } from '../../redis/script-runner.ts';
import { Reply, Unchecked } from '../../server/http/endpoint.ts';
import type { Caller } from '../../server/identity/caller.ts';
import { clearedSessionCookie } from '../../server/identity/sessions.ts';
import { checkProof, Proof, refuseOtherSession, signInsOf, type ProofServices, type SignedIn } from './model.ts';

const removeScript = defineScript({
  file: new URL('remove-sign-in.lua', import.meta.url),
  keys: ['account', 'sessions'],
  args: ['id', 'sessionId', 'provider', 'lifeSeconds'],
  answers: ['removed', 'sign_in_not_found', 'last_sign_in'],
  slotOf: 'account',
  outboxOf: 'account',
  durable: true,
  library: [signInLibrary, sessionLibrary, accountEvents],
  prologue: checksCaller,
});

interface Removed {
  readonly id: string;
  readonly provider: string;
}

/**
 * Removes a sign-in from the caller's account.
 * @returns whether the session of the caller began with it
 * @throws Refusal as the script, and as `runAs`
 */
export async function removeSignInOf(
  caller: Caller,
  { id, provider }: Removed,
  { scripts, now }: Pick<Services, 'scripts' | 'now'>,
): Promise<boolean> {
  const { accountId, session } = caller;
  const keys = { account: accountKey(accountId), sessions: sessionsKey(accountId) };
  const args = { id, sessionId: session?.id ?? '', provider, lifeSeconds: SESSION_LIFE_MS / 1000 };
  const [word, isOwn] = await scripts.runAs(caller, removeScript, keys, args);
  if (word !== 'removed') throw refuse(word);
  if (id !== accountId) await afterWrites(endSignIn(id, now(), scripts));
  return isOwn === '1';
}

export const removeSignIn = endpoint({
  method: 'POST',
  path: '/v1/account/sign-ins/remove',
  operationId: 'removeSignIn',
  caller: 'session',
  summary: "Removes a sign-in from the session's account.",
  description:
    'Ends the sessions that began with it, the pairings that these claimed, and store sessions of earlier versions, which name no sign-in. ' +
    'Used later, it opens an account anew. The last sign-in cannot be removed. The session must be of a sign-in, not of a pairing, and ' +
    '`proof` any sign-in of the account: a stolen session removes nothing.',
  body: z.object({ id: z.string().meta({ description: 'The `id` of the sign-in.', example: 'mH0zQ3bXv5nYtZ8cXw0aLp' }), proof: Proof }),
  reply: z.object({ current: z.boolean().meta({ description: 'Whether the session of this request has ended too.' }) }),
  errors: ['forbidden', 'proof_required', 'sign_in_not_found', 'last_sign_in', 'store_unconfigured', 'app_store_unavailable'],
  deadlineMs: 10_000,
  example: `curl -s $base/v1/account/sign-ins/remove -b cookies.txt -H 'content-type: application/json' -d '{"id":"mH0zQ3bXv5nYtZ8cXw0aLp","proof":"id-token-of-the-user"}'`,
  async handle({ caller, body, meta }, services: ProofServices & Pick<Services, 'sessions'>) {
    const refusal = refuseOtherSession(caller);
    if (refusal !== undefined) return new Unchecked(refusal);
    const { accountId, session } = caller as SignedIn;
    // The list is read first, so that an ended session or a banned account is refused before the service makes a request to a provider.
    const listed = await signInsOf(caller, services);
    await checkProof(body.proof, accountId, services);
    const found = listed.find(({ id }) => id === body.id);
    if (found === undefined) return refuse('sign_in_not_found');
    if (!(await removeSignInOf(caller, found, services))) return { current: false };
    services.sessions.markEnded(session);
    return new Reply({ current: true }, { cookies: meta.hasBearer ? [] : clearedSessionCookie(meta.cookieScope) });
  },
});
