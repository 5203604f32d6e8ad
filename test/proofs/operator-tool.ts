import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from '../environment.ts';

const ADMIN = fileURLToPath(new URL('../../src/commands/admin.ts', import.meta.url));

/** Makes a change with the operator's tool. @returns the JSON that it prints */
// oxlint-disable-next-line no-explicit-any
export function operate(words: readonly string[], settings: Record<string, string>): any {
  const flags = ['--yes', '--json', '--by', 'prove'];
  return JSON.parse(execFileSync(process.execPath, [ADMIN, ...words, ...flags], { env: childEnvironment(settings), encoding: 'utf8' }));
}
