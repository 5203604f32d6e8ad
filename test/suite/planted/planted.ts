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
  /** Whether only the tests of the hints and of the feature run. A mistake that they do not catch has no outcome yet. */
  readonly near: boolean;
}

const OUTCOMES = join(PROJECT, '.cache/prove-suite');

/**
 * Plants each mistake in a copy of the project, and runs tests until one fails: first those of its hints, then those of its feature, then
 * all of `npm test`. The failing file counts if it fails once more with the mistake, and passes without it. The outcomes go to
 * `.cache/prove-suite/planted.json`; a proof that was stopped goes on after the last one.
 * @returns whether a test caught each mistake
 * @throws Error if the source no longer has the text of a mistake
 */
export async function provePlanted({ names, workers, again, near }: PlantedOptions): Promise<boolean> {
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
    const proof = new PlantedProof(copy, workers, near);
    for (const [index, mistake] of wanted.entries()) {
      const place = `${index + 1}/${wanted.length} ${mistake.name}`;
      const known = catches.of(mistake);
      if (known !== undefined) {
        console.log(`${place}: known, ${textOf(known)}`);
        continue;
      }
      console.log(`${place}: ${mistake.harm}`);
      const found = await proof.plant(mistake);
      if (!near || found.by !== undefined) catches.keep(mistake, found);
      console.log(`  ${textOf(found)}`);
    }
    const rows = wanted.map((mistake) => ({ mistake, found: catches.of(mistake) ?? { seconds: 0 } }));
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

type Run = Pick<TestRun, 'projects' | 'files'>;

class PlantedProof {
  readonly #copy: Copy;
  readonly #workers: string | undefined;
  readonly #isNear: boolean;
  /** Files that pass without a mistake, and files that fail without one. */
  readonly #sound = new Set<string>();
  readonly #unsound = new Set<string>();

  constructor(copy: Copy, workers: string | undefined, isNear: boolean) {
    this.#copy = copy;
    this.#workers = workers;
    this.#isNear = isNear;
  }

  async plant(mistake: Mistake): Promise<Catch> {
    const log = join(OUTCOMES, `${mistake.name}.log`);
    rmSync(log, { force: true });
    const beganAt = performance.now();
    const catchAfter = (by?: Failure): Catch => ({
      ...(by === undefined ? {} : { by }),
      seconds: Math.round((performance.now() - beganAt) / 1000),
    });
    for (const run of this.#runsOf(mistake)) {
      const by = await this.#catchIn(run, mistake, log);
      if (by !== undefined) return catchAfter(by);
    }
    return catchAfter();
  }

  /** The first test that fails with the mistake each time, and passes without it. */
  async #catchIn(run: Run, mistake: Mistake, log: string): Promise<Failure | undefined> {
    const doubted: string[] = [];
    for (;;) {
      const restore = this.#copy.plant(mistake);
      let [found, again]: (Failure | undefined)[] = [];
      try {
        found = await this.#firstFailure(run, log, doubted);
        if (found === undefined) return undefined;
        again = runsAlone(found) ? await this.#firstFailure({ ...run, files: [found.file] }, log) : found;
      } finally {
        restore();
      }
      if (again !== undefined && (await this.#passesWithout(again, run, log))) return again;
      doubted.push(found.file);
      console.log(
        `  does not count, because it ${again === undefined ? 'passes with the mistake' : 'fails without the mistake'} too: ${nameOf(found)}`,
      );
    }
  }

  /** The runs of a mistake, the most promising first. */
  #runsOf({ file, hints, runs }: Mistake): Run[] {
    const there = hints.filter((hint) => this.#copy.has(hint));
    for (const hint of hints) if (!there.includes(hint)) console.log(`  the hint ${hint} does not exist`);
    const own = { projects: [...(runs === undefined ? ['coinop', 'mocking'] : [runs])] };
    const related = this.#testsOf(file);
    return [
      ...(there.length === 0 ? [] : [{ ...own, files: there }]),
      ...(there.includes(related) || related === 'test/' ? [] : [{ projects: ['coinop', 'mocking'], files: [related] }]),
      ...(this.#isNear ? [] : [{}, ...(runs === 'long' ? [own] : [])]),
    ];
  }

  /** The folder of tests that mirrors the folder of a source file. */
  #testsOf(file: string): string {
    let folder = dirname(file).replace(/^src/, 'test');
    while (!this.#copy.has(folder)) folder = dirname(folder);
    return `${folder}/`;
  }

  #firstFailure(run: Run, log: string, doubted: readonly string[] = []): Promise<Failure | undefined> {
    return firstFailure({ folder: this.#copy.folder, ...run, without: [...this.#unsound, ...doubted], workers: this.#workers, log });
  }

  async #passesWithout(failure: Failure, run: Run, log: string): Promise<boolean> {
    const { file } = failure;
    if (!runsAlone(failure) || this.#sound.has(file)) return true;
    const failed = await this.#firstFailure({ ...run, files: [file] }, log);
    (failed === undefined ? this.#sound : this.#unsound).add(file);
    return failed === undefined;
  }
}

/** Whether the file of a failure can run alone. Those of `closing` judge a whole run. */
function runsAlone({ file }: Failure): boolean {
  return file !== '' && !file.startsWith('test/closing/');
}

function nameOf({ file, title }: Failure): string {
  return `${file} › ${title}`;
}

function textOf({ by, seconds }: Catch): string {
  return by === undefined ? `not caught, ${seconds} s` : `caught by ${nameOf(by)}, ${seconds} s`;
}

/** In Markdown. */
function tableOf(rows: readonly { readonly mistake: Mistake; readonly found: Catch }[]): string {
  const lines = rows.map(({ mistake, found: { by, seconds } }) => {
    const caught = by === undefined ? '**not caught**' : nameOf(by);
    return `| ${mistake.name} | ${caught.replaceAll('|', '\\|')} | ${seconds} |`;
  });
  return ['| mistake | caught by | seconds |', '|---|---|--:|', ...lines].join('\n');
}
