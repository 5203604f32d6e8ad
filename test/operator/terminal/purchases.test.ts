import { expect, test } from 'vitest';
import { purchaseHash } from '../../../src/features/purchases/core/purchase-ids.ts';
import { freshId, start } from '../../harness.ts';
import { issue } from '../../store.ts';
import { openToolRedis, runAdmin } from './command.ts';

test('purchases shows the history of a purchase, lists stuck ones, and makes the service check them', async () => {
  await using tool = await openToolRedis();
  await using service = await start({ redis: { url: tool.settings.REDIS_URL } });
  const installId = freshId();
  const buy = async (order: object): Promise<{ orderId: string; purchaseId: string }> => {
    const { orderId, purchaseToken } = await issue(service, { kind: 'purchase', ...order });
    const { body } = await service.post('/v1/purchases', { installId, store: 'google', purchaseToken });
    return { orderId, purchaseId: body.purchase.purchaseId };
  };
  const [granted, pending] = [await buy({ quantity: 2 }), await buy({ state: 'pending' })];
  const admin = async (...words: string[]) => (await runAdmin(words, tool.settings)).out;

  const shown = await admin('purchases', 'show', granted.orderId);
  for (const text of [granted.purchaseId, '2 × coins-500', '1000 granted, 0 taken back', 'its coins were booked (1000 in sum)'])
    expect(shown).toContain(text);
  expect(await admin('purchases', 'stuck')).toMatch(new RegExp(`${pending.purchaseId} .* unpaid`));
  const { purchaseToken } = await issue(service, { kind: 'subscription', minutes: 600, notify: true });
  const line = new RegExp(`${purchaseHash(purchaseToken)} +GPA\\S+ +premium +active .* \\d{4}-\\d\\d-\\d\\d `);
  await expect.poll(() => admin('purchases', 'stuck')).toMatch(line);
  expect(await admin('purchases', 'look', pending.purchaseId, '--reason', 'test', '--yes')).toContain(pending.purchaseId);
  expect(await admin('accounts', 'show', installId)).toMatch(new RegExp(`PRODUCT +ORDER[^]*${granted.orderId}`));
});
