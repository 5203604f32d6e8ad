import { endpoint } from '../../declare.ts';
import { refuse } from '../../errors.ts';
import { applyOperation, type OperationServices } from './apply.ts';
import { CoinOperationBody, CoinOperationReply, isApplied } from './model.ts';

export const credit = endpoint({
  method: 'POST',
  path: '/v1/coins/credit',
  operationId: 'creditCoins',
  caller: 'required',
  keyScope: 'coins',
  reach: 'accounts',
  summary: 'Adds coins, once per key.',
  body: CoinOperationBody,
  reply: CoinOperationReply,
  writesEntry: isApplied,
  description:
    'The service does not verify the reason for a credit. With COIN_AUTHORITY=server only a server key may credit: 403 `server_only` without ' +
    'one. If REQUIRE_INSTALL_PROOF names `credit`, the account needs an install that was proven genuine (403 `integrity_failed`). ' +
    '`CREDIT_DAILY_CAP` limits the credits and purchases of a UTC day together (409 `balance_limit`). Neither holds for a server key, whose ' +
    'credit is a `grant` in the history.',
  errors: ['balance_limit', 'key_reused', 'integrity_failed', 'server_only'],
  example: `curl -s $base/v1/coins/credit -H 'content-type: application/json' -d '{"installId":"install-0001","coins":10,"key":"credit-1"}'`,
  handle: ({ caller, body, key }, services: OperationServices) =>
    key === undefined && services.config.COIN_AUTHORITY === 'server'
      ? refuse('server_only')
      : applyOperation('credit', caller, body, services, key),
});
