import { expect, test } from 'vitest';
import { figuresOf } from '../../src/redis/node-figures.ts';
import { forFile } from '../harness.ts';
import { startRedis } from '../own-redis.ts';

const { redis } = await forFile(startRedis());

/** The figures of a Redis with another answer to a section of INFO. */
const figuresWith = (section: string, ...lines: string[]) =>
  figuresOf(
    'a:1',
    Object.assign(Object.create(redis) as typeof redis, {
      info: async (asked: string) => (asked === section ? lines.join('\r\n') : await redis.info(asked)),
    }),
  );

test('a real Redis without replicas gives its figures', async () => {
  const figures = await figuresOf(undefined, redis);
  expect(figures).toMatchObject({ node: undefined, takesWrites: true, persists: true, replicas: 0, lag: { bytes: 0, seconds: 0 } });
  expect(figures.residentBytes).toBeGreaterThan(1_000_000);
  expect(figures.appendOnlyBytes).toBeTypeOf('number');
});

test('the lag is that of the slowest replica that follows, and a replica has none', async () => {
  const replicas = [
    'slave0:ip=10.0.0.6,port=6379,state=online,offset=900,lag=0',
    'slave1:ip=10.0.0.7,port=6379,state=online,offset=400,lag=7',
    'slave2:ip=10.0.0.8,port=6379,state=wait_bgsave,offset=0,lag=0',
  ];
  const primary = await figuresWith('replication', 'role:master', 'connected_slaves:3', ...replicas, 'master_repl_offset:1000');
  expect(primary).toMatchObject({ replicas: 2, lag: { bytes: 600, seconds: 7 } });
  const replica = await figuresWith('replication', 'role:slave', 'master_host:b');
  expect([replica.replicas, replica.lag, replica.takesWrites]).toEqual([undefined, undefined, false]);
});

test.each([
  ['aof_enabled:1', 'aof_last_write_status:err', false, 77],
  ['aof_enabled:1', 'aof_last_bgrewrite_status:err', false, 77],
  ['aof_enabled:1', 'rdb_last_bgsave_status:err', false, 77],
  ['aof_enabled:1', 'aof_last_write_status:ok', true, 77],
  // A file that is switched off has no size.
  ['aof_enabled:0', 'aof_last_write_status:ok', expect.any(Boolean), undefined],
])('with %s and %s a Redis persists: %s', async (enabled, status, persists, appendOnlyBytes) => {
  const figures = await figuresWith('persistence', enabled, 'aof_current_size:77', status);
  expect([figures.persists, figures.appendOnlyBytes]).toEqual([persists, appendOnlyBytes]);
});
