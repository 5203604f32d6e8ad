import { accountCreation } from '../../accounts/account-creation.ts';
import { accountEvents } from '../../accounts/account-events.ts';
import { runWhereItIs } from '../../accounts/standing-reader.ts';
import { standingLibrary } from '../../accounts/standing.ts';
import { z } from 'zod';
import { banEndOf, refuseBanned } from '../../accounts/ban-end.ts';
import { checksCaller } from '../../accounts/prologues.ts';
import { refuse, Refusal } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import { accountKey, standingKey } from '../../accounts/account-keys.ts';
import { endpoint, type ScriptServices } from '../../declare.ts';
import { AccountId, OptionalInstallId } from '../../accounts/ids.ts';
import { Nonce, nonceKey, type ProofServices } from './model.ts';
import { storeUnconfigured } from '../../stores/store-refusals.ts';
import { StoreToken } from '../../stores/store-token.ts';
import type { InstallProofs } from '../../stores/store.ts';

export const takeNonce = defineScript({
  file: new URL('take-nonce.lua', import.meta.url),
  keys: ['nonce'],
  args: ['callerId', 'at'],
  answers: ['taken', 'nonce_used'],
  prologue: checksCaller,
  slotOf: 'nonce',
});

export const keepProof = defineScript({
  file: new URL('keep-proof.lua', import.meta.url),
  keys: ['account', 'standing'],
  answers: ['kept', 'sign_in_required', 'account_deleted', 'account_banned', 'moving'],
  library: [standingLibrary, accountEvents, accountCreation],
});

export const storeInstall = endpoint({
  method: 'POST',
  path: '/v1/account/store-install',
  operationId: 'proveInstall',
  caller: 'optional',
  auth: 'none',
  summary: 'Proves that an install of the app is genuine, with an integrity token made for a nonce.',
  description:
    'Takes the token of a classic Play Integrity request. `integrity_failed` lists in `failed` the checks that the token did not pass: ' +
    '`nonce`, `package`, `age` (5 minutes), `app_recognition` (PLAY_RECOGNIZED), `device_integrity` (MEETS_DEVICE_INTEGRITY), `licensing` ' +
    '(LICENSED). The first proof that names a nonce uses it up, even if the proof fails: request a new nonce before you try again. ' +
    'A nonce requested with credentials is bound to their account: another account is refused with 409 `nonce_used`, and a proof sent ' +
    'without credentials is recorded for the bound account. A proof with an unbound nonce is recorded for the account that sends it. ' +
    'A proof with an unbound nonce and without credentials is verified but not recorded.',
  body: z.object({
    nonce: Nonce,
    integrityToken: StoreToken.meta({ description: "The app store's attestation of the install, made for this nonce." }),
    installId: OptionalInstallId,
  }),
  reply: z.object({
    installVerified: z.literal(true),
    packageName: z.string().meta({ description: 'The app that the token proves genuine.', example: 'com.example.game' }),
    accountId: AccountId.optional().meta({
      description: 'The account for which the proof is recorded. Only replies to requests with credentials have it.',
    }),
  }),
  errors: ['bad_token', 'integrity_failed', 'nonce_used', 'store_unconfigured', 'app_store_unavailable'],
  // How long the request may take, in milliseconds. Without the PLAY_INTEGRITY keys, Google decodes the token, and that call takes CALL_MS
  // (8 s) at most.
  deadlineMs: 10_000,
  example:
    `nonce=$(curl -s $base/v1/account/store-install/nonce | sed 's/.*"nonce":"\\([^"]*\\)".*/\\1/'); ` +
    `token=$(curl -s $base/sandbox/issue -H 'content-type: application/json' -d '{"kind":"integrity_token","nonce":"'$nonce'"}' | ` +
    `sed 's/.*"integrityToken":"\\([^"]*\\)".*/\\1/'); ` +
    `curl -s $base/v1/account/store-install -H 'content-type: application/json' ` +
    `-d '{"nonce":"'$nonce'","integrityToken":"'$token'","installId":"install-0001"}'`,
  async handle({ caller, body: { nonce, integrityToken }, meta }, services: ProofServices) {
    const { scripts, stores, now } = services;
    const { installs } = stores;
    if (installs === undefined) return storeUnconfigured();

    // The nonce is used up before the token is opened, so that a client cannot try one token after another with the same nonce. The script
    // also checks that the session is valid and the account has not moved. A later script must not check the session again: if the session
    // ended meanwhile, the pipeline would run this handler a second time and find the nonce used.
    const keys = { nonce: nonceKey(nonce) };
    const args = { callerId: caller?.accountId ?? '', at: now() };
    const [word, owner] = await scripts.runFor(caller, takeNonce, keys, args);
    if (word === 'nonce_used') return refuse(word);

    const { packageName } = await verify(installs, integrityToken, nonce, meta.traceparent);
    const accountId = caller?.accountId ?? owner!;
    if (accountId !== '') await recordProof(accountId, services);
    return { installVerified: true as const, packageName, accountId: caller?.accountId };
  },
});

async function verify(installs: InstallProofs, ...asked: Parameters<InstallProofs['verify']>): ReturnType<InstallProofs['verify']> {
  try {
    return await installs.verify(...asked);
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'app_store_unavailable') throw error;
    throw refuse('app_store_unavailable', {
      ...error.details,
      message: 'The app store does not answer just now: ask for a new nonce and try again.',
    });
  }
}

/**
 * Records the proof. If the account does not exist yet, this call creates it. The rate limit for new accounts does not apply here, because
 * it has already counted the request for the nonce, and a nonce creates one account at most.
 * @throws Refusal if the account moved, was banned or was deleted since it requested the nonce
 */
async function recordProof(accountId: string, { scripts }: ScriptServices): Promise<void> {
  const { word, figures } = await runWhereItIs(accountId, scripts, (id) =>
    scripts.run(keepProof, { account: accountKey(id), standing: standingKey(id) }, {}),
  );
  if (word === 'kept') return;
  throw word === 'account_banned' ? refuseBanned(banEndOf(figures[0]!)) : refuse(word);
}
