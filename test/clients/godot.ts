import { spawnSync } from 'node:child_process';
import { appendFileSync, cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from '../environment.ts';

const unpacked = fileURLToPath(new URL('../../.cache/godot/godot', import.meta.url));
const client = fileURLToPath(new URL('../../src/clients/gdscript', import.meta.url));

/** The program of Godot: what `scripts/godot.mjs` has unpacked, or the machine's own. */
export const godot = existsSync(unpacked) ? unpacked : 'godot';

/** The command that runs a script with the client. */
export const inGodot = (script: string, project = client): string[] => [
  ...[godot, '--headless', '--no-header', '--path', project, '--script', script, '--'],
];

/** Makes a folder a project with the addon, as a game has it. Godot finds the names of classes only after an import. */
export function makeGodotProject(folder: string, url: string): void {
  for (const name of ['project.godot', 'addons']) cpSync(join(client, name), join(folder, name), { recursive: true });
  appendFileSync(join(folder, 'project.godot'), `\n[coinop]\n\nurl="${url}"\n`);
  const run = spawnSync(godot, ['--headless', '--path', folder, '--import'], {
    ...{ env: childEnvironment({ HOME: folder }), encoding: 'utf8' as const, timeout: 300_000 },
  });
  if (run.status !== 0) throw new Error(run.error?.message ?? run.stderr);
}
