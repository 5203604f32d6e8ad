import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const project = dirname(dirname(fileURLToPath(import.meta.url)));

// The folder of set-up's own downloads. It is outside node_modules, because `npm ci` empties node_modules.
export const cache = join(project, '.cache');

// A problem that the user can solve. Set-up prints its message without a stack and ends with exit code 1.
export class SetupProblem extends Error {}

// Writes to stderr: the first line on stdout has to be the service's `coinop listening on …`.
export function say(line) {
  process.stderr.write(`coinop: ${line}\n`);
}

// Names both folders, because npm's cache folder may be on another disk.
export const diskIsFull = `a disk is full: set-up needs 500 MB in ${project}, for the tests 1500 MB, and some space in npm's cache folder. Free the space, then try again`;
