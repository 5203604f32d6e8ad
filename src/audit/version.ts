import { DATA_VERSION, DATA_VERSION_KEY } from '../redis/data-version.ts';
import type { Auditor, Finding, Look } from './auditor.ts';

/** @param marks keys that every coinop makes, so that data without a version is told from an empty Redis */
export function versionAuditor(marks: readonly string[]): Auditor {
  return {
    keys: [{ pattern: /^data:(?:version|upgrading)$/ }],
    once: (look) => checkVersion(marks, look),
  };
}

/** The data has the version that this coinop writes. */
async function checkVersion(marks: readonly string[], look: Look): Promise<Finding[]> {
  const [version, hasData] = (await look.together(['GET', DATA_VERSION_KEY], ['EXISTS', ...marks])) as [string | null, number];
  if (version === String(DATA_VERSION) || (version === null && hasData === 0)) return [];
  const what = version === null ? 'is missing' : `is "${version}"`;
  const text = `The version of the data ${what}, where this coinop writes ${DATA_VERSION}. Start the service: it upgrades older data.`;
  return [{ kind: 'wrong_version', subject: `key ${DATA_VERSION_KEY}`, text }];
}
