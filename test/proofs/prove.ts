import { AssertionError } from 'node:assert';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { fileURLToPath } from 'node:url';
import { sum } from './client.ts';
import { Figures, markdown, type Proved } from './figures.ts';
import { History, now } from './history.ts';
import type { Part, Stand } from './proof.ts';

/**
 * Runs a proof: `node test/proofs/prove.ts PROOF`, as the scripts `prove:…` of package.json do. Prints the figures of each part, also as a
 * table in Markdown, and exits with 1 if a bound is not held. Histories go to `.cache/proofs/<part>.jsonl`, next to the errors of the
 * service's log.
 */
const HELP = `npm run prove:PROOF -- [flags]

  --list             print the names of the parts
  --only NAME,NAME   these parts only
  --minutes NUMBER   end after some so many minutes, on a machine that also does other work: loads are smaller, parts that do not fit are
                     named and left out, and times are not judged
  --turn NUMBER      with --minutes: begin with another part, so that other ones are left out
  --size NUMBER      part of the full load: 0.1 is a tenth
  --runs NUMBER      how often each part runs; a Cluster loses another primary each time
  --match TEXT       floods: those whose name holds the text
  --seed NUMBER      boards, apple: repeat a run
  --store NAME       purchases: google, apple or both (the default)
  --without-suite    platforms: all but the tests
  --working-tree     platforms: the files as they lie here, instead of the last commit
`;

const SCENARIOS = './scenarios.ts';
const FLOODS = '../floods/prove.ts';
const modules: Readonly<Record<string, string>> = {
  ...{ cluster: SCENARIOS, realtime: SCENARIOS, seasons: SCENARIOS, purchases: SCENARIOS, events: SCENARIOS, saves: SCENARIOS },
  'sign-ins': SCENARIOS,
  audit: '../consistency/prove.ts',
  apple: '../stores/apple/prove.ts',
  boards: '../features/highscores/prove.ts',
  ...{ grants: FLOODS, floods: FLOODS },
  operations: '../operations/prove.ts',
  openapi: '../web/documents/prove.ts',
  client: '../clients/javascript/prove.ts',
  clients: '../clients/prove.ts',
  platforms: '../platforms/prove.ts',
};

const { values, positionals } = parseArgs({
  options: {
    only: { type: 'string' },
    runs: { type: 'string', default: '1' },
    size: { type: 'string', default: '1' },
    minutes: { type: 'string', default: 'Infinity' },
    turn: { type: 'string', default: '0' },
    match: { type: 'string', default: '' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 32)) },
    store: { type: 'string', default: 'both' },
    'without-suite': { type: 'boolean', default: false },
    'working-tree': { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});
const proof = positionals[0] ?? '';
const store = (['google', 'apple', 'both'] as const).find((name) => name === values.store);
const flags: Stand['flags'] = { ...values, turn: Number(values.turn), seed: Number(values.seed), store: store ?? 'both' };
const isWhole = values.minutes === 'Infinity';
const endsBy = now() + Number(values.minutes) * 60_000;

/** The share of a part's time that belongs to its load. The rest is for its start and its checks. */
const LOAD_SHARE = 0.5;

/** Closes the running part: at its end, at a signal, or at an uncaught error. */
let close = async (): Promise<void> => {};
const closeAndExit = (): void => void close().finally(() => process.exit(1));
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, closeAndExit);
// Without this the processes of the part would go on running.
process.once('uncaughtException', (error) => {
  console.error(error);
  closeAndExit();
});

/** Whether an error is of a program that is wrong, and not of a machine that is slow. `fetch` throws a TypeError for a lost connection. */
function isMistake(error: unknown): boolean {
  if (error instanceof ReferenceError || error instanceof SyntaxError || error instanceof AssertionError) return true;
  return (error instanceof TypeError && error.message !== 'fetch failed') || (error as { code?: string }).code === 'ERR_MODULE_NOT_FOUND';
}

/** @param seconds that it may take */
async function proveOnce({ name, about, seconds: full, prove }: Part, run: number, seconds: number): Promise<Figures> {
  console.log(`\n${name}: ${about}`);
  const [figures, closing] = [new Figures(isWhole), [] as Stand['closing']];
  const folder = mkdtempSync(join(tmpdir(), 'coinop-prove-'));
  const history = new History(fileURLToPath(new URL('../../.cache/proofs', import.meta.url)), run === 0 ? name : `${name}-${run + 1}`);
  close = async () => {
    for (const end of closing.splice(0).toReversed()) await end();
    history.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  };
  const startedAt = now();
  const size = Number(values.size) * Math.min(1, seconds / full);
  try {
    await prove({ folder, run, size, endsBy: startedAt + LOAD_SHARE * 1000 * seconds, flags, history, figures, closing });
  } catch (error) {
    console.error(error);
    if (isWhole || isMistake(error)) figures.report('the part could not end', '', 'it has to', false);
    // On a busy machine a process may start too late, for example. Then the part has shown nothing, and nothing wrong either.
    else figures.notShown('the part could not end', String(error));
  } finally {
    await close();
  }
  console.log(`  took ${Math.round((now() - startedAt) / 1000)} s${isWhole ? '' : ` of ${Math.round(seconds)}`}`);
  return figures;
}

/** Runs the parts one after the other. With `--minutes` each gets time in proportion to its need, and at least its minimum. */
async function proveAll(parts: readonly Part[]): Promise<boolean> {
  const [proved, leftOut, undecided]: [Proved[], string[], string[]] = [[], [], []];
  for (const [index, part] of parts.entries()) {
    const { name, about, seconds, least = seconds } = part;
    const left = (endsBy - now()) / 1000;
    const rest = sum(parts.slice(index).map((other) => other.seconds));
    const own = isWhole ? Infinity : Math.max(least, (left * seconds) / rest);
    if (left < least && index > 0) {
      leftOut.push(`${name} (${Math.round(least)} s)`);
      continue;
    }
    const runs: Figures[] = [];
    for (let run = 0; run < Number(values.runs); run++) runs.push(await proveOnce(part, run, own));
    proved.push({ about, runs });
    undecided.push(...runs.flatMap((figures) => figures.undecided.map((what) => `${name}: ${what.trim()}`)));
  }
  console.log(`\n${markdown(proved)}\n`);
  if (leftOut.length > 0) console.log(`Left out, because they need more time: ${leftOut.join(', ')}`);
  if (undecided.length > 0) console.log(`Not shown in this time: ${undecided.join('; ')}`);
  const failed = proved.filter(({ runs }) => !runs.every(({ areHeld }) => areHeld)).map(({ about }) => about);
  if (failed.length === 0) console.log('All bounds are held.');
  else console.log(`! Not all bounds are held, see the lines that begin with !: ${failed.join('; ')}`);
  return failed.length === 0;
}

async function main(): Promise<boolean> {
  if (values.help || modules[proof] === undefined || store === undefined) {
    console.log(`${HELP}\nThe proofs: ${Object.keys(modules).join(', ')}`);
    return values.help;
  }
  const { parts } = (await import(modules[proof])) as { parts: readonly Part[] };
  const own = parts.filter((part) => part.proof === proof);
  const wanted = values.only?.split(',') ?? own.map(({ name }) => name);
  const unknown = wanted.filter((name) => !own.some((part) => part.name === name));
  if (unknown.length > 0) console.error(`There is no ${unknown.join(', ')}. See --list.`);
  if (values.list) for (const { name, about } of own) console.log(`${name.padEnd(22)} ${about}`);
  if (unknown.length > 0 || values.list) return unknown.length === 0;
  const chosen = own.filter(({ name }) => wanted.includes(name));
  const first = isWhole ? 0 : flags.turn % chosen.length;
  return proveAll([...chosen.slice(first), ...chosen.slice(0, first)]);
}

process.exit((await main()) ? 0 : 1);
