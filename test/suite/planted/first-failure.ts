import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, rmSync } from 'node:fs';
import { relative } from 'node:path';
import { inheritedEnvironment } from '../../environment.ts';

/** A test that fails. */
export interface Failure {
  readonly file: string;
  readonly title: string;
}

export interface TestRun {
  /** The root of the project whose tests run. */
  readonly folder: string;
  /** Projects of vitest. Default: those of `npm test`. */
  readonly projects?: readonly string[];
  /** Parts of the paths of the files. Default: all files. */
  readonly files?: readonly string[];
  /** Files that do not run. */
  readonly without?: readonly string[];
  /** Gets the output of vitest. */
  readonly log: string;
}

/** A run that takes longer hangs: `npm test` takes 8 minutes on two idle cores. */
const LONGEST_MS = 40 * 60_000;

/** The part of vitest's JSON report that is read. */
interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string; readonly startTime?: number }[];
  }[];
}

/** The processes of the run under way. */
let group: number | undefined;

/** Runs tests until the first one fails. Undefined: none failed. @throws Error if vitest could not run */
export async function firstFailure(run: TestRun): Promise<Failure | undefined> {
  const { folder, projects = ['coinop', 'cluster', 'closing'], files = [], without = [], log } = run;
  const report = `${log}.json`;
  rmSync(report, { force: true });
  const args = [
    ...['node_modules/vitest/vitest.mjs', 'run', '--bail=1', '--passWithNoTests'],
    ...projects.map((project) => `--project=${project}`),
    ...without.map((file) => `--exclude=${file}`),
    ...['--reporter=default', '--reporter=json', `--outputFile.json=${report}`],
    ...files,
  ];
  const output = openSync(log, 'a');
  const vitest = spawn(process.execPath, args, {
    cwd: folder,
    env: inheritedEnvironment({ NO_COLOR: '1', TEST_LONG: projects.includes('long') ? 'on' : 'off' }),
    stdio: ['ignore', output, output],
    // The run has a process group, so that one signal ends it with all its child processes.
    detached: true,
  });
  group = vitest.pid;
  const timer = setTimeout(endTests, LONGEST_MS);
  const [code, signal] = (await once(vitest, 'close')) as [number | null, string | null];
  clearTimeout(timer);
  group = undefined;
  closeSync(output);
  if (signal !== null) return { file: '', title: 'the tests did not end' };
  if (code === 0) return undefined;
  if (!existsSync(report)) throw new Error(`vitest ended with code ${code} and without a report: see ${log}`);
  return failureIn(JSON.parse(readFileSync(report, 'utf8')) as Report, folder);
}

/** Ends the run under way, with all processes that it started. */
export function endTests(): void {
  if (group !== undefined) process.kill(-group, 'SIGKILL');
}

function failureIn({ testResults }: Report, folder: string): Failure {
  const broken = testResults
    .filter(({ status }) => status === 'failed')
    .map(({ name }) => ({ name, status: 'failed', fullName: 'the file fails outside of its tests', startTime: Infinity }));
  const failed = testResults.flatMap(({ name, assertionResults }) => assertionResults.map((test) => ({ name, startTime: 0, ...test })));
  const [first] = [...failed, ...broken]
    .filter(({ status }) => status === 'failed')
    .toSorted((one, other) => one.startTime - other.startTime);
  return first === undefined
    ? { file: '', title: 'an error outside of all files' }
    : { file: relative(folder, first.name), title: first.fullName };
}
