import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { PrivateRedis } from '../../src/process/private-redis.ts';
import { startChild } from '../realtime/child.ts';
import { fillAccounts } from './fill.ts';
import { childEnvironment } from '../environment.ts';

/**
 * Proves the audit at full size: `npm run prove:audit`. It fills a private Redis with a million accounts, audits it, and then
 * compares the service's latencies with and without a concurrent audit. Prints its figures, and exits with 1 if a bound is not held.
 * `--accounts 100000` makes it shorter; `--data FOLDER` keeps the data for the next run.
 */

const BOUND_SECONDS = 120;
const BOUND_RATIO = 1.5;
/** The audit's memory must not grow with the number of accounts. */
const BOUND_MEGABYTES = 300;

/** On a quiet machine the 99th percentiles of two series without an audit differ by less. */
const QUIET_RATIO = 1.25;

/** Other work on the machine lasts longer than a window, so it slows all sides alike. */
const WINDOW_MS = 250;
const ROUNDS = 120;

const { values } = parseArgs({
  options: {
    accounts: { type: 'string', default: '1000000' },
    data: { type: 'string' },
    rate: { type: 'string', default: '800' },
    share: { type: 'string' },
  },
});
const accounts = Number(values.accounts);
const folder = values.data ?? mkdtempSync(join(tmpdir(), 'coinop-prove-audit-'));
const command = new URL('../../src/commands/audit.ts', import.meta.url).pathname;
let isHeld = true;

function report(what: string, figure: string, bound = '', held = true): void {
  isHeld &&= held;
  console.log(`${held ? ' ' : '!'} ${what.padEnd(66)} ${figure.padStart(12)}   ${bound}`);
}

async function fill(): Promise<void> {
  if (existsSync(join(folder, 'redis'))) return;
  mkdirSync(folder, { recursive: true });
  const server = new PrivateRedis(folder, pino({ level: 'warn' }));
  await server.start();
  const redis = new Redis({ path: server.socketPath });
  const { entries } = await fillAccounts(redis, accounts);
  report(`filled: ${accounts} accounts with one to ten entries`, String(entries));
  redis.disconnect();
  await server.stop();
}

interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<{ code: number | null; out: string }>;
}

function audit(...flags: string[]): Running {
  const child = spawn(process.execPath, [command, ...flags], {
    env: childEnvironment({ DATA_DIR: folder }),
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let out = '';
  child.stdout.on('data', (text: Buffer) => void (out += text.toString()));
  return { child, ended: new Promise((resolve) => child.once('close', (code) => resolve({ code, out }))) };
}

/** CPU time in seconds and peak memory in megabytes of a process (proc(5)). */
function usage(pid: number): { cpuSeconds: number; megabytes: number } | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
    const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    if (peak === null) return undefined;
    return { cpuSeconds: (Number(fields[11]) + Number(fields[12])) / 100, megabytes: Number(peak[1]) / 1024 };
  } catch {
    return undefined;
  }
}

async function proveSpeed(): Promise<void> {
  const { child, ended } = audit('--json');
  let last: ReturnType<typeof usage>;
  const looking = setInterval(() => (last = usage(child.pid!) ?? last), 100);
  const { code, out } = await ended;
  clearInterval(looking);
  const { seconds, checked, drift } = JSON.parse(out) as { seconds: number; checked: Record<string, number>; drift: number };
  report('exit code of the audit', String(code), '= 0', code === 0);
  report('findings', String(drift), '= 0', drift === 0);
  // Kept data also has the accounts of an earlier run's load.
  report('accounts', String(checked['accounts']), `>= ${accounts}`, checked['accounts']! >= accounts);
  report('entries', String(checked['entries']));
  report('seconds, without the start of Redis', seconds.toFixed(1), `<= ${BOUND_SECONDS}`, seconds <= BOUND_SECONDS);
  report("the audit's CPU seconds", last?.cpuSeconds.toFixed(1) ?? '?');
  report(
    "the audit's memory at its peak, MB",
    last?.megabytes.toFixed(0) ?? '?',
    `<= ${BOUND_MEGABYTES}`,
    (last?.megabytes ?? 0) <= BOUND_MEGABYTES,
  );
}

const agent = new Agent({ keepAlive: true, maxSockets: 256 });

function credit(url: string, number: number): Promise<number> {
  const startedAt = performance.now();
  const body = JSON.stringify({ installId: `load-install-${number % 500}`, coins: 1, key: `load-${number}` });
  return new Promise((resolve, reject) => {
    const asking = request(
      `${url}/v1/coins/credit`,
      { method: 'POST', agent, headers: { 'content-type': 'application/json', 'content-length': body.length } },
      (response) => {
        response.resume();
        response.on('end', () =>
          response.statusCode === 200 ? resolve(performance.now() - startedAt) : reject(new Error(`${response.statusCode}`)),
        );
      },
    );
    asking.on('error', reject);
    asking.end(body);
  });
}

let sent = 0;

/** Sends credits at a fixed rate, without waiting for answers. @returns the latencies in milliseconds */
async function latencies(url: string): Promise<number[]> {
  const asked: Promise<number>[] = [];
  const startedAt = performance.now();
  for (let due = 0; performance.now() - startedAt < WINDOW_MS; await delay(1)) {
    const wanted = ((performance.now() - startedAt) / 1000) * Number(values.rate);
    for (; due < wanted; due++) asked.push(credit(url, sent++));
  }
  return Promise.all(asked);
}

function percentile(figures: readonly number[], part: number): number {
  return figures.toSorted((one, other) => one - other)[Math.floor(figures.length * part)]!;
}

/**
 * Windows with and without an audit alternate. The audit sleeps (SIGSTOP) in the others, because its start would disturb them.
 * A control has no audit either: if its p99 differs from the other windows without an audit, the machine is too busy to decide.
 */
async function proveLatency(): Promise<void> {
  const service = await startChild({ DATA_DIR: folder });
  const [without, control, beside]: [number[], number[], number[]] = [[], [], []];
  let running: Running | undefined;
  for (let warmUp = 0; warmUp < 8; warmUp++) await latencies(service.url);
  for (let round = 0; round < ROUNDS; round++) {
    // The two kinds take turns at being the first window after the audit's sleep.
    for (const windows of round % 2 === 0 ? [without, control] : [control, without]) windows.push(...(await latencies(service.url)));
    if (running === undefined || running.child.exitCode !== null) {
      running = audit(...(values.share === undefined ? [] : ['--share', values.share]));
      await delay(2000);
    }
    running.child.kill('SIGCONT');
    beside.push(...(await latencies(service.url)));
    running.child.kill('SIGSTOP');
  }
  report(`median of ${without.length} credits, ${values.rate} a second, ms`, percentile(without, 0.5).toFixed(2));
  report('median beside an audit, ms', percentile(beside, 0.5).toFixed(2));
  const [p99, ofControl, ofBeside] = [without, control, beside].map((windows) => percentile(windows, 0.99)) as [number, number, number];
  report('p99, ms', p99.toFixed(2));
  report('p99 of the control, ms', ofControl.toFixed(2));
  report('p99 beside an audit, ms', ofBeside.toFixed(2));
  const isQuiet = Math.max(p99, ofControl) <= QUIET_RATIO * Math.min(p99, ofControl);
  const ratio = ofBeside / Math.max(p99, ofControl);
  if (isQuiet) report('ratio of the p99', ratio.toFixed(2), `<= ${BOUND_RATIO}`, ratio <= BOUND_RATIO);
  else report('ratio of the p99', ratio.toFixed(2), 'not decided: the machine is too busy, the control differs');
  running?.child.kill('SIGCONT');
  const { code, out } = await (running ?? audit()).ended;
  report('exit code of the audit beside the service', String(code), '= 0', code === 0);
  console.log(out.trim().replaceAll(/^/gm, '  '));
  await service.stop();
}

try {
  await fill();
  await proveSpeed();
  await proveLatency();
} finally {
  agent.destroy();
  if (values.data === undefined) rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}
process.exitCode = isHeld ? 0 : 1;
