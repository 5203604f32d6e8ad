import { mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Copy, PROJECT } from './copy.ts';
import { endTests, firstFailure, type Failure, type TestRun } from './first-failure.ts';
import { mistakes, type Mistake } from './mistakes.ts';

const OUTCOMES = join(PROJECT, '.cache/prove-suite');

/**
 * Plants each mistake in a copy of the project, and runs tests until one fails: first those of its hints, then those of its feature, then
 * all of `npm test`. The failing file counts if it fails once more with the mistake, and passes without it. The output of the
 * tests goes to `.cache/prove-suite`.
 * @param names of mistakes. Default: all
 * @returns whether a test caught each mistake
 * @throws Error if the source no longer has the text of a mistake
 */
export async function provePlanted(names: readonly string[] | undefined): Promise<boolean> {
  const unknown = names?.filter((name) => !mistakes.some((mistake) => mistake.name === name)) ?? [];
  if (unknown.length > 0) throw new Error(`There is no mistake ${unknown.join(', ')}.`);
  const copy = new Copy();
  const end = (): void => {
    endTests();
    copy.remove();
    process.exit(1);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end);
  try {
    const wanted = mistakes.filter(({ name }) => names?.includes(name) ?? true);
    const outdated = wanted.flatMap((mistake) => copy.problemOf(mistake) ?? []);
    if (outdated.length > 0) throw new Error(`These mistakes must be drawn again:\n${outdated.join('\n')}`);
    mkdirSync(OUTCOMES, { recursive: true });
    return await plantAll(wanted, copy);
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeListener(signal, end);
    copy.remove();
  }
}

async function plantAll(wanted: readonly Mistake[], copy: Copy): Promise<boolean> {
  const proof = new PlantedProof(copy);
  // In Markdown.
  const [table, missed] = [['| mistake | caught by | seconds |', '|---|---|--:|'], [] as Mistake[]];
  for (const [index, mistake] of wanted.entries()) {
    console.log(`${index + 1}/${wanted.length} ${mistake.name}: ${mistake.harm}`);
    const beganAt = performance.now();
    const found = await proof.plant(mistake);
    const seconds = Math.round((performance.now() - beganAt) / 1000);
    if (found === undefined) missed.push(mistake);
    const caught = found === undefined ? '**not caught**' : nameOf(found);
    console.log(`  ${caught}, ${seconds} s`);
    table.push(`| ${mistake.name} | ${caught.replaceAll('|', '\\|')} | ${seconds} |`);
  }
  console.log(`\n${table.join('\n')}\n\n${wanted.length - missed.length} of ${wanted.length} planted mistakes were caught.`);
  for (const { name, file, harm } of missed) console.log(`! ${name} (${file}): ${harm}`);
  return missed.length === 0;
}

type Run = Pick<TestRun, 'projects' | 'files'>;

class PlantedProof {
  readonly #copy: Copy;
  /** Whether a file passes without a mistake. */
  readonly #isSound = new Map<string, boolean>();

  constructor(copy: Copy) {
    this.#copy = copy;
  }

  /** @returns what caught it */
  async plant(mistake: Mistake): Promise<Failure | undefined> {
    const log = join(OUTCOMES, `${mistake.name}.log`);
    rmSync(log, { force: true });
    let by: Failure | undefined;
    for (const run of this.#runsOf(mistake)) by ??= await this.#catchIn(run, mistake, log);
    return by;
  }

  /** The first test that fails with the mistake each time, and passes without it. */
  async #catchIn(run: Run, mistake: Mistake, log: string): Promise<Failure | undefined> {
    const doubted: string[] = [];
    const failureOf = (some: Run): Promise<Failure | undefined> => {
      const without = [...doubted, ...[...this.#isSound].flatMap(([file, isSound]) => (isSound ? [] : [file]))];
      return firstFailure({ folder: this.#copy.folder, ...some, without, log });
    };
    for (;;) {
      const restore = this.#copy.plant(mistake);
      let [found, again]: (Failure | undefined)[] = [];
      try {
        found = await failureOf(run);
        if (found === undefined) return undefined;
        // The files of `closing` judge a whole run.
        if (found.file === '' || found.file.startsWith('test/closing/')) return found;
        again = await failureOf({ ...run, files: [found.file] });
      } finally {
        restore();
      }
      const { file } = found;
      if (again !== undefined && !this.#isSound.has(file))
        this.#isSound.set(file, (await failureOf({ ...run, files: [file] })) === undefined);
      if (again !== undefined && this.#isSound.get(file) === true) return again;
      doubted.push(file);
      const why = again === undefined ? 'passes with the mistake' : 'fails without the mistake';
      console.log(`  does not count, because it ${why} too: ${nameOf(found)}`);
    }
  }

  /** The runs of a mistake, the most promising first. */
  #runsOf({ file, hints = [], runs }: Mistake): Run[] {
    const there = hints.filter((hint) => this.#copy.has(hint));
    for (const hint of hints) if (!there.includes(hint)) console.log(`  the hint ${hint} does not exist`);
    const own = { projects: [runs ?? 'coinop'] };
    // The folder of tests that mirrors the folder of the source file.
    let folder = dirname(file).replace(/^src/, 'test');
    while (!this.#copy.has(folder)) folder = dirname(folder);
    return [
      ...(there.length === 0 ? [] : [{ ...own, files: there }]),
      ...(there.includes(`${folder}/`) || folder === 'test' ? [] : [{ ...own, files: [`${folder}/`] }]),
      ...[{}, ...(runs === 'long' ? [own] : [])],
    ];
  }
}

function nameOf({ file, title }: Failure): string {
  return `${file} › ${title}`;
}
