import { z } from 'zod';
import { accountEvents } from '../../accounts/account-events.ts';
import { accountKey } from '../../accounts/account-keys.ts';
import { checksCaller } from '../../accounts/prologues.ts';
import { SESSION_LIFE_MS, sessionLibrary, sessionsKey } from '../../accounts/session-list.ts';
import { signInLibrary } from '../../accounts/sign-ins.ts';
import { endSignIn, storeAccountOf } from '../../accounts/store-accounts.ts';
import { endpoint, type Services } from '../../declare.ts';
import { refuse } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import { afterWrites } from '../../redis/script-runner.ts';
import { uncheckedOperatorFor } from '../../server/identity/caller.ts';
import type { UserEvent } from '../../stores/openid/user-event.ts';
import { StoreToken } from '../../stores/store-token.ts';

export const endForProvider = defineScript({
  file: new URL('end-for-provider.lua', import.meta.url),
  keys: ['account', 'sessions'],
  args: ['id', 'provider', 'removes', 'happenedAt', 'lifeSeconds'],
  answers: ['ended', 'older', 'sign_in_not_found'],
  slotOf: 'account',
  outboxOf: 'account',
  durable: true,
  prologue: checksCaller,
  library: [signInLibrary, sessionLibrary, accountEvents],
});

/** What each type of event ends. Others end nothing. */
const ENDS: Readonly<Record<string, 'sessions' | 'sign_in'>> = {
  'consent-revoked': 'sessions',
  'account-delete': 'sign_in',
  'account-deleted': 'sign_in',
};

export const appleAccountNotification = endpoint({
  method: 'POST',
  path: '/v1/store/apple/account-notifications',
  operationId: 'receiveAppleAccountNotification',
  caller: 'none',
  summary: "Receives Sign in with Apple's notifications about users' Apple Accounts.",
  description:
    '`consent-revoked` ends the sessions that began with the sign-in: the same user who signs in again finds the same account. `account-delete` ' +
    'and `account-deleted` end the sign-in. An account that is left without any is kept, and operators see it. A notification of something ' +
    'older than the last use of the sign-in changes nothing, and so do other types. Apple sends each notification once.',
  body: z.object({ payload: StoreToken.meta({ description: 'A JWT that Apple has signed.' }) }),
  reply: z.object({ ended: z.enum(['nothing', 'sessions', 'sign_in']) }),
  errors: ['bad_token', 'store_unconfigured', 'app_store_unavailable'],
  // Apple's keys may have to be fetched.
  deadlineMs: 10_000,
  example: `curl -s $base/v1/store/apple/account-notifications -H 'content-type: application/json' -d '{"payload":"signed-by-apple"}'`,
  async handle({ body }, services: NotifiedServices) {
    const event = await services.providers.verifyNotification(body.payload, 'payload', 'apple');
    const ends = Object.hasOwn(ENDS, event.type) ? ENDS[event.type] : undefined;
    return { ended: ends !== undefined && (await end(event, ends, services)) ? ends : ('nothing' as const) };
  },
});

type NotifiedServices = Pick<Services, 'providers' | 'scripts' | 'now' | 'log'>;

/** The account of a sign-in is searched at most this many times, because it may move during a search. */
const MOST_TRIES = 5;

/** Ends the sessions of a sign-in, or the sign-in. @returns false if there is nothing to end, or if the sign-in was used after the event */
async function end({ provider, subject, at }: UserEvent, ends: 'sessions' | 'sign_in', services: NotifiedServices): Promise<boolean> {
  const { scripts, now, log } = services;
  let searched = '';
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const { accountId, signInId } = await storeAccountOf(provider.key, subject, scripts, now);
    // The second search gives the same account, which does not have the sign-in: nobody has used the sign-in.
    if (accountId === searched) return false;
    const keys = { account: accountKey(accountId), sessions: sessionsKey(accountId) };
    const removes = ends === 'sign_in';
    const args = { id: signInId, provider: provider.name, removes: Number(removes), happenedAt: at, lifeSeconds: SESSION_LIFE_MS / 1000 };
    const [word, left] = await scripts.runAs(uncheckedOperatorFor(accountId), endForProvider, keys, args);
    if (word === 'older') return false;
    searched = accountId;
    if (word === 'sign_in_not_found') continue;
    if (removes && signInId !== accountId) await afterWrites(endSignIn(signInId, now(), scripts));
    if (left === '0') log.warn({ accountId }, "a user's Apple Account was deleted, and the account here has no sign-in any more");
    return true;
  }
  throw refuse('store_unavailable', { retryAfterMs: 1000 });
}
