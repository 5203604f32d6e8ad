import { expect, test } from 'vitest';
import { audited } from '../../consistency/audited.ts';
import { start } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { keyChangesOf } from '../../server-keys.ts';

test('an audit counts the server keys, and finds those that cannot be read and uses without a key', async () => {
  await using own = await startRedis();
  await using service = await start({ redis: own.location });
  const { redis } = own;
  const changes = keyChangesOf(service);
  const { id } = await changes.create({ name: 'a', scopes: ['coins'] });
  await redis.hset('{server-keys}:used', id, Date.now());
  const clean = await audited(own.location, { isStill: true });
  expect([clean.findings, clean.counts.checked['server keys'], clean.counts.unknown]).toEqual([[], 1, {}]);
  await redis.hset('{server-keys}', { damaged0: '{"name":"b"}', 'no id': (await redis.hget('{server-keys}', id))! });
  await redis.hset('{server-keys}:used', { gone0000: 1, damaged0: 'yesterday' });
  const { findings } = await audited(own.location, { isStill: true });
  expect(findings.map(({ kind, subject }) => `${kind} ${subject}`).toSorted()).toEqual([
    'orphan_use server key gone0000',
    'unreadable_key server key damaged0',
    'unreadable_key server key no id',
    'wrong_use server key damaged0',
  ]);
});
