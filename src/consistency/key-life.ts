import type { Finding, KeyLife, Probe } from './auditor.ts';

/** The expiry that a mending command gives to a key, in seconds: longer than the life of any key that must expire. */
const MONTH_SECONDS = 30 * 86_400;

/** Finds a key that has an expiry although it must not expire, or that has no expiry although it must expire. */
export async function checkLife(key: string, life: KeyLife, probe: Probe): Promise<Finding[]> {
  const ttlMs = (await probe.ask('PTTL', key)) as number;
  const subject = `key ${key}`;
  if (life === 'lasts' && ttlMs >= 0) {
    const at = new Date(probe.now() + ttlMs).toISOString();
    return [{ kind: 'expires', subject, text: `The key expires at ${at}, but must not expire.`, commands: [['PERSIST', key]] }];
  }
  if (life === 'ends' && ttlMs === -1)
    return [{ kind: 'never_expires', subject, text: 'The key never expires, but must.', commands: [['EXPIRE', key, MONTH_SECONDS]] }];
  return [];
}
