import { spawn, type ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { processMemory } from '../../bench/measure/cpu.ts';
import { PrivateRedis } from '../../src/process/private-redis.ts';
import { childEnvironment } from '../environment.ts';
import { quantile } from '../proofs/figures.ts';
import { now } from '../proofs/history.ts';
import { Place } from '../proofs/place.ts';
import type { Part, Stand } from '../proofs/proof.ts';
import { fillAccounts } from './fill.ts';

const ACCOUNTS = 1_000_000;
const BOUND_SECONDS = 120;
const BOUND_RATIO = 1.5;
/** The audit's memory must not grow with the number of accounts. */
const BOUND_MEGABYTES = 300;

/** On a quiet machine the 99th percentiles of two series without an audit differ by less. */
const QUIET_RATIO = 1.25;

const CREDITS_A_SECOND = 800;
/** Other work on the machine lasts longer than a window, so it slows all sides alike. */
const WINDOW_MS = 250;
const ROUNDS = 120;

const command = fileURLToPath(new URL('../../src/commands/audit.ts', import.meta.url));

export const parts: readonly Part[] = [
  {
    ...{ proof: 'audit', name: 'million', seconds: 480, least: 60, prove },
    about: 'the audit of a million accounts, and the latencies of a service with and without a concurrent audit',
  },
];

async function prove(stand: Stand): Promise<void> {
  const { folder } = stand;
  const accounts = Math.ceil(ACCOUNTS * stand.size);
  const server = new PrivateRedis(folder, pino({ level: 'warn' }));
  await server.start();
  const redis = new Redis({ path: server.socketPath });
  const { entries } = await fillAccounts(redis, accounts);
  stand.figures.report(`filled: ${accounts} accounts with one to ten entries`, entries);
  redis.disconnect();
  await server.stop();
  await proveSpeed(accounts, stand);
  await proveLatency(stand);
}

interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<{ code: number | null; out: string }>;
}

function audit(folder: string, ...flags: string[]): Running {
  const child = spawn(process.execPath, [command, ...flags], {
    env: childEnvironment({ DATA_DIR: folder }),
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let out = '';
  child.stdout.on('data', (text: Buffer) => void (out += text.toString()));
  return { child, ended: new Promise((resolve) => child.once('close', (code) => resolve({ code, out }))) };
}

async function proveSpeed(accounts: number, { folder, figures }: Stand): Promise<void> {
  const { child, ended } = audit(folder, '--json');
  let megabytes = 0;
  const sampling = setInterval(() => {
    try {
      megabytes = Math.max(megabytes, processMemory(child.pid!) / 2 ** 20);
    } catch {
      // The audit has ended.
    }
  }, 100);
  const { code, out } = await ended;
  clearInterval(sampling);
  const { seconds, checked, drift } = JSON.parse(out) as { seconds: number; checked: Record<string, number>; drift: number };
  figures.exactly('exit code of the audit', code, 0);
  figures.exactly('findings', drift, 0);
  figures.exactly('accounts', checked['accounts']!, accounts);
  figures.report('entries', checked['entries']!);
  figures.time('seconds, without the start of Redis', seconds, BOUND_SECONDS);
  figures.atMost("the audit's memory at its peak, MB", megabytes, BOUND_MEGABYTES);
}

/**
 * Windows with and without an audit alternate. The audit sleeps (SIGSTOP) in the others, because its start would disturb them.
 * A control has no audit either: if its p99 differs from the other windows without an audit, the machine is too busy to decide.
 */
async function proveLatency(stand: Stand): Promise<void> {
  const { folder, figures, endsBy } = stand;
  const { client } = await Place.open({ settings: { DATA_DIR: folder } }, stand);
  let sent = 0;
  const credit = async (number: number): Promise<number> => {
    const startedAt = performance.now();
    await client.post('/v1/coins/credit', { installId: `load-install-${number % 500}`, coins: 1, key: `load-${number}` });
    return performance.now() - startedAt;
  };
  /** Sends credits at a fixed rate, without waiting for answers. @returns the latencies in milliseconds */
  const latencies = async (): Promise<number[]> => {
    const asked: Promise<number>[] = [];
    const startedAt = performance.now();
    for (let due = 0; performance.now() - startedAt < WINDOW_MS; await delay(1))
      for (; due < ((performance.now() - startedAt) / 1000) * CREDITS_A_SECOND; due++) asked.push(credit(sent++));
    return Promise.all(asked);
  };
  const [without, control, beside]: [number[], number[], number[]] = [[], [], []];
  let running: Running | undefined;
  for (let warmUp = 0; warmUp < 8; warmUp++) await latencies();
  for (let round = 0; round < ROUNDS && (round < 4 || now() < endsBy); round++) {
    // The two kinds take turns at being the first window after the audit's sleep.
    for (const windows of round % 2 === 0 ? [without, control] : [control, without]) windows.push(...(await latencies()));
    if (running === undefined || running.child.exitCode !== null) {
      running = audit(folder);
      await delay(2000);
    }
    running.child.kill('SIGCONT');
    beside.push(...(await latencies()));
    running.child.kill('SIGSTOP');
  }
  running!.child.kill('SIGCONT');
  const [p99, ofControl, ofBeside] = [quantile(without), quantile(control), quantile(beside)];
  figures.report('median; beside an audit, ms', [without, beside].map((times) => quantile(times, 0.5).toFixed(2)).join('; '));
  figures.report('p99; of the control; beside an audit, ms', [p99, ofControl, ofBeside].map((ms) => ms.toFixed(2)).join('; '));
  figures.judgesTimes &&= Math.max(p99, ofControl) <= QUIET_RATIO * Math.min(p99, ofControl);
  figures.time('ratio of the p99', ofBeside / Math.max(p99, ofControl), BOUND_RATIO);
  figures.report('  credits refused', client.refused, 'none', client.refused === 'none');
  figures.exactly('exit code of the audit beside the service', (await running!.ended).code, 0);
}
