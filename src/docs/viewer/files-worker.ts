import { readFileSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import { stripTypes } from '../../pages/strip-types.ts';

parentPort!.postMessage({
  style: readFileSync(new URL('style.css', import.meta.url), 'utf8'),
  script: stripTypes(readFileSync(new URL('../../pages/browser/docs.ts', import.meta.url), 'utf8'), 'transform'),
});
