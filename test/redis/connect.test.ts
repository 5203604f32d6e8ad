import type { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { checkRedis } from '../../src/redis/connect.ts';

/** A Redis that answers INFO with these texts. */
function answering(info: Record<string, string>): Redis {
  return { info: (section: string) => Promise.resolve(info[section] ?? '') } as unknown as Redis;
}

const good = {
  server: '# Server\r\nredis_version:7.0.15\r\narch_bits:64\r\n',
  memory: '# Memory\r\nmaxmemory_policy:noeviction\r\n',
  replication: '# Replication\r\nrole:master\r\n',
  cluster: '# Cluster\r\ncluster_enabled:0\r\n',
};

describe('the health check', () => {
  test('passes a 64-bit primary of version 7 that evicts nothing', async () => {
    expect(await checkRedis(answering(good))).toEqual({ ok: true });
    expect(await checkRedis(answering({ ...good, server: good.server.replace('7.0.15', '10.2.0') }))).toEqual({ ok: true });
  });

  test.each([
    ['version 6', { server: good.server.replace('7.0.15', '6.2.14') }, 'redis 7.0 or newer is needed'],
    ['no version', { server: '' }, 'redis 7.0 or newer is needed'],
    ['32 bits', { server: good.server.replace('64', '32') }, 'a 64-bit redis is needed'],
    ['a replica', { replication: good.replication.replace('master', 'slave') }, 'this redis is a replica'],
    [
      'a node of a cluster',
      { cluster: good.cluster.replace('0', '1') },
      'this redis is a node of a cluster: set REDIS_URL to redis-cluster://host:port,host:port',
    ],
    [
      'eviction of any key',
      { memory: good.memory.replace('noeviction', 'allkeys-lru') },
      'maxmemory-policy allkeys-lru can lose coins: set noeviction',
    ],
    [
      'eviction of keys with a TTL',
      { memory: good.memory.replace('noeviction', 'volatile-ttl') },
      'maxmemory-policy volatile-ttl can lose coins: set noeviction',
    ],
  ])('refuses %s', async (_, changed, problem) => {
    expect(await checkRedis(answering({ ...good, ...changed }))).toEqual({ ok: false, problem });
  });
});
