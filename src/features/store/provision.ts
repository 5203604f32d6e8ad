import { z } from 'zod';
import { checksCaller } from '../../accounts/prologues.ts';
import { defineScript } from '../../redis/script.ts';
import { accountKey, movesKey } from '../../accounts/keys.ts';
import { storeAccountIdOf } from '../../accounts/ids.ts';
import { type Caller } from '../../server/identity/caller.ts';
import { Reply } from '../../server/http/endpoint.ts';
import { endpoint, type Services } from '../../declare.ts';
import { AccountId, OptionalInstallId } from '../../accounts/ids.ts';
import { storeUnconfigured, StoreToken } from './model.ts';
import { moveGuest, notMovedReasons } from './move.ts';

export const openAccountScript = defineScript({
  file: new URL('open-account.lua', import.meta.url),
  keys: ['account', 'accountMoves'],
  args: ['store', 'now'],
  answers: ['opened'],
  prologue: checksCaller,
});

export const storeProvision = endpoint({
  method: 'POST',
  path: '/v1/account/store-provision',
  // The store's token alone signs in, whatever became of the guest: a lost reply locks nobody out.
  caller: 'lenient',
  auth: 'none',
  summary: 'Signs in with a mobile-store account, and creates its account the first time.',
  description: [
    "Takes a Google ID token (RS256, one of Google's issuers, an audience of GOOGLE_CLIENT_IDS, 60 s of clock tolerance) and sets the",
    "session cookie svc_session. The account is that of the token's `sub`, on whichever device. With an installId, else with a session,",
    'that guest moves into the account, whole and for good: coins and history, best scores, seats in rooms, subscription, and the earlier',
    'of two trials. From then on its installId and its sessions open nothing (401 `sign_in_required`): only the session of this reply opens',
    'the account, so an app whose user signs out draws a new installId. Here a moved installId and an ended session count as not sent:',
    'after a lost reply the same request signs in again, with `moved:false`. A guest whose session came from a pairing moves only with',
    '`move:true`, for somebody else chose that guest: ask the user. A store account is no guest: with its session another one is signed',
    'in and nothing moves.',
  ].join(' '),
  body: z.object({
    token: StoreToken.meta({ description: 'The sign-in token of the store: an ID token.' }),
    installId: OptionalInstallId.meta({
      description: 'The guest whose belongings move to the account, whatever session there is; without it that of the session.',
    }),
    move: z.boolean().optional().meta({ description: '`true`: the guest moves even if its session came from a pairing.' }),
  }),
  reply: z.object({
    accountId: AccountId,
    created: z.boolean().meta({ description: 'Whether the store account is new.' }),
    expiresAt: z.iso.datetime().meta({ description: 'When the session ends.' }),
    moved: z.boolean().meta({ description: 'Whether a guest moved into the account with this call.' }),
    movedCoins: z.number().int().min(0).optional().meta({ description: 'The coins that the guest brought.' }),
    notMoved: z
      .enum(notMovedReasons)
      .optional()
      .meta({
        description:
          'Why the caller stays apart: it is a store account itself, its session came from a pairing and the request does not say `move:true`, ' +
          '500 guests moved in already (or 50 that have more than 100 entries in their histories, as this one), or the balance would pass 1e12.',
      }),
  }),
  errors: ['store_unconfigured', 'bad_token'],
  creates: true,
  deadlineMs: 10_000,
  example: `curl -s $base/v1/account/store-provision -c cookies.txt -H 'content-type: application/json' -d '{"token":"id-token-from-the-store"}'`,
  async handle({ caller, body, meta }, services) {
    const { store, sessions } = services;
    if (store === undefined || store.settings.clientIds.length === 0) return storeUnconfigured();
    const { subject } = await store.idTokens.verifySignIn(body.token);
    const accountId = storeAccountIdOf(store.settings.name, subject);
    const target = { accountId, store: store.settings.name };
    const isOther = caller !== undefined && caller.accountId !== accountId;
    const outcome = isOther ? await moveGuest(caller, target, body.move === true, services) : undefined;
    const { created, generation } = outcome?.moved === true ? outcome : await openAccount(target, caller, services);
    const { cookie, expiresAt } = await sessions.start({ accountId, generation }, meta.secureCookies);
    return new Reply(
      {
        accountId,
        created,
        expiresAt: new Date(expiresAt).toISOString(),
        moved: outcome?.moved === true,
        ...(outcome?.moved === true ? { movedCoins: outcome.coins } : {}),
        ...(outcome?.moved === false ? { notMoved: outcome.reason } : {}),
      },
      { cookies: [cookie] },
    );
  },
});

/** @returns whether it is new, and the generation that its session starts from */
async function openAccount(
  { accountId, store }: { accountId: string; store: string },
  caller: Caller | undefined,
  { scripts, now }: Services,
): Promise<{ created: boolean; generation: string }> {
  const keys = { account: accountKey(accountId), accountMoves: movesKey(accountId) };
  const args = { store, now: now() };
  const [, created, generation] = await (caller === undefined
    ? scripts.run(openAccountScript, keys, args)
    : scripts.runAs(caller, openAccountScript, keys, args));
  return { created: created === '1', generation: generation! };
}
