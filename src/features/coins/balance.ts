import { z } from 'zod';
import { endpoint, type Services } from '../../declare.ts';
import { OptionalInstallId } from '../../accounts/ids.ts';
import { balanceScript } from './balance-script.ts';
import { BalanceCoins, coinKeys, DebtCoins, shownBalance } from './model.ts';

export const balance = endpoint({
  method: 'GET',
  path: '/v1/balance',
  operationId: 'getBalance',
  caller: 'required',
  keyScope: 'accounts:read',
  reach: 'accounts',
  summary: "The caller's coin balance. It is 0 for an unknown install.",
  description: 'Without a session, `?installId=` or the header `x-install-id` names the install. The header keeps the secret out of logs.',
  query: z.object({ installId: OptionalInstallId }),
  reply: z.object({ balanceCoins: BalanceCoins, debtCoins: DebtCoins }),
  example: `curl -s $base/v1/balance -H 'x-install-id: install-0001'`,
  async handle({ caller }, { scripts }: Pick<Services, 'scripts'>) {
    const [, coins] = await scripts.runAs(caller, balanceScript, { ledger: coinKeys.ledger(caller.accountId) }, {});
    return shownBalance(Number(coins));
  },
});
