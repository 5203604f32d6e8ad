import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { openConnections } from '../../src/redis/redis-connections.ts';
import { ScriptRunner } from '../../src/redis/script-runner.ts';
import { ServerKeyChanges } from '../../src/server/identity/server-key-changes.ts';
import { freshId } from '../harness.ts';
import { startChild, startTcpRedis, type Child } from '../realtime/child.ts';
import { eventually } from '../realtime/watcher.ts';

/** Three processes on one Redis: a service of one process, and one of two workers. */

const folder = mkdtempSync(join(tmpdir(), 'coinop-revoked-'));
const redis = await startTcpRedis(folder);
const settings = { REDIS_URL: redis.url, LOG_LEVEL: 'silent' };
const children = await Promise.all(
  ['1', '2'].map((workers) => startChild({ ...settings, WORKERS: workers, DATA_DIR: join(folder, workers) })),
);
const connections = openConnections({ url: redis.url }, 0, pino({ level: 'silent' }));
await connections.opened();
const changes = new ServerKeyChanges(new ScriptRunner(connections.scripts, { now: Date.now }), Date.now);
afterAll(async () => {
  await Promise.all(children.map((child) => child.stop()));
  connections.disconnect();
  await redis.stop();
  rmSync(folder, { recursive: true, force: true });
});

const ask = async ({ url }: Child, token: string): Promise<number> => {
  const accountId = accountIdOf(freshId());
  // Each request has a separate connection, so that the kernel spreads them over the workers.
  const headers = { authorization: `Bearer ${token}`, connection: 'close', 'content-type': 'application/json' };
  const body = JSON.stringify({ accountId, coins: 1, key: 'a' });
  const response = await fetch(`${url}/v1/coins/credit`, { method: 'POST', headers, body });
  await response.arrayBuffer();
  return response.status;
};

test('a revoked key stops in every process and worker, without waiting for the next read of 3 seconds', async () => {
  for (let round = 0; round < 5; round++) {
    const { id, token } = await changes.create({ name: 'game server', scopes: ['coins'] });
    for (const child of children) {
      // Ten in a row reach both workers.
      let inARow = 0;
      await eventually(async () => (inARow = (await ask(child, token)) === 200 ? inARow + 1 : 0) >= 10);
    }
    await changes.revoke(id);
    // Each process has the message before the first of these requests, but reads the keys from Redis first.
    const served = await Promise.all(
      children.map(async (child) => {
        let count = 0;
        for (let refused = 0; refused < 10;) {
          const status = await ask(child, token);
          if (status === 200) count++;
          else refused++;
        }
        return count;
      }),
    );
    expect([served, Math.max(...served) <= 6]).toEqual([served, true]);
  }
});
