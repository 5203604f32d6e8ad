import type { Finding, Probe } from '../../consistency/auditor.ts';
import { Fingerprints } from '../../consistency/fingerprints.ts';
import { COUNTERS_TAG, dayNumber } from '../../redis/counters.ts';
import { DATA_ID_KEY } from '../../redis/data/data-id.ts';
import { pairsOf } from '../../redis/reply-pairs.ts';
import { tagOf } from '../../redis/slots.ts';
import type { CoinSums } from '../coins/model.ts';
import { dayText, numberKeys, type Counters } from './model.ts';
import { readNumbers, type NumbersOfDays } from './read-numbers.ts';

/** The most ledgers whose coins are added up: the audit remembers each for 16 to 32 bytes, so that it adds none twice. */
const MOST_LEDGERS = 4_000_000;

/** The clocks of two processes may differ by this, in milliseconds. */
const CLOCKS_DIFFER_MS = 5000;

/** A single Redis has no copies of the data's id in slots. A slot of a Cluster lacks its copy only for a moment, so a few are asked. */
const ASKED_SLOTS = 32;

const COIN_COUNTER = /^[+-][a-z]$/;

/**
 * Compares the coins that scripts counted on each day with the coins of the ledger entries of that day. Of the counted coins, those of
 * entries that were deleted since are subtracted.
 *
 * The service writes while the audit reads. So a day is compared only if its counters are the same before and after the audit, and no day
 * is compared if a guest moves or a deleted account is erased meanwhile: its entries may have been read twice, or not at all. On the day of
 * an upgrade from a version that did not count, and on the next day, the counters may lack entries of processes of that version.
 */
export class NumbersCheck implements CoinSums {
  readonly #sums = new Map<string, number>();
  readonly #added = new Fingerprints();
  #oldestAt = Infinity;
  #before: Promise<NumbersOfDays> | undefined;
  #isDisturbed = false;
  #isOnCluster = false;
  readonly #asksSlots: boolean;

  /** @param asksSlots false: no day of a Cluster is compared, because each slot would have to be asked for its counters */
  constructor(asksSlots: boolean) {
    this.#asksSlots = asksSlots;
  }

  async begin(probe: Probe): Promise<void> {
    await (this.#before ??= this.#read(probe, true));
  }

  add(ledger: string, sums: ReadonlyMap<string, number>, oldestAt: number): void {
    if (this.#added.size >= MOST_LEDGERS) this.disturb();
    if (this.#isDisturbed || this.#added.has(ledger)) return;
    this.#added.add(ledger);
    for (const [name, coins] of sums) this.#sums.set(name, (this.#sums.get(name) ?? 0) + coins);
    this.#oldestAt = Math.min(this.#oldestAt, oldestAt);
  }

  /** Must be called if ledgers change their owner, or are deleted, during the audit. */
  disturb(): void {
    this.#isDisturbed = true;
  }

  /** Must be called after all ledgers were read. */
  async run(probe: Probe): Promise<Finding[]> {
    await this.begin(probe);
    const [before, after] = [await this.#before!, await this.#read(probe, false)];
    if (this.#isDisturbed || before.firstAt === undefined || movesIn(before) !== movesIn(after)) return [];
    const isUpgraded = this.#oldestAt < before.firstAt - CLOCKS_DIFFER_MS;
    const first = dayNumber(before.firstAt) + (isUpgraded ? 2 : 0);
    const findings: Finding[] = [];
    for (const [day, counters] of after.days) {
      if (day < first || !areSame(before.days.get(day), counters)) continue;
      probe.count('compared days', 1);
      const differences = [...this.#differences(day, counters)];
      if (differences.length === 0) continue;
      const texts = differences.map(({ name, counted, found }) => `${name} ${counted} counted, ${found} in ledgers`);
      findings.push({
        kind: 'numbers_differ',
        subject: `day ${dayText(day)}`,
        text: `On ${dayText(day)} the counted coins differ from those of the ledgers: ${texts.join('; ')}.`,
        commands: differences.map(({ name, counted, found }) => ['HINCRBY', numberKeys.counters(COUNTERS_TAG, day), name, found - counted]),
        followsFromAny: true,
      });
    }
    return findings;
  }

  *#differences(day: number, counters: Counters): Generator<{ readonly name: string; readonly counted: number; readonly found: number }> {
    const names = [...counters.keys()].map((name) => name.replace(/^x/, '')).filter((name) => COIN_COUNTER.test(name));
    const ofLedgers = [...this.#sums.keys()].flatMap((sum) => (sum.startsWith(`${day} `) ? [sum.slice(`${day} `.length)] : []));
    for (const name of new Set([...names, ...ofLedgers])) {
      const counted = (counters.get(name) ?? 0) - (counters.get(`x${name}`) ?? 0);
      const found = this.#sums.get(`${day} ${name}`) ?? 0;
      if (counted !== found) yield { name, counted, found };
    }
  }

  async #read(probe: Probe, isFirst: boolean): Promise<NumbersOfDays> {
    if (isFirst) {
      const asked = Array.from({ length: ASKED_SLOTS }, (_, slot) => probe.ask('EXISTS', tagOf(slot) + DATA_ID_KEY));
      this.#isOnCluster = (await Promise.all(asked)).some((isThere) => isThere === 1);
    }
    if (this.#isOnCluster && !this.#asksSlots) return { firstAt: undefined, days: new Map() };
    return readNumbers(this.#isOnCluster, 0, Infinity, async (key) => pairsOf((await probe.ask('HGETALL', key)) as string[]));
  }
}

function movesIn({ days }: NumbersOfDays): number {
  return days.values().reduce((sum, counters) => sum + (counters.get('moved') ?? 0), 0);
}

function areSame(one: Counters | undefined, other: Counters): boolean {
  return one?.size === other.size && [...other].every(([name, number]) => one.get(name) === number);
}
