import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { accountKey, standingKey } from '../../accounts/account-keys.ts';
import { signInEntry, signInLibrary } from '../../accounts/sign-ins.ts';
import { standingLibrary } from '../../accounts/standing.ts';
import { storeAccountOf } from '../../accounts/store-accounts.ts';
import { endpoint, type Services } from '../../declare.ts';
import { invalid, refuse, Refusal, type HeldByAccount } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import { pairsOf } from '../../redis/reply-pairs.ts';
import { Unchecked } from '../../server/http/endpoint.ts';
import { callerFrom } from '../../server/identity/caller.ts';
import { MAX_TOKEN_LENGTH } from '../../server/identity/signed-token.ts';
import { nameOfProvider } from '../../stores/openid/provider-table.ts';
import type { Identity } from '../../stores/openid/provider.ts';
import { StoreToken } from '../../stores/store-token.ts';
import { BalanceCoins, coinKeys, DebtCoins, ledgerEntry, shownBalance } from '../coins/model.ts';
import { addedTo, mergedInto, type Moved } from '../guest-moves/model.ts';
import { checkProof, isFresh, Proof, refuseOtherSession, SignIn, signInsOf, type ProofServices, type SignedIn } from './model.ts';
import { nonceOf, type GivenNonce } from './sign-in-nonce.ts';

const readHolds = defineScript({
  file: new URL('read-holds.lua', import.meta.url),
  keys: ['account', 'ledger', 'standing'],
  args: [],
  answers: ['holds'],
  library: [standingLibrary, signInLibrary],
  formats: [ledgerEntry],
  readOnly: true,
});

/** How long a `confirm` is valid, in milliseconds. The user needs the time to read what the other account has, and to decide. */
const CONFIRM_LIFE_MS = 300_000;

const Confirm = z
  .string()
  .max(MAX_TOKEN_LENGTH, { error: `Must have at most ${MAX_TOKEN_LENGTH} characters`, abort: true })
  .regex(/^[\w-]+\.[\w-]+\.[\w-]+$/, { error: 'Must be a confirm of this service' });

type AddServices = ProofServices & Pick<Services, 'moves' | 'tokens' | 'coinTotals' | 'providerNames'>;

export const addSignIn = endpoint({
  method: 'POST',
  path: '/v1/account/sign-ins',
  operationId: 'addSignIn',
  caller: 'session',
  summary: "Adds a sign-in to the session's account, or merges the account that the sign-in has.",
  description: [
    '`token` is an ID token of the sign-in, at most ten minutes old, with the nonce of `POST /v1/account/sign-ins/nonce`; `proof` is one of a',
    'sign-in that the account has: so neither a stolen session, nor a leaked token, nor a click of the victim adds a sign-in. A sign-in that',
    'was never used belongs to the account from then on, and one of its own changes nothing. A sign-in with an account of its own is 409',
    '`sign_in_taken`: `holds` says what that account has, and `confirm` is valid for five minutes. Sent again with `confirm`, that account',
    "moves into the session's, as a guest's does, with all its sign-ins: coins and history, coin keys, best scores, seats, subscriptions and",
    'the earlier of two trials. Its sessions end, and the move cannot be undone. What a move refuses is 409 `merge_refused` and changes',
    'nothing. The session must be of a sign-in, not of a pairing or an install.',
  ].join(' '),
  body: z.object({
    token: StoreToken.meta({ description: 'An ID token of the sign-in to add, with the nonce.' }),
    proof: Proof,
    confirm: Confirm.optional().meta({ description: 'The `confirm` of 409 `sign_in_taken`: merges the account.' }),
  }),
  reply: z.object({
    signIns: z.array(SignIn).meta({ description: 'The sign-ins of the account now.' }),
    added: z.boolean().meta({ description: 'Whether this call added the sign-in to the account.' }),
    merged: z.boolean().meta({ description: 'Whether this call merged another account into this one.' }),
    movedCoins: BalanceCoins.optional().meta({ description: 'The coins that moved with the other account.' }),
    movedDebtCoins: DebtCoins,
  }),
  errors: [
    'forbidden',
    'proof_required',
    'bad_token',
    'sign_in_taken',
    'merge_refused',
    'account_banned',
    'account_deleted',
    'store_unconfigured',
    'app_store_unavailable',
  ],
  creates: true,
  deadlineMs: 10_000,
  example: `curl -s $base/v1/account/sign-ins -b cookies.txt -H 'content-type: application/json' -d '{"token":"id-token-with-the-nonce","proof":"id-token-of-the-user"}'`,
  async handle({ caller, body, meta }, services: AddServices) {
    const refusal = refuseOtherSession(caller);
    if (refusal !== undefined) return new Unchecked(refusal);
    const signedIn = caller as SignedIn;
    const isBanned = await bannedOf(signedIn, services);
    await checkProof(body.proof, caller.accountId, services);
    const identity = await services.providers.verify(body.token, 'token');
    if (!isFresh(identity, services)) throw refuse('bad_token', { field: 'token' });
    await services.providerNames.note(identity.provider);
    const nonce = isBanned === undefined ? await nonceOf(signedIn, identity, services) : undefined;
    const outcome = await join({ caller: signedIn, client: meta, identity, nonce, banned: isBanned, confirm: body.confirm }, services);
    const coins = outcome.merged ? shownBalance(outcome.coins) : undefined;
    return {
      signIns: await signInsOf(caller, services),
      added: outcome.added,
      merged: outcome.merged,
      ...(coins === undefined ? {} : { movedCoins: coins.balanceCoins, movedDebtCoins: coins.debtCoins }),
    };
  },
});

/** The refusal of a banned caller. Undefined: the caller is not banned. @throws as `runAs` for any other refusal */
async function bannedOf(caller: SignedIn, services: AddServices): Promise<Refusal | undefined> {
  try {
    await signInsOf(caller, services);
    return undefined;
  } catch (error) {
    if (error instanceof Refusal && error.code === 'account_banned') return error;
    throw error;
  }
}

interface Wanted {
  readonly caller: SignedIn;
  readonly client: { readonly address: string };
  readonly identity: Identity;
  /** Undefined for a banned caller, for whom the nonce is not needed. */
  readonly nonce: GivenNonce | undefined;
  readonly banned: Refusal | undefined;
  readonly confirm: string | undefined;
}

type Outcome =
  | { readonly added: boolean; readonly merged: false }
  | { readonly added: true; readonly merged: true; readonly coins: number };

/** The most tries of one request. A further try is made if the sign-in, or one of the two accounts, has changed meanwhile. */
const MOST_TRIES = 8;

/**
 * The longest wait before the second try, in milliseconds. Waits are random, so that two accounts which merge each other do not go on in
 * step for ever.
 */
const WAIT_MS = 60;

/** Adds the sign-in, or merges its account. @throws Refusal */
async function join(wanted: Wanted, services: AddServices): Promise<Outcome> {
  const { caller, identity, nonce, banned } = wanted;
  const { scripts, moves, coinTotals, now } = services;
  let isTaken = false;
  const take = async (): Promise<void> => {
    if (!isTaken) await nonce?.take();
    isTaken = true;
  };
  const refused = async (reason: string): Promise<Refusal> => {
    if (isTaken) await nonce?.giveBack();
    return refuse('merge_refused', { reason });
  };
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    if (tries > 0) await sleep(Math.random() * WAIT_MS * tries);
    const found = await storeAccountOf(identity.provider.key, identity.subject, scripts, now);
    if (found.accountId === caller.accountId) {
      if (banned !== undefined) throw banned;
      await take();
      return { added: isAddedBy(tries, found.signInId, caller), merged: false };
    }
    const other = await holdsOf(found.accountId, services);
    if (other === undefined && banned !== undefined) throw banned;
    if (other !== undefined) {
      if (wanted.confirm === undefined) throw taken(wanted, found.accountId, other, services);
      checkConfirm(wanted, found.accountId, services);
      if (banned !== undefined) throw await refused('account_banned');
    }
    // If the caller's own account is moving, this call finishes the move, or refuses the caller.
    await signInsOf(caller, services);
    await take();
    const guest = callerFrom(wanted.client, found.accountId, undefined, undefined);
    const target = other === undefined ? addedTo(caller.accountId, identity.provider.key) : mergedInto(caller.accountId);
    const moved = await moves.begin(guest, target, found.signInId).catch((error: unknown): Moved | undefined => {
      if (!(error instanceof Refusal)) throw error;
      if (error.code === 'account_banned') return { moved: false, reason: error.code };
      // The sign-in has moved to another account, or its account was deleted, so the search begins again.
      if (error.code === 'sign_in_required' || error.code === 'account_deleted') return undefined;
      throw error;
    });
    if (moved === undefined) continue;
    if (moved.moved) {
      if (other !== undefined) coinTotals.merged(moved.coins, moved.balanceAfter);
      return other === undefined ? { added: true, merged: false } : { added: true, merged: true, coins: moved.coins };
    }
    const { reason } = moved;
    if (reason === 'too_many_guests' || reason === 'balance_limit') throw await refused(reason);
    // Either account may be the banned one.
    if (reason === 'account_banned') throw await refused(reason);
  }
  throw refuse('store_unavailable', { retryAfterMs: 1000 });
}

/** Whether an earlier try of the same request has added the sign-in although the try seemed to fail. */
function isAddedBy(tries: number, signInId: string, { accountId }: SignedIn): boolean {
  return tries > 0 && signInId !== accountId;
}

interface Holds {
  readonly balance: number;
  readonly shown: HeldByAccount;
}

/** What the account of a sign-in holds. Undefined: the sign-in was never used. */
async function holdsOf(accountId: string, { scripts, config }: AddServices): Promise<Holds | undefined> {
  const keys = { account: accountKey(accountId), ledger: coinKeys.ledger(accountId), standing: standingKey(accountId) };
  const [, exists, balance, entries, boards, purchases, guests, ...words] = await scripts.run(readHolds, keys, {});
  if (exists === '0' && guests === '0') return undefined;
  const signIns = pairsOf(words).map(([, entry]) => nameOfProvider(signInEntry.parse(entry)?.provider ?? '-', config));
  const counts = { entries: Number(entries), boards: Number(boards), purchases: Number(purchases), guests: Number(guests) };
  return { balance: Number(balance), shown: { ...shownBalance(Number(balance)), ...counts, signIns } };
}

/** The refusal that offers to merge an account. */
function taken({ caller }: Wanted, other: string, { shown }: Holds, { tokens, now }: AddServices): Refusal<'sign_in_taken'> {
  const expiresAt = now() + CONFIRM_LIFE_MS;
  const id = `${other}.${randomBytes(12).toString('base64url')}`;
  const confirm = tokens.sign('merge', { subject: caller.accountId, id, issuedAt: now(), expiresAt });
  const expires = new Date(Math.floor(expiresAt / 1000) * 1000).toISOString();
  return refuse('sign_in_taken', { holds: shown, confirm, expiresAt: expires });
}

function checkConfirm({ caller, confirm }: Wanted, other: string, { tokens, now }: AddServices): void {
  const claims = tokens.verify('merge', confirm!, now());
  if (claims === undefined) throw invalid('confirm', 'Must be the confirm of a first call, at most five minutes old');
  if (claims.subject !== caller.accountId || claims.id.split('.', 1)[0] !== other)
    throw invalid('confirm', 'Must be the confirm of the same two accounts');
}
