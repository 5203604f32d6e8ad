import { endpoint } from '../../declare.ts';
import { applyOperation, type OperationServices } from './apply.ts';
import { CoinOperationBody, CoinOperationReply, isApplied } from './model.ts';

export const debit = endpoint({
  method: 'POST',
  path: '/v1/coins/debit',
  operationId: 'debitCoins',
  caller: 'required',
  keyScope: 'coins',
  reach: 'accounts',
  summary: 'Removes coins, once per key, and never more than the balance.',
  body: CoinOperationBody,
  reply: CoinOperationReply,
  writesEntry: isApplied,
  description:
    'An account with a debt has a balance of 0: each debit is refused until coins that came in have paid it. 409 `insufficient_coins` then has ' +
    '`debtCoins`.',
  errors: ['insufficient_coins', 'key_reused'],
  example: `curl -s $base/v1/coins/debit -H 'content-type: application/json' -d '{"installId":"install-0001","coins":10,"key":"debit-1"}'`,
  handle: ({ caller, body, key }, services: OperationServices) => applyOperation('debit', caller, body, services, key),
});
