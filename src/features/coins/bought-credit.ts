import { endpoint } from '../../declare.ts';
import { refuse } from '../../errors.ts';
import { applyOperation, type OperationServices } from './apply.ts';
import { CoinOperationBody, CoinOperationReply, isApplied } from './model.ts';

export const boughtCredit = endpoint({
  method: 'POST',
  path: '/v1/coins/purchase',
  operationId: 'purchaseCoins',
  caller: 'required',
  keyScope: 'coins',
  reach: 'accounts',
  summary: 'Adds bought coins, once per key.',
  body: CoinOperationBody,
  reply: CoinOperationReply,
  writesEntry: isApplied,
  description:
    'The service verifies nothing with an app store: a purchase is a credit under another name in the history. With COIN_AUTHORITY=server ' +
    'only a server key may do it: 403 `server_only` without one. If REQUIRE_INSTALL_PROOF names `credit`, the account needs an install that ' +
    'was proven genuine (403 `integrity_failed`). `CREDIT_DAILY_CAP` limits the credits and purchases of a UTC day together (409 ' +
    '`balance_limit`). Neither holds for a server key.',
  errors: ['balance_limit', 'key_reused', 'integrity_failed', 'server_only'],
  example: `curl -s $base/v1/coins/purchase -H 'content-type: application/json' -d '{"installId":"install-0001","coins":10,"key":"purchase-1"}'`,
  handle: ({ caller, body, key }, services: OperationServices) =>
    key === undefined && services.config.COIN_AUTHORITY === 'server'
      ? refuse('server_only')
      : applyOperation('purchase', caller, body, services, key),
});
