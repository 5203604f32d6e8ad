import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { checksCaller } from '../../accounts/prologues.ts';
import { onAnyPrimary } from '../../redis/any-primary.ts';
import { defineScript } from '../../redis/script.ts';
import { endpoint } from '../../declare.ts';
import { OptionalInstallId } from '../../accounts/ids.ts';
import { Nonce, NONCE_LIFE_SECONDS, nonceKey, type ProofServices } from './model.ts';
import { storeUnconfigured } from '../../stores/store-refusals.ts';

/** Records a nonce for one install proof, and the account that requested the nonce. */
export const giveNonce = defineScript({
  name: 'install-proof/nonce',
  lua: `redis.call('HSET', nonce, 'owner', owner, 'expiresAt', expires_at)
    redis.call('EXPIRE', nonce, kept_seconds)
    return {'given'}`,
  keys: ['nonce'],
  args: ['owner', 'expiresAt', 'keptSeconds'],
  answers: ['given'],
  prologue: checksCaller,
  slotOf: 'nonce',
});

/**
 * How long Redis keeps a nonce, in seconds. Redis keeps a nonce a minute longer than the nonce is valid, because its expiry is checked by
 * the service's clock, which may differ from Redis's clock.
 */
const NONCE_KEPT_SECONDS = NONCE_LIFE_SECONDS + 60;

export const storeInstallNonce = endpoint({
  method: 'GET',
  path: '/v1/account/store-install/nonce',
  operationId: 'issueNonce',
  caller: 'optional',
  auth: 'none',
  summary: 'Issues a nonce for one install proof.',
  description:
    'Pass the nonce to the Play Integrity API unchanged. A caller named by a session, `?installId=` or the header `x-install-id` binds ' +
    'the nonce to their account: no other account can use it, and a proof sent without credentials counts for that account.',
  query: z.object({ installId: OptionalInstallId }),
  reply: z.object({
    nonce: Nonce,
    expiresIn: z
      .number()
      .int()
      .meta({ description: `Seconds until the nonce expires: ${NONCE_LIFE_SECONDS}.`, example: NONCE_LIFE_SECONDS }),
  }),
  errors: ['store_unconfigured'],
  creates: true,
  example: `curl -s $base/v1/account/store-install/nonce -H 'x-install-id: install-0001'`,
  async handle({ caller }, { scripts, stores, now }: ProofServices) {
    if (stores.installs === undefined) return storeUnconfigured();
    const args = {
      owner: caller?.accountId ?? '',
      expiresAt: now() + NONCE_LIFE_SECONDS * 1000,
      keptSeconds: NONCE_KEPT_SECONDS,
    };
    const give = async (nonce: string): Promise<string> => {
      await scripts.runFor(caller, giveNonce, { nonce: nonceKey(nonce) }, args);
      return nonce;
    };
    const draw = (): string => randomBytes(32).toString('base64url');
    const nonce = await onAnyPrimary({ draw, keyOf: nonceKey, run: give }, scripts);
    return { nonce, expiresIn: NONCE_LIFE_SECONDS };
  },
});
