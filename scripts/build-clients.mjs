// `npm run build:clients` writes the calls and types of the clients in other languages than TypeScript, from the OpenAPI document.
// With `--check` it writes nothing, and ends with exit code 1 if a file is not of the present document.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { model } from '../src/clients/model.mjs';
import * as csharp from '../src/clients/csharp/generate.mjs';
import { metas } from '../src/clients/csharp/metas.mjs';
import * as gdscript from '../src/clients/gdscript/generate.mjs';
import * as python from '../src/clients/python/generate.mjs';
import { project } from './problem.mjs';

const languages = { csharp, gdscript, python };

const made = Object.entries(languages).map(([name, { file, generated }]) => [join(name, file), () => generated(model())]);
// Unity ignores files without one.
for (const [name, text] of Object.entries(metas())) made.push([join('csharp', name), () => text]);

const stale = [];
for (const [name, make] of made) {
  const path = join(project, 'src/clients', name);
  const text = make();
  if (!process.argv.includes('--check')) writeFileSync(path, text);
  else if (!existsSync(path) || readFileSync(path, 'utf8') !== text) stale.push(path);
}
if (stale.length > 0) {
  console.error(`Not made from the present OpenAPI document: ${stale.join(', ')}. Run \`npm run build:clients\`.`);
  process.exitCode = 1;
}
