import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { runAuditCommand } from '../audit/command.ts';
import type { TestNode } from '../cluster-nodes.ts';
import { startProxiedCluster } from '../cluster-proxy.ts';
import { startChild, type Child } from '../realtime/child.ts';
import { check, type Verdict } from './checks.ts';
import { History, now } from './history.ts';
import { Load } from './load.ts';
import { scenarios, single, type Bounds, type Scenario, type SingleScenario } from './scenarios.ts';

/**
 * Proves what coins survive: `npm run prove:cluster`. Each scenario of `scenarios.ts` sends credits to a service, does something
 * to its Redis meanwhile, and then compares every answer with the ledgers. The histories are written to
 * `.cache/prove-cluster/<scenario>.jsonl`, the errors of the service's log beside them. Prints its figures, and exits with 1
 * where a bound is not held.
 */

const HELP = `npm run prove:cluster -- [flags]

  --only NAME,NAME   these scenarios only; --list shows them
  --runs NUMBER      how often each scenario runs, each time with another primary. Default: 1
  --rate NUMBER      credits a second. Default: 1500
  --list             print the names of the scenarios
`;

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    runs: { type: 'string', default: '1' },
    rate: { type: 'string', default: '1500' },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const histories = new URL('../../.cache/prove-cluster', import.meta.url).pathname;
const rate = Number(values.rate);
let isHeld = true;

/** On a busier machine the load is late itself. */
const QUIET_MS = 500;

/** How long credits may still wait for an acknowledgement once no more are sent. */
const LAST_WAIT_MS = 30_000;

function report(what: string, figure: string | number, bound = '', held = true): void {
  isHeld &&= held;
  const shown = typeof figure === 'number' ? String(Math.round(figure * 10) / 10) : figure;
  console.log(`${held ? ' ' : '!'} ${what.padEnd(70)} ${shown.padStart(10)}   ${bound}`);
}

/** A service with its Redis, under load. */
interface Running {
  readonly service: Child;
  /** Settings that lead an audit to the same Redis. */
  readonly redisSettings: Record<string, string>;
  /** Whether the fault hits the account. */
  isHit(account: string): boolean;
  fault(event: (event: string) => void): Promise<void>;
  command(name: string, key: string, ...words: (string | number)[]): Promise<unknown>;
  close(): Promise<void>;
}

async function openSingle(scenario: SingleScenario, folder: string): Promise<Running> {
  const service = await startChild({ DATA_DIR: folder, LOG_LEVEL: 'error', ...scenario.settings });
  const redis = new Redis({ path: join(folder, 'redis.sock') });
  redis.on('error', () => {});
  return {
    service,
    redisSettings: { DATA_DIR: folder },
    isHit: () => true,
    async fault(event) {
      const pid = Number(/process_id:(\d+)/.exec(await redis.info('server'))![1]);
      await scenario.fault({ pid, event });
    },
    command: (name, ...words) => redis.call(name, words),
    async close() {
      redis.disconnect();
      await service.stop();
    },
  };
}

async function openCluster(scenario: Scenario, folder: string, run: number): Promise<Running> {
  const cluster = await startProxiedCluster(scenario.cluster);
  try {
    if (scenario.lagMs !== undefined) for (const node of cluster.nodes) await cluster.lag(node, scenario.lagMs);
    const trust = cluster.caFile === undefined ? undefined : { NODE_EXTRA_CA_CERTS: cluster.caFile };
    const redisSettings = { REDIS_URL: cluster.url, ...trust };
    const service = await startChild({ DATA_DIR: folder, LOG_LEVEL: 'error', ...redisSettings, ...scenario.settings });
    const primaries = cluster.nodes.filter(({ role }) => role === 'primary');
    const target = primaries[run % primaries.length]!;
    const { slots } = target;
    const owners = new Map<number, TestNode>();
    return {
      service,
      redisSettings,
      isHit(account) {
        const slot = cluster.slotOf(`{${account}}`);
        return slots.some(([first, last]) => first <= slot && slot <= last);
      },
      fault: (event) => scenario.fault({ cluster, target, event }),
      async command(name, key, ...words) {
        const slot = cluster.slotOf(key);
        const owner = owners.get(slot) ?? (await cluster.primaryOf(slot));
        owners.set(slot, owner);
        return owner.call(name, key, ...words);
      },
      async close() {
        await service.stop();
        await cluster[Symbol.asyncDispose]();
      },
    };
  } catch (error) {
    await cluster[Symbol.asyncDispose]();
    throw error;
  }
}

/** Closes what runs: at the end of a scenario, or at a signal. */
let close: (() => Promise<void>) | undefined;
for (const name of ['SIGINT', 'SIGTERM'] as const)
  process.once(name, () => void (close?.() ?? Promise.resolve()).finally(() => process.exit(1)));

async function prove(scenario: Scenario | SingleScenario, run: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'coinop-prove-'));
  console.log(`\n${scenario.name}: ${scenario.about}`);
  const running = 'cluster' in scenario ? await openCluster(scenario, folder, run) : await openSingle(scenario, folder);
  const history = new History(histories, run === 0 ? scenario.name : `${scenario.name}-${run + 1}`);
  const load = new Load(running.service.url, rate, history);
  close = async () => {
    load.close();
    await history.close();
    await running.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  };
  try {
    load.start();
    await pause(scenario.seconds * 250);
    const [faultAt, endAt] = [now(), now() + scenario.seconds * 750];
    await running.fault((event) => history.event(event));
    await pause(Math.max(0, endAt - now()));
    const unacknowledged = await load.stop(LAST_WAIT_MS);
    const verdict = await check(history.operations, load, (...words) => running.command(...words));
    reportVerdict(verdict, scenario.bounds, unacknowledged);
    const audit = await runAuditCommand(['--full-speed', '--list', '5'], running.redisSettings);
    report('exit code of npm run audit', audit.code ?? 'none', '= 0', audit.code === 0);
    if (audit.code !== 0) console.log(`${audit.out}${audit.error}`.trim().replaceAll(/^/gm, '  '));
    const isQuiet = load.longestDelayMs <= QUIET_MS;
    report('longest delay of the load itself, ms', load.longestDelayMs, isQuiet ? '' : 'too busy: times are not judged');
    reportTimes(history, faultAt, isQuiet ? scenario.bounds : { lost: 'any' }, (account) => running.isHit(account));
    report(`refusals: ${[...load.refusals].map(([refusal, count]) => `${refusal} × ${count}`).join(', ') || 'none'}`, '');
    writeFileSync(history.file.replace(/jsonl$/, 'log'), running.service.output());
    console.log(`  history: ${history.file}`);
  } finally {
    await close();
    close = undefined;
  }
}

function reportVerdict({ acknowledged, lost, doubled, forgotten, wrongSums }: Verdict, bounds: Bounds, unacknowledged: number): void {
  report('acknowledged', acknowledged, '> 0', acknowledged > 0);
  report('never acknowledged', unacknowledged, '= 0', unacknowledged === 0);
  if (bounds.lost === 'any') report('lost', lost);
  else if (bounds.lost === 'some') report('lost', lost, '> 0: the fault is one', lost > 0);
  else report('lost', lost, `<= ${bounds.lost}`, lost <= bounds.lost);
  report('doubled', doubled, '= 0', doubled === 0);
  report('keys that no longer replay', forgotten, '= 0', forgotten === 0);
  report('accounts with a wrong sum', wrongSums, '= 0', wrongSums === 0);
}

function reportTimes({ operations }: History, faultAt: number, bounds: Bounds, isHit: (account: string) => boolean): void {
  const done = operations.filter(({ acknowledgedAt }) => acknowledgedAt !== undefined);
  const wait = ({ sentAt, acknowledgedAt }: (typeof done)[number]): number => acknowledgedAt! - sentAt;
  const [hit, others] = [done.filter(({ account }) => isHit(account)), done.filter(({ account }) => !isHit(account))];
  const after = hit.map(({ acknowledgedAt }) => acknowledgedAt!).filter((at) => at >= faultAt);
  const times = [faultAt, ...after.toSorted((one, other) => one - other)];
  const down = times.reduce((most, at, index) => Math.max(most, at - (times[index - 1] ?? at)), 0) / 1000;
  if (bounds.downSeconds === undefined) report('seconds without an acknowledgement of the accounts hit', down);
  else report('seconds without an acknowledgement of the accounts hit', down, `<= ${bounds.downSeconds}`, down <= bounds.downSeconds);
  const longest = done.reduce((most, operation) => Math.max(most, wait(operation)), 0);
  if (bounds.longestMs === undefined) report('longest wait for an acknowledgement, ms', longest);
  else report('longest wait for an acknowledgement, ms', longest, `<= ${bounds.longestMs}`, longest <= bounds.longestMs);
  if (others.length === 0) return;
  const p99 = (some: typeof done): number => some.map(wait).toSorted((one, other) => one - other)[Math.floor(some.length * 0.99)] ?? 0;
  // The first second warms the service up.
  const firstAt = operations[0]!.sentAt + 1000;
  report('p99 of the other accounts before, ms', p99(others.filter(({ sentAt }) => sentAt >= firstAt && sentAt < faultAt)));
  report(
    'p99 of the other accounts meanwhile, ms',
    p99(others.filter(({ sentAt }) => sentAt >= faultAt && sentAt < faultAt + down * 1000)),
  );
}

async function proveAll(chosen: readonly (Scenario | SingleScenario)[], runs: number): Promise<void> {
  for (const scenario of chosen) {
    for (let run = 0; run < runs; run++) {
      await prove(scenario, run).catch((error: unknown) => {
        console.error(error);
        report('the scenario could not end', '');
        isHeld = false;
      });
    }
  }
}

const all = [...single, ...scenarios];
const wanted = values.only?.split(',') ?? all.map(({ name }) => name);
const unknown = wanted.filter((name) => !all.some((scenario) => scenario.name === name));
if (values.help) console.log(HELP);
else if (values.list) for (const { name, about } of all) console.log(`${name.padEnd(16)} ${about}`);
else if (unknown.length > 0) {
  console.error(`There is no scenario ${unknown.join(', ')}. See --list.`);
  isHeld = false;
} else {
  await proveAll(
    all.filter(({ name }) => wanted.includes(name)),
    Number(values.runs),
  );
}
process.exitCode = isHeld ? 0 : 1;
