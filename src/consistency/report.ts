import type { AdviceOf } from './advice.ts';
import type { Finding } from './auditor.ts';
import { grouped } from './progress.ts';
import type { AuditCounts } from './counts.ts';

/** Writes the result of an audit to standard output. */
export interface Report {
  found(finding: Finding): void;
  /** @param failure why the audit is not complete. Undefined: the audit is complete */
  end(counts: AuditCounts, seconds: number, failure: string | undefined): void;
}

type Write = (text: string) => void;

/** A report for people, which lists the first findings at the end. @param most number of findings that are listed */
export function textReport(write: Write, most: number, adviceOf: AdviceOf): Report {
  const listed: Finding[] = [];
  return {
    found: (finding) => void (listed.length < most && listed.push(finding)),
    end({ checked, unknown, drift, unsettled, primaries, notes }, seconds, failure) {
      for (const finding of listed) {
        const { kind, subject, text } = finding;
        const { right, mend = 'no command' } = adviceOf(finding) ?? {};
        write(`${subject}: ${text} (${kind})\n`);
        if (right !== undefined) write(`    Right: ${right}.\n    Mend: ${mend}.\n`);
      }
      if (drift > listed.length) write(`… and ${grouped(drift - listed.length)} more: --json lists all.\n`);
      // Sorted, because SCAN gives the keys in no order.
      const figures = Object.entries(checked)
        .toSorted()
        .map(([what, number]) => `${grouped(number)} ${number === 1 ? singular(what) : what}`);
      const began = failure === undefined ? 'Audited' : 'Not complete. Audited';
      const where = primaries === undefined ? '' : ` on ${primaries} ${primaries === 1 ? 'primary' : 'primaries'}`;
      write(`${began} ${figures.length === 0 ? 'an empty Redis' : figures.join(', ')}${where} in ${seconds.toFixed(1)} s.\n`);
      for (const note of notes) write(`${note}\n`);
      if (unsettled > 0) write(`Not compared, because they changed during every probe: ${grouped(unsettled)}. Run the audit again.\n`);
      for (const [form, number] of Object.entries(unknown))
        write(`Not checked, because no check knows them: ${grouped(number)} keys ${form}\n`);
      if (drift > 0) write(`Drift: ${grouped(drift)} ${drift === 1 ? 'finding' : 'findings'}.\n`);
      else if (failure === undefined) write('No drift.\n');
    },
  };
}

/** The singular of a name of counts: "entries" → "entry". */
function singular(what: string): string {
  return what.replace(/ies$/, 'y').replace(/s$/, '');
}

/** A report for programs: writes one JSON document. */
export function jsonReport(write: Write, adviceOf: AdviceOf): Report {
  let separator = '{"findings":[';
  return {
    found(finding) {
      const { kind, subject, text } = finding;
      write(`${separator}\n${JSON.stringify({ kind, subject, text, ...adviceOf(finding) })}`);
      separator = ',';
    },
    end({ checked, unknown, drift, unsettled, primaries, notes }, seconds, failure) {
      const duration = Math.round(seconds * 1000) / 1000;
      const rest = { drift, isComplete: failure === undefined, failure, seconds: duration, primaries, checked, unknown, unsettled, notes };
      write(`${drift === 0 ? separator : '\n'}],${JSON.stringify(rest).slice(1)}\n`);
    },
  };
}
