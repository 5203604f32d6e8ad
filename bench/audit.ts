import { Api, inParallel } from './load/api.ts';
import { operation, type LoadCaller } from './load/order.ts';

/** The coin operations that a load sent, as the load generator recorded them. The accounts were new when the load began. */
export interface LoadRecord {
  readonly callers: readonly LoadCaller[];
  readonly keyPrefix: string;
  /** Numbers of the acknowledged operations. Each must be in its ledger exactly once, even if it was sent several times. */
  readonly acknowledged: Iterable<number>;
  /** Numbers of the operations without a response. Each may be in its ledger once or not at all. */
  readonly unanswered: Iterable<number>;
  /** A second load on the same accounts, of which only the counts are known. */
  readonly counted?: CountedLoad;
  /** How many callers the audit reads, from the first on. Left out: all. */
  readonly sample?: number;
}

/** A load that reports how many of its operations were answered, but not which ones. */
export interface CountedLoad {
  readonly keyPrefix: string;
  /** Its operations have the numbers 0 to `numbers` − 1. */
  readonly numbers: number;
  /** Bounds on how many took effect: at least the answered ones, at most the sent ones. */
  readonly least: number;
  readonly most: number;
}

interface Entry {
  readonly id: string;
  readonly coins: number;
  readonly balanceAfterCoins: number;
  readonly key: string;
}

/** More findings are summed up in one line. */
const MAX_FINDINGS = 5;

/**
 * Reads the ledger of every account that a load used, through the public API.
 * @returns a sentence for each error: an acknowledged operation that is not in its ledger exactly once, an entry that the
 * load did not send, a balance that is not the sum of its entries
 */
export async function auditLedgers(url: string, load: LoadRecord): Promise<string[]> {
  const api = new Api(url);
  const expected = new Expected(load);
  try {
    const callers = await api.signIn(load.callers.slice(0, load.sample).map(({ installId }) => installId));
    const findings = await inParallel(callers, ({ cookie = '' }, index) =>
      auditAccount(api, cookie, (entry) => expected.check(entry, index)),
    );
    return firstFindings([...findings.flat(), ...expected.missing()]);
  } finally {
    api.close();
  }
}

/** The operations that the ledgers must contain. Each entry found removes one, and `missing` reports the rest. */
class Expected {
  readonly #load: LoadRecord;
  readonly #acknowledged: Set<number>;
  readonly #possible: Set<number>;
  readonly #countedSeen = new Set<number>();

  constructor(load: LoadRecord) {
    this.#load = load;
    const { sample = Infinity, callers } = load;
    const isAudited = (number: number): boolean => number % callers.length < sample;
    this.#acknowledged = new Set([...load.acknowledged].filter(isAudited));
    this.#possible = new Set([...load.unanswered].filter(isAudited));
  }

  /** @returns the error in this entry, or undefined when the entry is right */
  check({ key, coins }: Entry, account: number): string | undefined {
    const { callers, counted } = this.#load;
    const isCounted = counted !== undefined && key.startsWith(counted.keyPrefix);
    const keyPrefix = isCounted ? counted.keyPrefix : this.#load.keyPrefix;
    const number = key.startsWith(keyPrefix) ? parseInt(key.slice(keyPrefix.length), 16) : Number.NaN;
    if (!(isCounted ? this.#isNewOfCountedLoad(number, counted) : this.#acknowledged.delete(number) || this.#possible.delete(number)))
      return `an entry that was not sent, or a duplicate: ${key}`;
    if (number % callers.length !== account) return `an entry in the wrong account: ${key}`;
    const sent = operation(number, keyPrefix).coins;
    return sent === coins ? undefined : `an entry of ${coins} coins instead of ${sent}: ${key}`;
  }

  missing(): string[] {
    const missing = [...this.#acknowledged].map(
      (number) => `an acknowledged operation is not in the ledger: ${operation(number, this.#load.keyPrefix).key}`,
    );
    const { least = 0, most = 0 } = this.#load.counted ?? {};
    const written = this.#countedSeen.size;
    if (written >= least && written <= most) return missing;
    return [...missing, `the ledgers have ${written} entries of the counted load instead of ${least} to ${most}`];
  }

  #isNewOfCountedLoad(number: number, { numbers }: CountedLoad): boolean {
    if (!(number < numbers) || this.#countedSeen.has(number)) return false;
    this.#countedSeen.add(number);
    return true;
  }
}

async function auditAccount(api: Api, cookie: string, check: (entry: Entry) => string | undefined): Promise<string[]> {
  const findings: string[] = [];
  let sum = 0;
  let newest: Entry | undefined;
  let cursor: string | undefined = '';
  while (cursor !== undefined) {
    const { body } = await api.expectOk(api.get(`/v1/coins/history?limit=100${cursor}`, { cookie }));
    const { entries, nextCursor } = body as { entries: Entry[]; nextCursor?: string };
    newest ??= entries[0];
    for (const entry of entries) {
      sum += entry.coins;
      const finding = check(entry);
      if (finding !== undefined) findings.push(finding);
    }
    cursor = nextCursor === undefined ? undefined : `&cursor=${nextCursor}`;
  }
  const { body } = await api.expectOk(api.get('/v1/balance', { cookie }));
  const balance = body['balanceCoins'];
  if (balance !== sum) findings.push(`the balance is ${balance}, but the sum of the entries is ${sum}`);
  const last = newest?.balanceAfterCoins ?? 0;
  if (balance !== last) findings.push(`the balance is ${balance}, but the newest entry has ${last}`);
  return findings;
}

function firstFindings(findings: string[]): string[] {
  const more = findings.length - MAX_FINDINGS;
  return more <= 0 ? findings : [...findings.slice(0, MAX_FINDINGS), `… and ${more} more`];
}
