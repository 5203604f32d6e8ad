import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { DataSecret } from '../../redis/data/accept-cluster.ts';
import { ForeignValue, readText } from '../../redis/text-key.ts';
import { SECRET_BYTES } from './key-hash.ts';

/**
 * The Redis key of the secret of the hashes of idempotency keys. The secret is stored with the ledgers, so that all processes use the same
 * hashes and a backup contains both.
 */
export const KEY_SECRET = 'ledger:secret';

export const SECRET_FORMAT = new RegExp(`^[0-9a-f]{${2 * SECRET_BYTES}}$`);

/** Reads the secret, null without one. @throws ForeignValue if the Redis key has a value that is no secret */
export async function readKeySecret(redis: Redis): Promise<string | null> {
  const mend = 'Copy the key from a backup of this data (docs/backup.md).';
  const text = await readText(redis, KEY_SECRET, mend);
  if (text !== null && !SECRET_FORMAT.test(text)) throw new ForeignValue(KEY_SECRET, `is not ${2 * SECRET_BYTES} hexadecimal digits`, mend);
  return text;
}

/** Describes the secret for code that checks whether the data is complete. That code must not depend on ledgers. */
export const keySecretKind: DataSecret = {
  key: KEY_SECRET,
  format: SECRET_FORMAT,
  make: () => randomBytes(SECRET_BYTES).toString('hex'),
};
