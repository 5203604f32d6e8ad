import type { Finding, Look } from '../../consistency/auditor.ts';
import { KEY_SECRET, SECRET_FORMAT } from './secret-keys.ts';

/** The value under the key of the secret. `malformed`: it is not a secret. */
export type FoundSecret = { readonly text: string } | 'missing' | 'malformed';

export async function readSecret(look: Look): Promise<FoundSecret> {
  try {
    const text = (await look.ask('GET', KEY_SECRET)) as string | null;
    if (text === null) return 'missing';
    return SECRET_FORMAT.test(text) ? { text } : 'malformed';
  } catch (error) {
    // The key has another type. Without this case each ledger would get a separate finding.
    if (error instanceof Error && error.message.startsWith('WRONGTYPE')) return 'malformed';
    throw error;
  }
}

/** The finding is the same everywhere, so that the audit reports it once. */
export function secretFinding(secret: 'missing' | 'malformed'): Finding {
  const what = secret === 'missing' ? 'is missing' : 'is no secret';
  const text = `The secret of the ledgers ${what}: no index of a ledger can be checked.`;
  return { kind: secret === 'missing' ? 'no_key_secret' : 'bad_key_secret', subject: `key ${KEY_SECRET}`, text };
}
