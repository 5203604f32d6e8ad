import type { Redis } from 'ioredis';
import { consoleOf, type Config } from '../../config.ts';
import { endOf, parseServerKey, SERVER_KEYS, SERVER_KEYS_USED } from '../../server/identity/server-key-record.ts';
import type { Diagnosis } from './diagnosis.ts';

/** A key is reported from this many milliseconds before its expiry, so that its users have time to change it. */
const SOON_MS = 14 * 86_400_000;

/** A key that was not used for this many milliseconds is reported as probably not needed. */
const UNUSED_MS = 90 * 86_400_000;

/** Examines the valid server keys. */
export async function examineKeys(redis: Redis, config: Config, diagnosis: Diagnosis): Promise<void> {
  const { COIN_AUTHORITY, ADMIN_API } = config;
  const now = Date.now();
  const records = Object.entries(await redis.hgetall(SERVER_KEYS));
  const valid = records.flatMap(([id, text]) => {
    const record = parseServerKey(text);
    return record === undefined || endOf(record) <= now ? [] : [{ id, ...record }];
  });
  const giving = valid.filter(({ scopes }) => scopes.includes('coins'));
  const operating = valid.filter(({ scopes }) => scopes.includes('admin'));
  const counts = `${valid.length} valid, ${giving.length} with the scope coins, ${operating.length} with admin`;
  diagnosis.fact('server keys', operating.length > 0 && ADMIN_API === 'off' ? `${counts}, which opens nothing (ADMIN_API=off)` : counts);
  const used = new Map(Object.entries(await redis.hgetall(SERVER_KEYS_USED)));
  const isUsed = operating.some(({ id, createdAt }) => now - Number(used.get(id) ?? createdAt) < UNUSED_MS);
  if (config.production && ADMIN_API === 'on' && !isUsed)
    diagnosis.find('warning', 'idle_operators', {
      text: `The paths of operators are open in production (ADMIN_API=on${consoleOf(config) === 'open' ? ', CONSOLE=on' : ''}), and ${
        operating.length === 0 ? 'there is no key for them' : "no operator's key was used for 90 days"
      }.`,
      cost: 'Nobody needs these paths, and a key that leaks opens them.',
      mend: `ADMIN_API=off${consoleOf(config) === 'open' ? ' and CONSOLE=off' : ''}: npm run admin needs neither`,
    });
  for (const { id, name, scopes, role, createdAt, expiresAt } of valid) {
    const canMint = scopes.includes('coins') || (role !== undefined && role !== 'viewer' && ADMIN_API === 'on');
    if (!canMint) continue;
    const mints = `The server key ${id} (${name}) can mint coins`;
    if (expiresAt === undefined)
      diagnosis.find('note', 'endless_key', {
        text: `${mints}, and never expires.`,
        cost: 'If this key leaks, a thief can mint coins until somebody notices.',
        mend: `npm run admin -- keys rotate ${id} --expires 90d`,
      });
    const usedAt = Number(used.get(id) ?? createdAt);
    if (now - usedAt >= UNUSED_MS)
      diagnosis.find('note', 'unused_key', {
        text: `${mints}, and nobody has used it ${used.has(id) ? 'since' : 'since it was made on'} ${dayOf(usedAt)}.`,
        cost: 'If this key leaks, a thief can mint coins; and nobody needs the key.',
        mend: `npm run admin -- keys revoke ${id}`,
      });
  }
  if (COIN_AUTHORITY === 'server' && giving.length === 0)
    diagnosis.find('warning', 'no_coin_key', {
      text: 'Only server keys with the scope coins may give coins (COIN_AUTHORITY=server), but there is no such key.',
      cost: 'Nobody gets coins: each credit and purchase is refused with 403 server_only.',
      mend: 'npm run admin -- keys create --name NAME --scopes coins',
    });
  for (const { id, name, ...record } of valid) {
    const end = endOf(record);
    if (end > now + SOON_MS) continue;
    diagnosis.find('warning', 'key_expires', {
      text: `The server key ${id} (${name}) expires on ${dayOf(end)}.`,
      cost: 'From then on calls with this key get 401 bad_key.',
      mend: `npm run admin -- keys rotate ${id}`,
    });
  }
}

/** The day of a time in UTC: `2026-11-22`. */
function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}
