import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { runAuditCommand } from '../consistency/command.ts';
import type { TestNode } from '../cluster-nodes.ts';
import { startProxiedCluster } from '../cluster-proxy.ts';
import { startChild, type Child } from '../realtime/child.ts';
import { check, type Verdict } from './checks.ts';
import type { Figures } from './figures.ts';
import { now, type History } from './history.ts';
import { Load } from './load.ts';
import type { Bounds, Scenario, SingleScenario } from './scenarios.ts';
import { copyUnguarded } from './unguarded.ts';

/** If the machine is busier than this, the load itself is late. */
const QUIET_MS = 500;

/** How long credits may wait for an acknowledgement after the last one was sent. */
const LAST_WAIT_MS = 30_000;

/** Without the guard some credits never succeed. */
const UNGUARDED_WAIT_MS = 5000;

/** The surroundings of a scenario, and the target of its figures. */
export interface Stand {
  readonly folder: string;
  /** Counts from 0. */
  readonly run: number;
  /** Credits a second, or the corresponding rate of another load. */
  readonly rate: number;
  /** The length of a long load. */
  readonly minutes: number;
  readonly history: History;
  readonly figures: Figures;
  /** Called at the end or at a signal, the last one first. */
  readonly closing: (() => unknown)[];
}

/** A service with its Redis, under load. */
interface Running {
  readonly service: Child;
  /** Settings that lead an audit to the same Redis. */
  readonly redisSettings: Record<string, string>;
  /** Whether the fault hits the account. */
  isHit(account: string): boolean;
  fault(endAt: number, event: (event: string) => void): Promise<void>;
  command(name: string, key: string, ...words: (string | number)[]): Promise<unknown>;
  close(): Promise<void>;
}

/** Credits a second, the default of --rate. */
const USUAL_RATE = 1500;

async function openSingle(scenario: SingleScenario, { folder }: Stand): Promise<Running> {
  const service = await startChild({ DATA_DIR: folder, LOG_LEVEL: 'error', ...scenario.settings });
  const redis = new Redis({ path: join(folder, 'redis.sock') });
  redis.on('error', () => {});
  return {
    service,
    redisSettings: { DATA_DIR: folder },
    isHit: () => true,
    async fault(_, event) {
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

async function openCluster(scenario: Scenario, { folder, run, rate, history }: Stand): Promise<Running> {
  const cluster = await startProxiedCluster(scenario.cluster);
  try {
    // At a smaller rate the lag is longer, so that as many credits are under way when the primary dies.
    const lagMs = (scenario.lagMs ?? 0) * Math.max(1, USUAL_RATE / rate);
    if (lagMs > 0) for (const node of cluster.nodes) await cluster.lag(node, lagMs);
    const trust = cluster.caFile === undefined ? undefined : { NODE_EXTRA_CA_CERTS: cluster.caFile };
    const redisSettings = { REDIS_URL: cluster.url, ...trust };
    const program = scenario.isUnguarded === true ? copyUnguarded(join(folder, 'unguarded')) : undefined;
    const service = await startChild({ DATA_DIR: folder, LOG_LEVEL: 'error', ...redisSettings, ...scenario.settings }, program);
    const primaries = cluster.nodes.filter(({ role }) => role === 'primary');
    let target = primaries[run % primaries.length]!;
    let { slots } = target;
    const slotsOf = new Map<string, number>();
    const slotOfAccount = (account: string): number => {
      const slot = slotsOf.get(account) ?? cluster.slotOf(`{${account}}`);
      slotsOf.set(account, slot);
      return slot;
    };
    const isHit = (account: string): boolean => isAmong(slotOfAccount(account), slots);
    const owners = new Map<number, TestNode>();
    return {
      service,
      redisSettings,
      isHit,
      async fault(endAt, event) {
        if (scenario.hitsBusiest === true) {
          const credits = (node: TestNode): number =>
            history.operations.filter(({ account }) => isAmong(slotOfAccount(account), node.slots)).length;
          target = primaries.toSorted((one, other) => credits(other) - credits(one))[0]!;
          slots = target.slots;
        }
        const hit = new Set(history.operations.map(({ account }) => account).filter(isHit));
        await scenario.fault({ cluster, target, slots: [...new Set([...hit].map(slotOfAccount))], endAt, event });
      },
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

function isAmong(slot: number, ranges: TestNode['slots']): boolean {
  return ranges.some(([first, last]) => first <= slot && slot <= last);
}

/** Sends credits to a service, injects a fault into its Redis meanwhile, and compares every answer with the ledgers. */
export async function proveCoins(scenario: Scenario | SingleScenario, stand: Stand): Promise<void> {
  const { rate, history, figures, closing } = stand;
  const isUnguarded = scenario.isUnguarded === true;
  const running = 'cluster' in scenario ? await openCluster(scenario, stand) : await openSingle(scenario, stand);
  closing.push(() => running.close());
  const load = new Load(running.service.url, rate, history, scenario.accounts);
  closing.push(() => load.close());
  if (scenario.haveRecords === true) await load.giveRecords();
  load.start();
  await pause(scenario.seconds * 250);
  const [faultAt, endAt] = [now(), now() + scenario.seconds * 750];
  await running.fault(endAt, (event) => history.event(event));
  await pause(Math.max(0, endAt - now()));
  const unacknowledged = await load.stop(isUnguarded ? UNGUARDED_WAIT_MS : LAST_WAIT_MS);
  const verdict = await check(history.operations, load, (...words) => running.command(...words));
  const errors = load.refusals.get('500 internal') ?? 0;
  history.note({ verdict, unacknowledged, errors });
  const audit = await runAuditCommand(['--full-speed', '--list', '5'], running.redisSettings);
  if (isUnguarded) return reportBroken(figures, verdict, unacknowledged + errors, audit.code);
  reportVerdict(figures, verdict, scenario.bounds, unacknowledged);
  figures.exactly('answers with 500', errors, 0);
  reportAudit(figures, audit);
  const isQuiet = load.longestDelayMs <= QUIET_MS;
  figures.report('longest delay of the load itself, ms', load.longestDelayMs, isQuiet ? '' : 'too busy: times are not judged');
  const bounds: Bounds = isQuiet ? scenario.bounds : { lost: 'any' };
  reportTimes(figures, history, faultAt, bounds, (account) => running.isHit(account));
  console.log(`  refusals: ${[...load.refusals].map(([refusal, count]) => `${refusal} × ${count}`).join(', ') || 'none'}`);
  history.log(running.service.output());
}

export function reportAudit(figures: Figures, audit: Awaited<ReturnType<typeof runAuditCommand>>): void {
  figures.report('exit code of npm run audit', audit.code ?? 'none', '= 0', audit.code === 0);
  if (audit.code !== 0) console.log(`${audit.out}${audit.error}`.trim().replaceAll(/^/gm, '  '));
}

/** The figures of a service without its guard. Any single one may be 0. */
function reportBroken(
  figures: Figures,
  { acknowledged, lost, doubled, forgotten, wrongSums }: Verdict,
  failed: number,
  audit: number | null,
): void {
  figures.report('acknowledged', acknowledged);
  figures.report('lost', lost);
  figures.report('doubled', doubled);
  figures.report('keys that no longer replay', forgotten);
  figures.report('accounts with a wrong sum', wrongSums);
  figures.report('answers with 500, and credits never acknowledged', failed);
  figures.report('exit code of npm run audit', audit ?? 'none');
  figures.atLeast('what the checks found', lost + doubled + forgotten + wrongSums + failed, 1);
}

function reportVerdict(
  figures: Figures,
  { acknowledged, lost, doubled, forgotten, wrongSums }: Verdict,
  bounds: Bounds,
  unacknowledged: number,
): void {
  figures.report('acknowledged', acknowledged, '> 0', acknowledged > 0);
  figures.report('never acknowledged', unacknowledged, '= 0', unacknowledged === 0);
  if (bounds.lost === 'any') figures.report('lost', lost);
  else if (bounds.lost === 'some') figures.report('lost', lost, '> 0: the fault is one', lost > 0);
  else figures.report('lost', lost, `<= ${bounds.lost}`, lost <= bounds.lost);
  figures.report('doubled', doubled, '= 0', doubled === 0);
  figures.report('keys that no longer replay', forgotten, '= 0', forgotten === 0);
  figures.report('accounts with a wrong sum', wrongSums, '= 0', wrongSums === 0);
}

function reportTimes(
  figures: Figures,
  { operations }: History,
  faultAt: number,
  bounds: Bounds,
  isHit: (account: string) => boolean,
): void {
  const done = operations.filter(({ acknowledgedAt }) => acknowledgedAt !== undefined);
  const wait = ({ sentAt, acknowledgedAt }: (typeof done)[number]): number => acknowledgedAt! - sentAt;
  const [hit, others] = [done.filter(({ account }) => isHit(account)), done.filter(({ account }) => !isHit(account))];
  const after = hit.map(({ acknowledgedAt }) => acknowledgedAt!).filter((at) => at >= faultAt);
  const times = [faultAt, ...after.toSorted((one, other) => one - other)];
  const down = times.reduce((most, at, index) => Math.max(most, at - (times[index - 1] ?? at)), 0) / 1000;
  if (bounds.downSeconds === undefined) figures.report('seconds without an acknowledgement of the accounts hit', down);
  else
    figures.report('seconds without an acknowledgement of the accounts hit', down, `<= ${bounds.downSeconds}`, down <= bounds.downSeconds);
  const longest = done.reduce((most, operation) => Math.max(most, wait(operation)), 0);
  if (bounds.longestMs === undefined) figures.report('longest wait for an acknowledgement, ms', longest);
  else figures.report('longest wait for an acknowledgement, ms', longest, `<= ${bounds.longestMs}`, longest <= bounds.longestMs);
  if (others.length === 0) return;
  const p99 = (some: typeof done): number => some.map(wait).toSorted((one, other) => one - other)[Math.floor(some.length * 0.99)] ?? 0;
  // The first second warms the service up.
  const firstAt = operations[0]!.sentAt + 1000;
  figures.report('p99 of the other accounts before, ms', p99(others.filter(({ sentAt }) => sentAt >= firstAt && sentAt < faultAt)));
  figures.report(
    'p99 of the other accounts meanwhile, ms',
    p99(others.filter(({ sentAt }) => sentAt >= faultAt && sentAt < faultAt + down * 1000)),
  );
}
