import type { Finding, Probe } from '../../consistency/auditor.ts';
import { halfSipHash, type KeyHash } from './key-hash.ts';
import { KEY_SECRET, SECRET_FORMAT } from './secret-keys.ts';

/**
 * What the audit finds under the Redis key of the secret, with which idempotency keys are hashed. `malformed`: the Redis key has a value
 * that is no secret.
 */
export type FoundSecret = { readonly text: string } | 'missing' | 'malformed';

export async function readSecret(probe: Probe): Promise<FoundSecret> {
  const text = (await probe.ask('GET', KEY_SECRET)) as string | null;
  if (text === null) return 'missing';
  return SECRET_FORMAT.test(text) ? { text } : 'malformed';
}

/**
 * The finding about a missing or malformed secret. Each check that needs the secret makes the same finding, so that the audit reports it
 * once.
 */
export function secretFinding(secret: 'missing' | 'malformed'): Finding {
  const what = secret === 'missing' ? 'is missing' : 'is no secret';
  const text = `The secret of the ledgers ${what}, so the indexes of the ledgers cannot be checked.`;
  return { kind: secret === 'missing' ? 'no_key_secret' : 'bad_key_secret', subject: `key ${KEY_SECRET}`, text };
}

/**
 * Gives the hash of idempotency keys for one audit. Undefined while Redis has no secret. The first service that starts may make it during
 * the audit.
 */
export type HashReader = (probe: Probe) => Promise<KeyHash | undefined>;

export function hashReader(): HashReader {
  let hash: Promise<KeyHash | undefined> | undefined;
  return async (probe) => {
    const known = await (hash ??= readHash(probe));
    if (known === undefined) hash = undefined;
    return known;
  };
}

async function readHash(probe: Probe): Promise<KeyHash | undefined> {
  const secret = await readSecret(probe);
  return typeof secret === 'string' ? undefined : halfSipHash(Buffer.from(secret.text, 'hex'));
}
