import { accountCreation } from '../../accounts/account-creation.ts';
import { accountEvents } from '../../accounts/account-events.ts';
import { standingLibrary } from '../../accounts/standing.ts';
import { z } from 'zod';
import { checkCaller } from '../../accounts/account.ts';
import { SessionEnded, type CallerScripts } from '../../accounts/caller-scripts.ts';
import { checksCaller } from '../../accounts/prologues.ts';
import { listSession } from '../../accounts/session-list.ts';
import { defineScript } from '../../redis/script.ts';
import { afterWrites } from '../../redis/script-runner.ts';
import { accountKey, standingKey } from '../../accounts/account-keys.ts';
import { banEndOf, refuseBanned } from '../../accounts/ban-end.ts';
import { storeAccountOf } from '../../accounts/store-accounts.ts';
import { callerFrom, type Caller } from '../../server/identity/caller.ts';
import { sessionIdOf, type Session } from '../../server/identity/sessions.ts';
import { endpoint, type Services, type ScriptServices } from '../../declare.ts';
import { AccountId, OptionalInstallId } from '../../accounts/ids.ts';
import { DebtCoins, shownBalance } from '../coins/model.ts';
import { HandedToken, handOver, SessionForm } from '../sessions/model.ts';
import { invalid, refuse, Refusal } from '../../errors.ts';
import { Nonce } from '../../stores/openid/nonce.ts';
import type { Identity } from '../../stores/openid/provider.ts';
import { notMovedReasons, type Moved, type MoveTarget, type NotMovedReason } from '../guest-moves/model.ts';
import { StoreToken } from '../../stores/store-token.ts';

export const provisionScript = defineScript({
  file: new URL('provision.lua', import.meta.url),
  keys: ['account', 'accountStanding'],
  args: ['store'],
  answers: ['opened', 'deleted', 'banned', 'moving', 'moved'],
  prologue: checksCaller,
  slotOf: 'account',
  outboxOf: 'account',
  library: [standingLibrary, accountEvents, accountCreation],
});

export const storeProvision = endpoint({
  method: 'POST',
  path: '/v1/account/store-provision',
  operationId: 'signInWithStore',
  // The token alone is enough to sign in, so an installId that moved and a session that ended are ignored. So after a lost reply the user
  // can sign in again, although the guest has moved.
  caller: 'lenient',
  auth: 'none',
  summary: 'Signs in with Google, Apple or another OpenID provider. The first sign-in creates the account.',
  description: [
    'Takes an ID token of Google (GOOGLE_CLIENT_IDS), Apple (APPLE_CLIENT_IDS) or a provider of OPENID_PROVIDERS, with 60 s of clock',
    'tolerance, and sets the session cookie svc_session, or answers with the session token. The issuer and the `sub` of the token name the account, on every device. The guest of the installId, or else of the',
    'session, moves into the account, and the move cannot be undone: coins and history, best scores, seats in rooms, subscription, and the',
    'earlier of two trials. After the move the installId and all sessions of the guest are refused with 401 `sign_in_required`. Only the',
    'session of this reply opens the account, so an app makes a new installId when its user signs out. This endpoint ignores a moved',
    'installId and an ended session, but not a bearer that does not verify: after a lost reply the same request signs in again, with `moved:false`. A session from',
    'a pairing moves nothing, because a move is as final as a deletion: send the installId of its account as well, as the proof. The installId of',
    'another account beside such a session is 400 `invalid_request`. A store account is no',
    'guest: a request with its session signs in to the account of the token, and nothing moves. After the account was deleted, the next',
    'sign-in opens a new one. A banned account, and a banned guest, is 403 `account_banned`.',
  ].join(' '),
  body: z.object({
    token: StoreToken.meta({ description: 'An ID token of a provider. Its `iss` says which.' }),
    nonce: Nonce.optional().meta({
      description:
        "What the token's `nonce` must be, for apps that gave one to the provider. Apple's may be the SHA-256 of it in hex. Left out: the " +
        'nonce of the token does not matter.',
    }),
    installId: OptionalInstallId.meta({
      description:
        'The guest that moves into the account, even if the request has a session. Left out: the guest of the session. With a session ' +
        'from a pairing it must be that of the same account.',
    }),
    session: SessionForm,
    move: z
      .boolean()
      .optional()
      .meta({ description: 'Has no effect. Earlier versions needed it if the session came from a pairing.', deprecated: true }),
  }),
  reply: z.object({
    accountId: AccountId,
    provider: z.string().meta({ description: 'The provider that issued the token.', example: 'google' }),
    created: z.boolean().meta({ description: 'Whether the store account is new.' }),
    expiresAt: z.iso.datetime().meta({ description: 'When the session ends.' }),
    sessionToken: HandedToken,
    moved: z.boolean().meta({ description: 'Whether this call moved a guest into the account.' }),
    movedCoins: z.number().int().min(0).optional().meta({ description: 'The coins that moved with the guest.', example: 110 }),
    movedDebtCoins: DebtCoins.meta({ description: 'The debt that moved with the guest, beside `movedCoins` of 0.' }),
    notMoved: z
      .enum(notMovedReasons)
      .optional()
      .meta({
        description:
          'Why the caller did not move: `not_a_guest`: it is a store account; `from_pairing`: its session came from a ' +
          'pairing and the request has no installId of its account; `too_many_guests`: 500 guests moved in before, or this guest has more than 100 ' +
          'entries in its history and 50 such guests moved in before; `balance_limit`: the balance would pass 1e12.',
      }),
  }),
  errors: ['store_unconfigured', 'app_store_unavailable', 'bad_token'],
  creates: true,
  deadlineMs: 10_000,
  example: `curl -s $base/v1/account/store-provision -c cookies.txt -H 'content-type: application/json' -d '{"token":"id-token-from-the-store"}'`,
  async handle({ caller, session: brought, body, meta }, services: ProvisionServices) {
    const { providers, providerNames, scripts, sessions, metrics, coinTotals } = services;
    const identity = await providers.verify(body.token, 'token', body.nonce);
    await providerNames.note(identity.provider);
    await refuseOtherGuest(caller, brought, meta, scripts);
    const { accountId, created, generation, outcome, sessionId: id } = await startSession(identity, caller, meta, services);
    if (created) metrics.accountCreated('store');
    if (outcome?.moved === true) coinTotals.merged(outcome.coins, outcome.balanceAfter);
    const session = sessions.start({ accountId, generation, kind: 'store', id });
    return handOver(
      {
        accountId,
        provider: identity.provider.name,
        created,
        expiresAt: new Date(session.expiresAt).toISOString(),
        moved: outcome?.moved === true,
        ...(outcome?.moved === true ? movedFields(outcome.coins) : {}),
        ...(outcome?.moved === false ? { notMoved: outcome.reason as NotMovedReason } : {}),
      },
      session,
      body.session,
      meta,
    );
  },
});

function movedFields(balance: number) {
  const { balanceCoins: movedCoins, debtCoins: movedDebtCoins } = shownBalance(balance);
  return { movedCoins, movedDebtCoins };
}

/**
 * Refuses a request whose session comes from a pairing and whose installId belongs to another account. The claimant of the pairing chose
 * the session's account, so it is not certain whether the user means that account or the installId's account.
 * @throws Refusal `invalid_request`; `sign_in_required` or `account_deleted` if the account of the installId moved or was deleted: the
 * endpoint then ignores the installId
 */
async function refuseOtherGuest(
  caller: Caller | undefined,
  session: Session | undefined,
  client: { readonly address: string },
  scripts: CallerScripts,
): Promise<void> {
  if (session?.kind !== 'pairing' || caller === undefined || caller.accountId === session.accountId) return;
  await scripts.runAs(caller, checkCaller, {}, {});
  try {
    await scripts.runAs(callerFrom(client, session.accountId, session, undefined), checkCaller, {}, {});
  } catch (error) {
    // If the session has ended, or its account moved or was deleted, the session is ignored.
    if (error instanceof SessionEnded) return;
    if (error instanceof Refusal && (error.code === 'sign_in_required' || error.code === 'account_deleted')) return;
    throw error;
  }
  throw invalid('installId', 'Must be the install of the account of the session, which came from a pairing');
}

type SignInServices = Pick<Services, 'moves' | 'scripts' | 'now'>;

type ProvisionServices = SignInServices & Pick<Services, 'providers' | 'providerNames' | 'sessions' | 'metrics' | 'coinTotals'>;

interface SignedIn {
  readonly accountId: string;
  readonly created: boolean;
  /** The present generation of the account's sessions, to which the new session belongs. */
  readonly generation: string;
  readonly signInId: string;
  /** The outcome of the guest's move into the account. Undefined if the request named no account other than the user's own. */
  readonly outcome: Moved | undefined;
}

/**
 * Signs in, and adds the session to the account's list. The function fails if somebody has removed the sign-in from the account meanwhile.
 * Then the sign-in opens a new account.
 */
async function startSession(
  identity: Identity,
  caller: Caller | undefined,
  { userAgent }: { readonly userAgent: string },
  services: SignInServices,
): Promise<SignedIn & { readonly sessionId: string }> {
  let outcome: Moved | undefined;
  let mover = caller;
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const signedIn = await signIn(identity, mover, services);
    const { accountId, signInId, generation } = signedIn;
    if (signedIn.outcome?.moved === true) [outcome, mover] = [signedIn.outcome, undefined];
    const sessionId = sessionIdOf(generation);
    const session = { accountId, id: sessionId, kind: 'store', signIn: signInId, provider: identity.provider.key, userAgent } as const;
    // The guest has moved, or the account was opened, so if this step fails, the outcome of the request is unknown.
    const word = await afterWrites(listSession(session, services));
    if (word === 'open') return { ...signedIn, outcome: outcome ?? signedIn.outcome, sessionId };
  }
  throw refuse('store_unavailable', { retryAfterMs: 1000 });
}

/** A sign-in tries at most this many accounts. A further try is only needed if the user has just deleted the account. */
const MOST_TRIES = 5;

/**
 * Signs in to the account of the provider's user, and moves the caller's guest into that account. If the user deletes the account
 * meanwhile, the sign-in opens a new account for the user.
 * @throws Refusal `account_banned`; `store_unavailable` after MOST_TRIES accounts
 */
async function signIn({ provider, subject }: Identity, caller: Caller | undefined, services: SignInServices): Promise<SignedIn> {
  const { moves, scripts, now } = services;
  const store = provider.key;
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const { accountId, signInId, state } = await storeAccountOf(store, subject, scripts, now);
    // If the account is banned, the sign-in is refused before the move begins, because a banned account accepts no guest, and the guest
    // would be frozen for nothing.
    if (state.word === 'banned') throw refuseBanned(state.ban);
    const target = { accountId, store };
    const isOther = caller !== undefined && caller.accountId !== accountId;
    const outcome = isOther ? await moves.begin(caller, target) : undefined;
    if (outcome?.moved === true) return { accountId, signInId, outcome, created: outcome.created, generation: outcome.generation };
    if (outcome?.reason === 'account_deleted' || outcome?.reason === 'account_moved') continue;
    const provisioned = await provisionAccount(target, caller, services);
    if (provisioned !== undefined) return { accountId, signInId, outcome, ...provisioned };
  }
  throw refuse('store_unavailable', { retryAfterMs: 1000 });
}

/**
 * Signs in to the account, and creates it unless it exists.
 * @returns undefined: the account was deleted, or moved into another one
 * @throws Refusal `account_banned`
 */
async function provisionAccount(
  { accountId, store }: MoveTarget,
  caller: Caller | undefined,
  { scripts }: ScriptServices,
): Promise<{ created: boolean; generation: string } | undefined> {
  const keys = { account: accountKey(accountId), accountStanding: standingKey(accountId) };
  const [word, figure, generation] = await scripts.runFor(caller, provisionScript, keys, { store });
  if (word === 'banned') throw refuseBanned(banEndOf(figure!));
  return word !== 'opened' ? undefined : { created: figure === '1', generation: generation! };
}
