import { DATA_ID_KEY } from '../redis/data-id.ts';
import { DATA_VERSION, DATA_VERSION_KEY } from '../redis/data-version.ts';
import type { Auditor, Command, Finding, Look } from './auditor.ts';

/** @param marks keys that every coinop makes, so that data without a version is told from an empty Redis */
export function versionAuditor(marks: readonly string[]): Auditor {
  return {
    keys: [{ pattern: /^data:(?:version|upgrading)$/ }, { pattern: new RegExp(`^${DATA_ID_KEY}$`) }],
    once: (look) => checkVersion(marks, look),
  };
}

/** The data has the version that this coinop writes. */
async function checkVersion(marks: readonly string[], look: Look): Promise<Finding[]> {
  // In a Cluster each of these keys may lie in another slot.
  const [version, ...found] = await look.together(['GET', DATA_VERSION_KEY], ...marks.map((mark): Command => ['EXISTS', mark]));
  if (version === String(DATA_VERSION) || (version === null && !found.includes(1))) return [];
  const what = version === null ? 'is missing' : `is "${version as string}"`;
  const text = `The version of the data ${what}, where this coinop writes ${DATA_VERSION}. Start the service: it upgrades older data.`;
  return [{ kind: 'wrong_version', subject: `key ${DATA_VERSION_KEY}`, text }];
}
