// `npm run prove:next` runs one of the proofs in six minutes on two quiet cores, so that a machine that runs it for each change runs all of
// them in turn. The number of commits on the main line chooses the proof, so nothing has to be stored. `npm run prove:next -- NUMBER` runs
// the proof for another number of commits. With `--number` it only prints the number, and how often all proofs have had their turns.
// If a proof cannot be set up here, for example without a network, the next one runs.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { godotIsThere } from './godot.mjs';
import { languagesAreThere } from './languages.mjs';

/** The most minutes of a turn. */
const LIMIT_MINUTES = 8;

/** A part that has begun is finished, so a proof may take longer than it is told. */
const SLACK = LIMIT_MINUTES / 5.5;

// Proofs of one turn share its time.
const turns = [
  { cluster: 5.5 },
  { realtime: 5.5 },
  { purchases: 5.5 },
  { events: 5.5 },
  { seasons: 5.5 },
  { boards: 5.5 },
  { audit: 5.5 },
  { operations: 5.5 },
  { floods: 3.5, grants: 2 },
  { saves: 3.5, apple: 2 },
  { 'sign-ins': 5.5 },
  { pages: undefined },
  { openapi: undefined, client: undefined },
  { clients: 5.5 },
  { platforms: 5.5 },
];

function run(program, ...words) {
  return spawnSync(program, words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).stdout?.trim() ?? '';
}

// A shallow clone or a copy of the files does not have the number of commits. Then the date chooses the proof.
function commits() {
  const isWhole = run('git', 'rev-parse', '--is-shallow-repository') === 'false';
  return isWhole ? Number(run('git', 'rev-list', '--count', '--first-parent', 'HEAD')) : Math.floor(Date.now() / 86_400_000);
}

/** How often all proofs have had their turns before. */
const cycleOf = (number) => Math.floor(number / turns.length);

const isPassed = (...words) => spawnSync('npm', ['run', '--silent', ...words], { stdio: ['ignore', 'inherit', 'inherit'] }).status === 0;

/** Proofs that install packages of npm or of Debian. */
const NEED_NETWORK = ['openapi', 'client', 'platforms'];

const hasNetwork = () => spawnSync('npm', ['view', 'typescript', 'version'], { stdio: 'ignore', timeout: 60_000 }).status === 0;

function canRun(proof) {
  if (proof === 'platforms' && process.getuid?.() !== 0) return false;
  if (NEED_NETWORK.includes(proof) && !hasNetwork()) return false;
  // Set-up goes on without the languages of the clients, and the proof then says which it could not run.
  return isPassed(`preprove:${proof}`) && (proof !== 'clients' || (languagesAreThere('clients') && godotIsThere()));
}

/**
 * Runs a proof, and ends it with all its processes when its time is up. A proof that has found nothing wrong by then
 * does not count as failed, because the machine is slow.
 */
async function isHeld(limitMinutes, ...words) {
  const child = spawn('npm', ['run', '--silent', ...words], { stdio: ['ignore', 'inherit', 'inherit'], detached: true });
  const end = (signal) => {
    try {
      process.kill(-child.pid, signal);
    } catch {
      // It has just ended by itself.
    }
  };
  let isLate = false;
  const late = setTimeout(() => {
    isLate = true;
    end('SIGTERM');
  }, limitMinutes * 60_000);
  const killing = setTimeout(() => end('SIGKILL'), limitMinutes * 60_000 + 30_000);
  const stop = () => end('SIGTERM');
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, stop);
  const [code] = await once(child, 'exit');
  for (const timer of [late, killing]) clearTimeout(timer);
  for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, stop);
  if (isLate) console.log(`prove:next: ended after ${limitMinutes} minutes, because this machine is slow. It proved nothing.`);
  return isLate || code === 0;
}

async function prove(number) {
  for (let tries = 0; tries < turns.length; tries++) {
    const turn = turns[(number + tries) % turns.length];
    const unfit = Object.keys(turn).filter((proof) => !canRun(proof));
    if (unfit.length > 0) {
      console.log(`prove:next: ${unfit.map((proof) => `prove:${proof}`).join(', ')} cannot run here, so the next proof runs.`);
      continue;
    }
    const proofs = Object.entries(turn);
    const held = [];
    for (const [proof, minutes] of proofs) {
      const bound = minutes === undefined ? [] : ['--', '--minutes', String(minutes), '--turn', String(cycleOf(number))];
      console.log(`prove:next: npm run prove:${proof} ${bound.join(' ')}`);
      held.push(await isHeld(minutes === undefined ? LIMIT_MINUTES / proofs.length : minutes * SLACK, `prove:${proof}`, ...bound));
    }
    return held.every(Boolean);
  }
  console.error('prove:next: no proof can run here.');
  return false;
}

const given = process.argv[2];
if (given === '--number') console.log(commits(), cycleOf(commits()));
else process.exit((await prove(given === undefined ? commits() : Number(given))) ? 0 : 1);
