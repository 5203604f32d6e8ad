import { expect, test } from 'vitest';
import { accountIdOf, storeAccountIdOf } from '../../../src/accounts/ids.ts';
import { accountKey } from '../../../src/accounts/account-keys.ts';
import { subscriptionKeys } from '../../../src/features/purchases/subscription/model.ts';
import { forFile, freshId, start } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { signInToStore } from '../../store.ts';

// The lines here have no purchases. The audit of the other files' data would report that.
const redis = await forFile(startRedis());
const service = await forFile(start({ redis: redis.location }));

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** A line of `purchasesOf`. @param ends milliseconds from now */
const line = (hash: string, state: string, ends: number | '-', renews = '1', checkedAt = service.now()): string =>
  `${hash} ${state} ${ends === '-' ? ends : service.now() + ends} ${renews} ${checkedAt} premium`;

async function moveIn(subject: string, lines: readonly string[]): Promise<{ cookies: string; guestId: string }> {
  const installId = freshId();
  await service.post('/v1/coins/credit', { installId, coins: 1, key: 'a' });
  const guestId = accountIdOf(installId);
  await service.service.redis.hset(accountKey(guestId), 'purchases', lines.join('\n'));
  return { cookies: (await signInToStore(service, subject, { installId })).cookies, guestId };
}

const linesOf = async (accountId: string): Promise<string[]> =>
  ((await service.service.redis.hget(accountKey(accountId), 'purchases')) ?? '').split('\n').map((text) => text.split(' ')[0]!);

test('an account keeps ten lines of all its guests: those that give access, then those that may do so again, then the last ended ones', async () => {
  const subject = freshId('subject');
  const accountId = storeAccountIdOf('sandbox', subject);
  const entitling = [
    line('active', 'active', HOUR),
    line('grace', 'grace', HOUR),
    line('canceled', 'canceled', HOUR, '0'),
    // A renewing purchase gives access for a day past its end, unless it has been checked since.
    line('renewing', 'active', -HOUR, '1', service.now() - 2 * HOUR),
  ];
  const open = ['on_hold', 'paused'].map((state) => line(state, state, 90 * DAY)).concat(line('pending', 'pending', '-', '-'));
  const ended = (from: number) =>
    Array.from({ length: 6 }, (_, index) =>
      line(`ended-${from + index}`, index % 2 === 0 ? 'expired' : 'canceled', -(from + index + 1) * HOUR),
    );
  await moveIn(subject, [...ended(0), ...open]);
  const { cookies } = await moveIn(subject, [...ended(6), ...entitling]);
  expect((await linesOf(accountId)).toSorted()).toEqual(
    ['active', 'grace', 'canceled', 'renewing', 'on_hold', 'paused', 'pending', 'ended-0', 'ended-1', 'ended-2'].toSorted(),
  );
  // The account lists the purchases whose lines it has not kept.
  expect(await service.service.redis.scard(subscriptionKeys.ofAccount(accountId))).toBe(9);
  expect((await service.get('/v1/entitlement', { cookies })).body.state).toBe('subscribed');
});

test.each<[before: string, others: (index: number) => string, renewing: () => string]>([
  // It gives access for longer, because it renews.
  [
    'canceled ones that end later',
    (index) => line(`other-${index}`, 'canceled', 2 * HOUR + index, '0'),
    () => line('renewing', 'active', HOUR),
  ],
  [
    'those that the app store did not renew',
    (index) => line(`other-${index}`, 'active', -HOUR),
    () => line('renewing', 'active', -2 * HOUR, '1', service.now() - 3 * HOUR),
  ],
])('a purchase that renews stays before %s', async (_, others, renewing) => {
  const subject = freshId('subject');
  await moveIn(
    subject,
    Array.from({ length: 10 }, (_each, index) => others(index)),
  );
  const { cookies } = await moveIn(subject, [renewing()]);
  expect(await linesOf(storeAccountIdOf('sandbox', subject))).toContain('renewing');
  // The app store is not asked meanwhile.
  service.advance(3 * HOUR);
  expect((await service.get('/v1/entitlement', { cookies })).body.state).toBe('subscribed');
});
