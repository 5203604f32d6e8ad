import type { Finding, Look } from '../../consistency/auditor.ts';
import { KEY_SECRET, SECRET_FORMAT } from './secret-keys.ts';

/** What stands under the key of the secret. `malformed`: something else than a secret. */
export type FoundSecret = { readonly text: string } | 'missing' | 'malformed';

export async function readSecret(look: Look): Promise<FoundSecret> {
  try {
    const text = (await look.ask('GET', KEY_SECRET)) as string | null;
    if (text === null) return 'missing';
    return SECRET_FORMAT.test(text) ? { text } : 'malformed';
  } catch (error) {
    // A key of another type. Without this every ledger would be a finding of its own.
    if (error instanceof Error && error.message.startsWith('WRONGTYPE')) return 'malformed';
    throw error;
  }
}

/** The same finding wherever it is met, so that the audit reports it once. */
export function secretFinding(secret: 'missing' | 'malformed'): Finding {
  const what = secret === 'missing' ? 'is missing' : 'is no secret';
  const text = `The secret of the ledgers ${what}: no index of a ledger can be checked.`;
  return { kind: secret === 'missing' ? 'no_key_secret' : 'bad_key_secret', subject: `key ${KEY_SECRET}`, text };
}
