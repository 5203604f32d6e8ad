import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { proveCoins, type Stand } from './coins.ts';
import { eventScenarios, proveEvents } from './events.ts';
import { Figures, markdown, sum, type Proved } from './figures.ts';
import { History } from './history.ts';
import { proveMoves } from './moves.ts';
import { scenarios, single } from './scenarios.ts';
import { provePurchases, purchaseScenarios } from './purchases.ts';
import { proveSeason, seasonScenarios } from './seasons.ts';
import { proveSignOut } from './sign-out.ts';
import { proveSubscriptions } from './subscriptions.ts';

/**
 * Proves which data survives when a Redis or a node of a cluster fails, or a slot moves: `npm run prove:cluster`. Each scenario of
 * `scenarios.ts` sends credits to a service, injects a fault into its Redis meanwhile, and then compares every answer with the ledgers.
 * Each other scenario has its own file. The histories go to `.cache/prove-cluster/<scenario>.jsonl`, next to the errors of the service's
 * log. Prints its figures, also as tables in Markdown, and exits with 1 if a bound is not held.
 */

const HELP = `npm run prove:cluster -- [flags]

  --only NAME,NAME   these scenarios only; --list shows them. Default: all but those of seasons, purchases and events
                     (prove:seasons, prove:purchases, prove:events)
  --runs NUMBER      how often each scenario runs, each time with another primary. Default: 1
  --rate NUMBER      credits a second; other loads follow in proportion. Default: 1500
  --minutes NUMBER   purchases, event-kill: the load ends after so many minutes. Default: after all purchases or kills
  --list             print the names of the scenarios
`;

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    runs: { type: 'string', default: '1' },
    rate: { type: 'string', default: '1500' },
    minutes: { type: 'string', default: 'Infinity' },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const histories = new URL('../../.cache/prove-cluster', import.meta.url).pathname;

/** Figures that are added up over several runs. */
const SUMMED = ['acknowledged', 'never acknowledged', 'lost', 'doubled', 'keys that no longer replay', 'accounts with a wrong sum'];

interface Listed {
  readonly name: string;
  readonly about: string;
  prove(stand: Stand): Promise<void>;
}

const all: readonly Listed[] = [
  ...[...single, ...scenarios].map((scenario) => ({
    name: scenario.name,
    about: scenario.about,
    prove: (stand: Stand) => proveCoins(scenario, stand),
  })),
  {
    name: 'moves',
    about: 'guests move into store accounts; service processes die all the time, and a primary with REDIS_WAIT_REPLICAS=1 once',
    prove: proveMoves,
  },
  {
    name: 'sign-out',
    about: 'sessions sign out while they call without pause; room, board and pairing lie on other primaries than the account',
    prove: proveSignOut,
  },
  {
    name: 'subscriptions',
    about: 'watchers of rooms whose slots move, and whose primary dies',
    prove: proveSubscriptions,
  },
  ...seasonScenarios.map((scenario) => ({
    name: scenario.name,
    about: scenario.about,
    prove: (stand: Stand) => proveSeason(scenario, stand),
  })),
  ...eventScenarios.map((scenario) => ({
    name: scenario.name,
    about: scenario.about,
    prove: (stand: Stand) => proveEvents(scenario, stand),
  })),
  ...purchaseScenarios.map((scenario) => ({
    name: scenario.name,
    about: scenario.about,
    prove: (stand: Stand) => provePurchases(scenario, stand),
  })),
];

/** Closes the running scenario: at its end, at a signal, or at an uncaught error. */
let close: (() => Promise<void>) | undefined;
const closeAndExit = (): void => void (close?.() ?? Promise.resolve()).finally(() => process.exit(1));
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, closeAndExit);
// Without this the processes of the scenario would go on running.
process.once('uncaughtException', (error) => {
  console.error(error);
  closeAndExit();
});

async function proveOnce({ name, about, prove }: Listed, run: number): Promise<Figures> {
  console.log(`\n${name}: ${about}`);
  const [folder, figures, closing] = [mkdtempSync(join(tmpdir(), 'coinop-prove-')), new Figures(), [] as Stand['closing']];
  const history = new History(histories, run === 0 ? name : `${name}-${run + 1}`);
  close = async () => {
    for (const end of closing.splice(0).toReversed()) await end();
    await history.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  };
  const startedAt = performance.now();
  try {
    await prove({ folder, run, rate: Number(values.rate), minutes: Number(values.minutes), history, figures, closing });
  } catch (error) {
    console.error(error);
    figures.report('the scenario could not end', '', 'it has to', false);
  } finally {
    await close();
    close = undefined;
  }
  console.log(`  history: ${history.file}; took ${Math.round((performance.now() - startedAt) / 1000)} s`);
  return figures;
}

async function proveAll(chosen: readonly Listed[], runs: number): Promise<Proved[]> {
  const proved: Proved[] = [];
  for (const listed of chosen) {
    const done: Figures[] = [];
    for (let run = 0; run < runs; run++) done.push(await proveOnce(listed, run));
    proved.push({ name: listed.name, about: listed.about, runs: done });
    if (runs > 1) console.log(`\n${listed.name}, ${runs} runs: ${sumsOf(done)}`);
  }
  return proved;
}

function sumsOf(runs: readonly Figures[]): string {
  const figures = runs.flatMap((run) => run.all);
  return SUMMED.filter((what) => figures.some((one) => one.what === what))
    .map((what) => `${what} ${sum(figures.filter((one) => one.what === what).map(({ figure }) => Number(figure)))}`)
    .join(', ');
}

const wanted = values.only?.split(',') ?? all.map(({ name }) => name).filter((name) => !/^(season|purchase|event)-/.test(name));
const unknown = wanted.filter((name) => !all.some((scenario) => scenario.name === name));
if (values.help) console.log(HELP);
else if (values.list) for (const { name, about } of all) console.log(`${name.padEnd(18)} ${about}`);
else if (unknown.length > 0) {
  console.error(`There is no scenario ${unknown.join(', ')}. See --list.`);
  process.exitCode = 1;
} else {
  const proved = await proveAll(
    all.filter(({ name }) => wanted.includes(name)),
    Number(values.runs),
  );
  console.log(`\n${markdown(proved)}`);
  process.exitCode = proved.every(({ runs }) => runs.every(({ areHeld }) => areHeld)) ? 0 : 1;
}
