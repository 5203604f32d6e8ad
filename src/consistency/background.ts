import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { leaseLibrary } from '../redis/lease.ts';
import { defineScript } from '../redis/script.ts';
import type { ScriptRunner } from '../redis/script-runner.ts';

const leaseBackground = defineScript({
  file: new URL('lease-background.lua', import.meta.url),
  keys: ['state'],
  args: ['holder', 'isRunning', 'everyMs', 'leaseMs'],
  answers: ['yours', 'others'],
  library: leaseLibrary,
});

const endBackground = defineScript({
  file: new URL('end-background.lua', import.meta.url),
  keys: ['state'],
  args: ['holder', 'seconds', 'findings', 'retryMs'],
  answers: ['ended', 'gone'],
  library: leaseLibrary,
});

/** The Redis key of a hash that has the lease of the process that audits, and the result of the last complete audit. */
export const BACKGROUND_AUDIT_KEY = 'audit:background';

/** The figures of a complete audit: its length in seconds, and the number of its findings. */
export interface AuditResult {
  readonly seconds: number;
  readonly findings: number;
}

/** The last complete audit of this Redis by any process. */
export interface LastAudit extends AuditResult {
  /** When the audit ended, in milliseconds since 1970. */
  readonly endedAt: number;
}

export interface BackgroundAuditOptions {
  readonly scripts: ScriptRunner;
  readonly everyMs: number;
  /** Runs one audit. @throws Error with the reason if the audit is not complete */
  readonly run: (signal: AbortSignal) => Promise<AuditResult>;
  readonly log: Logger;
  /** How often each process asks whether an audit is due, and renews its lease, in milliseconds. Default: 30 s. */
  readonly pollIntervalMs?: number;
}

const POLL_INTERVAL_MS = 30_000;

/** The first poll follows after this part of a poll interval, a sixth, so that `/metrics` shows the last audit soon after a start. */
const FIRST_POLL_PART = 6;

/**
 * The length of the lease in polls. A process that has not renewed its lease for this long is assumed dead, and another process may audit.
 */
const LEASE_POLLS = 5;

/** After an audit that was not complete, the next audit is due after this number of polls. */
const RETRY_POLLS = 20;

/** Audits all data from time to time. Of all processes that share a Redis, only one audits at a time. */
export class BackgroundAudit {
  readonly #options: BackgroundAuditOptions;
  readonly #holder = randomBytes(9).toString('base64url');
  readonly #pollMs: number;
  #timer: NodeJS.Timeout;
  #polling: Promise<void> | undefined;
  #running: { readonly ended: Promise<void>; readonly stop: AbortController } | undefined;
  #last: LastAudit | undefined;
  #failures = 0;
  #isClosed = false;

  constructor(options: BackgroundAuditOptions) {
    this.#options = options;
    this.#pollMs = options.pollIntervalMs ?? POLL_INTERVAL_MS;
    this.#timer = setTimeout(() => this.#pollAndPlan(), this.#pollMs / FIRST_POLL_PART);
  }

  /** The last complete audit. Undefined: this process knows of none. */
  get last(): LastAudit | undefined {
    return this.#last;
  }

  /** Number of audits of this process that were not complete. */
  get failures(): number {
    return this.#failures;
  }

  /** Stops an audit that is under way. That audit counts as not complete. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    // Await the poll first, because it may begin an audit.
    await this.#polling;
    this.#running?.stop.abort(new Error('the service stops'));
    await this.#running?.ended;
  }

  #pollAndPlan(): void {
    this.#polling = this.#poll()
      // A debug line is enough: other log lines say when Redis is down.
      .catch((error: unknown) => this.#options.log.debug({ reason: (error as Error).message }, 'could not poll for a due audit'))
      .finally(() => {
        if (!this.#isClosed) this.#timer = setTimeout(() => this.#pollAndPlan(), this.#pollMs);
      });
  }

  async #poll(): Promise<void> {
    const { scripts, everyMs } = this.#options;
    // The value is read before the call, because an audit may end while the answer is on its way.
    const wasRunning = this.#running !== undefined;
    const args = { holder: this.#holder, isRunning: wasRunning ? '1' : '', everyMs, leaseMs: LEASE_POLLS * this.#pollMs };
    const [word, endedAt, seconds, findings] = await scripts.run(leaseBackground, { state: BACKGROUND_AUDIT_KEY }, args);
    if (endedAt !== '') this.#last = { endedAt: Number(endedAt), seconds: Number(seconds), findings: Number(findings) };
    if (wasRunning && word === 'others') this.#running?.stop.abort(new Error('another process has taken over'));
    if (!wasRunning && word === 'yours') this.#start();
  }

  #start(): void {
    const stop = new AbortController();
    const ended = this.#audit(stop.signal).finally(() => (this.#running = undefined));
    this.#running = { ended, stop };
  }

  async #audit(signal: AbortSignal): Promise<void> {
    const { scripts, run, log } = this.#options;
    let result: AuditResult | undefined;
    try {
      result = await run(signal);
      if (result.findings > 0) log.error({ ...result }, 'the audit found drift: npm run audit lists it');
    } catch (error) {
      if (!signal.aborted) this.#failures++;
      log[signal.aborted ? 'info' : 'error']({ reason: (error as Error).message }, 'the audit in the background is not complete');
    }
    const args = {
      holder: this.#holder,
      seconds: result?.seconds ?? '',
      findings: result?.findings ?? '',
      retryMs: signal.aborted ? 0 : RETRY_POLLS * this.#pollMs,
    };
    // If the result cannot be written to Redis, another audit becomes due.
    const [, endedAt] = await scripts.run(endBackground, { state: BACKGROUND_AUDIT_KEY }, args).catch(() => []);
    if (result !== undefined && endedAt !== undefined) this.#last = { ...result, endedAt: Number(endedAt) };
  }
}
