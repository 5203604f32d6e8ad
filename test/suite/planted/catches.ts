import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { filesOf } from './copy.ts';
import type { Failure } from './first-failure.ts';
import type { Mistake } from './mistakes.ts';

/** What became of a mistake. */
export interface Catch {
  /** The first test that failed. Undefined: all tests passed. */
  readonly by?: Failure | undefined;
  /** From the first test run with the mistake until the test failed. */
  readonly seconds: number;
}

/** Files on which the outcome depends. The proof itself does not count, so that one mistake can be drawn again without all others. */
const COUNTED = /\t(?:src|bench|scripts|docs|test(?!\/suite))\/|\t(?:package(?:-lock)?\.json|vitest\.config\.ts|README\.md)$/;

/** The outcomes so far, in a file, so that a proof that was stopped goes on with the next mistake. */
export class Catches {
  readonly #file: string;
  readonly #sources: string;
  /** By the mistake, and the sources and tests with which it was planted. */
  readonly #kept: Record<string, Catch>;

  /** @param commit of the files in which the mistakes are planted. Outcomes with other files do not count */
  constructor(file: string, commit: string) {
    this.#file = file;
    const counted = filesOf(commit).filter((line) => COUNTED.test(line));
    this.#sources = counted.join('\n');
    this.#kept = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Record<string, Catch>) : {};
  }

  of(mistake: Mistake): Catch | undefined {
    return this.#kept[this.#stateOf(mistake)];
  }

  keep(mistake: Mistake, found: Catch): void {
    this.#kept[this.#stateOf(mistake)] = found;
    writeFileSync(`${this.#file}.draft`, `${JSON.stringify(this.#kept, null, 2)}\n`);
    renameSync(`${this.#file}.draft`, this.#file);
  }

  #stateOf({ name, file, before, after }: Mistake): string {
    const hash = createHash('sha256').update(JSON.stringify([file, before, after, this.#sources]));
    return `${name} ${hash.digest('hex').slice(0, 22)}`;
  }
}
