import { expect } from 'vitest';
import { freePort } from '../../free-port.ts';
import { runCommand } from '../../run-command.ts';

interface Found {
  readonly level: string;
  readonly kind: string;
  readonly text: string;
  readonly mend: string;
  readonly where?: string[];
}

/** What the doctor reports, with a port on which nobody listens. */
export async function examine(settings: Record<string, string>, ...flags: string[]) {
  const { code, out, error } = await runCommand('doctor.ts', ['--json', ...flags], { PORT: String(await freePort()), ...settings });
  expect(error).toBe('');
  const { findings, facts } = JSON.parse(out) as { findings: Found[]; facts: { name: string; value: string }[] };
  const of = (level: string): string[] => findings.filter((found) => found.level === level).map(({ kind }) => kind);
  return {
    ...{ code, findings, dangers: of('danger'), warnings: of('warning'), notes: of('note') },
    texts: Object.fromEntries(findings.map(({ kind, text }) => [kind, text])),
    mends: Object.fromEntries(findings.map(({ kind, mend }) => [kind, mend])),
    facts: Object.fromEntries(facts.map(({ name, value }) => [name, value])),
  };
}
