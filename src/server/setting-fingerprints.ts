import { createHash } from 'node:crypto';
import { Gauge } from '@prometheus-io/client';
import type { Config } from '../config.ts';
import type { Metrics } from './metrics.ts';

/** The settings that affect what the doctor reports. No secret is among them. */
const COMPARED = [
  'NODE_ENV',
  'PUBLIC_URL',
  'TRUSTED_PROXIES',
  'ALLOWED_ORIGINS',
  'RATE_LIMIT',
  'STORE',
  'COIN_AUTHORITY',
  'REDIS_WAIT_REPLICAS',
  'EVENTS',
  'ADMIN_API',
  'CONSOLE',
  'PLAYGROUND',
  'SESSION_VERIFY',
  'WEBHOOKS_PRIVATE',
] as const satisfies readonly (keyof Config)[];

/** Characters of a fingerprint: enough to tell two values of a setting apart, but too few to find out a value that nobody could guess. */
const DIGITS = 8;

/**
 * A fingerprint of each compared setting, by the setting's name. Lists with the same elements in another order have the same fingerprint.
 */
export function settingFingerprints(config: Config): ReadonlyMap<string, string> {
  return new Map(
    COMPARED.map((name) => {
      const value = config[name];
      const text = JSON.stringify(Array.isArray(value) ? value.toSorted() : (value ?? null));
      return [name, createHash('sha256').update(`${name} ${text}`).digest('hex').slice(0, DIGITS)];
    }),
  );
}

/**
 * Adds the fingerprints to /metrics. The doctor compares them with its own settings, and so notices that the service runs with other
 * settings.
 */
export function addSettingMetrics(metrics: Metrics, config: Config): void {
  const gauge = new Gauge({
    name: 'coinop_setting_info',
    help: 'Always 1. The labels have the name of a setting and a fingerprint of its value, which the doctor compares with its own.',
    labelNames: ['setting', 'fingerprint'],
    aggregator: 'max',
    registers: [metrics.registry],
  });
  for (const [setting, fingerprint] of settingFingerprints(config)) gauge.set({ setting, fingerprint }, 1);
}
