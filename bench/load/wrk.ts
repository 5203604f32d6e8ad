import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LoadOrder } from './order.ts';
import { STOPPED, wrkScript } from './wrk-script.ts';

/** The counts of a load by wrk. wrk reports how many requests were answered, but not which ones. */
export interface WrkOutcome {
  /** Number of responses with a status below 400. */
  readonly done: number;
  /** Number of requests made. */
  readonly sent: number;
  /** Number of requests made that are operations and take effect. */
  readonly operations: number;
  readonly failures: Record<string, number>;
  /** Number of the next order's first request. */
  readonly next: number;
}

export function isWrkInstalled(): boolean {
  return /\bwrk\b/.test(spawnSync('wrk', ['-v'], { encoding: 'utf8' }).stdout ?? '');
}

/** Runs an order with wrk, over the same number of connections, in one thread. */
export async function loadByWrk(order: LoadOrder, signal: AbortSignal): Promise<WrkOutcome> {
  const folder = mkdtempSync(join(tmpdir(), 'coinop-wrk-'));
  const script = join(folder, 'load.lua');
  try {
    writeFileSync(script, wrkScript(order));
    const duration = Math.ceil(order.seconds) + SPARE_SECONDS;
    const args = ['-t', '1', '-c', String(order.connections), '-d', `${duration}s`, '-s', script, order.url];
    return outcomeOf(await run(args, signal), order);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Spare time, because the script stops the load earlier. wrk's main thread sleeps for its whole duration; SIGINT wakes it. */
const SPARE_SECONDS = 5;

async function run(args: readonly string[], signal: AbortSignal): Promise<string> {
  const wrk = spawn('wrk', args, { stdio: ['ignore', 'ignore', 'pipe'], signal, detached: true });
  let output = '';
  wrk.stderr.on('data', (text: Buffer) => {
    const wasRunning = !output.includes(STOPPED);
    output += text.toString();
    if (wasRunning && output.includes(STOPPED)) wrk.kill('SIGINT');
  });
  await once(wrk, 'close');
  return output;
}

function outcomeOf(output: string, order: LoadOrder): WrkOutcome {
  const said = /^\{.*\}$/m.exec(output)?.[0];
  if (said === undefined) throw new Error(`wrk failed: ${output.trim()}`);
  const { requests, sent, operations, ...errors } = JSON.parse(said) as Record<string, number> &
    Record<'requests' | 'sent' | 'operations', number>;
  const failures = Object.fromEntries(
    Object.entries(errors)
      .filter(([, times]) => times > 0)
      .map(([what, times]) => [`wrk: ${what}`, times]),
  );
  return { done: requests - (errors['status'] ?? 0), sent, operations, failures, next: order.from + sent };
}
