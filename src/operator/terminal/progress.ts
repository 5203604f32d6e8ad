/** Milliseconds between two lines. */
const EVERY_MS = 1000;

/** Reports the progress of long work on accounts, one line per second, on standard error. */
export class Progress {
  readonly #verb: string;
  readonly #all: number;
  readonly #startedAt = performance.now();
  #toldAt = performance.now();

  /** @param verb the beginning of each line: `Granted to` */
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
