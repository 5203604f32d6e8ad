import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { filesOf } from './copy.ts';
import type { Failure } from './first-failure.ts';
import type { Mistake } from './mistakes.ts';

/** What became of a mistake. */
export interface Catch {
  /** The first test that failed. Undefined: all tests passed. */
  readonly by?: Failure;
  /** From the first test run with the mistake until the test failed. */
  readonly seconds: number;
}

interface Kept extends Catch {
  /** The mistake, and the sources and tests with which it was planted. */
  readonly state: string;
}

/** Files on which the outcome depends. The proof itself does not count, so that one mistake can be drawn again without all others. */
const COUNTED = /\t(?:src|bench|scripts|docs|test(?!\/suite))\/|\t(?:package(?:-lock)?\.json|vitest\.config\.ts|README\.md)$/;

/** The outcomes so far, in a file, so that a proof that was stopped goes on with the next mistake. */
export class Catches {
  readonly #file: string;
  readonly #state: string;
  readonly #kept: Record<string, Kept>;

  /** @param commit of the files in which the mistakes are planted. Outcomes with other files do not count */
  constructor(file: string, commit: string) {
    this.#file = file;
    this.#state = filesOf(commit)
      .filter((line) => COUNTED.test(line))
      .join('\n');
    this.#kept = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Record<string, Kept>) : {};
  }

  of(mistake: Mistake): Catch | undefined {
    const kept = this.#kept[mistake.name];
    return kept?.state === this.#stateOf(mistake) ? kept : undefined;
  }

  keep(mistake: Mistake, found: Catch): void {
    this.#kept[mistake.name] = { ...found, state: this.#stateOf(mistake) };
    this.#write();
  }

  forget(mistake: Mistake): void {
    delete this.#kept[mistake.name];
    this.#write();
  }

  #write(): void {
    mkdirSync(dirname(this.#file), { recursive: true });
    writeFileSync(`${this.#file}.draft`, `${JSON.stringify(this.#kept, null, 2)}\n`);
    renameSync(`${this.#file}.draft`, this.#file);
  }

  #stateOf({ file, before, after }: Mistake): string {
    return createHash('sha256')
      .update(JSON.stringify([file, before, after, this.#state]))
      .digest('hex')
      .slice(0, 22);
  }
}
