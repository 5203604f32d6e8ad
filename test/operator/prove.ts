import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { ScriptRunner } from '../../src/redis/script-runner.ts';
import { ServerKeyChanges } from '../../src/server/identity/server-key-changes.ts';
import { Figures } from '../cluster/figures.ts';
import { bystanders } from '../floods/bystanders.ts';
import { startChild } from '../realtime/child.ts';
import { eventually } from '../realtime/watcher.ts';
import { statusWith } from '../server-keys.ts';

/**
 * Proves that a bulk grant does not slow down other clients: `npm run prove:grants`. Twenty addresses ask for `/health` and credit coins, in
 * short phases that alternate between no bulk grant and one. Each pair of phases gives a ratio of p99s, and the median of the ratios is
 * judged, because other load of the machine changes more slowly than the phases. `--pairs` adds pairs, `--seconds` makes phases longer.
 */
const { values } = parseArgs({ options: { pairs: { type: 'string', default: '20' }, seconds: { type: 'string', default: '4' } } });
const [pairs, milliseconds] = [Number(values.pairs), Number(values.seconds) * 1000];

const MOST_RATIO = 1.5;
const LEAST_GRANTS_PER_SECOND = 500;

/** The most accounts of one call. */
const ACCOUNTS = 1000;
const WARM_UP_MS = 3000;

/** Milliseconds. */
interface Phase {
  readonly health: number;
  readonly credit: number;
  /** The median of credits. It shows the cost of the grants even on a busy machine. */
  readonly usualCredit: number;
}

const folder = mkdtempSync(join(tmpdir(), 'coinop-prove-grants-'));
const service = await startChild({ DATA_DIR: folder, ADMIN_API: 'on' });
const figures = new Figures();
let [granted, grantingMs, bulks] = [0, 0, 0];

try {
  const token = await makeKey();
  const accounts = await fill();
  await bystanders(service.port, WARM_UP_MS);
  await beside(token, accounts, WARM_UP_MS);
  [granted, grantingMs] = [0, 0];
  const [quiet, busy]: [Phase[], Phase[]] = [[], []];
  for (let pair = 0; pair < pairs; pair++) {
    const [without, within] = [
      async () => quiet.push(await measured()),
      async () => busy.push(await beside(token, accounts, milliseconds)),
    ];
    // Every other pair begins with the bulk grant, so that a machine that slows down with time favours neither.
    for (const phase of pair % 2 === 0 ? [without, within] : [within, without]) await phase();
  }
  judge(quiet, busy);
} finally {
  await service.stop();
  rmSync(folder, { recursive: true, force: true });
}
if (!figures.areHeld) process.exitCode = 1;

/** The latencies of the other clients during one phase. */
async function measured(forMs = milliseconds): Promise<Phase> {
  const { health, credit, refused } = await bystanders(service.port, forMs);
  if (refused.length > 0) throw new Error(`others were refused: ${refused.slice(0, 3).join('; ')}`);
  return { health: p99(health), credit: p99(credit), usualCredit: median(credit) };
}

/** The latencies of the other clients beside a bulk grant. Each call has a new key, so it grants coins to every account. */
async function beside(token: string, accounts: readonly string[], forMs: number): Promise<Phase> {
  let isOver = false;
  const bulk = (async (): Promise<void> => {
    while (!isOver) {
      const beganAt = performance.now();
      const response = await fetch(`${service.url}/v1/admin/coins/grant-many`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ entries: accounts.map((account) => ({ account, coins: 1 })), key: `bulk-${bulks++}`, reason: 'proof' }),
      });
      const { results } = (await response.json()) as { results?: { outcome: string }[] };
      if (results?.every(({ outcome }) => outcome === 'granted') !== true) throw new Error(`a bulk grant answered ${response.status}`);
      granted += results.length;
      grantingMs += performance.now() - beganAt;
    }
  })();
  const phase = await measured(forMs);
  isOver = true;
  await bulk;
  return phase;
}

function judge(quiet: readonly Phase[], busy: readonly Phase[]): void {
  const ratios = (kind: keyof Phase): number[] => quiet.map((phase, pair) => busy[pair]![kind] / phase[kind]);
  const two = (figure: number): string => figure.toFixed(2);
  for (const kind of ['health', 'credit'] as const) {
    const of = (phases: readonly Phase[]): string => `${two(median(phases.map((phase) => phase[kind])))} ms`;
    figures.report(`${kind}: p99 without, the median of ${pairs} phases`, of(quiet));
    figures.report(`${kind}: p99 beside a bulk grant`, of(busy));
    // The ratio of two quiet phases shows the noise of the machine.
    const noise = quiet
      .slice(1)
      .map((phase, index) => Math.max(phase[kind], quiet[index]![kind]) / Math.min(phase[kind], quiet[index]![kind]));
    figures.report(`${kind}: larger p99 by the smaller, of two quiet phases in a row`, two(median(noise)));
    const ratio = median(ratios(kind));
    figures.report(`${kind}: median of the ratios of p99s`, two(ratio), `<= ${MOST_RATIO}`, ratio <= MOST_RATIO);
  }
  figures.report('credit: median of the ratios of medians', two(median(ratios('usualCredit'))));
  figures.atLeast('grants a second', (granted * 1000) / grantingMs, LEAST_GRANTS_PER_SECOND);
}

async function makeKey(): Promise<string> {
  const redis = new Redis({ path: join(folder, 'redis.sock') });
  try {
    const changes = new ServerKeyChanges(new ScriptRunner(redis, { now: Date.now }), Date.now);
    const { token } = await changes.create({ name: 'prove', scopes: ['admin'], role: 'economist' });
    await eventually(async () => (await statusWith(service.url, token)) === 200);
    return token;
  } finally {
    redis.disconnect();
  }
}

/** Accounts with an entry each. */
async function fill(): Promise<string[]> {
  const installIds = Array.from({ length: ACCOUNTS }, (_, index) => `grantee-${process.pid}-${index}`);
  const waiting = [...installIds];
  const fillOne = async (): Promise<void> => {
    for (let installId = waiting.pop(); installId !== undefined; installId = waiting.pop()) {
      const body = JSON.stringify({ installId, coins: 1, key: 'first' });
      await fetch(`${service.url}/v1/coins/credit`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    }
  };
  await Promise.all(Array.from({ length: 20 }, fillOne));
  return installIds.map(accountIdOf);
}

function p99(times: readonly number[]): number {
  return times.toSorted((one, other) => one - other)[Math.ceil(times.length * 0.99) - 1]!;
}

function median(figuresOf: readonly number[]): number {
  const sorted = figuresOf.toSorted((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
