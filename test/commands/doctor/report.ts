import { expect } from 'vitest';
import { freePort } from '../../free-port.ts';
import { runCommand } from '../../run-command.ts';

export interface Found {
  readonly level: string;
  readonly kind: string;
  readonly text: string;
  readonly cost: string;
  readonly mend: string;
  readonly where?: string[];
}

/** What the doctor reports. */
export interface Report {
  readonly code: number | null;
  readonly findings: readonly Found[];
  readonly dangers: string[];
  readonly warnings: string[];
  readonly notes: string[];
  readonly texts: Record<string, string>;
  readonly mends: Record<string, string>;
  readonly facts: Record<string, string>;
}

/** Runs the command with a port on which nobody listens. */
export async function examine(settings: Record<string, string>, ...flags: string[]): Promise<Report> {
  const { code, out, error } = await runCommand('doctor.ts', ['--json', ...flags], { PORT: String(await freePort()), ...settings });
  expect(error).toBe('');
  const { findings, facts, ...counts } = JSON.parse(out) as {
    findings: Found[];
    facts: { name: string; value: string }[];
    dangers: number;
    warnings: number;
    notes: number;
  };
  const of = (level: string): string[] => findings.filter((found) => found.level === level).map(({ kind }) => kind);
  const [dangers, warnings, notes] = [of('danger'), of('warning'), of('note')];
  expect(counts).toEqual({ dangers: dangers.length, warnings: warnings.length, notes: notes.length });
  return {
    ...{ code, findings, dangers, warnings, notes },
    texts: Object.fromEntries(findings.map(({ kind, text }) => [kind, text])),
    mends: Object.fromEntries(findings.map(({ kind, mend }) => [kind, mend])),
    facts: Object.fromEntries(facts.map(({ name, value }) => [name, value])),
  };
}
