// Provides Godot for `npm run prove:clients`. The first of these is used:
//
//   1. godot on the PATH, 4.4 or newer
//   2. <project>/.cache/godot/godot, which unpackGodot makes from packages of Debian's testing, without root. No released Debian has
//      Godot 4.4. It runs by the loader and the C library of testing, which are unpacked too.
//
// test/clients/godot.ts looks in the same places. Where Godot cannot be had, set-up says why and continues, and the proof names it as
// missing, which does not count as passed.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { download, testingSettings, unpack } from './apt.mjs';
import { SetupProblem, cache, diskIsFull, say } from './problem.mjs';

const home = join(cache, 'godot');

export function godotIsThere() {
  return existsSync(join(home, 'godot')) || runs('godot') === undefined;
}

// Unpacks into a staging folder and renames it last, so an interrupted run leaves no folder that looks complete.
export function unpackGodot() {
  say("unpacking Godot from packages of Debian's testing into .cache/godot …");
  const staging = join(cache, 'godot-unfinished');
  try {
    rmSync(staging, { recursive: true, force: true });
    mkdirSync(staging, { recursive: true });
    download(testingSettings(staging), ['godot'], join(staging, 'packages'), { withLibc: true });
    unpack(join(staging, 'packages'), join(staging, 'root'));
    writeLauncher(staging);
    const problem = runs(join(staging, 'godot'));
    if (problem) throw new SetupProblem(`testing's Godot does not run here: "${problem}"`);
    for (const name of ['packages', 'apt']) rmSync(join(staging, name), { recursive: true });
    rmSync(home, { recursive: true, force: true });
    renameSync(staging, home);
  } catch (problem) {
    if (!(problem instanceof SetupProblem) || problem.message === diskIsFull) throw problem;
    say(`the client in GDScript will not be tried: it needs Godot 4.4 or newer; ${problem.message}`);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

// Why this program is no Godot that the client supports, or undefined.
function runs(program) {
  const { status, error, stdout, stderr } = spawnSync(program, ['--headless', '--version'], { encoding: 'utf8', timeout: 60_000 });
  if (error) return error.message;
  const [, major, minor] = /^(\d+)\.(\d+)/m.exec(stdout) ?? [];
  if (status === 0 && Number(major) === 4 && Number(minor) >= 4) return undefined;
  return `${stderr}${stdout}`.trim().split('\n')[0];
}

// The loader of the same libc6 has to start the program, because the system's may be older. Pulseaudio keeps a library in a folder of its own.
function writeLauncher(folder) {
  const script = `#!/bin/sh
here=$(dirname -- "$(readlink -f -- "$0")")/root
lib=$here/usr/lib/x86_64-linux-gnu
exec "$lib/ld-linux-x86-64.so.2" --library-path "$lib:$lib/pulseaudio" "$here/usr/bin/godot" "$@"
`;
  writeFileSync(join(folder, 'godot'), script, { mode: 0o755 });
}
