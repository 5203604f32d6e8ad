// Downloads Debian packages with apt-get and unpacks them with dpkg-deb into folders of the project. Needs no root and
// changes nothing on the system: its package lists, its archive folder and its held packages stay as they are.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SetupProblem, diskIsFull } from './problem.mjs';

// apt prints one of these messages when it has no network or its proxy is dead.
const unreachable =
  /^\s*(?:E: |W: |Err:\d+ )?(.*(?:Could not connect|Unable to connect|Cannot initiate|Could not resolve|Temporary failure|timed out).*)$/m;

// A problem that would occur under all apt settings, so the other settings are not tried.
class FinalProblem extends SetupProblem {}

// Calls `use` with these settings for apt, one after the other, until a call throws no SetupProblem:
//
//   - the system's package lists. They are empty on a fresh machine and may name files that the archive no longer has;
//   - package lists of the project, because an ordinary user cannot update the system's;
//   - package lists of the project without the system's preferences, which may pin a Redis that is too old.
export function withApt(staging, use) {
  let problem;
  for (const attempt of attempts(staging)) {
    try {
      return use(attempt());
    } catch (error) {
      if (!(error instanceof SetupProblem)) throw error;
      problem = error;
      if (error instanceof FinalProblem) break;
    }
  }
  throw problem;
}

function attempts(staging) {
  const apt = join(staging, 'apt');
  for (const folder of ['state/lists', 'cache/archives']) mkdirSync(join(apt, folder, 'partial'), { recursive: true });
  const system = ['--quiet', '--config-file', writeSettings(apt), ...options({ 'Dir::Cache::archives': `${apt}/cache/archives` })];
  const own = [
    ...system,
    ...options({ 'Dir::State': `${apt}/state`, 'Dir::Cache': `${apt}/cache`, 'Dir::State::status': '/var/lib/dpkg/status' }),
  ];
  const unpinned = [...own, ...options({ 'Dir::Etc::preferences': '/dev/null', 'Dir::Etc::preferencesparts': '/dev/null' })];
  return [() => system, () => updated(own), () => unpinned];
}

// Settings for packages of Debian's testing with all that they need, libc6 included, on any Debian: from the archive of the system's own
// sources, with package lists of the project. Such programs need the loader of that libc6.
export function testingSettings(staging) {
  const apt = join(staging, 'apt');
  for (const folder of ['state/lists', 'cache/archives']) mkdirSync(join(apt, folder, 'partial'), { recursive: true });
  const settings = ['--quiet', '--config-file', writeSettings(apt)];
  const known = command('apt-get', [...settings, 'indextargets', '--format', '$(REPO_URI)', 'Created-By: Packages']).split('\n');
  // The archive of security updates has no testing.
  const archive = known.find((uri) => /\/debian\/?$/.test(uri));
  if (!archive) throw new FinalProblem("none is installed, and no source of apt is Debian's main archive");
  const keys = '/usr/share/keyrings/debian-archive-keyring.gpg';
  writeFileSync(join(apt, 'sources.list'), `deb ${existsSync(keys) ? `[signed-by=${keys}] ` : ''}${archive} testing main\n`);
  return updated([
    ...settings,
    ...options({ 'Dir::State': `${apt}/state`, 'Dir::Cache': `${apt}/cache`, 'Dir::State::status': '/dev/null' }),
    ...options({ 'Dir::Etc::sourcelist': `${apt}/sources.list`, 'Dir::Etc::sourceparts': '/dev/null' }),
    // The lists of testing expire after a week, and a mirror may be older. Their signature is checked all the same.
    ...options({ 'Acquire::Check-Valid-Until': 'false' }),
    ...options({ 'Dir::Etc::preferences': '/dev/null', 'Dir::Etc::preferencesparts': '/dev/null' }),
  ]);
}

function options(values) {
  return Object.entries(values).flatMap(([name, value]) => ['--option', `${name}=${value}`]);
}

function writeSettings(apt) {
  const file = join(apt, 'apt.conf');
  writeFileSync(
    file,
    [
      // Containers and desktops add hooks to `apt-get update`, meant for the system's lists and not for the project's.
      '#clear APT::Update::Pre-Invoke;',
      '#clear APT::Update::Post-Invoke;',
      '#clear APT::Update::Post-Invoke-Success;',
      // As root, apt downloads as the user _apt, which may not write to this folder, and apt would warn.
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

// A source that is down or wrongly signed is no error: the other sources may be enough. When no source responds, the
// error quotes apt, because apt names the address that it tried (the proxy's when one is set).
function updated(settings) {
  const { stdout, stderr } = run('apt-get', [...settings, 'update']);
  const reason = unreachable.exec(stderr)?.[1];
  if (reason && !/^(?:Get|Hit):/m.test(stdout)) {
    throw new FinalProblem(`none is installed, and apt-get cannot reach its package sources: "${reason.trim()}"`);
  }
  return settings;
}

export function download(settings, names, into, { withLibc = false } = {}) {
  rmSync(into, { recursive: true, force: true });
  mkdirSync(into, { recursive: true });
  const packages = missingPackages(settings, names);
  // The system's loader needs the system's own libc6. With another libc6 on LD_LIBRARY_PATH every program crashes.
  if (!withLibc) packages.delete('libc6');
  command('apt-get', [...settings, 'download', ...packages], { cwd: into });
}

// `apt-get install --print-uris` prints what an installation would download, one line a package: 'address' file-name size
// hash. apt-get leaves out packages that its archive folder already holds, so `settings` point to an empty folder.
// Held packages need two options: --ignore-hold for the solver of apt 2.6, and --allow-change-held-packages because
// otherwise --yes refuses to change them.
// The named packages are always downloaded: an installed package may be too old or off the PATH.
function missingPackages(settings, names) {
  const despiteHolds = ['--ignore-hold', '--allow-change-held-packages'];
  const install = ['install', '--print-uris', '--yes', '--no-install-recommends', ...despiteHolds, ...names];
  const lines = command('apt-get', [...settings, ...install]).matchAll(/^'[^']*' ([^_\s]+)_\S+ \d+/gm);
  return new Set([...names, ...Array.from(lines, ([, name]) => name)]);
}

export function unpack(packages, root) {
  for (const name of readdirSync(packages)) command('dpkg-deb', ['--extract', join(packages, name), root]);
}

// The locale is C, because this file searches the output for English messages.
function run(name, args, cwd) {
  const ended = spawnSync(name, args, { cwd, encoding: 'utf8', env: { ...process.env, LC_ALL: 'C', LANGUAGE: 'C' } });
  if (ended.error?.code === 'ENOENT') throw new FinalProblem(`none is installed, and there is no ${name} to fetch it with`);
  if (ended.error) throw ended.error;
  return ended;
}

function command(name, args, { cwd } = {}) {
  const { status, stdout, stderr } = run(name, args, cwd);
  if (status === 0) return stdout;
  if (/No space left on device|don't have enough free space|Disk quota exceeded/.test(stderr)) throw new FinalProblem(diskIsFull);
  const lines = stderr.trim().split('\n');
  const reason = lines.find((line) => line.startsWith('E: ')) ?? lines[lines.length - 1];
  throw new SetupProblem(`none is installed, and ${name} says "${reason.replace(/^E: /, '')}"`);
}
