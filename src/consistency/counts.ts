export interface AuditCounts {
  /** Number of keys read so far. SCAN may give a key twice. */
  keys: number;
  /** Number of keys in Redis at the start of the audit. */
  keysInAll: number;
  /** Number of checked accounts, ledgers, entries and so on, by these names. */
  readonly checked: Record<string, number>;
  /** Number of keys that match no check, by the form of the keys: a key's name with its hash tag as `{…}` and each number as `n`. */
  readonly unknown: Record<string, number>;
  /** Number of findings so far. */
  drift: number;
  /** Number of checks that could not be finished, because their data changed in every run of the check. */
  unsettled: number;
  /** Number of primaries of a Cluster that were read. Undefined: one Redis. */
  primaries: number | undefined;
  /** Sentences for the operator about the audit itself. They report no drift. */
  readonly notes: string[];
}

export function newCounts(): AuditCounts {
  return {
    keys: 0,
    keysInAll: 0,
    checked: {},
    unknown: Object.create(null) as Record<string, number>,
    drift: 0,
    unsettled: 0,
    primaries: undefined,
    notes: [],
  };
}

/**
 * The counts of one scan, which it adds to the counts of the audit. If the scan breaks off, its counts are subtracted, because the next
 * scan begins from the start.
 */
export class Tally {
  readonly #counts: AuditCounts;
  readonly #checked: Record<string, number> = {};
  readonly #unknown: Record<string, number> = {};
  #keys = 0;
  #keysInAll = 0;
  #isDropped = false;
  /** Number of checks of this scan that have not ended. */
  working = 0;

  /** @param isCounted false for a scan of keys that another scan may have counted already */
  constructor(counts: AuditCounts, isCounted = true) {
    this.#counts = counts;
    this.#isDropped = !isCounted;
  }

  /** @param keys number of keys that the scan is going to read */
  expect(keys: number): void {
    if (this.#isDropped) return;
    this.#keysInAll += keys;
    this.#counts.keysInAll += keys;
  }

  key(): void {
    if (this.#isDropped) return;
    this.#keys++;
    this.#counts.keys++;
  }

  readonly count = (what: string, number: number): void => {
    if (this.#isDropped) return;
    add(this.#checked, what, number);
    add(this.#counts.checked, what, number);
  };

  unknown(form: string): void {
    if (this.#isDropped) return;
    add(this.#unknown, form, 1);
    add(this.#counts.unknown, form, 1);
  }

  drop(): void {
    if (this.#isDropped) return;
    this.#isDropped = true;
    this.#counts.keys -= this.#keys;
    this.#counts.keysInAll -= this.#keysInAll;
    for (const [what, number] of Object.entries(this.#checked)) add(this.#counts.checked, what, -number);
    for (const [form, number] of Object.entries(this.#unknown)) add(this.#counts.unknown, form, -number);
  }
}

/** Adds to a count. A count of 0 is deleted, so that the report leaves it out. */
function add(counts: Record<string, number>, what: string, number: number): void {
  const sum = (counts[what] ?? 0) + number;
  if (sum === 0) delete counts[what];
  else counts[what] = sum;
}
