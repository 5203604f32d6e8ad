import { Api, inParallel } from './load/api.ts';
import { operation, type LoadCaller } from './load/order.ts';

/** What a load did to its callers' accounts, as far as it was told. The accounts were new when it began. */
export interface Done {
  readonly callers: readonly LoadCaller[];
  readonly keyPrefix: string;
  /** Numbers of the operations that were acknowledged; each takes effect once, however often it was sent. */
  readonly acknowledged: Iterable<number>;
  /** Numbers of those that may or may not have taken effect. */
  readonly unanswered: Iterable<number>;
  /** Of another load on the same accounts: operations that were numbered and counted, and not listed. */
  readonly counted?: Counted;
  /** Only so many of the callers are looked at, where all of them would be too many. */
  readonly sample?: number;
}

export interface Counted {
  readonly keyPrefix: string;
  /** Its operations have numbers below this. */
  readonly numbers: number;
  /** How many took effect: at least those that were answered, at most those that were sent. */
  readonly least: number;
  readonly most: number;
}

interface Entry {
  readonly id: string;
  readonly coins: number;
  readonly balanceAfterCoins: number;
  readonly key: string;
}

/** Findings beyond this number tell nothing new. */
const MOST_FINDINGS = 5;

/**
 * Reads the whole ledger of every account that a load used, through the public API, and says what is wrong: an acknowledged
 * operation that is not there exactly once, an entry that nobody asked for, a balance that is not the sum of its entries.
 */
export async function auditLedgers(url: string, done: Done): Promise<string[]> {
  const api = new Api(url);
  const ledger = new Expected(done);
  try {
    const callers = await api.signIn(done.callers.slice(0, done.sample).map(({ installId }) => installId));
    const findings = await inParallel(callers, ({ cookie = '' }, index) =>
      auditAccount(api, cookie, (entry) => ledger.explain(entry, index)),
    );
    return fewOf([...findings.flat(), ...ledger.missing()]);
  } finally {
    api.close();
  }
}

/** What has to be found in the ledgers, and is crossed off as it is. */
class Expected {
  readonly #done: Done;
  readonly #acknowledged: Set<number>;
  readonly #possible: Set<number>;
  readonly #countedSeen = new Set<number>();

  constructor(done: Done) {
    this.#done = done;
    const { sample = Infinity, callers } = done;
    const isLookedAt = (number: number): boolean => number % callers.length < sample;
    this.#acknowledged = new Set([...done.acknowledged].filter(isLookedAt));
    this.#possible = new Set([...done.unanswered].filter(isLookedAt));
  }

  /** What is wrong with an entry, if anything. */
  explain({ key, coins }: Entry, account: number): string | undefined {
    const { callers, counted } = this.#done;
    const isCounted = counted !== undefined && key.startsWith(counted.keyPrefix);
    const keyPrefix = isCounted ? counted.keyPrefix : this.#done.keyPrefix;
    const number = key.startsWith(keyPrefix) ? parseInt(key.slice(keyPrefix.length), 16) : Number.NaN;
    if (!(isCounted ? this.#isNewOfCounted(number, counted) : this.#acknowledged.delete(number) || this.#possible.delete(number)))
      return `an entry that was not asked for, or is there twice: ${key}`;
    if (number % callers.length !== account) return `in the wrong account: ${key}`;
    const asked = operation(number, keyPrefix).coins;
    return asked === coins ? undefined : `${coins} coins where ${asked} were asked for: ${key}`;
  }

  missing(): string[] {
    const missing = [...this.#acknowledged].map(
      (number) => `acknowledged, but not in the ledger: ${operation(number, this.#done.keyPrefix).key}`,
    );
    const { least = 0, most = 0 } = this.#done.counted ?? {};
    const written = this.#countedSeen.size;
    if (written >= least && written <= most) return missing;
    return [...missing, `${least} to ${most} operations of another load took effect, and ${written} are in the ledgers`];
  }

  #isNewOfCounted(number: number, { numbers }: Counted): boolean {
    if (!(number < numbers) || this.#countedSeen.has(number)) return false;
    this.#countedSeen.add(number);
    return true;
  }
}

async function auditAccount(api: Api, cookie: string, explain: (entry: Entry) => string | undefined): Promise<string[]> {
  const findings: string[] = [];
  let sum = 0;
  let newest: Entry | undefined;
  let cursor: string | undefined = '';
  while (cursor !== undefined) {
    const { body } = await api.need(api.get(`/v1/coins/history?limit=100${cursor}`, { cookie }));
    const { entries, nextCursor } = body as { entries: Entry[]; nextCursor?: string };
    newest ??= entries[0];
    for (const entry of entries) {
      sum += entry.coins;
      const finding = explain(entry);
      if (finding !== undefined) findings.push(finding);
    }
    cursor = nextCursor === undefined ? undefined : `&cursor=${nextCursor}`;
  }
  const { body } = await api.need(api.get('/v1/balance', { cookie }));
  const balance = body['balanceCoins'];
  if (balance !== sum) findings.push(`a balance of ${balance}, where the entries sum up to ${sum}`);
  const last = newest?.balanceAfterCoins ?? 0;
  if (balance !== last) findings.push(`a balance of ${balance}, where the newest entry says ${last}`);
  return findings;
}

function fewOf(findings: string[]): string[] {
  const more = findings.length - MOST_FINDINGS;
  return more <= 0 ? findings : [...findings.slice(0, MOST_FINDINGS), `… and ${more} more`];
}
