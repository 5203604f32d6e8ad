import { standingLibrary } from '../../accounts/standing.ts';
import { z } from 'zod';
import { opensAccount } from '../../accounts/prologues.ts';
import { refuse } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import { Unchecked } from '../../server/http/endpoint.ts';
import type { Caller } from '../../server/identity/caller.ts';
import { endpoint, type Services } from '../../declare.ts';
import { OptionalInstallId } from '../../accounts/ids.ts';
import { PlayerName } from '../../accounts/player-name.ts';
import { signInOf } from '../../accounts/session-list.ts';
import { mayBePairToken, pairKeys, PairStatus, PairToken, type PairedKind } from './model.ts';

const claimScript = defineScript({
  file: new URL('claim.lua', import.meta.url),
  keys: ['pair'],
  args: ['step', 'claimant', 'name', 'kind', 'signIn'],
  answers: ['pending', 'scanned', 'claimed', 'denied', 'expired', 'pair_not_found', 'already_claimed', 'pair_denied', 'pair_expired'],
  prologue: opensAccount,
  slotOf: 'pair',
  library: standingLibrary,
});

export const claimPairing = endpoint({
  method: 'POST',
  path: '/v1/pair/claim',
  operationId: 'claimPairing',
  caller: 'required',
  auth: 'none',
  summary: "Claims a pairing for the caller's account, so that the browser that opened it can sign in.",
  description:
    'Without `step` the call claims at once. An app that asks its user first sends `scan`, shows the match code and the requester, and ' +
    'then sends `confirm` or `deny`. A scan reserves nothing: any number of accounts may scan, and the first `confirm` wins; every other account then ' +
    'gets `already_claimed`. `deny` ends the pairing only for an account that scanned, while no other account did: whoever photographs the ' +
    'code locks nobody out. A `deny` that ends nothing is 200 with the status as it stands: `pending`, `expired` and the others. ' +
    'The same caller may repeat a step; a claim is final. The asking browser, and nobody else, learns the `name` of the winner. A session takes precedence over an installId, so that a signed-in phone can ' +
    "pair. A guest's claim ends if the guest moves into a store account before the browser fetches its session.",
  body: z.object({
    token: PairToken,
    installId: OptionalInstallId,
    step: z.enum(['scan', 'confirm', 'deny'], 'Must be scan, confirm or deny').optional(),
    name: PlayerName.optional().meta({
      description:
        'What the asking browser shows as `claimedBy`: the name of the player. It counts with a claim, and the first name of the winner stays.',
      example: 'Ada',
    }),
  }),
  reply: z.object({
    status: PairStatus,
    matchCode: z.string().meta({
      description:
        'Two digits, which the screen that asks for the sign-in shows too. If the screen shows other digits, its pairing is another one.',
      example: '42',
    }),
    requester: z
      .object({
        address: z.string(),
        userAgent: z
          .string()
          .meta({ description: 'The User-Agent header as the browser sent it, at most 200 characters. Show it as plain text.' }),
        ageSeconds: z.number().int().min(0).meta({ description: 'Seconds since the pairing was opened.' }),
      })
      .meta({
        id: 'PairingRequester',
        description: 'The browser that asks to be signed in.',
        example: { address: '203.0.113.7', userAgent: 'Mozilla/5.0', ageSeconds: 12 },
      }),
  }),
  errors: ['pair_not_found', 'already_claimed', 'pair_denied', 'pair_expired'],
  misses: ['pair_not_found'],
  example:
    `token=$(curl -s -X POST $base/v1/pair/new -H 'content-type: application/json' | sed 's/.*"token":"\\([^"]*\\)".*/\\1/'); ` +
    `curl -s $base/v1/pair/claim -H 'content-type: application/json' -d '{"token":"'$token'","installId":"install-0001"}'`,
  async handle({ caller, body }, { scripts, names, now }: Pick<Services, 'scripts' | 'names' | 'now'>) {
    const name = names.shown(caller.accountId, body.name) ?? '';
    const step = body.step ?? 'confirm';
    if (!mayBePairToken(body.token)) return new Unchecked(refuse('pair_not_found'));
    const [word, matchCode, address, userAgent, createdAt] = await scripts.runAs(
      caller,
      claimScript,
      { pair: pairKeys.pair(body.token) },
      { step, claimant: caller.accountId, name, kind: kindOf(caller), signIn: step === 'confirm' ? await signInOf(caller, scripts) : '' },
    );
    switch (word) {
      case 'pending':
      case 'scanned':
      case 'claimed':
      case 'denied':
      case 'expired': {
        // The clock of the process that opened the pairing may be ahead of this process's clock.
        const ageSeconds = Math.max(0, Math.floor((now() - Number(createdAt)) / 1000));
        return { status: word, matchCode: matchCode!, requester: { address: address!, userAgent: userAgent!, ageSeconds } };
      }
      default:
        return refuse(word);
    }
  },
});

/** The kind of the session that the browser with the pairing gets. `passed`: the caller's own session comes from a pairing. */
function kindOf({ session }: Pick<Caller, 'session'>): PairedKind {
  return session?.kind === 'pairing' ? 'passed' : 'pairing';
}
