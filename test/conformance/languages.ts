import { fileURLToPath } from 'node:url';
import type { Language } from './play.ts';

const pathOf = (name: string): string => fileURLToPath(new URL(`drivers/${name}`, import.meta.url));

/** The languages in which there is a client, and the command that starts the driver of each. */
export const languages: readonly Language[] = [
  { name: 'javascript', command: [process.execPath, pathOf('javascript.ts')] },
  { name: 'python', command: ['python3', pathOf('python.py')] },
];
