import { randomUUID } from 'node:crypto';
import { defineScript } from '../../../redis/script.ts';
import { read } from '../../../redis/reads.ts';
import { CONSUMABLE, type Environment } from '../../../stores/apple/transactions.ts';
import { notifyAsApple, signedNotification, type Change } from './notifications.ts';
import type { KeptRecord } from '../issued-record.ts';
import { keepTransaction, revokedBy, type Issued } from './issued-transaction.ts';
import { sandboxRedisKeys } from '../model.ts';
import type { SandboxServices } from '../sandbox-services.ts';
import { SANDBOX_PACKAGE_NAME } from '../settings.ts';

/** Adds a notification of a refund to the list, and drops notifications that are older than Apple's history. Answers listed. */
const listScript = defineScript({
  name: 'sandbox/list-refund',
  lua: `redis.call('ZADD', voided, now, refund)
    redis.call('ZREMRANGEBYSCORE', voided, '-inf', oldest)
    return {'listed'}`,
  keys: ['voided'],
  args: ['refund', 'oldest'],
  answers: ['listed'],
  durable: true,
});

/** Milliseconds for which Apple's history keeps a notification. */
const KEPT_MS = 180 * 86_400_000;

/** The types that the history has. */
const LISTED = new Set(['REFUND', 'REFUND_REVERSED']);

/** A notification in the list. */
interface Listed {
  readonly issued: Issued;
  readonly notificationUUID: string;
  readonly signedDate: number;
}

const listKey = (bundleId: string, environment: string, type: string): string =>
  sandboxRedisKeys.voided(`${bundleId}:${environment}:${type}`);

/** Adds the notification of a change to the history, if the history is about this type of notification. */
export async function listChange({ scripts, now }: SandboxServices, issued: Issued, [type]: Change): Promise<void> {
  if (!LISTED.has(type)) return;
  const listed: Listed = { issued, notificationUUID: randomUUID(), signedDate: now() };
  const voided = listKey(issued.bundleId, issued.environment, type);
  await scripts.run(listScript, { voided }, { refund: JSON.stringify(listed), oldest: now() - KEPT_MS });
}

interface Page {
  readonly type: string;
  readonly from: number;
  readonly to: number;
  readonly offset: number;
  readonly count: number;
}

/** The signed notifications on a page of the history. */
export async function listRefunds(
  environment: Environment,
  { type, from, to, offset, count }: Page,
  services: SandboxServices,
): Promise<string[]> {
  const voided = listKey(SANDBOX_PACKAGE_NAME, environment, type);
  const found = await read(services.scripts, 'ZRANGEBYSCORE', voided, from, to, 'LIMIT', offset, count);
  return Promise.all(
    found.map((text) => {
      const { issued, notificationUUID, signedDate } = JSON.parse(text) as Listed;
      return signedNotification(services, issued, [type], { notificationUUID, signedDate });
    }),
  );
}

/** With SANDBOX_CHAOS, refunds units of a purchase at random when the service reads the purchase. */
export async function refundAtRandom({ issued, seen }: KeptRecord<Issued>, services: SandboxServices): Promise<Issued> {
  const units = issued.type === CONSUMABLE && issued.revoked === undefined ? (services.sandbox.chaos?.refund(issued.quantity) ?? 0) : 0;
  if (units === 0) return issued;
  const changed = { ...issued, revoked: revokedBy(issued, units, services.now()) };
  if (!(await keepTransaction(services.scripts, changed, seen))) return issued;
  await listChange(services, changed, ['REFUND']);
  void notifyAsApple(services, changed, ['REFUND']);
  return changed;
}
