import { z } from 'zod';
import { endpoint, type Services } from '../../declare.ts';
import { AccountId, OptionalInstallId } from '../../accounts/ids.ts';
import { openAccount } from '../../accounts/account.ts';

export const resolve = endpoint({
  method: 'POST',
  path: '/v1/account/resolve',
  operationId: 'resolveAccount',
  caller: 'install',
  summary: 'Finds the account of an install, and creates it the first time.',
  body: z.object({ installId: OptionalInstallId }),
  reply: z.object({ accountId: AccountId, created: z.boolean() }),
  creates: true,
  example: `curl -s $base/v1/account/resolve -H 'content-type: application/json' -d '{"installId":"install-0001"}'`,
  async handle({ caller }, { scripts }: Pick<Services, 'scripts'>) {
    const [word] = await scripts.runAs(caller, openAccount, {}, {});
    return { accountId: caller.accountId, created: word === 'created' };
  },
});
