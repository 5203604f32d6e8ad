import { readdirSync, readFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { stripTypes } from './strip-types.ts';

/** The folder with the modules, as a URL that ends with a slash. */
const folder = workerData as string;

const modules = readdirSync(new URL(folder))
  .filter((file) => file.endsWith('.ts'))
  .map((file) => {
    const source = stripTypes(readFileSync(new URL(file, folder), 'utf8'));
    // Browsers get all modules from one folder, with names that end with `.js`, so the imports are changed.
    const text = source.replace(/((?:\bfrom |\bimport\()')\.[./\w-]*\/([\w-]+)\.ts'/g, "$1./$2.js'");
    return [file.replace(/ts$/, 'js'), text] as const;
  });

parentPort!.postMessage(Object.fromEntries(modules));
