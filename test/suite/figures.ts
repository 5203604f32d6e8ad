import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inheritedEnvironment } from '../environment.ts';
import { PROJECT } from './planted/copy.ts';

/** What `npm test` may take on two quiet cores, its type check, lint and format included. */
const LIMITS = { seconds: 190, cpuSeconds: 300 };

/** Runs `npm test` and prints how long it took, and how much code the tests are. @returns whether it passed within the limits */
export async function proveFigures(): Promise<boolean> {
  const { status, stderr } = spawnSync('bash', ['-c', "TIMEFORMAT='%R %U %S'; time npm test >&3 2>&3"], {
    cwd: PROJECT,
    env: inheritedEnvironment({}),
    stdio: ['ignore', 'inherit', 'pipe', 1],
    encoding: 'utf8',
  });
  const [seconds = NaN, user = NaN, system = NaN] = stderr.trim().split('\n').at(-1)!.split(' ').map(Number);
  const cpuSeconds = user + system;
  console.log(`npm test ended with ${status} after ${seconds.toFixed(0)} s and ${cpuSeconds.toFixed(0)} s of CPU;`);
  console.log(`on two quiet cores it may take ${LIMITS.seconds} s and ${LIMITS.cpuSeconds} s of CPU.`);
  for (const folder of ['src', 'test']) {
    const { lines, tokens } = sizeOf(folder);
    console.log(`${folder}: ${lines} lines of code, ${tokens} tokens`);
  }
  return status === 0 && seconds <= LIMITS.seconds && cpuSeconds <= LIMITS.cpuSeconds;
}

/** Of the TypeScript files: lines that are neither blank nor of a comment, and the words and signs of these lines. */
function sizeOf(folder: string): { lines: number; tokens: number } {
  const lines = globSync(`${folder}/**/*.ts`, { cwd: PROJECT })
    .flatMap((path) => readFileSync(join(PROJECT, path), 'utf8').split('\n'))
    .filter((line) => !/^\s*(\/\/|\/?\*|$)/.test(line));
  return { lines: lines.length, tokens: lines.join('\n').match(/\w+|[^\s\w]/g)?.length ?? 0 };
}
