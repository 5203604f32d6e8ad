import { setTimeout as pause } from 'node:timers/promises';
import { RedisClock } from '../redis/redis-clock.ts';
import { Unsettled, type Auditor, type Finding, type KeyCheck, type RedisType } from './auditor.ts';
import { Tally, type AuditCounts } from './counts.ts';
import { Findings } from './findings.ts';
import { checkLife } from './key-life.ts';
import { scanRedis, type AuditReader, type KeyVisitor, type Work } from './scan.ts';
import { checkTexts } from './text-check.ts';
import { TypedProbe, type TypedKey } from './wrong-types.ts';

/** The pauses before each repetition of a check that found drift, in milliseconds. */
const PAUSES_MS = [0, 50, 200, 800];

/**
 * Once the audit has more findings than this, a check that finds drift is repeated once and not four times: there is certainly drift, and
 * the audit should end soon.
 */
const FINDINGS_WITH_PAUSES = 1000;

/** The pauses before a probe that could not be finished is tried again, in milliseconds. */
const UNSETTLED_PAUSES_MS = [20, 100, 400];

/** The most forms of unknown keys that are counted separately. */
const MOST_UNKNOWN_FORMS = 50;

export interface AuditOptions {
  readonly auditors: readonly Auditor[];
  readonly reader: AuditReader;
  /** Reads all keys and gives them to the visitor. By default, the single Redis of `reader` is scanned. */
  readonly scan?: ((visitor: KeyVisitor) => Promise<void>) | undefined;
  /** Called with each reported finding, most of them at the end of the audit. */
  readonly found: (finding: Finding) => void;
  readonly counts: AuditCounts;
  readonly signal: AbortSignal;
  /** For tests: the pauses before each repetition of a check that found drift. If there is no drift, the pauses have no effect. */
  readonly pausesMs?: readonly number[] | undefined;
}

/** The finding about a Redis without keys. A service writes some keys when it first starts. */
const NO_DATA: Finding = {
  kind: 'no_data',
  subject: 'all keys',
  text: 'Redis has no keys: it was emptied, or it is not the Redis or not the database that the service uses.',
};

/**
 * Reads every key of Redis once, and lets the auditors check the keys whose patterns they declare.
 * @throws Error if the connection to Redis is lost, or the reason of the signal
 */
export async function runAudit(options: AuditOptions): Promise<void> {
  const { auditors, counts, reader, scan = (visitor) => scanRedis(reader, visitor) } = options;
  const audit = new Audit(options);
  const tally = new Tally(counts);
  await audit.readClock();
  try {
    for (const { once } of auditors) if (once !== undefined) audit.start(once, tally);
    await scan(audit);
    await audit.ended();
    if (counts.keys === 0) audit.find(NO_DATA);
    for (const { last } of auditors) if (last !== undefined) audit.start(last, tally);
    await audit.ended();
  } finally {
    audit.report();
  }
}

class Audit implements KeyVisitor {
  readonly #options: AuditOptions;
  /** The checks by their pattern, so that each key is matched with each pattern only once. */
  readonly #patterns = new Map<string, { pattern: RegExp; checks: KeyCheck[]; type: RedisType | undefined; readsKey: boolean }>();
  readonly #findings: Findings;
  readonly #clock = new RedisClock();
  #working = 0;
  /** The `resolve` functions of the promises that wait until a check ends. */
  readonly #waiting = new Set<() => void>();
  #error: { reason: unknown } | undefined;

  constructor(options: AuditOptions) {
    this.#options = options;
    this.#findings = new Findings(options.counts, options.found);
    for (const check of options.auditors.flatMap(({ keys }) => keys)) {
      const { pattern } = check;
      const known = this.#patterns.get(pattern.source) ?? { pattern, checks: [], type: undefined, readsKey: false };
      known.checks.push(check);
      known.type ??= check.type;
      known.readsKey ||= check.readsKey === true;
      this.#patterns.set(pattern.source, known);
    }
  }

  get counts(): AuditCounts {
    return this.#options.counts;
  }

  get signal(): AbortSignal {
    return this.#options.signal;
  }

  key(key: string, tally: Tally): void {
    tally.key();
    for (const { pattern, checks, type, readsKey } of this.#patterns.values()) {
      const parts = pattern.exec(key)?.slice(1);
      if (parts === undefined) continue;
      const works: Work[] = [];
      for (const { counted, life, texts, check } of checks) {
        if (counted !== undefined) tally.count(counted, 1);
        if (life !== undefined) works.push((probe) => checkLife(key, life, probe));
        if (texts !== undefined) works.push((probe) => checkTexts(key, type!, texts, parts, probe));
        if (check !== undefined) works.push((probe) => check(parts, probe));
      }
      const typed = readsKey ? undefined : type && { key, type };
      // No check reads this key, so an empty check makes the probe read the key's type.
      if (works.length === 0 && typed !== undefined) works.push(async () => undefined);
      if (works.length > 0) this.#startAll(works, tally, typed);
      return;
    }
    const form = key
      .replace(/\{[^}]*\}/, '{…}')
      .replaceAll(/\d+/g, 'n')
      .slice(0, 60);
    const { unknown } = this.counts;
    tally.unknown(form in unknown || Object.keys(unknown).length < MOST_UNKNOWN_FORMS ? form : 'other forms');
  }

  start(work: Work, tally: Tally): void {
    this.#startAll([work], tally);
  }

  #startAll(works: readonly Work[], tally: Tally, typed?: TypedKey): void {
    this.#working += works.length;
    tally.working += works.length;
    this.#settleAll(works, tally, typed)
      .catch((reason: unknown) => (this.#error ??= { reason }))
      .finally(() => {
        this.#working -= works.length;
        tally.working -= works.length;
        for (const resolve of this.#waiting) resolve();
        this.#waiting.clear();
      });
  }

  readClock(): Promise<void> {
    return this.#clock.read(async () => (await this.#options.reader.ask(['TIME'])) as string[]);
  }

  room(tally: Tally, most: number): Promise<void> {
    return this.#until(() => tally.working < most);
  }

  /** Resolves when all checks have ended. @throws the error of a check */
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

  find(finding: Finding): void {
    this.#findings.add(finding);
  }

  report(): void {
    this.#findings.end();
  }

  /**
   * Runs the checks of a key in one probe, because nearly all checks find nothing. After this probe, each check that found drift is
   * repeated alone.
   */
  async #settleAll(works: readonly Work[], tally: Tally, typed: TypedKey | undefined): Promise<void> {
    let ofWorks: readonly (readonly Finding[] | undefined)[] = [];
    const all: Work = async (probe) => {
      ofWorks = await Promise.all(works.map((work) => work(probe)));
      return ofWorks.flatMap((found) => found ?? []);
    };
    const found = await this.#probed(all, typed, tally);
    if (found?.length === 0) return;
    // If the probe read a key of the wrong type, it does not know which of the checks read that key. Then all checks are repeated.
    const isKnown = found?.length === ofWorks.flatMap((findings) => findings ?? []).length;
    await Promise.all(works.map((work, index) => this.#settle(work, typed, isKnown ? (ofWorks[index] ?? []) : undefined)));
  }

  /**
   * Repeats a check while it finds drift, a few times at most, and keeps the drift that every run has found.
   * @param foundBefore the drift of the first run; undefined: not known
   */
  async #settle(work: Work, typed: TypedKey | undefined, foundBefore: readonly Finding[] | undefined): Promise<void> {
    const { counts, signal, pausesMs = PAUSES_MS } = this.#options;
    let seen = foundBefore;
    if (seen?.length === 0) return;
    const fewest = foundBefore === undefined ? 2 : 1;
    for (const pauseMs of this.#findings.size < FINDINGS_WITH_PAUSES ? pausesMs : pausesMs.slice(0, fewest)) {
      if (pauseMs > 0) await pause(pauseMs, undefined, { signal });
      // The clock is read each time, because an operator may have set Redis's clock, or a machine with another clock may have taken over.
      await this.readClock();
      const kinds = seen && new Set(seen.map(({ kind }) => kind));
      const again = await this.#probedAgain(work, typed);
      if (again === undefined) return void counts.unsettled++;
      seen = kinds === undefined ? again : again.filter(({ kind }) => kinds.has(kind));
      if (seen.length === 0) return;
    }
    for (const finding of seen ?? []) this.#findings.add(finding);
  }

  async #probedAgain(work: Work, typed: TypedKey | undefined): Promise<readonly Finding[] | undefined> {
    for (const pauseMs of UNSETTLED_PAUSES_MS) {
      const seen = await this.#probed(work, typed);
      if (seen !== undefined) return seen;
      await pause(pauseMs, undefined, { signal: this.signal });
    }
    return this.#probed(work, typed);
  }

  /**
   * Runs a check once.
   * @param typed a key whose type the probe reads too
   * @param tally given to the first probe of a check only: later probes must not count the same data again
   * @returns undefined if the probe could not be finished
   */
  async #probed(work: Work, typed: TypedKey | undefined, tally?: Tally): Promise<readonly Finding[] | undefined> {
    const probe = new TypedProbe(this.#options.reader, this.#clock, tally);
    try {
      const [found] = typed === undefined ? [await work(probe)] : await Promise.all([work(probe), probe.checkType(typed)]);
      return probe.found(found ?? []);
    } catch (error) {
      if (error instanceof Unsettled) return undefined;
      throw error;
    }
  }
}
