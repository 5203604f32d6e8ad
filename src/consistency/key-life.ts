import type { Finding, KeyLife, Look } from './auditor.ts';

/** A key that must not expire would be gone some day without a trace. One that must, and does not, stays for ever. */
export async function checkLife(key: string, life: KeyLife, look: Look): Promise<Finding[]> {
  const ttlMs = (await look.ask('PTTL', key)) as number;
  const subject = `key ${key}`;
  if (life === 'lasts' && ttlMs >= 0) {
    const at = new Date(Date.now() + ttlMs).toISOString();
    return [{ kind: 'expires', subject, text: `It expires at ${at}, and must not expire.` }];
  }
  if (life === 'ends' && ttlMs === -1) return [{ kind: 'never_expires', subject, text: 'It never expires, and must.' }];
  return [];
}
