import { z } from 'zod';
import { storeAccountOf } from '../../accounts/store-accounts.ts';
import type { Services } from '../../declare.ts';
import { refuse, Refusal } from '../../errors.ts';
import type { Caller } from '../../server/identity/caller.ts';
import type { Session } from '../../server/identity/sessions.ts';
import { nameOfProvider } from '../../stores/openid/provider-table.ts';
import type { Identity } from '../../stores/openid/provider.ts';
import { readListed } from './read-sign-ins.ts';

/**
 * The highest age of a token that proves that its user is present, in milliseconds. An older token proves nothing, because for an hour
 * after a sign-in an app gets tokens without asking the user.
 */
export const FRESH_MS = 10 * 60_000;

export const SignIn = z
  .object({
    id: z.string().meta({ description: 'For `POST /v1/account/sign-ins/remove`. It opens nothing.', example: 'mH0zQ3bXv5nYtZ8cXw0aLp' }),
    provider: z.string().meta({ description: 'The name of the provider.', example: 'apple' }),
    at: z.iso.datetime().meta({ description: 'The time at which the account got this sign-in.' }),
    current: z.boolean().meta({ description: 'Whether the session of this request began with this sign-in.' }),
  })
  .meta({ id: 'SignIn', example: { id: 'mH0zQ3bXv5nYtZ8cXw0aLp', provider: 'apple', at: '2026-11-22T12:00:00.000Z', current: true } });

/** A token that proves who is calling. Every faulty token gets the same refusal, so the field accepts any text. */
export const Proof = z
  .string()
  .optional()
  .catch(undefined)
  .meta({ description: 'An ID token of a sign-in that the account has, issued at most ten minutes ago.' });

/** The sign-ins of the caller's account, the oldest first. @throws as `runAs` */
export async function signInsOf(caller: Caller, services: Pick<Services, 'scripts' | 'config'>): Promise<z.input<typeof SignIn>[]> {
  const { current, listed } = await readListed(caller, services);
  return listed
    .toSorted((one, other) => one.addedAt - other.addedAt)
    .map(({ id, provider, addedAt }) => ({
      id,
      provider: nameOfProvider(provider, services.config),
      at: new Date(addedAt).toISOString(),
      current: id === current,
    }));
}

/** A caller whose session began with a sign-in. */
export type SignedIn = Caller & { readonly session: Session };

/** The refusal of a session that may not change the sign-ins of its account. Undefined: it may. */
export function refuseOtherSession({ session }: Caller): Refusal<'forbidden'> | undefined {
  if (session?.kind === 'store') return undefined;
  return refuse('forbidden', {
    message:
      session?.kind === 'pairing'
        ? 'A session from a pairing cannot change sign-ins: use the device that claimed the pairing.'
        : 'The account of an install has no sign-ins: sign in with POST /v1/account/store-provision first.',
  });
}

/** Whether a token is so recent that its user is present. */
export function isFresh({ issuedAt, provider }: Identity, { now, wallClock }: Pick<Services, 'now' | 'wallClock'>): boolean {
  return (provider.isByRedisClock ? now() : wallClock()) - issuedAt <= FRESH_MS;
}

export type ProofServices = Pick<Services, 'config' | 'providers' | 'scripts' | 'now' | 'wallClock'>;

/**
 * Checks that a token proves that its user owns the account. A session is not enough, because it may come from a stolen cookie.
 * @throws Refusal `proof_required`, whatever is wrong with the token; `app_store_unavailable` while it cannot be verified
 */
export async function checkProof(proof: string | undefined, accountId: string, services: ProofServices): Promise<void> {
  const { providers, scripts, now } = services;
  if (proof === undefined) throw refuse('proof_required', { field: 'proof' });
  const identity = await providers.verify(proof, 'proof').catch((error: unknown) => {
    if (error instanceof Refusal && error.code === 'bad_token') throw refuse('proof_required', { field: 'proof' });
    throw error;
  });
  const isOwner =
    isFresh(identity, services) && (await storeAccountOf(identity.provider.key, identity.subject, scripts, now)).accountId === accountId;
  if (!isOwner) throw refuse('proof_required', { field: 'proof' });
}
