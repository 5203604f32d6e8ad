import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inject } from 'vitest';

const folder = mkdtempSync(join(inject('notesDir'), 'lua-'));

/** Writes `<name>.lua` for `defineScript`. The file is deleted after the run. */
export function lua(name: string, text: string): URL {
  const path = join(folder, `${name}.lua`);
  writeFileSync(path, text);
  return pathToFileURL(path);
}
