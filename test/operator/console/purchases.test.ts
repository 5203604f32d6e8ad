import { expect, test } from 'vitest';
import { purchaseHash } from '../../../src/features/subscription/purchase-token.ts';
import { freshId, start } from '../../harness.ts';
import { openToolRedis, runAdmin } from './command.ts';

test(
  'purchases shows the history of a purchase, lists stuck purchases, and makes the service check them',
  { timeout: 60_000 },
  async () => {
    await using tool = await openToolRedis();
    await using service = await start({ redis: { url: tool.settings.REDIS_URL } });
    const installId = freshId();
    const buy = async (order: object) => {
      const { body } = await service.post('/sandbox/issue', { kind: 'purchase', ...order });
      const bought = await service.post('/v1/purchases', { installId, store: 'google', purchaseToken: body.purchaseToken });
      return { orderId: body.orderId as string, purchaseId: bought.body.purchase.purchaseId as string };
    };
    const granted = await buy({ quantity: 2 });
    const pending = await buy({ state: 'pending' });
    const admin = (...words: string[]) => runAdmin(words, tool.settings);

    const shown = await admin('purchases', 'show', granted.orderId);
    expect([shown.code, shown.error]).toEqual([0, '']);
    for (const text of [
      granted.purchaseId,
      granted.orderId,
      '2 × coins-500',
      '1000 granted, 0 taken back',
      'its coins were booked (1000 in sum)',
    ])
      expect(shown.out).toContain(text);
    const stuck = await admin('purchases', 'stuck');
    expect(stuck.out).toMatch(new RegExp(`${pending.purchaseId} .* unpaid`));
    const sold = await service.post('/sandbox/issue', { kind: 'subscription', minutes: 600, notify: true });
    const day = new Date(service.now() + 3 * 86_400_000).toISOString().slice(0, 10);
    const line = new RegExp(`${purchaseHash(sold.body.purchaseToken)} +GPA\\S+ +premium +active .* ${day} `);
    await expect.poll(async () => (await admin('purchases', 'stuck')).out, { timeout: 20_000 }).toMatch(line);
    const looked = await admin('purchases', 'look', pending.purchaseId, '--reason', 'ticket 4711', '--yes');
    expect([looked.code, looked.out]).toEqual([0, expect.stringContaining(pending.purchaseId)]);
    const account = await admin('accounts', 'show', installId);
    expect(account.out).toMatch(/COINS BOUGHT +ORDER/);
    expect(account.out).toContain(granted.orderId);
  },
);
