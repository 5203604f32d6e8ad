import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { forFile, start } from '../../harness.ts';
import { startRedis, type OwnRedis } from '../../own-redis.ts';

const redis = await forFile(startRedis());
const service = await forFile(start({ redis: redis.location }));

describe('GET /ready', () => {
  test('answers 200 while Redis is reachable and evicts nothing', async () => {
    const { status, body } = await service.get('/ready');
    const coinAuthority = 'client: every client can mint coins for its own account';
    expect([status, body]).toEqual([200, { ok: true, service: 'coinop', coinAuthority }]);
  });

  test('answers 503 while the maxmemory-policy evicts keys, and 200 afterwards', async () => {
    for (const policy of ['allkeys-lru', 'volatile-ttl']) {
      await service.service.redis.config('SET', 'maxmemory-policy', policy);
      const { status, body } = await service.get('/ready');
      const message = `Not ready: maxmemory-policy ${policy} can lose coins: set noeviction.`;
      expect([status, body.error]).toMatchObject([503, { code: 'store_unavailable', message }]);
    }
    await service.service.redis.config('SET', 'maxmemory-policy', 'noeviction');
    expect((await service.get('/ready')).status).toBe(200);
  });

  test('answers 503 while Redis is a replica, and 200 afterwards', async () => {
    await service.service.redis.replicaof('127.0.0.1', '1');
    const { status, body } = await service.get('/ready');
    expect([status, body.error.message]).toEqual([503, 'Not ready: this redis is a replica.']);
    await service.service.redis.replicaof('NO', 'ONE');
    // The connection of the scripts was closed by the replica, and may not be open again yet.
    await expect.poll(async () => (await service.get('/ready')).status).toBe(200);
  });

  test('answers 503 on open connections while the process drains', async () => {
    const draining = await start({ redis: redis.location });
    const socket = connect(draining.port, '127.0.0.1');
    expect(await ask(socket)).toMatch(/^HTTP\/1\.1 200 /);
    const drained = draining.service.drain();
    const answer = await ask(socket);
    expect(answer).toMatch(/^HTTP\/1\.1 503 /);
    expect(answer).toContain('Not ready: draining.');
    expect(answer.toLowerCase()).toContain('connection: close');
    socket.destroy();
    await drained;
  });
});

/** Requests /ready over this connection and returns the response with its headers. */
async function ask(socket: Socket): Promise<string> {
  socket.write('GET /ready HTTP/1.1\r\nhost: localhost\r\n\r\n');
  const [chunk] = (await once(socket, 'data')) as [Buffer];
  return chunk.toString();
}
