import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ScriptLink } from '../../../src/redis/script-link.ts';
import { ScriptRunner } from '../../../src/redis/script-runner.ts';
import { ServerKeyChanges } from '../../../src/server/identity/server-key-changes.ts';
import { audited } from '../../consistency/audited.ts';
import { start, type TestService } from '../../harness.ts';
import { startRedis, type OwnRedis } from '../../own-redis.ts';

let own: OwnRedis;
let redis: Redis;
let link: ScriptLink;
let service: TestService;
beforeAll(async () => {
  own = await startRedis();
  service = await start({ redis: own.location });
  ({ redis } = own);
  link = new ScriptLink(redis);
  await link.opened();
});
afterAll(async () => {
  link.disconnect();
  await service[Symbol.asyncDispose]();
  await own[Symbol.asyncDispose]();
});

test('an audit counts the server keys, and finds those that cannot be read and uses without a key', async () => {
  const changes = new ServerKeyChanges(new ScriptRunner(link, { now: Date.now }), Date.now);
  const { id } = await changes.create({ name: 'a', scopes: ['coins'] });
  await redis.hset('{server-keys}:used', id, Date.now());
  const clean = await audited(own.location);
  expect([clean.findings, clean.counts.checked['server keys'], clean.counts.unknown]).toEqual([[], 1, {}]);
  await redis.hset('{server-keys}', { damaged0: '{"name":"b"}', 'no id': (await redis.hget('{server-keys}', id))! });
  await redis.hset('{server-keys}:used', { gone0000: 1, damaged0: 'yesterday' });
  const { findings } = await audited(own.location);
  expect(findings.map(({ kind, subject }) => `${kind} ${subject}`).toSorted()).toEqual([
    'orphan_use server key gone0000',
    'unreadable_key server key damaged0',
    'unreadable_key server key no id',
    'wrong_use server key damaged0',
  ]);
});
