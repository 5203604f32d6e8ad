import { describe, expect, test } from 'vitest';
import { coinKeys } from '../../../src/features/coins/model.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { forFile, freshId, start } from '../../harness.ts';
import { testOperationRules } from './operation-rules.ts';

const service = await forFile(start());

const purchase = (installId: string, coins: number, key: string) => service.post('/v1/coins/purchase', { installId, coins, key });

describe('POST /v1/coins/purchase', () => {
  testOperationRules('purchase', 110, service);

  test('a purchase beyond 1,000,000,000,000 coins is refused and does not use its key up', async () => {
    const installId = freshId();
    const ledger = coinKeys.ledger(accountIdOf(installId));
    await service.service.redis.rpush(ledger, `1:999999999900 p999999999900 ${service.now().toString(36)} seed`);
    const refused = await purchase(installId, 101, 'a');
    expect([refused.status, refused.body.error.code, refused.body.error.balanceCoins]).toEqual([409, 'balance_limit', 999_999_999_900]);
    expect((await purchase(installId, 100, 'a')).body).toEqual({ ok: true, balanceAfterCoins: 1_000_000_000_000 });
  });
});
