import { endpoint } from '../../services.ts';
import { applyOperation, CoinOperationBody, CoinOperationReply } from './model.ts';

export const purchase = endpoint({
  method: 'POST',
  path: '/v1/coins/purchase',
  caller: 'required',
  summary: 'Adds bought coins, once per key.',
  body: CoinOperationBody,
  reply: CoinOperationReply,
  errors: ['balance_limit', 'key_reused'],
  example: `curl -s $base/v1/coins/purchase -H 'content-type: application/json' -d '{"installId":"install-0001","coins":10,"key":"purchase-1"}'`,
  handle: ({ caller, body }, services) => applyOperation('purchase', caller, body, services),
});
