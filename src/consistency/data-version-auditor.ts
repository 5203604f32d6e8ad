import { DATA_ID_KEY } from '../redis/data/data-id.ts';
import { DATA_VERSION, DATA_VERSION_KEY } from '../redis/data/data-version.ts';
import type { Auditor, Finding, Probe } from './auditor.ts';

/** @param mark a key that every coinop writes. Only an empty Redis has neither this key nor a version of the data */
export function versionAuditor(mark: string): Auditor {
  return {
    keys: [
      { pattern: new RegExp(`^${DATA_VERSION_KEY}$`), type: 'string', life: 'lasts' },
      { pattern: /^data:upgrading$/, type: 'string', life: 'ends' },
      { pattern: new RegExp(`^${DATA_ID_KEY}$`), type: 'string', life: 'lasts' },
    ],
    once: (probe) => checkVersion(mark, probe),
  };
}

/** Checks that the data has the version that this coinop writes. */
async function checkVersion(mark: string, probe: Probe): Promise<Finding[]> {
  // `together`, not `atomically`, because in a Cluster the two keys may be in two slots.
  const [version, found] = await probe.together(['GET', DATA_VERSION_KEY], ['EXISTS', mark]);
  if (version === String(DATA_VERSION) || (version === null && found === 0)) return [];
  const what = version === null ? 'is missing' : `is "${version as string}"`;
  const text = `The version of the data ${what}, but this coinop writes version ${DATA_VERSION}. Start the service: it upgrades older data.`;
  return [{ kind: 'wrong_version', subject: `key ${DATA_VERSION_KEY}`, text }];
}
