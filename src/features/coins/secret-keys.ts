import { randomBytes } from 'node:crypto';
import type { DataSecret } from '../../redis/accept-cluster.ts';
import { SECRET_BYTES } from './key-hash.ts';

/**
 * The key of the secret in Redis. The secret is stored with the ledgers, so that all processes use the same hashes and a backup
 * contains both.
 */
export const KEY_SECRET = 'ledger:secret';

export const SECRET_FORMAT = new RegExp(`^[0-9a-f]{${2 * SECRET_BYTES}}$`);

/** For code that checks whether the data is complete, and must not depend on ledgers. */
export const keySecretKind: DataSecret = {
  key: KEY_SECRET,
  format: SECRET_FORMAT,
  make: () => randomBytes(SECRET_BYTES).toString('hex'),
};
