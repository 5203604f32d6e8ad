import type { Command, Finding } from './auditor.ts';
import type { AuditCounts } from './counts.ts';

/**
 * The most findings that are kept until the end of the audit. When as many are kept, a further finding is reported at once, unless a kept
 * finding explains it.
 */
const MOST_HELD = 10_000;

/** The most commands of one finding. If a finding needs more commands, the operator runs these, and the next audit gives the rest. */
const MOST_COMMANDS = 200;

interface Held {
  readonly finding: Finding;
  /**
   * The commands of the finding, by the JSON of each command. Several checks may give commands against the same drift: the same command, or
   * different ones.
   */
  readonly commands: Map<string, Command>;
  consequences: number;
}

/**
 * The findings of an audit, which are kept until the end, because one check may find a consequence before another check finds its cause. At
 * the end each loss of data is reported once: equal findings are reported as one, and a finding that another finding explains is only
 * counted in the text of that other finding.
 */
export class Findings {
  readonly #counts: AuditCounts;
  readonly #report: (finding: Finding) => void;
  readonly #held = new Map<string, Held>();
  /** By subject, the first kept finding about the subject that has no `explainedBy`. */
  readonly #causes = new Map<string, Held>();
  #all = 0;

  /** @param report gets each reported finding once */
  constructor(counts: AuditCounts, report: (finding: Finding) => void) {
    this.#counts = counts;
    this.#report = report;
  }

  /** Number of different findings so far, including findings that another finding may explain at the end. */
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

  /** Reports the kept findings. */
  end(): void {
    const causes: Held[] = [];
    for (const held of this.#held.values()) {
      const cause = this.#causeOf(held);
      if (cause === undefined) causes.push(held);
      else cause.consequences++;
    }
    this.#counts.drift -= this.#held.size;
    // The findings with the most consequences come first.
    for (const held of causes.toSorted((one, other) => other.consequences - one.consequences)) this.#reportOne(held);
    this.#held.clear();
  }

  #causeOf(held: Held): Held | undefined {
    if (held.finding.followsFromAny === true) return this.#causes.values().find((cause) => cause.finding.followsFromAny !== true);
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
