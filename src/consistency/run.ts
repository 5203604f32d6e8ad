import { setTimeout as pause } from 'node:timers/promises';
import type { Reply } from '../redis/resp.ts';
import { Unsettled, type Auditor, type Command, type Finding, type KeyCheck, type Look } from './auditor.ts';
import { Tally, type AuditCounts } from './counts.ts';
import { checkLife } from './key-life.ts';
import { scanRedis, type AuditReader, type KeyVisitor, type Work } from './scan.ts';

/** Milliseconds before each look that repeats a check which saw drift. */
const PAUSES_MS = [0, 50, 200, 800];

/** After so many findings there is certainly drift: the check of a further one is repeated once, not four times, so that the audit ends. */
const FINDINGS_WITH_PAUSES = 1000;

/** Milliseconds before a look that could not be finished is tried again. */
const UNSETTLED_PAUSES_MS = [20, 100, 400];

/** Findings that the audit remembers, so that a key that SCAN gives twice is not reported twice. */
const MOST_REMEMBERED = 10_000;

/** Different forms of unknown keys that are counted one by one. */
const MOST_UNKNOWN_FORMS = 50;

export interface AuditOptions {
  readonly auditors: readonly Auditor[];
  readonly reader: AuditReader;
  /** Reads all keys. Default: those of the one Redis that the reader reads. */
  readonly scan?: ((visitor: KeyVisitor) => Promise<void>) | undefined;
  /** Receives each finding once it is certain. */
  readonly found: (finding: Finding) => void;
  readonly counts: AuditCounts;
  readonly signal: AbortSignal;
}

/**
 * Reads every key of Redis once, and lets the auditors check the keys that they know.
 * @throws Error if the connection to Redis is lost, or the signal's reason
 */
export async function runAudit(options: AuditOptions): Promise<void> {
  const { auditors, counts, reader, scan = (visitor) => scanRedis(reader, visitor) } = options;
  const audit = new Audit(options);
  const tally = new Tally(counts);
  for (const { once } of auditors) if (once !== undefined) audit.start('once', once, tally);
  await scan(audit);
  await audit.ended();
}

class Audit implements KeyVisitor {
  readonly #options: AuditOptions;
  /** Checks by pattern: a key is matched with each pattern once. */
  readonly #patterns = new Map<string, { pattern: RegExp; checks: KeyCheck[] }>();
  readonly #again: Look;
  readonly #reported = new Set<string>();
  #working = 0;
  /** Callers that wait for the end of a check. */
  readonly #waiting = new Set<() => void>();
  #error: { reason: unknown } | undefined;

  constructor(options: AuditOptions) {
    this.#options = options;
    for (const check of options.auditors.flatMap(({ keys }) => keys)) {
      const { pattern } = check;
      const known = this.#patterns.get(pattern.source) ?? { pattern, checks: [] };
      known.checks.push(check);
      this.#patterns.set(pattern.source, known);
    }
    const { reader } = options;
    const atomically = (...commands: Command[]): Promise<Reply[]> => reader.atomically(commands);
    this.#again = { ask: (...command) => reader.ask(command), atomically, together: atomically, count: () => {} };
  }

  get counts(): AuditCounts {
    return this.#options.counts;
  }

  get signal(): AbortSignal {
    return this.#options.signal;
  }

  key(key: string, tally: Tally): void {
    tally.key();
    for (const { pattern, checks } of this.#patterns.values()) {
      const parts = pattern.exec(key)?.slice(1);
      if (parts === undefined) continue;
      for (const { counted, life, check } of checks) {
        if (counted !== undefined) tally.count(counted, 1);
        if (life !== undefined) this.start(key, (look) => checkLife(key, life, look), tally);
        if (check !== undefined) this.start(key, (look) => check(parts, look), tally);
      }
      return;
    }
    const form = key
      .replace(/\{[^}]*\}/, '{…}')
      .replaceAll(/\d+/g, 'n')
      .slice(0, 60);
    const { unknown } = this.counts;
    tally.unknown(form in unknown || Object.keys(unknown).length < MOST_UNKNOWN_FORMS ? form : 'other forms');
  }

  start(name: string, work: Work, tally: Tally): void {
    this.#working++;
    tally.working++;
    this.#settle(name, work, tally)
      .catch((reason: unknown) => (this.#error ??= { reason }))
      .finally(() => {
        this.#working--;
        tally.working--;
        for (const resolve of this.#waiting) resolve();
        this.#waiting.clear();
      });
  }

  room(tally: Tally, most: number): Promise<void> {
    return this.#until(() => tally.working < most);
  }

  /** Resolves when all checks are done. @throws the error of a check */
  ended(): Promise<void> {
    return this.#until(() => this.#working === 0);
  }

  async #until(isReached: () => boolean): Promise<void> {
    for (;;) {
      if (this.#error !== undefined) throw this.#error.reason;
      this.signal.throwIfAborted();
      if (isReached()) return;
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  /** The first look at a key. Only this one adds to the counts of the report. */
  #firstLook({ count }: Tally): Look {
    const { reader } = this.#options;
    return { ...this.#again, together: (...commands) => Promise.all(commands.map((command) => reader.ask(command))), count };
  }

  /** Runs a check, repeats it while it sees drift, and reports the drift that every look has seen. */
  async #settle(name: string, work: Work, tally: Tally): Promise<void> {
    const { counts, found, signal } = this.#options;
    let seen = await looked(name, work, this.#firstLook(tally));
    if (seen?.length === 0) return;
    for (const pauseMs of counts.drift < FINDINGS_WITH_PAUSES ? PAUSES_MS : PAUSES_MS.slice(0, 1)) {
      if (pauseMs > 0) await pause(pauseMs, undefined, { signal });
      const kinds = seen && new Set(seen.map(({ kind }) => kind));
      const again = await this.#lookedAgain(name, work);
      if (again === undefined) return void counts.unsettled++;
      seen = kinds === undefined ? again : again.filter(({ kind }) => kinds.has(kind));
      if (seen.length === 0) return;
    }
    if (seen === undefined) return;
    for (const finding of seen) {
      const text = JSON.stringify(finding);
      if (this.#reported.has(text)) continue;
      if (this.#reported.size < MOST_REMEMBERED) this.#reported.add(text);
      counts.drift++;
      found(finding);
    }
  }

  async #lookedAgain(name: string, work: Work): Promise<readonly Finding[] | undefined> {
    for (const pauseMs of UNSETTLED_PAUSES_MS) {
      const seen = await looked(name, work, this.#again);
      if (seen !== undefined) return seen;
      await pause(pauseMs, undefined, { signal: this.signal });
    }
    return looked(name, work, this.#again);
  }
}

/** @returns undefined if the look could not be finished */
async function looked(key: string, work: Work, look: Look): Promise<readonly Finding[] | undefined> {
  try {
    return (await work(look)) ?? [];
  } catch (error) {
    if (error instanceof Unsettled) return undefined;
    if (!(error instanceof Error) || !error.message.startsWith('WRONGTYPE')) throw error;
    return [{ kind: 'wrong_type', subject: `key ${key}`, text: 'The key, or a key that belongs to it, has the wrong type in Redis.' }];
  }
}
