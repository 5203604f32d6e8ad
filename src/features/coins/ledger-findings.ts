import type { Command, Finding } from '../../consistency/auditor.ts';

/** Most commands of a finding. The next audit gives the rest. */
const MOST_COMMANDS = 100;

/** The findings about one ledger by their kinds: one damage often shows at several entries. */
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

  /** Counts more findings of a kind that was found. */
  more(kind: string, count: number): void {
    this.#kinds.get(kind)!.more += count;
  }

  /** Adds commands to a kind that was found. */
  mend(kind: string, ...commands: readonly Command[]): void {
    this.#kinds.get(kind)!.commands.push(...commands);
  }

  /** All findings follow from one about another subject, if there is one. */
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
