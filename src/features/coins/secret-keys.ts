import { randomBytes } from 'node:crypto';
import type { DataSecret } from '../../redis/accept-cluster.ts';
import { SECRET_BYTES } from './key-hash.ts';

/**
 * The key of the secret in Redis. The secret lies beside the ledgers, so that all processes use the same hashes and a backup
 * holds both.
 */
export const KEY_SECRET = 'ledger:secret';

export const SECRET_FORMAT = new RegExp(`^[0-9a-f]{${2 * SECRET_BYTES}}$`);

/** For those that see that the data is complete, and know nothing of ledgers. */
export const keySecretKind: DataSecret = {
  key: KEY_SECRET,
  format: SECRET_FORMAT,
  make: () => randomBytes(SECRET_BYTES).toString('hex'),
};
