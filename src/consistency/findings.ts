import type { Command, Finding } from './auditor.ts';
import type { AuditCounts } from './counts.ts';

/** Most findings that wait for the end of the audit. A further finding is reported at once, unless a finding so far explains it. */
const MOST_HELD = 10_000;

/** Most commands of one finding. After they have run, the next audit gives the rest. */
const MOST_COMMANDS = 200;

interface Held {
  readonly finding: Finding;
  /** By their text: several checks may know different commands against the same drift, or the same one. */
  readonly commands: Map<string, Command>;
  consequences: number;
}

/**
 * The findings of an audit. It holds them back until the end, because a check may meet the consequence of a damage before another check
 * meets its cause. Then it reports each damage once: equal findings are one, and a finding that another one explains is counted there.
 */
export class Findings {
  readonly #counts: AuditCounts;
  readonly #report: (finding: Finding) => void;
  readonly #held = new Map<string, Held>();
  /** Held findings, by subject: the first finding of each subject that no other finding certainly explains. */
  readonly #causes = new Map<string, Held>();
  #all = 0;

  /** @param report receives each finding once */
  constructor(counts: AuditCounts, report: (finding: Finding) => void) {
    this.#counts = counts;
    this.#report = report;
  }

  /** Different findings so far, including findings that another one may yet explain. */
  get size(): number {
    return this.#all;
  }

  add(finding: Finding): void {
    const { kind, subject, text, commands = [], explainedBy = [] } = finding;
    const name = JSON.stringify([kind, subject, text]);
    const known = this.#held.get(name);
    if (known !== undefined) return addCommands(known, commands);
    this.#all++;
    const held: Held = { finding, commands: new Map(), consequences: 0 };
    addCommands(held, commands);
    if (this.#held.size < MOST_HELD) this.#held.set(name, held);
    else {
      const cause = this.#causeOf(held);
      if (cause === undefined) this.#reportOne(held);
      else cause.consequences++;
      return;
    }
    this.#counts.drift++;
    if (explainedBy.length === 0 && !this.#causes.has(subject)) this.#causes.set(subject, held);
  }

  /** Reports the held findings. */
  end(): void {
    const causes: Held[] = [];
    for (const held of this.#held.values()) {
      const cause = this.#causeOf(held);
      if (cause === undefined) causes.push(held);
      else cause.consequences++;
    }
    this.#counts.drift -= this.#held.size;
    // The findings that explain the most come first.
    for (const held of causes.toSorted((one, other) => other.consequences - one.consequences)) this.#reportOne(held);
    this.#held.clear();
  }

  #causeOf(held: Held): Held | undefined {
    const causes = (held.finding.explainedBy ?? []).flatMap((subject) => this.#causes.get(subject) ?? []);
    return causes.find((cause) => cause !== held);
  }

  #reportOne({ finding: { kind, subject, text }, commands, consequences }: Held): void {
    const more = consequences === 0 ? '' : ` ${consequences} more ${consequences === 1 ? 'finding follows' : 'findings follow'} from it.`;
    this.#counts.drift++;
    this.#report({ kind, subject, text: text + more, ...(commands.size === 0 ? {} : { commands: [...commands.values()] }) });
  }
}

function addCommands({ commands }: Held, more: readonly Command[]): void {
  for (const command of more) if (commands.size < MOST_COMMANDS) commands.set(JSON.stringify(command), command);
}
