import type { Redis } from 'ioredis';
import type { Config } from '../config.ts';
import { endOf, parseServerKey, SERVER_KEYS } from '../server/identity/server-key-record.ts';
import type { Diagnosis } from './diagnosis.ts';

/** A key that ends so soon is told: whoever uses it needs the time to take another. */
const SOON_MS = 14 * 86_400_000;

/** The server keys that are valid. */
export async function examineKeys(redis: Redis, { COIN_AUTHORITY }: Config, diagnosis: Diagnosis): Promise<void> {
  const now = Date.now();
  const records = Object.entries(await redis.hgetall(SERVER_KEYS));
  const valid = records.flatMap(([id, text]) => {
    const record = parseServerKey(text);
    return record === undefined || endOf(record) <= now ? [] : [{ id, ...record }];
  });
  const giving = valid.filter(({ scopes }) => scopes.includes('coins'));
  diagnosis.fact('server keys', `${valid.length} valid, ${giving.length} with the scope coins`);
  if (COIN_AUTHORITY === 'server' && giving.length === 0)
    diagnosis.find('warning', 'no_coin_key', {
      text: 'Only server keys with the scope coins may give coins (COIN_AUTHORITY=server), and there is none.',
      cost: 'Nobody gets coins: each credit and purchase is 403 server_only.',
      mend: 'npm run admin -- keys create --name NAME --scopes coins',
    });
  for (const { id, name, ...record } of valid) {
    const end = endOf(record);
    if (end > now + SOON_MS) continue;
    diagnosis.find('warning', 'key_expires', {
      text: `The server key ${id} (${name}) expires on ${new Date(end).toISOString().slice(0, 10)}.`,
      cost: 'The calls of whoever uses it are 401 bad_key from then on.',
      mend: `npm run admin -- keys rotate ${id}`,
    });
  }
}
