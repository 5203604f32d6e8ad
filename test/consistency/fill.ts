import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { accountKey } from '../../src/accounts/account-keys.ts';
import { halfSipHash } from '../../src/features/coins/key-hash.ts';
import { KEY_SECRET } from '../../src/features/coins/secret-keys.ts';
import { bucketOf, ledgerKeys } from '../../src/features/coins/ledger-layout.ts';
import { coinKeys } from '../../src/features/coins/model.ts';
import { DATA_VERSION, DATA_VERSION_KEY } from '../../src/redis/data/data-version.ts';
import { encodeCommand } from '../../src/redis/resp.ts';

const SECRET = '0123456789abcdef';

const CHUNK_LENGTH = 256 * 1024;

/**
 * Writes accounts with one to `mostEntries` entries each into an empty Redis, in the layout of `apply.lua`, but some fifty times
 * as fast as through it. Credits and debits alternate; keys have the length of a UUID.
 */
export async function fillAccounts(redis: Redis, count: number, mostEntries = 10): Promise<{ entries: number }> {
  const hash = halfSipHash(Buffer.from(SECRET, 'hex'));
  await redis.mset(KEY_SECRET, SECRET, DATA_VERSION_KEY, DATA_VERSION);
  // With the append-only file on, Redis would write each command to it, and rewrite it again and again.
  await redis.config('SET', 'appendonly', 'no');
  const socket = connect(redis.options.path!);
  await once(socket, 'connect');
  let stream = encodeCommand('CLIENT', ['REPLY', 'OFF']);
  let entries = 0;
  const at = Date.now();
  for (let index = 0; index < count; index++) {
    const id = accountIdOf(`filled-install-${index}`);
    const own = 1 + ((index * 7) % mostEntries);
    const [texts, buckets] = [[] as string[], new Map<string, (string | number)[]>()];
    let balance = 0;
    for (let seq = 1; seq <= own; seq++) {
      const coins = seq % 3 === 0 ? -(1 + (index % 20)) : 50 + (index % 100);
      balance += coins;
      const key = `${index.toString(16).padStart(8, '0')}-0000-4000-8000-${seq.toString(16).padStart(12, '0')}`;
      const when = (at - (own - seq) * 60_000).toString(36);
      texts.push(`${seq}:${balance} ${coins < 0 ? 'd' : 'c'}${coins} ${when} ${key}`);
      const bucket = ledgerKeys.bucket(id, bucketOf(hash(key), own));
      buckets.set(bucket, [...(buckets.get(bucket) ?? []), hash(key), seq]);
    }
    entries += own;
    stream += encodeCommand('HSET', [accountKey(id), 'createdAt', at]);
    stream += encodeCommand('RPUSH', [coinKeys.ledger(id), ...texts]);
    for (const [bucket, seqs] of buckets) stream += encodeCommand('HSET', [bucket, ...seqs]);
    if (stream.length < CHUNK_LENGTH) continue;
    const isFull = !socket.write(stream);
    stream = '';
    if (isFull) await once(socket, 'drain');
  }
  socket.write(stream + encodeCommand('CLIENT', ['REPLY', 'ON']));
  // CLIENT REPLY ON is the only command with a reply, so all commands before it are done.
  await once(socket, 'data');
  socket.destroy();
  await redis.config('SET', 'appendonly', 'yes');
  const isWriting = async (): Promise<boolean> => /^aof_rewrite_(in_progress|scheduled):1/m.test(await redis.info('persistence'));
  while (await isWriting()) await delay(100);
  return { entries };
}
