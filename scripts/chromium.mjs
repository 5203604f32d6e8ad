// Provides a Chromium for the browser tests. The first of these is used:
//
//   1. chromium, google-chrome or google-chrome-stable on the PATH
//   2. <project>/.cache/chromium/chromium, which unpackChromium makes from the distribution's packages, without root
//
// test/browser/chromium.ts looks in the same places. A machine without a network or with a wrong Chromium can still run the
// other tests: set-up then prints the reason and continues, and the browser tests are skipped. With CI=true set-up fails.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { download, unpack, withApt } from './apt.mjs';
import { SetupProblem, cache, diskIsFull, say } from './problem.mjs';

const home = join(cache, 'chromium');
// Contains the reason why there is no Chromium. It keeps later runs from a download that would fail again.
const refusal = join(cache, 'no-chromium');
const RETRY_MS = 86_400_000;

export function chromiumIsThere() {
  const names = ['chromium', 'google-chrome', 'google-chrome-stable'];
  const places = (process.env.PATH ?? '').split(delimiter).flatMap((folder) => names.map((name) => join(folder, name)));
  if ([...places, join(home, 'chromium')].some((place) => existsSync(place))) return true;
  return !process.env.CI && existsSync(refusal) && Date.now() - statSync(refusal).mtimeMs < RETRY_MS;
}

// Unpacks into a staging folder and renames it last, so an interrupted run leaves no folder that looks complete.
export function unpackChromium() {
  say("unpacking Chromium for the browser tests from the distribution's packages into .cache/chromium …");
  const staging = join(cache, 'chromium-unfinished');
  try {
    rmSync(staging, { recursive: true, force: true });
    mkdirSync(staging, { recursive: true });
    withApt(staging, (settings) => unpackAndCheck(staging, settings));
    for (const name of ['packages', 'apt', 'check.png']) rmSync(join(staging, name), { recursive: true });
    rmSync(home, { recursive: true, force: true });
    renameSync(staging, home);
    rmSync(refusal, { force: true });
  } catch (problem) {
    if (!(problem instanceof SetupProblem) || problem.message === diskIsFull || process.env.CI) throw problem;
    writeFileSync(refusal, `${problem.message}\n`);
    say(`the browser tests will be skipped: they need Chromium; ${problem.message}. Install it with "apt-get install chromium"`);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

function unpackAndCheck(staging, settings) {
  const root = join(staging, 'root');
  rmSync(root, { recursive: true, force: true });
  download(settings, ['chromium', 'chromium-common'], join(staging, 'packages'));
  unpack(join(staging, 'packages'), root);
  writeLauncher(staging, libraryFolders(root));
  // Without a font pages crash when they render text as an image.
  const picture = join(staging, 'check.png');
  const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking', `--screenshot=${picture}`];
  const run = spawnSync(join(staging, 'chromium'), [...flags, 'data:text/html,<p>coinop'], { encoding: 'utf8', timeout: 60_000 });
  if (run.status === 0 && existsSync(picture)) return;
  const reason = run.error?.message ?? run.stderr.trim().split('\n').pop();
  throw new SetupProblem(`the distribution's Chromium does not run here: "${reason}"`);
}

// Some packages, such as pulseaudio, keep libraries in a separate folder, and refer to it by its absolute path.
function libraryFolders(root) {
  const folders = ['usr/lib/x86_64-linux-gnu', 'lib/x86_64-linux-gnu'].filter((folder) => existsSync(join(root, folder)));
  const inner = folders.flatMap((folder) => {
    const entries = readdirSync(join(root, folder), { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => `${folder}/${name}`);
  });
  return [...folders, ...inner.filter((folder) => readdirSync(join(root, folder)).some((name) => /^lib.*\.so\b/.test(name)))];
}

function writeLauncher(folder, libraries) {
  const script = `#!/bin/sh
here=$(dirname -- "$(readlink -f -- "$0")")
libraries=${libraries.map((library) => `$here/root/${library}`).join(':')}
export LD_LIBRARY_PATH="$libraries\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
[ -d /etc/fonts ] || export FONTCONFIG_FILE="$here/fonts.conf"
exec "$here/root/usr/lib/chromium/chromium" "$@"
`;
  writeFileSync(join(folder, 'chromium'), script, { mode: 0o755 });
  writeFileSync(
    join(folder, 'fonts.conf'),
    `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">root/usr/share/fonts</dir>
  <cachedir prefix="relative">fonts</cachedir>
</fontconfig>
`,
  );
  // Chromium's sandbox program needs root rights, so the tests run without it.
  const sandbox = join(folder, 'root/usr/lib/chromium/chrome-sandbox');
  if (existsSync(sandbox)) chmodSync(sandbox, 0o755);
}
