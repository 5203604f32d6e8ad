import { randomBytes } from 'node:crypto';
import type { DataSecret } from '../../redis/accept-cluster.ts';
import { SECRET_BYTES } from './key-hash.ts';

/**
 * The key of the secret in Redis. The secret lies beside the ledgers, so that all processes use the same hashes and a backup
 * holds both.
 */
export const KEY_SECRET = 'ledger:secret';

/**
 * The key of the secret in data version 1. Now it holds a text instead: a coinop of that version then refuses all coin operations,
 * where it would otherwise take used keys for new ones.
 */
export const OLD_KEY_SECRET = 'ledger:key-secret';
export const TAKEN_OVER = 'The data of this Redis was upgraded: start the newer coinop.';

export const SECRET_FORMAT = new RegExp(`^[0-9a-f]{${2 * SECRET_BYTES}}$`);

/** For those that see that the data is complete, and know nothing of ledgers. */
export const keySecretKind: DataSecret = {
  key: KEY_SECRET,
  format: SECRET_FORMAT,
  make: () => randomBytes(SECRET_BYTES).toString('hex'),
};
