export interface AuditCounts {
  /** Keys read so far. SCAN may give a key twice. */
  keys: number;
  /** Keys in Redis at the start. */
  keysInAll: number;
  /** Things checked, by name: accounts, ledgers, entries. */
  readonly checked: Record<string, number>;
  /** Keys that match no check, by their form. */
  readonly unknown: Record<string, number>;
  /** Findings so far. */
  drift: number;
  /** Checks that could not be finished, because their data changed during every probe. */
  unsettled: number;
  /** Primaries of a Cluster that were read. Undefined: one Redis. */
  primaries: number | undefined;
  /** Sentences that the operator should read although they report no drift. */
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

/** The counts of one scan, for the report. The counts of a scan that broke off are dropped, because the next scan begins from the start. */
export class Tally {
  readonly #counts: AuditCounts;
  readonly #checked: Record<string, number> = {};
  readonly #unknown: Record<string, number> = {};
  #keys = 0;
  #keysInAll = 0;
  #isDropped = false;
  /** Checks of this scan that are at work. */
  working = 0;

  /** @param isCounted false for keys that another scan may have counted */
  constructor(counts: AuditCounts, isCounted = true) {
    this.#counts = counts;
    this.#isDropped = !isCounted;
  }

  /** @param keys that the scan is going to read */
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

/** The report leaves counts of 0 out. */
function add(counts: Record<string, number>, what: string, number: number): void {
  const sum = (counts[what] ?? 0) + number;
  if (sum === 0) delete counts[what];
  else counts[what] = sum;
}
