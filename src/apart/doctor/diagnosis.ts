export type Level = 'danger' | 'warning' | 'note';

/** A problem that the operator should know of or solve. */
export interface Finding {
  readonly level: Level;
  /** The name of the kind of problem, such as `eviction`. It never changes: programs may compare it. */
  readonly kind: string;
  /** The problem, as a sentence. */
  readonly text: string;
  /** The damage that the problem could do. */
  readonly cost: string;
  /** The remedy: a command, a setting, or a page to read. */
  readonly mend: string;
  /** The nodes of a Cluster on which the problem was found. */
  readonly where?: readonly string[];
}

/** A fact about the service or its surroundings, whether or not it is a problem. */
export interface Fact {
  readonly name: string;
  readonly value: string;
}

/** The remedy for a service that refuses the data in Redis. */
export const BRING_BACK =
  'Bring the data back; or accept what is there: npm run admin -- data accept (docs/operating.md#data-that-is-gone)';

const LEVELS: readonly Level[] = ['danger', 'warning', 'note'];

/** Collects the findings and facts of an examination. */
export class Diagnosis {
  readonly facts: Fact[] = [];
  readonly #findings: Finding[] = [];

  fact(name: string, value: string): void {
    this.facts.push({ name, value });
  }

  find(level: Level, kind: string, { text, cost, mend }: { text: string; cost: string; mend: string }, node?: string): void {
    const same = this.#findings.findIndex((found) => found.kind === kind && found.text === text);
    const found = this.#findings[same];
    if (found === undefined) this.#findings.push({ level, kind, text, cost, mend, ...(node === undefined ? {} : { where: [node] }) });
    else if (node !== undefined) this.#findings[same] = { ...found, where: [...(found.where ?? []), node] };
  }

  /** The findings, the worst first. */
  get findings(): readonly Finding[] {
    return this.#findings.toSorted((one, other) => LEVELS.indexOf(one.level) - LEVELS.indexOf(other.level));
  }

  count(level: Level): number {
    return this.#findings.filter((found) => found.level === level).length;
  }
}

/** The report as text for the operator's terminal. */
export function textOf(diagnosis: Diagnosis): string {
  const width = Math.max(0, ...diagnosis.facts.map(({ name }) => name.length));
  const facts = diagnosis.facts.map(({ name, value }) => `${name.padEnd(width)}  ${printable(value)}\n`);
  const findings = diagnosis.findings.map(({ level, kind, text, cost, mend, where }) => {
    const places = where === undefined ? '' : ` On ${where.join(', ')}.`;
    return `\n${level.padEnd(9)}${printable(text + places)} (${kind})\n         Cost: ${printable(cost)}\n         Mend: ${printable(mend)}\n`;
  });
  const counts = LEVELS.map((level) => {
    const count = diagnosis.count(level);
    return `${count === 0 ? 'no' : count} ${level}${count === 1 ? '' : 's'}`;
  });
  return `${facts.join('')}${findings.join('')}\n${counts.join(', ')}.\n`;
}

export function jsonOf(diagnosis: Diagnosis): string {
  const { facts, findings } = diagnosis;
  const [dangers, warnings, notes] = LEVELS.map((level) => diagnosis.count(level));
  return `${JSON.stringify({ dangers, warnings, notes, findings, facts }, undefined, 2)}\n`;
}

/** The text without its control characters. Some texts come from Redis or the network, and must not control the terminal. */
function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}]/gu, '?');
}
