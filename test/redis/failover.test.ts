import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { start } from '../harness.ts';
import { startRedis } from '../own-redis.ts';

test('a write that meets a replica is refused, and the connection of the scripts opens again to find the new primary', async () => {
  await using own = await startRedis();
  const { socketPath } = own.location;
  const redis = new Redis({ path: socketPath });
  try {
    await using service = await start({ redis: own.location });
    const credit = (key: string) => service.post('/v1/coins/credit', { installId: 'install-of-failover', coins: 1, key });
    expect((await credit('a')).body.balanceAfterCoins).toBe(1);

    const connection = async (): Promise<string | undefined> =>
      /^id=(\d+) .* name=coinop-scripts /m.exec(String(await redis.client('LIST')))?.[1];
    const before = await connection();
    expect(before).toBeDefined();
    // A replica without a primary refuses writes and answers reads.
    await redis.replicaof('127.0.0.1', 1);
    const { status, body } = await credit('b');
    expect([status, body.error.code]).toEqual([503, 'store_unavailable']);
    // Redis refused before the script began, so nothing was written.
    expect(body.error).not.toHaveProperty('outcome');
    await expect.poll(connection).toSatisfy((id) => id !== undefined && id !== before);

    await redis.replicaof('NO', 'ONE');
    await expect.poll(async () => (await credit('b')).body.balanceAfterCoins).toBe(2);
  } finally {
    redis.disconnect();
  }
});
