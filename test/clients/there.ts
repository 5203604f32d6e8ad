import { spawnSync } from 'node:child_process';
import { childEnvironment } from '../environment.ts';
import type { Stand } from '../proofs/proof.ts';

/** Whether a program can be had. Otherwise the run says so, and has not passed. */
export function isThere({ figures }: Pick<Stand, 'figures'>, what: string, program: string): boolean {
  const { status } = spawnSync(program, ['--version'], { env: childEnvironment({}), stdio: 'ignore' });
  if (status !== 0) figures.report(`${what}: not run, because \`${program} --version\` does not work here`, 'no', 'yes', false);
  return status === 0;
}
