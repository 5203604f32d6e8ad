import { hash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { checksCaller } from '../../accounts/prologues.ts';
import { endpoint, type ScriptServices } from '../../declare.ts';
import { refuse } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import { Unchecked } from '../../server/http/endpoint.ts';
import type { Identity } from '../../stores/openid/provider.ts';
import { refuseOtherSession, type SignedIn } from './model.ts';

const makeNonce = defineScript({
  file: new URL('make-nonce.lua', import.meta.url),
  keys: ['nonce'],
  args: ['sessionId', 'keptSeconds'],
  answers: ['kept'],
  prologue: checksCaller,
});

const useNonceScript = defineScript({
  file: new URL('use-nonce.lua', import.meta.url),
  keys: ['nonce', 'hashed'],
  args: ['sessionId', 'takes'],
  answers: ['valid', 'bad_token'],
  prologue: checksCaller,
  durable: true,
});

const returnNonce = defineScript({
  file: new URL('return-nonce.lua', import.meta.url),
  keys: ['nonce'],
  args: ['sessionId', 'leftMs'],
  answers: ['kept'],
});

/** How long a nonce is valid, in seconds. The user needs the time to sign in with the other provider. */
const KEPT_SECONDS = 300;

/** The Redis key of a nonce. @param digest the SHA-256 of the nonce, in hex */
export const signInNonceKey = (accountId: string, digest: string): string => `{${accountId}}:sign-in:nonce:${digest}`;

const digestOf = (nonce: string): string => hash('sha256', nonce, 'hex');

export const signInNonce = endpoint({
  method: 'POST',
  path: '/v1/account/sign-ins/nonce',
  operationId: 'startAddingSignIn',
  caller: 'session',
  summary: "A nonce for the token of the sign-in that the session's account is to get.",
  description:
    'The app gives the nonce to the provider, whose token then carries it: so a token that was made for something else, or that leaked, adds ' +
    'no sign-in. It is valid for five minutes, once, and for this session only.',
  emptyBody: true,
  body: z.object({}),
  reply: z.object({
    nonce: z.string().meta({ description: '43 characters of base64url.', example: 'kq1mZ8cXw0aLpRBQ5v1mHk2nYtZ8cXw0aLpRBQ5v1mH' }),
    expiresAt: z.iso.datetime(),
  }),
  errors: ['forbidden'],
  creates: true,
  example: `curl -s -X POST $base/v1/account/sign-ins/nonce -b cookies.txt -H 'content-type: application/json'`,
  async handle({ caller }, { scripts, now }: ScriptServices) {
    const refusal = refuseOtherSession(caller);
    if (refusal !== undefined) return new Unchecked(refusal);
    const { accountId, session } = caller as SignedIn;
    const nonce = randomBytes(32).toString('base64url');
    const keys = { nonce: signInNonceKey(accountId, digestOf(nonce)) };
    await scripts.runAs(caller, makeNonce, keys, { sessionId: session.id, keptSeconds: KEPT_SECONDS });
    return { nonce, expiresAt: new Date(now() + KEPT_SECONDS * 1000).toISOString() };
  },
});

/** The nonce of a token, which was given to the session of the request. */
export interface GivenNonce {
  /** Uses the nonce up. @throws Refusal `bad_token` if it was used meanwhile */
  take(): Promise<void>;
  /** Makes the nonce valid again after a request that did nothing. */
  giveBack(): Promise<void>;
}

/**
 * Finds the nonce of a token.
 * @throws Refusal `bad_token` if the nonce was not given to the session, has expired or was used; and as `runAs`
 */
export async function nonceOf(caller: SignedIn, identity: Identity, { scripts }: Pick<ScriptServices, 'scripts'>): Promise<GivenNonce> {
  const { accountId, session } = caller;
  const { nonce, provider } = identity;
  if (nonce === undefined) throw refuse('bad_token', { field: 'token' });
  // Apple's libraries put the SHA-256 of the nonce into the token.
  const isHash = provider.hashesNonce && /^[0-9a-f]{64}$/.test(nonce);
  const keys = { nonce: signInNonceKey(accountId, digestOf(nonce)), hashed: isHash ? signInNonceKey(accountId, nonce) : '' };
  const use = async (takes: 0 | 1) => {
    const [word, place, leftMs] = await scripts.runAs(caller, useNonceScript, keys, { sessionId: session.id, takes });
    if (word === 'bad_token') throw refuse('bad_token', { field: 'token' });
    return { key: place === '1' ? keys.nonce : keys.hashed, leftMs: Math.max(1, Number(leftMs)) };
  };
  let { key, leftMs } = await use(0);
  return {
    async take() {
      ({ key, leftMs } = await use(1));
    },
    async giveBack() {
      await scripts.run(returnNonce, { nonce: key }, { sessionId: session.id, leftMs });
    },
  };
}
