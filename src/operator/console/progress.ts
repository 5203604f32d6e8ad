/** Milliseconds between two lines. */
const EVERY_MS = 1000;

/** Tells on standard error how far long work on accounts is, a line a second. */
export class Progress {
  readonly #verb: string;
  readonly #all: number;
  readonly #startedAt = performance.now();
  #toldAt = performance.now();

  /** @param verb begins the lines: `Granted to` */
  constructor(verb: string, all: number) {
    this.#verb = verb;
    this.#all = all;
  }

  at(count: number): void {
    const now = performance.now();
    if (now - this.#toldAt < EVERY_MS) return;
    this.#toldAt = now;
    const perSecond = Math.round((count * 1000) / (now - this.#startedAt));
    process.stderr.write(`${this.#verb} ${count} of ${this.#all} accounts, ${perSecond} a second\n`);
  }
}
