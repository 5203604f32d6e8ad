// Debian's packages, downloaded and unpacked by apt-get and dpkg-deb into folders of ours. That takes no root and
// changes nothing on the system: its package lists, its archive folder and its held packages stay as they are.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SetupProblem, diskIsFull } from './problem.mjs';

// An apt without a network or behind a dead proxy says one of these.
const unreachable =
  /^\s*(?:E: |W: |Err:\d+ )?(.*(?:Could not connect|Unable to connect|Cannot initiate|Could not resolve|Temporary failure|timed out).*)$/m;

// A problem that no other way to ask apt would meet differently.
export class LastWord extends SetupProblem {}

// Ways to ask apt for its packages, in this order, each tried where the one before led to no Redis that runs:
//
//   - the system's lists. They are empty on a fresh machine and may name files that are gone;
//   - lists of our own, since an ordinary user cannot renew the system's;
//   - lists of our own without the system's preferences, which may pin a Redis that is too old.
export function aptWays(aside) {
  const apt = join(aside, 'apt');
  for (const folder of ['state/lists', 'cache/archives']) mkdirSync(join(apt, folder, 'partial'), { recursive: true });
  const system = ['--quiet', '--config-file', writeSettings(apt), ...options({ 'Dir::Cache::archives': `${apt}/cache/archives` })];
  const own = [
    ...system,
    ...options({ 'Dir::State': `${apt}/state`, 'Dir::Cache': `${apt}/cache`, 'Dir::State::status': '/var/lib/dpkg/status' }),
  ];
  const unpinned = [...own, ...options({ 'Dir::Etc::preferences': '/dev/null', 'Dir::Etc::preferencesparts': '/dev/null' })];
  return [() => system, () => updated(own), () => unpinned];
}

function options(values) {
  return Object.entries(values).flatMap(([name, value]) => ['--option', `${name}=${value}`]);
}

function writeSettings(apt) {
  const file = join(apt, 'apt.conf');
  writeFileSync(
    file,
    [
      // Containers and desktops hang work on an update of the system's lists; ours is none.
      '#clear APT::Update::Pre-Invoke;',
      '#clear APT::Update::Post-Invoke;',
      '#clear APT::Update::Post-Invoke-Success;',
      // As root apt fetches as the user _apt, who may not write to this folder, and warns.
      'APT::Sandbox::User "root";',
      'Acquire::Languages "none";',
      'Acquire::Retries "1";',
      'Acquire::http::Timeout "20";',
      'Acquire::https::Timeout "20";',
      '',
    ].join('\n'),
  );
  return file;
}

// That a source is down or wrongly signed need not matter, the others may be enough. Where none answered, apt's own
// words say which address it tried, a proxy's where one is set.
function updated(settings) {
  const { stdout, stderr } = run('apt-get', [...settings, 'update']);
  const reason = unreachable.exec(stderr)?.[1];
  if (reason && !/^(?:Get|Hit):/m.test(stdout)) {
    throw new LastWord(`none is installed, and apt-get cannot reach its package sources: "${reason.trim()}"`);
  }
  return settings;
}

export function download(settings, names, into) {
  rmSync(into, { recursive: true, force: true });
  mkdirSync(into, { recursive: true });
  command('apt-get', [...settings, 'download', ...missingPackages(settings, names)], { cwd: into });
}

// apt-get says what an installation would fetch, one line a package: 'address' file-name size hash. Packages that lie in
// apt's archive folder already are left out, which is why `settings` name an empty one. A package on hold would stop it:
// the solver of apt 2.6 ignores holds by the one option, and the answer of a run with --yes takes the other.
// The named packages are wanted in any case: they may be installed, yet too old or off the PATH.
function missingPackages(settings, names) {
  const despiteHolds = ['--ignore-hold', '--allow-change-held-packages'];
  const install = ['install', '--print-uris', '--yes', '--no-install-recommends', ...despiteHolds, ...names];
  const lines = command('apt-get', [...settings, ...install]).matchAll(/^'[^']*' ([^_\s]+)_\S+ \d+/gm);
  const packages = new Set([...names, ...Array.from(lines, ([, name]) => name)]);
  // A C library beside the system's loader ends every program that is to use it.
  packages.delete('libc6');
  return packages;
}

export function unpack(packages, root) {
  for (const name of readdirSync(packages)) command('dpkg-deb', ['--extract', join(packages, name), root]);
}

// In English, because the words are looked through.
function run(name, args, cwd) {
  const ended = spawnSync(name, args, { cwd, encoding: 'utf8', env: { ...process.env, LC_ALL: 'C', LANGUAGE: 'C' } });
  if (ended.error?.code === 'ENOENT') throw new LastWord(`none is installed, and there is no ${name} to fetch it with`);
  if (ended.error) throw ended.error;
  return ended;
}

function command(name, args, { cwd } = {}) {
  const { status, stdout, stderr } = run(name, args, cwd);
  if (status === 0) return stdout;
  if (/No space left on device|don't have enough free space|Disk quota exceeded/.test(stderr)) throw new LastWord(diskIsFull);
  const lines = stderr.trim().split('\n');
  const reason = lines.find((line) => line.startsWith('E: ')) ?? lines[lines.length - 1];
  throw new SetupProblem(`none is installed, and ${name} says "${reason.replace(/^E: /, '')}"`);
}
