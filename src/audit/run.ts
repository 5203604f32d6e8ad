import { setTimeout as pause } from 'node:timers/promises';
import type { Reply } from '../redis/resp.ts';
import type { Auditor, Command, Finding, KeyCheck, Look } from './auditor.ts';
import type { Reader } from './reader.ts';

/** Milliseconds before each look that repeats a check which saw drift. */
const PAUSES_MS = [0, 50, 200, 800];

/** With so many findings drift is certain: further ones are looked at once more, not four times, so that the audit ends. */
const FINDINGS_WITH_PAUSES = 1000;

/** Keys that one SCAN reads, about: 0.1 ms of Redis's time. */
const KEYS_A_SCAN = 200;

/** Checks at work at a time. It bounds the memory: a check holds a page of entries or two. */
const CHECKS_AT_ONCE = 500;

/** Findings that the audit remembers, so that a key that SCAN gives twice is not reported twice. */
const MOST_REMEMBERED = 10_000;

/** Different forms of unknown keys that are counted one by one. */
const MOST_UNKNOWN_FORMS = 50;

export interface AuditCounts {
  /** Keys read so far. SCAN may give a key twice. */
  keys: number;
  /** Keys in Redis at the start. */
  keysInAll: number;
  /** Things checked, by name: accounts, ledgers, entries. */
  readonly checked: Record<string, number>;
  /** Keys that no check knows, by their form. */
  readonly unknown: Record<string, number>;
  /** Findings so far. */
  drift: number;
}

export interface AuditOptions {
  readonly auditors: readonly Auditor[];
  readonly reader: Pick<Reader, 'ask' | 'atomically'>;
  /** Receives each finding once it is certain. */
  readonly found: (finding: Finding) => void;
  readonly counts: AuditCounts;
  readonly signal: AbortSignal;
}

export function newCounts(): AuditCounts {
  return { keys: 0, keysInAll: 0, checked: {}, unknown: Object.create(null) as Record<string, number>, drift: 0 };
}

/**
 * Reads every key of Redis once, and lets the auditors check what they know.
 * @throws Error if the connection to Redis is lost, or the signal's reason
 */
export async function runAudit(options: AuditOptions): Promise<void> {
  const audit = new Audit(options);
  options.counts.keysInAll = (await options.reader.ask(['DBSIZE'])) as number;
  for (const { once } of options.auditors) if (once !== undefined) audit.start('once', once);
  let cursor = '0';
  do {
    const [next, keys] = (await options.reader.ask(['SCAN', cursor, 'COUNT', KEYS_A_SCAN])) as [string, string[]];
    cursor = next;
    for (const key of keys) audit.key(key);
    await audit.room();
    options.signal.throwIfAborted();
  } while (cursor !== '0');
  await audit.ended();
}

/** A check with its arguments. */
type Work = (look: Look) => Promise<readonly Finding[] | undefined>;

class Audit {
  readonly #options: AuditOptions;
  /** Checks by pattern: a key is matched with each pattern once. */
  readonly #patterns = new Map<string, { pattern: RegExp; checks: KeyCheck[] }>();
  readonly #first: Look;
  readonly #again: Look;
  readonly #reported = new Set<string>();
  #working = 0;
  #changed: (() => void) | undefined;
  #error: { reason: unknown } | undefined;

  constructor(options: AuditOptions) {
    this.#options = options;
    for (const check of options.auditors.flatMap(({ keys }) => keys)) {
      const { pattern } = check;
      const known = this.#patterns.get(pattern.source) ?? { pattern, checks: [] };
      known.checks.push(check);
      this.#patterns.set(pattern.source, known);
    }
    const { reader, counts } = options;
    const ask = (...command: Command): Promise<Reply> => reader.ask(command);
    const atomically = (...commands: Command[]): Promise<Reply[]> => reader.atomically(commands);
    const count = (what: string, number: number): void => void (counts.checked[what] = (counts.checked[what] ?? 0) + number);
    this.#first = { ask, atomically, together: (...commands) => Promise.all(commands.map((command) => reader.ask(command))), count };
    this.#again = { ask, atomically, together: atomically, count: () => {} };
  }

  key(key: string): void {
    const { counts } = this.#options;
    counts.keys++;
    for (const { pattern, checks } of this.#patterns.values()) {
      const parts = pattern.exec(key)?.slice(1);
      if (parts === undefined) continue;
      for (const { counted, check } of checks) {
        if (counted !== undefined) this.#first.count(counted, 1);
        if (check !== undefined) this.start(key, (look) => check(parts, look));
      }
      return;
    }
    const form = key
      .replace(/\{[^}]*\}/, '{…}')
      .replaceAll(/\d+/g, 'n')
      .slice(0, 60);
    const { unknown } = counts;
    const shown = form in unknown || Object.keys(unknown).length < MOST_UNKNOWN_FORMS ? form : 'other forms';
    unknown[shown] = (unknown[shown] ?? 0) + 1;
  }

  start(key: string, work: Work): void {
    this.#working++;
    this.#settle(key, work)
      .catch((reason: unknown) => (this.#error ??= { reason }))
      .finally(() => {
        this.#working--;
        this.#changed?.();
      });
  }

  /** Resolves when another SCAN's keys may be checked. @throws the error of a check */
  room(): Promise<void> {
    return this.#until(() => this.#working < CHECKS_AT_ONCE);
  }

  /** Resolves when all checks are done. @throws the error of a check */
  ended(): Promise<void> {
    return this.#until(() => this.#working === 0);
  }

  async #until(isReached: () => boolean): Promise<void> {
    const { signal } = this.#options;
    while (!isReached()) {
      if (this.#error !== undefined) throw this.#error.reason;
      signal.throwIfAborted();
      await new Promise<void>((resolve) => (this.#changed = resolve));
    }
    if (this.#error !== undefined) throw this.#error.reason;
  }

  /** Runs a check, repeats it while it sees drift, and reports the drift that every look has seen. */
  async #settle(key: string, work: Work): Promise<void> {
    const { counts, found, signal } = this.#options;
    let seen = await looked(key, work, this.#first);
    if (seen.length === 0) return;
    for (const pauseMs of counts.drift < FINDINGS_WITH_PAUSES ? PAUSES_MS : PAUSES_MS.slice(0, 1)) {
      if (pauseMs > 0) await pause(pauseMs, undefined, { signal });
      const kinds = new Set(seen.map(({ kind }) => kind));
      seen = (await looked(key, work, this.#again)).filter(({ kind }) => kinds.has(kind));
      if (seen.length === 0) return;
    }
    for (const finding of seen) {
      const text = JSON.stringify(finding);
      if (this.#reported.has(text)) continue;
      if (this.#reported.size < MOST_REMEMBERED) this.#reported.add(text);
      counts.drift++;
      found(finding);
    }
  }
}

async function looked(key: string, work: Work, look: Look): Promise<readonly Finding[]> {
  try {
    return (await work(look)) ?? [];
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith('WRONGTYPE')) throw error;
    return [{ kind: 'wrong_type', subject: `key ${key}`, text: 'The key, or a key that belongs to it, has the wrong type in Redis.' }];
  }
}
