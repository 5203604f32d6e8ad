import { z } from 'zod';
import { checksCaller } from '../../accounts/prologues.ts';
import { refuse, Refusal } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import { accountKey, movesKey } from '../../accounts/keys.ts';
import { endpoint, type Services } from '../../declare.ts';
import { AccountId, OptionalInstallId } from '../../accounts/ids.ts';
import { failedChecks, type IntegrityPayload } from '../../google/integrity.ts';
import { Nonce, storeKeys, StoreToken, storeUnconfigured } from './model.ts';
import type { AppStore } from '../../google/app-store.ts';

export const takeNonce = defineScript({
  file: new URL('take-nonce.lua', import.meta.url),
  keys: ['nonce'],
  args: ['callerId', 'at'],
  answers: ['taken', 'nonce_used'],
  prologue: checksCaller,
});

export const keepProof = defineScript({
  file: new URL('keep-proof.lua', import.meta.url),
  keys: ['account', 'moves'],
  args: ['at'],
  answers: ['kept', 'sign_in_required'],
});

export const storeInstall = endpoint({
  method: 'POST',
  path: '/v1/account/store-install',
  caller: 'optional',
  auth: 'none',
  summary: 'Proves that an install of the app is genuine, by the integrity token made for a nonce.',
  description:
    'The token is one of a classic Play Integrity request. `integrity_failed` names in `failed` each check that it did not pass: `nonce`, ' +
    '`package`, `age` (5 minutes), `app_recognition` (PLAY_RECOGNIZED), `device_integrity` (MEETS_DEVICE_INTEGRITY), `licensing` ' +
    '(LICENSED). The nonce is spent by the first proof that names it, whatever comes of that: ask for a new one to try again. ' +
    'A nonce that a known caller asked for serves that caller alone: sent by another it is 409 `nonce_used`, sent by nobody the proof is kept ' +
    'with the account that asked. A nonce that nobody asked for serves the account that sends the proof; with neither it is only verified.',
  body: z.object({
    nonce: Nonce,
    integrityToken: StoreToken.meta({ description: "The store's attestation of the install, made for this nonce." }),
    installId: OptionalInstallId,
  }),
  reply: z.object({
    installVerified: z.literal(true),
    packageName: z.string().meta({ description: 'The app that was proven genuine.' }),
    accountId: AccountId.optional().meta({ description: 'The account the proof is kept with, to a caller who named themselves.' }),
  }),
  errors: ['bad_token', 'integrity_failed', 'nonce_used', 'store_unconfigured'],
  // Without the keys to open the token itself, the service asks the store, which may take CALL_MS.
  deadlineMs: 10_000,
  example:
    `nonce=$(curl -s $base/v1/account/store-install/nonce | sed 's/.*"nonce":"\\([^"]*\\)".*/\\1/'); ` +
    `token=$(curl -s $base/sandbox/issue -H 'content-type: application/json' -d '{"kind":"integrity_token","nonce":"'$nonce'"}' | ` +
    `sed 's/.*"integrityToken":"\\([^"]*\\)".*/\\1/'); ` +
    `curl -s $base/v1/account/store-install -H 'content-type: application/json' ` +
    `-d '{"nonce":"'$nonce'","integrityToken":"'$token'","installId":"install-0001"}'`,
  async handle({ caller, body: { nonce, integrityToken } }, services) {
    const { scripts, store, now } = services;
    if (store?.integrity.ready !== true) return storeUnconfigured();

    // Spent before the verdict is looked at, so that nobody tries token after token against it. From here on nothing may
    // ask the handler again: whether the session stands and the account is where it was has been asked with it.
    const keys = { nonce: storeKeys.nonce(nonce) };
    const args = { callerId: caller?.accountId ?? '', at: now() };
    const [word, owner] = await (caller === undefined ? scripts.run(takeNonce, keys, args) : scripts.runAs(caller, takeNonce, keys, args));
    if (word === 'nonce_used') return refuse(word);

    const payload = await open(store, integrityToken);
    const failed = failedChecks(payload, { nonce, packageNames: store.settings.packageNames, now: now() });
    if (failed.length > 0) return refuse('integrity_failed', { failed });

    const accountId = caller?.accountId ?? owner!;
    if (accountId !== '' && !(await keep(accountId, services))) return refuse('sign_in_required');
    return { installVerified: true as const, packageName: payload.appIntegrity.packageName!, accountId: caller?.accountId };
  },
});

async function open(store: AppStore, token: string): Promise<IntegrityPayload> {
  try {
    return await store.integrity.open(token);
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'store_unavailable') throw error;
    throw refuse('store_unavailable', {
      ...error.details,
      message: 'The app store does not answer just now: ask for a new nonce and try again.',
    });
  }
}

/**
 * Creates the account where this is its first write, which counts against nobody: the nonce did, and makes one at most.
 * @returns whether it was kept: an account that moved since it asked for the nonce keeps nothing any more
 */
async function keep(accountId: string, { scripts, now }: Services): Promise<boolean> {
  const [word] = await scripts.run(keepProof, { account: accountKey(accountId), moves: movesKey(accountId) }, { at: now() });
  return word === 'kept';
}
