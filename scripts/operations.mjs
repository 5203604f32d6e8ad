// Provides Prometheus (with promtool), nginx and Caddy for `npm run prove:operations`: from the distribution's packages, without
// root, in <project>/.cache/operations. Only that proof needs them. test/operations/programs.ts looks in the same place.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { download, unpack, withApt } from './apt.mjs';
import { SetupProblem, cache, diskIsFull, say } from './problem.mjs';

const home = join(cache, 'operations');
const programs = {
  prometheus: { file: 'usr/bin/prometheus', version: '--version' },
  promtool: { file: 'usr/bin/promtool', version: '--version' },
  nginx: { file: 'usr/sbin/nginx', version: '-v' },
  caddy: { file: 'usr/bin/caddy', version: 'version' },
};

export function operationsAreThere() {
  return Object.keys(programs).every((name) => existsSync(join(home, name)));
}

// Unpacks into a staging folder and renames it last, so an interrupted run leaves no folder that looks complete.
export function unpackOperations() {
  say("unpacking Prometheus, nginx and Caddy from the distribution's packages into .cache/operations …");
  const staging = join(cache, 'operations-unfinished');
  try {
    rmSync(staging, { recursive: true, force: true });
    mkdirSync(staging, { recursive: true });
    withApt(staging, (settings) => unpackAndCheck(staging, settings));
    for (const name of ['packages', 'apt']) rmSync(join(staging, name), { recursive: true });
    rmSync(home, { recursive: true, force: true });
    renameSync(staging, home);
  } catch (problem) {
    if (!(problem instanceof SetupProblem) || problem.message === diskIsFull) throw problem;
    throw new SetupProblem(
      `prove:operations needs the packages prometheus, nginx and caddy of Debian, which it unpacks by itself; ${problem.message}`,
    );
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

function unpackAndCheck(staging, settings) {
  const root = join(staging, 'root');
  rmSync(root, { recursive: true, force: true });
  download(settings, ['prometheus', 'nginx', 'caddy'], join(staging, 'packages'));
  unpack(join(staging, 'packages'), root);
  for (const [name, { file, version }] of Object.entries(programs)) {
    const script = `#!/bin/sh
here=$(dirname -- "$(readlink -f -- "$0")")
libraries=$here/root/usr/lib/x86_64-linux-gnu:$here/root/lib/x86_64-linux-gnu
export LD_LIBRARY_PATH="$libraries\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec "$here/root/${file}" "$@"
`;
    writeFileSync(join(staging, name), script, { mode: 0o755 });
    const run = spawnSync(join(staging, name), [version], { encoding: 'utf8' });
    if (run.status === 0) continue;
    throw new SetupProblem(`the distribution's ${name} does not run here: "${run.error?.message ?? run.stderr.trim().split('\n')[0]}"`);
  }
}
