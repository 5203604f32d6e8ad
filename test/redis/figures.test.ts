import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { figuresOf } from '../../src/redis/figures.ts';
import { startRedis, type OwnRedis } from '../own-redis.ts';

let own: OwnRedis;
beforeAll(async () => void (own = await startRedis()));
afterAll(() => own[Symbol.asyncDispose]());

/** The Redis with other answers to INFO. */
function saying(sections: Record<string, string>): Redis {
  return Object.assign(Object.create(own.redis) as Redis, {
    info: async (section: string) => sections[section] ?? (await own.redis.info(section)),
  });
}

test('the figures of a real Redis without replicas', async () => {
  const figures = await figuresOf(undefined, own.redis);
  expect(figures).toMatchObject({ node: undefined, takesWrites: true, persists: true, replicas: 0, lag: { bytes: 0, seconds: 0 } });
  expect(figures.residentBytes).toBeGreaterThan(1_000_000);
  expect(figures.appendOnlyBytes).toBeTypeOf('number');
});

test('the lag is that of the slowest replica that follows', async () => {
  const replication = [
    'role:master',
    'connected_slaves:3',
    'slave0:ip=10.0.0.6,port=6379,state=online,offset=900,lag=0',
    'slave1:ip=10.0.0.7,port=6379,state=online,offset=400,lag=7',
    'slave2:ip=10.0.0.8,port=6379,state=wait_bgsave,offset=0,lag=0',
    'master_repl_offset:1000',
  ].join('\r\n');
  const { replicas, lag } = await figuresOf('a:1', saying({ replication }));
  expect([replicas, lag]).toEqual([2, { bytes: 600, seconds: 7 }]);
});

test('the figures of a replica name no replicas', async () => {
  const { replicas, lag, takesWrites } = await figuresOf('a:1', saying({ replication: 'role:slave\r\nmaster_host:b' }));
  expect([replicas, lag, takesWrites]).toEqual([undefined, undefined, false]);
});

test('a failed write, rewrite or snapshot is reported, and a file that is switched off has no size', async () => {
  for (const name of ['aof_last_write_status', 'aof_last_bgrewrite_status', 'rdb_last_bgsave_status']) {
    const { persists } = await figuresOf(undefined, saying({ persistence: `aof_enabled:1\r\naof_current_size:77\r\n${name}:err\r\n` }));
    expect(persists).toBe(false);
  }
  const kept = await figuresOf(undefined, saying({ persistence: 'aof_enabled:1\r\naof_current_size:77\r\naof_last_write_status:ok\r\n' }));
  expect([kept.persists, kept.appendOnlyBytes]).toEqual([true, 77]);
  expect((await figuresOf(undefined, saying({ persistence: 'aof_enabled:0\r\naof_current_size:0' }))).appendOnlyBytes).toBeUndefined();
});
