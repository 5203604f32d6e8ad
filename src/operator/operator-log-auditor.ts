import type { Auditor, Finding, Probe } from '../consistency/auditor.ts';
import { CORRECTED_KEYS } from './day-of-support.ts';
import { OPERATOR_LOG, readEntry } from './operator-log.ts';

/** The number of log entries that one LRANGE reads. */
const AT_ONCE = 500;

/** Checks that each entry of the operators' log can be read. */
export const operatorLogAuditor: Auditor = {
  keys: [
    { pattern: /^\{operator-log\}$/, type: 'list', life: 'lasts', check: (_parts, probe) => checkLog(probe) },
    { pattern: CORRECTED_KEYS, type: 'hash', life: 'ends' },
  ],
};

async function checkLog(probe: Probe): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (let start = 0; ; start += AT_ONCE) {
    const texts = (await probe.ask('LRANGE', OPERATOR_LOG, start, start + AT_ONCE - 1)) as string[];
    probe.count('operator log entries', texts.length);
    for (const [index, text] of texts.entries())
      if (readEntry(text) === undefined)
        findings.push({ kind: 'unreadable_log', subject: `key ${OPERATOR_LOG}`, text: `Entry ${start + index + 1} cannot be read.` });
    if (texts.length < AT_ONCE) return findings;
  }
}
