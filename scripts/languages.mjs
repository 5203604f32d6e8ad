// Provides the programs with which `npm run prove:openapi` compiles and runs generated clients (Java, Mono, PHP, Ruby and Python, and the
// libraries that the clients import), and `npm run prove:clients` runs the clients in other languages (Mono, Python and mypy). A program on
// the PATH is used if it passes a trial, because a compiler may be installed without the libraries that it needs. Other programs, and all
// libraries, come from the distribution's packages, without root, in <project>/.cache/languages/PROOF. Only these proofs need them.
// test/languages.ts looks in the same places.
import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readdirSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, relative } from 'node:path';
import { download, unpack, withApt } from './apt.mjs';
import { SetupProblem, cache, diskIsFull, say } from './problem.mjs';

const homeOf = (proof) => join(cache, 'languages', proof);
// What the generated clients import.
const imports = ['libnewtonsoft-json5.0-cil', 'php-guzzlehttp-guzzle', 'php-guzzlehttp-psr7', 'ruby-typhoeus'].concat([
  'python3-urllib3',
  'python3-certifi',
  'python3-six',
  'python3-dateutil',
]);
// The assemblies that the generated client refers to.
const assemblies = ['Net.Http', 'Web', 'Runtime.Serialization', 'ComponentModel.DataAnnotations'].map((name) => `System.${name}`);

const python = 'PYTHONHOME="$root/usr" exec "$root/usr/bin/python3"';

// `of` names the proofs that need a language. `programs` has the shell line of each launcher. `$root` is the folder of the packages; patterns find names with a version.
// `trial` is a shell line that succeeds if the programs can do what the proof needs. `$folder` is an empty folder.
const languages = [
  {
    of: ['openapi'],
    packages: ['default-jdk-headless'],
    programs: {
      java: 'exec "$root"/usr/lib/jvm/java-[0-9][0-9]-openjdk-*/bin/java',
      javac: 'exec "$root"/usr/lib/jvm/java-[0-9][0-9]-openjdk-*/bin/javac',
    },
    trial: 'java --version && javac --version',
  },
  {
    of: ['openapi', 'clients'],
    packages: ['mono-runtime', 'mono-mcs'].concat(assemblies.map((name) => `libmono-${name.toLowerCase().replaceAll('.', '-')}4.0-cil`)),
    programs: {
      mono: 'MONO_CFG_DIR="$root/etc" exec "$root/usr/bin/mono"',
      mcs: 'MONO_CFG_DIR="$root/etc" exec "$root/usr/bin/mono" "$root/usr/lib/mono/4.5/mcs.exe"',
    },
    trial:
      'mono --version && echo "class Any {}" > "$folder/any.cs" && ' +
      `mcs -target:library "-out:$folder/any.dll" ${assemblies.map((name) => `-r:${name}`).join(' ')} "$folder/any.cs"`,
  },
  {
    of: ['openapi'],
    packages: ['php-cli'],
    programs: { php: 'exec "$root"/usr/bin/php[0-9]* -n -d extension="$(echo "$root"/usr/lib/php/2*/ctype.so)"' },
    trial: "php -r 'ctype_alpha(json_encode(1));'",
  },
  {
    of: ['openapi'],
    packages: ['ruby'],
    programs: {
      ruby:
        'RUBYLIB=$(find "$root/usr/lib/ruby" "$root/usr/lib/x86_64-linux-gnu/ruby" "$root"/usr/*/rubygems-integration ' +
        '"$root"/usr/lib/*/rubygems-integration -type d \\( -name "[0-9]*" -o -name vendor_ruby -o -name lib -o -name "ffi-*" \\) ' +
        '2>/dev/null | tr "\\n" ":") exec "$root/usr/bin/ruby"',
    },
    // Typhoeus loads a library that fits one version of Ruby only.
    trial: "ruby -e 'require %q(typhoeus)'",
  },
  { of: ['openapi', 'clients'], packages: ['python3'], programs: { python3: python }, trial: 'python3 -c "import asyncio, ssl"' },
  { of: ['clients'], packages: ['mypy'], programs: { mypy: `${python} "$root/usr/bin/mypy"` }, trial: 'mypy --version' },
];

const languagesOf = (proof) => languages.filter(({ of }) => of.includes(proof));
const librariesOf = (proof) => (proof === 'openapi' ? imports : []);

const namesOf = (some) => some.flatMap(({ programs }) => Object.keys(programs));

// Runs the trial with the launchers of this folder before the programs on the PATH.
function tried({ trial }, bin) {
  const script = `folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && ${trial}`;
  return spawnSync('sh', ['-c', script], { encoding: 'utf8', env: { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` } });
}

// The languages whose programs are missing or fail their trial.
const unfit = (proof, bin) => languagesOf(proof).filter((language) => tried(language, bin).status !== 0);

export function languagesAreThere(proof) {
  const home = homeOf(proof);
  return (librariesOf(proof).length === 0 || existsSync(join(home, 'root'))) && unfit(proof, join(home, 'bin')).length === 0;
}

// Unpacks into a staging folder and renames it last, so an interrupted run leaves no folder that looks complete.
export function unpackLanguages(proof) {
  const home = homeOf(proof);
  const staging = join(cache, 'languages-unfinished');
  try {
    rmSync(staging, { recursive: true, force: true });
    mkdirSync(join(staging, 'bin'), { recursive: true });
    const wanted = unfit(proof, join(staging, 'bin'));
    const names = namesOf(wanted).concat(wanted.length === 0 ? 'libraries' : 'their libraries');
    say(`unpacking ${names.join(', ')} from the distribution's packages into .cache/languages/${proof} …`);
    withApt(staging, (settings) => unpackAndCheck(staging, settings, wanted, librariesOf(proof)));
    for (const name of ['packages', 'apt']) rmSync(join(staging, name), { recursive: true });
    rmSync(home, { recursive: true, force: true });
    mkdirSync(dirname(home), { recursive: true });
    renameSync(staging, home);
  } catch (problem) {
    if (!(problem instanceof SetupProblem) || problem.message === diskIsFull) throw problem;
    const packages = languagesOf(proof)
      .flatMap(({ packages: each }) => each)
      .concat(librariesOf(proof));
    throw new SetupProblem(
      `prove:${proof} needs packages of Debian, which it unpacks by itself; ${problem.message}. Where that fails: "apt-get install ${packages.join(' ')}"`,
    );
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

function unpackAndCheck(staging, settings, wanted, libraries) {
  const root = join(staging, 'root');
  rmSync(root, { recursive: true, force: true });
  // Dependencies that the system has are unpacked too, because a launcher finds libraries of its language only in `root`.
  const fromScratch = [...settings, '--option', 'Dir::State::status=/dev/null'];
  download(fromScratch, wanted.flatMap(({ packages }) => packages).concat(libraries), join(staging, 'packages'));
  unpack(join(staging, 'packages'), root);
  relink(root, join(root, 'usr/lib/jvm'));
  for (const { programs } of wanted)
    for (const [name, start] of Object.entries(programs)) writeFileSync(join(staging, 'bin', name), launcher(start), { mode: 0o755 });
  for (const language of wanted) {
    const { status, error, stdout, stderr } = tried(language, join(staging, 'bin'));
    if (status === 0) continue;
    const reason = error?.message ?? `${stderr}${stdout}`.trim().split('\n')[0];
    throw new SetupProblem(`the distribution's ${namesOf([language]).join(' or ')} does not run here: "${reason}"`);
  }
}

function launcher(start) {
  return `#!/bin/sh
root=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")/root
libraries=$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu:$root/usr/lib
export LD_LIBRARY_PATH="$libraries\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
${start} "$@"
`;
}

// Java's settings are links into /etc. In the unpacked tree they have to point into <root>/etc.
function relink(root, folder) {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const entry = lstatSync(path);
    if (entry.isDirectory()) relink(root, path);
    if (!entry.isSymbolicLink()) continue;
    const target = readlinkSync(path);
    if (!target.startsWith('/') || !existsSync(join(root, target))) continue;
    rmSync(path);
    symlinkSync(relative(dirname(path), join(root, target)), path);
  }
}
