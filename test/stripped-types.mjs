import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { fileURLToPath } from 'node:url';

/**
 * Loaded into the processes that tests start (`environment.ts`). Node strips the types of all 600 modules at each start of a process,
 * which is a third of its CPU time: this keeps the JavaScript of each version of a file in `.cache/stripped`.
 */
const folder = new URL('../.cache/stripped/', import.meta.url);
mkdirSync(folder, { recursive: true });

registerHooks({
  load(url, context, nextLoad) {
    if (!/^file:.*\.ts$/.test(url) || url.includes('/node_modules/')) return nextLoad(url, context);
    const path = fileURLToPath(url);
    const { mtimeMs, size } = statSync(path);
    const kept = new URL(createHash('sha1').update(`${process.version} ${path} ${mtimeMs} ${size}`).digest('hex'), folder);
    return { format: 'module', source: keptText(kept) ?? keep(kept, strip(readFileSync(path, 'utf8'))), shortCircuit: true };
  },
});

function keptText(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/** Another process may keep the same file at the same time, or read it. */
function keep(file, text) {
  const own = new URL(`${file.href}.${process.pid}`);
  writeFileSync(own, text);
  renameSync(own, file);
  return text;
}

/** As `src/web/strip-types.ts`: without the warning that the function is experimental, which would stand in the output that tests read. */
function strip(source) {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(source);
  } finally {
    process.emitWarning = emitWarning;
  }
}
