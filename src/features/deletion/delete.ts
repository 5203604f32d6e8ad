import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { AccountId, accountIdOf, OptionalInstallId, storeAccountIdOf } from '../../accounts/ids.ts';
import { checksCaller } from '../../accounts/prologues.ts';
import { settled } from '../../accounts/standing-reader.ts';
import { signInsKey } from '../../accounts/sign-ins.ts';
import { storeAccountOf } from '../../accounts/store-accounts.ts';
import { endpoint, type Services } from '../../declare.ts';
import { invalid, refuse, type Refusal } from '../../errors.ts';
import { readHash } from '../../redis/reads.ts';
import { defineScript } from '../../redis/script.ts';
import { callerFrom } from '../../server/identity/caller.ts';
import { MAX_TOKEN_LENGTH } from '../../server/identity/signed-token.ts';
import { BalanceCoins, coinKeys, DebtCoins, ledgerEntry, shownBalance } from '../coins/model.ts';
import { keyOfProvider } from '../../stores/openid/provider-table.ts';
import { StoreToken } from '../../stores/store-token.ts';

type DeletionServices = Pick<Services, 'tokens' | 'deletions' | 'providers' | 'appleRevocation' | 'config' | 'scripts' | 'now'>;

/** Reads the balance that the deletion of an account would delete. Answers account(exists 0|1, balance, below 0 for a debt). */
export const previewScript = defineScript({
  name: 'deletion/preview',
  lua: `local last = redis.call('LINDEX', ledger, -1)
    return {'account', redis.call('EXISTS', account) == 1 and '1' or '0', last and string.match(last, '<entry: balance>') or '0'}`,
  keys: ['account', 'ledger'],
  answers: ['account'],
  prologue: checksCaller,
  formats: [ledgerEntry],
  readOnly: true,
});

/**
 * The highest age of an app store's token that proves a deletion, in milliseconds. Only a recent token proves that the user is present,
 * because for an hour after a sign-in an app gets tokens without asking the user.
 */
const FRESH_MS = 10 * 60_000;

/** How long a `confirm` is valid, in milliseconds: time for the user to read what will be deleted, and to decide. */
const CONFIRM_LIFE_MS = 5 * 60_000;

/** The most by which the clocks of the app store and of the service may differ, in milliseconds. */
const CLOCKS_DIFFER_MS = 60_000;

const Confirm = z
  .string()
  .max(MAX_TOKEN_LENGTH, { error: `Must have at most ${MAX_TOKEN_LENGTH} characters`, abort: true })
  .regex(/^[\w-]+\.[\w-]+\.[\w-]+$/, { error: 'Must be a confirm of this service' });

export const deleteAccount = endpoint({
  method: 'POST',
  path: '/v1/account/delete',
  operationId: 'deleteAccount',
  // A session is no proof for a deletion, because a session may come from a pairing or be stolen. The proofs are in the body.
  caller: 'none',
  summary: 'Deletes an account for good, in two calls.',
  description: [
    'The first call answers a `confirm`, which is valid for five minutes, and lists what will be deleted. The second call sends it, ' +
      'with the same proof,',
    'and deletes. The proof of a guest is its installId (or the header `x-install-id`), that of a store account a `token` of the app store that',
    'is at most ten minutes old; with a `token` the installId does not count. A session is no proof, so that a paired browser can ' +
      'delete nothing.',
    'Balance, history, scores, seats in rooms, trial link, subscription reports and sessions are deleted, and so are the guests that ' +
      'moved into the account.',
    'Subscriptions are released: their tokens may be recorded by another account; the subscription itself goes on in the app store, where only',
    'its user ends it. Bought coins are deleted too, and nobody can claim their purchases again. The start of the trial of a device ' +
      'stays. From then on each installId, session and coin key of the account is 410',
    '`account_deleted`, on every process, and so is a repetition of the second call. A new sign-in with the app store opens a new account.',
  ].join(' '),
  body: z.object({
    token: StoreToken.optional().meta({ description: 'For a store account: an ID token of the app store, at most ten minutes old.' }),
    installId: OptionalInstallId.meta({ description: 'For a guest.' }),
    confirm: Confirm.optional().meta({ description: 'The `confirm` of the first call. Without it nothing is deleted.' }),
    authorizationCode: z
      .string()
      .regex(/^[\x21-\x7e]{1,4096}$/, 'Must be 1 to 4096 visible ASCII characters')
      .optional()
      .meta({
        description:
          'With `confirm`: the `authorizationCode` that Sign in with Apple gave to the app at most five minutes ago. The service revokes at Apple ' +
          'what the user has granted.',
      }),
  }),
  reply: z.object({
    deleted: z.boolean().meta({ description: 'Whether the account is deleted now.' }),
    accountId: AccountId,
    confirm: Confirm.optional().meta({ description: 'To be sent with the second call. Present only in the answer to the first call.' }),
    expiresAt: z.iso.datetime().optional().meta({ description: 'When `confirm` expires.' }),
    balanceCoins: BalanceCoins.optional().meta({ description: 'The coins that will be deleted.' }),
    debtCoins: DebtCoins,
    appleRevoked: z.boolean().optional().meta({
      description: 'With `authorizationCode`: whether Apple has revoked it. If not, the account is deleted all the same.',
    }),
  }),
  errors: [
    'identity_required',
    'sign_in_required',
    'bad_token',
    'store_unconfigured',
    'app_store_unavailable',
    'account_banned',
    'account_deleted',
  ],
  creates: true,
  // The deadline is longer than for other requests, because the service may have to fetch Google's keys and to finish a move of the guest.
  deadlineMs: 10_000,
  example: `curl -s $base/v1/account/delete -H 'content-type: application/json' -d '{"installId":"install-0001"}'`,
  async handle({ body, meta }, services: DeletionServices) {
    const { tokens, deletions, now } = services;
    const proof = await proofOf(body, services);
    if ('code' in proof) return proof;
    if (body.confirm === undefined) return offer(proof, meta, services);
    const claims = tokens.verify('deletion', body.confirm, now());
    if (claims === undefined) throw invalid('confirm', 'Must be the confirm of a first call, at most five minutes old');
    const accountId = claims.subject;
    if (!(await proof.owns(accountId, claims.id.split('.', 1)[0]!))) throw invalid('confirm', 'Must be the confirm of the same account');
    const { authorizationCode: code } = body;
    // Apple is asked at the same time, so that the deletion does not wait for Apple.
    const revoking = code === undefined ? undefined : revoke(code, proof.clientId, accountId, services).catch(() => false);
    await deletions.delete(accountId, 'owner');
    return { deleted: true, accountId, ...(revoking === undefined ? {} : { appleRevoked: await revoking }) };
  },
});

/**
 * The account that a request proves to own. A provider's user gets a new account after each deletion, so the second call has to name the
 * sign-in of the first one.
 */
interface Proof {
  /** Finds the account, and the id of the sign-in that leads to it. For a guest, this id is the account's own id. */
  readonly find: () => Promise<{ readonly accountId: string; readonly signInId: string }>;
  /** Whether this user owns the account that the first call named, or owned the account until the account was deleted. */
  readonly owns: (accountId: string, signInId: string) => Promise<boolean>;
  /** Whether a `confirm` is given even if the account does not exist. */
  readonly takesUnknown: boolean;
  /** The app for which Apple issued the token. Undefined if the proof is not a token of Apple's. */
  readonly clientId?: string | undefined;
}

type ProofRefusal = Refusal<'identity_required' | 'bad_token'>;

/**
 * Finds the proof in the body of a request.
 * @throws Refusal `bad_token`; `app_store_unavailable` while the service cannot fetch the app store's keys
 */
async function proofOf(
  { token, installId, confirm }: { token?: string | undefined; installId?: string | undefined; confirm?: string | undefined },
  { providers, scripts, now }: DeletionServices,
): Promise<Proof | ProofRefusal> {
  if (token === undefined) {
    if (installId === undefined)
      return refuse('identity_required', { message: 'Prove who is calling: send an installId or a token of the app store.' });
    const accountId = accountIdOf(installId);
    return { find: async () => ({ accountId, signInId: accountId }), owns: async (id) => id === accountId, takesUnknown: true };
  }
  const { provider, subject, clientId, issuedAt } = await providers.verify(token, 'token');
  // The second call may send the same token as the first call, so the token may be older, by the time for which a `confirm` is valid.
  const mostMs = FRESH_MS + CLOCKS_DIFFER_MS + (confirm === undefined ? 0 : CONFIRM_LIFE_MS);
  if (now() - issuedAt > mostMs)
    return refuse('bad_token', {
      field: 'token',
      message: 'The token is older than ten minutes: have the user sign in with the app store again.',
    });
  const find = () => storeAccountOf(provider.key, subject, scripts, now);
  return {
    find,
    async owns(accountId, signInId) {
      const found = await find();
      if (found.accountId === accountId) return true;
      // If the account is deleted already, the search found the account of a later sign-in of the user.
      const before = Array.from({ length: found.ordinal }, (_, ordinal) => storeAccountIdOf(provider.key, subject, ordinal));
      return before.includes(signInId) && (await settled(accountId, scripts)).word === 'deleted';
    },
    takesUnknown: false,
    clientId: provider.name === APPLE ? clientId : undefined,
  };
}

/** The name of the provider whose grants are revoked. */
const APPLE = 'apple';

/** Revokes at Apple the access that the user of an account has granted. @returns whether Apple revoked it */
async function revoke(
  code: string,
  clientId: string | undefined,
  accountId: string,
  { appleRevocation, config, scripts, now }: DeletionServices,
): Promise<boolean> {
  const apple = keyOfProvider(APPLE, config)!;
  // The list is read before the deletion removes it. With it the service makes sure that the grant belongs to a user of this account.
  const listed = await readHash(scripts, signInsKey(accountId));
  const owned = new Set([accountId, ...listed.map(([id]) => id)]);
  return appleRevocation.revoke(code, clientId, async (subject) => {
    const { ordinal: last } = await storeAccountOf(apple, subject, scripts, now);
    return Array.from({ length: last + 1 }, (_, ordinal) => storeAccountIdOf(apple, subject, ordinal)).some((id) => owned.has(id));
  });
}

/** The answer to the first call: a `confirm`, and the balance that would be deleted. */
async function offer(proof: Proof, client: { readonly address: string }, { scripts, tokens, now }: DeletionServices) {
  const { accountId, signInId } = await proof.find();
  const caller = callerFrom(client, accountId, undefined, undefined);
  const keys = { account: caller.accountKey, ledger: coinKeys.ledger(accountId) };
  const [, exists, coins] = await scripts.runAs(caller, previewScript, keys, {});
  if (exists === '0' && !proof.takesUnknown)
    return refuse('account_deleted', { message: 'This user of the app store has no account here.' });
  const expiresAt = now() + CONFIRM_LIFE_MS;
  const id = `${signInId}.${randomBytes(12).toString('base64url')}`;
  const confirm = tokens.sign('deletion', { subject: accountId, id, issuedAt: now(), expiresAt });
  const expires = new Date(Math.floor(expiresAt / 1000) * 1000).toISOString();
  return { deleted: false, accountId, confirm, expiresAt: expires, ...shownBalance(Number(coins)) };
}
