import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { checksCaller } from '../../accounts/prologues.ts';
import { defineScript } from '../../redis/script.ts';
import { endpoint } from '../../declare.ts';
import { OptionalInstallId } from '../../accounts/ids.ts';
import { Nonce, NONCE_LIFE_SECONDS, storeKeys, storeUnconfigured } from './model.ts';

export const giveNonce = defineScript({
  file: new URL('install-nonce.lua', import.meta.url),
  keys: ['nonce'],
  args: ['owner', 'expiresAt', 'keptSeconds'],
  answers: ['given'],
  prologue: checksCaller,
});

/** The clock that decides is the service's own; Redis only clears away, later than any clock would. */
const NONCE_KEPT_SECONDS = NONCE_LIFE_SECONDS + 60;

export const storeInstallNonce = endpoint({
  method: 'GET',
  path: '/v1/account/store-install/nonce',
  caller: 'optional',
  auth: 'none',
  summary: 'Gives a nonce for one install proof.',
  description:
    'Hand it to the Play Integrity API as it is. It remembers the account that asks, by its session, `?installId=` or the header ' +
    '`x-install-id`: the nonce serves that account alone, and a proof sent by nobody counts for it.',
  query: z.object({ installId: OptionalInstallId }),
  reply: z.object({
    nonce: Nonce,
    expiresIn: z
      .number()
      .int()
      .meta({ description: `Seconds it is good for: ${NONCE_LIFE_SECONDS}.` }),
  }),
  errors: ['store_unconfigured'],
  creates: true,
  example: `curl -s $base/v1/account/store-install/nonce -H 'x-install-id: install-0001'`,
  async handle({ caller }, { scripts, store, now }) {
    if (store?.integrity.ready !== true) return storeUnconfigured();
    const nonce = randomBytes(32).toString('base64url');
    const keys = { nonce: storeKeys.nonce(nonce) };
    const args = {
      owner: caller?.accountId ?? '',
      expiresAt: now() + NONCE_LIFE_SECONDS * 1000,
      keptSeconds: NONCE_KEPT_SECONDS,
    };
    await (caller === undefined ? scripts.run(giveNonce, keys, args) : scripts.runAs(caller, giveNonce, keys, args));
    return { nonce, expiresIn: NONCE_LIFE_SECONDS };
  },
});
