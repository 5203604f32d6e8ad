import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'coinop-lua-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Writes `<name>.lua` for `defineScript`. The file is removed after the tests of the test file. */
export function lua(name: string, text: string): URL {
  const path = join(folder, `${name}.lua`);
  writeFileSync(path, text);
  return pathToFileURL(path);
}
