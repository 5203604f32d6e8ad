import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const project = dirname(dirname(fileURLToPath(import.meta.url)));

// What setup fetches for itself. Not in node_modules, because `npm ci` empties that.
export const cache = join(project, '.cache');

// Something that the reader of the message can put right; it ends setup with exit code 1.
export class SetupProblem extends Error {}

// To stderr: stdout belongs to the service, whose first line there is its address.
export function say(line) {
  process.stderr.write(`coinop: ${line}\n`);
}

// npm unpacks through its cache folder, which may lie on another disk.
export const diskIsFull = `a disk is full: set-up needs 500 MB in ${project}, and some of it in npm's cache folder. Free them, then try again`;
