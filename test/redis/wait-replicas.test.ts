import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { DATA_ID_KEY, dataIdValue } from '../../src/redis/data/data-id.ts';
import { Queue } from '../../src/redis/queue.ts';
import { ScriptRunner } from '../../src/redis/script-runner.ts';
import { freePort } from '../free-port.ts';
import { forFile, start } from '../harness.ts';
import { startRedis } from '../own-redis.ts';
import { readiness, reasonOf } from './movable-services.ts';
import { PATIENT } from '../patience.ts';

const port = await freePort();
const primary = await forFile(startRedis('--port', port, '--bind', '127.0.0.1', '--repl-diskless-sync-delay', '0'));
const { redis: replica } = await forFile(startRedis('--replicaof', `127.0.0.1 ${port}`));
await vi.waitUntil(async () => (await replica.info('replication')).includes('master_link_status:up'), PATIENT);
const replicaPid = Number(/^process_id:(\d+)/m.exec(await replica.info('server'))![1]);
const service = await forFile(start({ redis: primary.location, settings: { REDIS_WAIT_REPLICAS: '1' } }));
const { redis, link } = service.service;

const credit = (installId: string, key: string) => service.post('/v1/coins/credit', { installId, coins: 5, key });

/** Runs `work` while the replica confirms no writes. */
async function whileReplicaSleeps(work: () => Promise<void>): Promise<void> {
  process.kill(replicaPid, 'SIGSTOP');
  try {
    await work();
  } finally {
    process.kill(replicaPid, 'SIGCONT');
  }
}

const waitCount = async () => Number(/cmdstat_wait:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);

describe('REDIS_WAIT_REPLICAS', () => {
  test('a credit is acknowledged once the replica has it', async () => {
    expect((await credit('install-wait-1', 'k1')).body).toEqual({ ok: true, balanceAfterCoins: 5 });
    expect(await replica.keys('*ledger')).not.toEqual([]);
    expect(await readiness(service)).toBe(200);
  });

  test('a credit or a replay that no replica confirms in time is store_unavailable, outcome unknown, and its key replays later', async () => {
    await credit('install-wait-2', 'k1');
    // Scripts that Redis dropped are loaded again, and the write is waited for.
    await redis.script('FLUSH');
    await whileReplicaSleeps(async () => {
      // A replay shows a write that a failover could take back.
      for (const { status, body } of await Promise.all(['k2', 'k1'].map((key) => credit('install-wait-2', key))))
        expect([status, body.error.code, body.error.outcome]).toEqual([503, 'store_unavailable', 'unknown']);
    });
    expect((await credit('install-wait-2', 'k2')).body).toEqual({ ok: true, balanceAfterCoins: 10, replayed: true, balanceCoins: 10 });
  });

  test('a sign-out waits, and reads do not', async () => {
    const { cookies } = await service.post('/v1/login', { installId: 'install-wait-4' });
    await whileReplicaSleeps(async () => {
      const [signedOut, balance] = await Promise.all([
        service.post('/v1/logout', {}, { cookies }),
        pause(100).then(() => service.get('/v1/balance?installId=install-wait-4')),
      ]);
      expect([signedOut.status, signedOut.body.error.outcome]).toEqual([503, 'unknown']);
      expect(balance.body).toEqual({ ok: true, balanceCoins: 0 });
    });
  });

  test('a save is read once the replica has it, because after a failover other data could get the version', async () => {
    const save = (level: number) => service.post('/v1/saves/tetris/slot', { installId: 'install-wait-5', data: { level } });
    const load = () => service.get('/v1/saves/tetris/slot?installId=install-wait-5');
    expect((await save(1)).status).toBe(200);
    await whileReplicaSleeps(async () => {
      for (const { status, body } of await Promise.all([save(2), pause(100).then(load)]))
        expect([status, body.error.code]).toEqual([503, 'store_unavailable']);
    });
    expect((await load()).body).toMatchObject({ version: 2, data: { level: 2 } });
  });

  test('the queue entry of a purchase or a move is on the replica before the act', async () => {
    const scripts = new ScriptRunner(link, { now: Date.now, replicas: 1 });
    await new Queue('waits', scripts, true).ahead('member', 1);
    await whileReplicaSleeps(async () => {
      await new Queue('waits', scripts).ahead('member', 2);
      await expect(new Queue('waits', scripts, true).ahead('member', 3)).rejects.toThrow('0 of 1 replicas');
    });
    await redis.del('waits');
  });

  test('operations of one moment share a WAIT', async () => {
    const before = await waitCount();
    const replies = await Promise.all(Array.from({ length: 200 }, (_, index) => credit(`install-wait-5-${index}`, 'k')));
    expect(replies.every(({ status }) => status === 200)).toBe(true);
    expect((await waitCount()) - before).toBeLessThan(60);
  });

  test('a state that lacks what a replica has confirmed is refused, until it is back', async () => {
    const [id, heartbeat] = (await redis.get(DATA_ID_KEY))!.split(' ');
    const set = (more: number) => redis.set(DATA_ID_KEY, dataIdValue(id!, Number(heartbeat) + more, Date.now(), 0));
    await set(20_000);
    // The next look confirms it.
    await pause(2200);
    await set(0);
    expect((await credit('install-wait-7', 'k')).status).toBe(503);
    await expect.poll(() => reasonOf(service)).toContain('s older than the one that the service on ');
    await set(40_000);
    await expect.poll(async () => (await credit('install-wait-7', 'k')).status).toBe(200);
  });
});
