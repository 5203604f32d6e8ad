import { mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Catches, type Catch } from './catches.ts';
import { Copy, PROJECT } from './copy.ts';
import { endTests, firstFailure, type Failure, type TestRun } from './first-failure.ts';
import { mistakes, type Mistake } from './mistakes.ts';

export interface PlantedOptions {
  /** Names of mistakes. Default: all. */
  readonly names?: readonly string[] | undefined;
  /** Test files that run at the same time. */
  readonly workers?: string | undefined;
  /** Whether mistakes that are in the file of outcomes are planted again. */
  readonly again: boolean;
}

const OUTCOMES = join(PROJECT, '.cache/prove-suite');

/**
 * Plants each mistake in a copy of the project, and runs tests until one fails: first those of its hints, then those of its feature, then
 * all of `npm test`. The failing file must pass without the mistake, else it proves nothing. The outcomes go to
 * `.cache/prove-suite/planted.json`; a proof that was stopped goes on after the last one.
 * @returns whether a test caught each mistake
 * @throws Error if the source no longer has the text of a mistake
 */
export async function provePlanted({ names, workers, again }: PlantedOptions): Promise<boolean> {
  const unknown = names?.filter((name) => !mistakes.some((mistake) => mistake.name === name)) ?? [];
  if (unknown.length > 0) throw new Error(`There is no mistake ${unknown.join(', ')}.`);
  const wanted = mistakes.filter(({ name }) => names?.includes(name) ?? true);
  const copy = new Copy();
  const end = (): void => {
    endTests();
    copy.remove();
    process.exit(1);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end);
  try {
    const outdated = wanted.flatMap((mistake) => copy.problemOf(mistake) ?? []);
    if (outdated.length > 0) throw new Error(`These mistakes must be drawn again:\n${outdated.join('\n')}`);
    mkdirSync(OUTCOMES, { recursive: true });
    const catches = new Catches(join(OUTCOMES, 'planted.json'), copy.commit);
    if (again) for (const mistake of wanted) catches.forget(mistake);
    const proof = new PlantedProof(copy, workers);
    for (const [index, mistake] of wanted.entries()) {
      const place = `${index + 1}/${wanted.length} ${mistake.name}`;
      const known = catches.of(mistake);
      if (known !== undefined) {
        console.log(`${place}: known, ${textOf(known)}`);
        continue;
      }
      console.log(`${place}: ${mistake.harm}`);
      const found = await proof.plant(mistake);
      catches.keep(mistake, found);
      console.log(`  ${textOf(found)}`);
    }
    const rows = wanted.map((mistake) => ({ mistake, found: catches.of(mistake)! }));
    console.log(`\n${tableOf(rows)}`);
    const missed = rows.filter(({ found }) => found.by === undefined);
    console.log(`\n${rows.length - missed.length} of ${rows.length} planted mistakes were caught.`);
    for (const { mistake } of missed) console.log(`! ${mistake.name} (${mistake.file}): ${mistake.harm}`);
    return missed.length === 0;
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeListener(signal, end);
    copy.remove();
  }
}

class PlantedProof {
  readonly #copy: Copy;
  readonly #workers: string | undefined;
  /** Files that pass without a mistake, and files that fail without one. */
  readonly #sound = new Set<string>();
  readonly #unsound = new Set<string>();

  constructor(copy: Copy, workers: string | undefined) {
    this.#copy = copy;
    this.#workers = workers;
  }

  async plant(mistake: Mistake): Promise<Catch> {
    const log = join(OUTCOMES, `${mistake.name}.log`);
    rmSync(log, { force: true });
    const beganAt = performance.now();
    for (const run of this.#runsOf(mistake)) {
      for (;;) {
        const restore = this.#copy.plant(mistake);
        const by = await this.#firstFailure(run, log).finally(restore);
        const seconds = Math.round((performance.now() - beganAt) / 1000);
        if (by === undefined) break;
        if (await this.#passesWithout(by, run, log)) return { by, seconds };
        console.log(`  ${by.file} fails without the mistake too, and does not count: ${by.title}`);
      }
    }
    return { seconds: Math.round((performance.now() - beganAt) / 1000) };
  }

  /** The runs of a mistake, the most promising first. */
  #runsOf({ file, hints, runs }: Mistake): Pick<TestRun, 'projects' | 'files'>[] {
    const there = hints.filter((hint) => this.#copy.has(hint));
    for (const hint of hints) if (!there.includes(hint)) console.log(`  the hint ${hint} does not exist`);
    const own = { projects: [...(runs === undefined ? ['coinop', 'mocking'] : [runs])] };
    const related = this.#testsOf(file);
    return [
      ...(there.length === 0 ? [] : [{ ...own, files: there }]),
      ...(there.includes(related) ? [] : [{ projects: ['coinop', 'mocking'], files: [related] }]),
      {},
      ...(runs === 'long' ? [own] : []),
    ];
  }

  /** The folder of tests that mirrors the folder of a source file. */
  #testsOf(file: string): string {
    let folder = dirname(file).replace(/^src/, 'test');
    while (!this.#copy.has(folder)) folder = dirname(folder);
    return `${folder}/`;
  }

  #firstFailure(run: Pick<TestRun, 'projects' | 'files'>, log: string): Promise<Failure | undefined> {
    return firstFailure({ folder: this.#copy.folder, ...run, without: [...this.#unsound], workers: this.#workers, log });
  }

  /** Whether the file of a failure passes without the mistake. Files of `closing` judge a whole run, and cannot run alone. */
  async #passesWithout({ file }: Failure, { projects }: Pick<TestRun, 'projects'>, log: string): Promise<boolean> {
    if (file === '' || file.startsWith('test/closing/') || this.#sound.has(file)) return true;
    const failed = await this.#firstFailure({ ...(projects === undefined ? {} : { projects }), files: [file] }, log);
    (failed === undefined ? this.#sound : this.#unsound).add(file);
    return failed === undefined;
  }
}

function textOf({ by, seconds }: Catch): string {
  return by === undefined ? `not caught, ${seconds} s` : `caught by ${by.file} › ${by.title}, ${seconds} s`;
}

/** In Markdown. */
function tableOf(rows: readonly { readonly mistake: Mistake; readonly found: Catch }[]): string {
  const lines = rows.map(({ mistake, found: { by, seconds } }) => {
    const caught = by === undefined ? '**not caught**' : `${by.file} › ${by.title}`;
    return `| ${mistake.name} | ${caught.replaceAll('|', '\\|')} | ${seconds} |`;
  });
  return ['| mistake | caught by | seconds |', '|---|---|--:|', ...lines].join('\n');
}
