import { endpoint } from '../../declare.ts';
import { applyOperation } from './apply.ts';
import { CoinOperationBody, CoinOperationReply } from './model.ts';

export const credit = endpoint({
  method: 'POST',
  path: '/v1/coins/credit',
  operationId: 'creditCoins',
  caller: 'required',
  keyScope: 'coins',
  summary: 'Adds coins, once per key.',
  body: CoinOperationBody,
  reply: CoinOperationReply,
  description:
    'The service does not verify the reason for a credit. If REQUIRE_INSTALL_PROOF names `credit`, the account needs an install that was ' +
    'proven genuine (403 `integrity_failed`). `CREDIT_DAILY_CAP` limits the credits and purchases of a UTC day together (409 `balance_limit`).',
  errors: ['balance_limit', 'key_reused', 'integrity_failed'],
  example: `curl -s $base/v1/coins/credit -H 'content-type: application/json' -d '{"installId":"install-0001","coins":10,"key":"credit-1"}'`,
  handle: ({ caller, body }, services) => applyOperation('credit', caller, body, services),
});
