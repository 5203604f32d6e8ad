import { z } from 'zod';
import { AccountId } from '../accounts/ids.ts';
import { refuse, Refusal } from '../errors.ts';
import { readSave } from '../features/saves/load.ts';
import { savedText, SaveParams, Version } from '../features/saves/model.ts';
import { writeSave } from '../features/saves/save.ts';
import { operatorFor } from '../server/identity/caller.ts';
import { followed } from './account-facts.ts';
import { Account } from './named-accounts.ts';
import { operation, Reason } from './operation.ts';

export const bringBackSave = operation({
  name: 'saves bring-back',
  method: 'POST',
  path: '/v1/admin/accounts/{accountId}/saves/{game}/{name}/bring-back',
  words: ['version'],
  operationId: 'bringBackSave',
  role: 'support',
  reach: 'game',
  summary: 'Makes an older version of a save the current one, as its next version.',
  description: 'What stood before is among the last five versions. `accounts show` lists the versions. No limit on saves applies.',
  input: z.object({ accountId: Account, ...SaveParams.shape, version: Version, reason: Reason }),
  reply: z.object({ accountId: AccountId, version: Version }),
  errors: ['account_not_found', 'account_deleted', 'account_banned', 'save_not_found'],
  example:
    'curl -s $base/v1/admin/accounts/BQ5v1mHk2nYtZ8cXw0aLpR/saves/pebble-drop/slot-1/bring-back -H "authorization: Bearer $COINOP_KEY" ' +
    `-H 'content-type: application/json' -d '{"version":2,"reason":"ticket 4711"}'`,
  shown: ({ version }) => [`It stands as version ${version}.`],
  async prepare({ accountId: asked, game, name, version, reason }, services) {
    const account = await followed(asked, services);
    if (account instanceof Refusal) return account;
    const { accountId } = account;
    const caller = operatorFor(accountId);
    const older = await readSave(caller, { game, name, version }, services);
    if (older === undefined) return refuse('save_not_found');
    return {
      question: `Let version ${version} of the save ${game}/${name} of the account ${accountId} stand again? Reason: ${reason}`,
      what: { account: accountId, save: `${game}/${name}`, version },
      why: reason,
      noted: (reply) => ({ version: reply.version }),
      async act() {
        const { device } = older;
        const saved = await writeSave(caller, { game, name, device }, savedText(older.text), services);
        if (saved instanceof Refusal) throw new Error('a save without conditions was refused');
        return { accountId, version: saved.version };
      },
    };
  },
});
