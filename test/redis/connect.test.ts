import type { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { checkRedis } from '../../src/redis/connect.ts';

const good = {
  server: 'redis_version:7.0.15\r\narch_bits:64\r\n',
  memory: 'maxmemory_policy:noeviction\r\n',
  replication: 'role:master\r\n',
  cluster: 'cluster_enabled:0\r\n',
};

// The others, of which a test can start one, are in test/features/health/ready.test.ts.
test.each<[what: string, server: string, problem?: string]>([
  ['version 10', good.server.replace('7.0.15', '10.2.0')],
  ['version 6', good.server.replace('7.0.15', '6.2.14'), 'redis 7.0 or newer is needed'],
  ['no version', '', 'redis 7.0 or newer is needed'],
  ['32 bits', good.server.replace('64', '32'), 'a 64-bit redis is needed'],
])('the check of a Redis: %s', async (_, server, problem) => {
  const info: Record<string, string> = { ...good, server };
  const redis = { info: async (section: string) => info[section] ?? '' } as unknown as Redis;
  expect(await checkRedis(redis)).toEqual(problem === undefined ? { ok: true } : { ok: false, problem });
});
