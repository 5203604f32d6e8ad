import { expect, test } from 'vitest';
import { CallerScripts } from '../../../src/accounts/caller-scripts.ts';
import { Hooks } from '../../../src/features/webhooks/hooks.ts';
import { hookKeys } from '../../../src/features/webhooks/model.ts';
import { audited } from '../../consistency/audited.ts';
import { start } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';

test('an audit counts the webhooks, and finds those that cannot be read and keys that belong to none', async () => {
  await using own = await startRedis();
  await using service = await start({ redis: own.location });
  const { redis } = own;
  const scripts = new CallerScripts(service.service.connections.scripts, { now: Date.now });
  const hooks = new Hooks({ scripts, config: { WEBHOOKS_PRIVATE: 'off' }, now: Date.now });
  const { id } = (await hooks.add({ url: 'https://play.example/' }, 0))!;
  await redis.lpush(hookKeys.delivered(id), '{}');
  const clean = await audited(own.location, { isStill: true });
  expect([clean.findings, clean.counts.checked['webhooks'], clean.counts.unknown]).toEqual([[], 1, {}]);
  await redis.hset(hookKeys.hooks, 'damaged0', '{"url":"https://play.example/"}');
  await redis.hset(hookKeys.waiting('gone0000'), 'ada', '{}');
  const { findings } = await audited(own.location, { isStill: true });
  expect(findings.map(({ kind, subject }) => `${kind} ${subject}`).toSorted()).toEqual([
    'orphan_webhook webhook gone0000',
    'unreadable_webhook webhook damaged0',
  ]);
});
