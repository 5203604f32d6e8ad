import { readdirSync, readFileSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import { stripTypes } from './strip-types.ts';

const read = (file: string): string => readFileSync(new URL(file, import.meta.url), 'utf8');

const modules = readdirSync(new URL('browser/', import.meta.url))
  .filter((file) => file.endsWith('.ts'))
  .map((file) => {
    // Browsers get the modules under names of JavaScript.
    const text = stripTypes(read(`browser/${file}`)).replace(/((?:\bfrom |\bimport\()'\.\/[\w-]+)\.ts'/g, "$1.js'");
    return [file.replace(/ts$/, 'js'), text] as const;
  });

parentPort!.postMessage(Object.fromEntries(modules));
