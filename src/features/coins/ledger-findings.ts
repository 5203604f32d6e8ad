import type { Command, Finding } from '../../consistency/auditor.ts';

/** The most commands that a finding offers. The next audit gives the rest. */
const MOST_COMMANDS = 100;

/** The findings about one ledger, at most one of each kind, because one fault often affects several entries. */
export class LedgerFindings {
  readonly subject: string;
  readonly #kinds = new Map<string, { readonly text: string; readonly commands: Command[]; more: number }>();
  #explainedBy: readonly string[] | undefined;

  constructor(subject: string) {
    this.subject = subject;
  }

  has(kind: string): boolean {
    return this.#kinds.has(kind);
  }

  find(kind: string, text: string, commands: readonly Command[] = []): void {
    const known = this.#kinds.get(kind);
    if (known === undefined) this.#kinds.set(kind, { text, commands: [...commands], more: 0 });
    else {
      known.more++;
      known.commands.push(...commands);
    }
  }

  /** Adds to the number of findings of a kind that was found before. */
  more(kind: string, count: number): void {
    this.#kinds.get(kind)!.more += count;
  }

  /** Adds commands to the finding of a kind that was found before. */
  mend(kind: string, ...commands: readonly Command[]): void {
    this.#kinds.get(kind)!.commands.push(...commands);
  }

  /**
   * Marks all findings as consequences of a finding about another subject. If the audit has a finding about that subject, it reports only
   * that finding, with the number of the findings that follow from it.
   */
  explainBy(subject: string): void {
    this.#explainedBy = [subject];
  }

  all(): Finding[] {
    return [...this.#kinds].map(([kind, { text, commands, more }]) => ({
      kind,
      subject: this.subject,
      text: more === 0 ? text : `${text} The same holds for ${more} more.`,
      commands: commands.slice(0, MOST_COMMANDS),
      ...(this.#explainedBy === undefined ? {} : { explainedBy: this.#explainedBy }),
    }));
  }
}
