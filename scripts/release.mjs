// `npm run release -- VERSION` makes a release: it checks the tree, runs all tests and proofs one after the other, and only then writes the
// version into package.json, CHANGELOG.md and docs/upgrading.md, commits and tags. It pushes nothing.
// It stops at the first failure. If it is run again on the same commit, it continues with the failed step.
// `--dry-run` prints the steps and the obstacles to the release, and changes nothing.
import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

// Short steps first. The bench is last: it writes bench/results, which becomes part of the release.
const steps = [
  'test',
  'prove:openapi',
  'prove:apple',
  'prove:client',
  'prove:clients',
  'prove:realtime',
  'prove:pages',
  'prove:operations',
  'prove:audit',
  'prove:seasons',
  'prove:events',
  'prove:purchases',
  'prove:floods',
  'prove:grants',
  'prove:saves',
  'prove:sign-ins',
  'prove:boards',
  'prove:cluster',
  'prove:suite',
  'test:cluster',
  'test:long',
  'prove:platforms',
  'bench -- --publish',
];

// npm starts a script in the folder of package.json.
const project = process.cwd();
const logs = join(project, '.cache/release');
const isDryRun = process.argv.includes('--dry-run');
const version = process.argv.slice(2).find((word) => word !== '--dry-run') ?? '';

class Stop extends Error {}

const pathOf = (file) => join(project, file);
const textOf = (file) => readFileSync(pathOf(file), 'utf8');

function run(program, words) {
  const ended = spawnSync(program, words, { cwd: project, encoding: 'utf8' });
  if (ended.status !== 0) throw new Stop(`\`${program} ${words.join(' ')}\` failed: ${(ended.error?.message ?? ended.stderr).trim()}`);
  return ended.stdout;
}

function isNewer(one, other) {
  const [ours, theirs] = [one, other].map((text) => text.split('.').map(Number));
  const first = ours.findIndex((number, index) => number !== theirs[index]);
  return first >= 0 && ours[first] > theirs[first];
}

// The entries of CHANGELOG.md below Unreleased.
function unreleased() {
  return textOf('CHANGELOG.md').split('\n## Unreleased\n')[1]?.split('\n## ')[0] ?? '';
}

// The obstacles to a release, checked before anything runs, one sentence each.
function problems() {
  const found = [];
  const present = JSON.parse(textOf('package.json')).version;
  if (!/^\d+\.\d+\.\d+$/.test(version)) found.push('Name the version: `npm run release -- 1.2.3`. CONTRIBUTING.md says how to choose it.');
  else if (!isNewer(version, present)) found.push(`${version} is not newer than ${present} of package.json.`);
  else if (run('git', ['tag', '--list', `v${version}`]) !== '') found.push(`The tag v${version} exists already.`);
  const changed = run('git', ['status', '--porcelain']).split('\n');
  // The bench of an earlier try may have changed its results.
  const foreign = changed.filter((line) => line !== '' && !line.slice(3).startsWith('bench/results/'));
  if (foreign.length > 0) found.push(`Commit these first: ${foreign.map((line) => line.slice(3)).join(', ')}.`);
  if (!/^- /m.test(unreleased())) found.push('CHANGELOG.md has no entry below "## Unreleased": say what users and operators will notice.');
  return found;
}

// Runs one step. Its output goes to a file.
function pass(step) {
  const log = join(logs, `${step.replace(/\W+/g, '-')}.log`);
  process.stdout.write(`${step} … `);
  const startedAt = Date.now();
  const output = openSync(log, 'w');
  const { status } = spawnSync('npm', ['run', '--silent', ...step.split(' ')], { cwd: project, stdio: ['ignore', output, output] });
  const took = `${Math.round((Date.now() - startedAt) / 1000)} s`;
  process.stdout.write(`${status === 0 ? 'passed' : 'failed'} after ${took}\n`);
  if (status === 0) return;
  throw new Stop(
    `${readFileSync(log, 'utf8').trimEnd().split('\n').slice(-30).join('\n')}\n\n` +
      `The whole output is in ${log}. Find the cause with \`npm run ${step}\`, mend it and commit: then all steps run again. ` +
      `If the machine was the cause, run this command again as it is: it goes on with ${step}.`,
  );
}

// Runs the steps that this commit has not passed yet.
function prove() {
  mkdirSync(logs, { recursive: true });
  const record = join(logs, `passed-${run('git', ['rev-parse', 'HEAD']).trim()}`);
  const passed = existsSync(record) ? readFileSync(record, 'utf8').split('\n') : [];
  for (const step of steps) {
    if (passed.includes(step)) {
      console.log(`${step} … passed before, on this commit`);
      continue;
    }
    pass(step);
    appendFileSync(record, `${step}\n`);
  }
}

function replace(file, from, to) {
  writeFileSync(pathOf(file), textOf(file).replace(from, to));
}

function writeRelease() {
  run('npm', ['version', version, '--no-git-tag-version']);
  replace('CHANGELOG.md', '\n## Unreleased\n', `\n## Unreleased\n\n## ${version} - ${new Date().toISOString().slice(0, 10)}\n`);
  replace('src/clients/gdscript/addons/coinop/plugin.cfg', /^version=.*$/m, `version="${version}"`);
  replace('src/clients/python/pyproject.toml', /^version = .*$/m, `version = "${version}"`);
  replace('src/clients/csharp/package.json', /"version": ".*"/, `"version": "${version}"`);
  replace('docs/upgrading.md', /^(## From \S+ to) the unreleased version$/m, `$1 ${version}`);
  run('git', ['add', 'package.json', 'package-lock.json', 'CHANGELOG.md', 'docs/upgrading.md', 'bench/results', 'src/clients']);
  run('git', ['commit', '--quiet', '--message', `Release ${version}`]);
  run('git', ['tag', '--annotate', `v${version}`, '--message', `coinop ${version}`]);
}

try {
  const found = problems();
  if (isDryRun) {
    for (const step of steps) console.log(`npm run ${step}`);
    for (const problem of found) console.log(`would stop: ${problem}`);
  } else {
    if (found.length > 0) throw new Stop(found.join('\n'));
    prove();
    writeRelease();
    console.log(`Committed and tagged. Look at it with \`git show v${version}\`, then: git push origin HEAD v${version}`);
  }
} catch (problem) {
  if (!(problem instanceof Stop)) throw problem;
  console.error(problem.message);
  process.exitCode = 1;
}
