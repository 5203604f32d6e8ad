import { endpoint } from '../../declare.ts';
import { applyOperation } from './apply.ts';
import { CoinOperationBody, CoinOperationReply } from './model.ts';

export const purchase = endpoint({
  method: 'POST',
  path: '/v1/coins/purchase',
  operationId: 'purchaseCoins',
  caller: 'required',
  summary: 'Adds bought coins, once per key.',
  body: CoinOperationBody,
  reply: CoinOperationReply,
  description:
    'The service verifies nothing with an app store: a purchase is a credit under another name in the history. If REQUIRE_INSTALL_PROOF ' +
    'names `credit`, the account needs an install that was proven genuine (403 `integrity_failed`). `CREDIT_DAILY_CAP` limits the credits ' +
    'and purchases of a UTC day together (409 `balance_limit`).',
  errors: ['balance_limit', 'key_reused', 'integrity_failed'],
  example: `curl -s $base/v1/coins/purchase -H 'content-type: application/json' -d '{"installId":"install-0001","coins":10,"key":"purchase-1"}'`,
  handle: ({ caller, body }, services) => applyOperation('purchase', caller, body, services),
});
