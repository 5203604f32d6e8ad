import { CLOCKS_DIFFER_MS, type Command } from '../../consistency/auditor.ts';
import { timeText } from '../../consistency/time-text.ts';
import { isOfOperator, mayHaveOrigin } from './entry-origin.ts';
import type { EntryKeys } from './index-check.ts';
import type { KeyHash } from './key-hash.ts';
import type { LedgerFindings } from './ledger-findings.ts';
import { type EntryPage } from './ledger-layout.ts';
import { coinSumOf, entryLetters, type LedgerEntry, ledgerEntry, MAX_BALANCE, MIN_BALANCE } from './model.ts';
import { isServiceKey } from './service-key.ts';
import { takenGrantOfEntry } from './take-back-key.ts';

/**
 * Of one ledger, the audit compares at most this many entries with the purchases that made them. The audit also keeps at most this many
 * idempotency keys of operators' entries, to compare the keys with the operators' records.
 */
const MOST_BOUGHT = 100_000;

/**
 * Checks that seq, balance and time of the entries of a ledger follow from entry to entry. An entry never changes, and neighbours on one
 * page are neighbours in Redis, so a contradiction within a page is certainly a fault. The class also collects the entries and figures that
 * other checks need.
 */
export class ChainCheck {
  readonly #ledger: string;
  /** The hash of idempotency keys. Undefined while the secret of the hashes is missing or malformed. */
  readonly #hash: KeyHash | undefined;
  readonly #kinds: LedgerFindings;
  /** For each entry the hash of its idempotency key as an unsigned number. NaN for an entry of a move, which is not in the index. */
  #hashes: number[] = [];
  #first: LedgerEntry | undefined;
  #last: LedgerEntry | undefined;
  /** Whether no entry is missing or out of order, so that `#hashes` can be indexed by seq. */
  #isInOrder = true;
  #withKey = 0;
  #hasMerges = false;
  /** Whether the last text read was not an entry, in which case the balance before the next entry is not known. */
  #isBroken = false;
  #lastText = '';
  /**
   * The previous entry, if its balance is wrong: its text, and the balance that it should have, which is the balance before plus its coins.
   */
  #wrongSum: { readonly sum: number; readonly text: string } | undefined;
  #prizes: LedgerEntry[] = [];
  #bought: LedgerEntry[] = [];
  #sums = new Map<string, number>();
  readonly #adjusted = new Set<string>();
  readonly #operated = new Set<string>();
  readonly #newestAt: number;

  constructor(ledger: string, hash: KeyHash | undefined, kinds: LedgerFindings, now: number) {
    [this.#ledger, this.#hash, this.#kinds, this.#newestAt] = [ledger, hash, kinds, now + CLOCKS_DIFFER_MS];
  }

  /** The number of entries read. */
  get count(): number {
    return this.#hashes.length;
  }

  /** The balance after the last entry. */
  get balance(): number {
    return this.#last?.balance ?? 0;
  }

  /** The hashes of the idempotency keys of all entries. Undefined if entries are missing or out of order. */
  get keys(): EntryKeys | undefined {
    if (!this.#isInOrder || this.#last === undefined) return undefined;
    return { hashes: this.#hashes, oldestRead: this.#first!, newestRead: this.#last, withKey: this.#withKey };
  }

  /** Whether the ledger has an entry for coins that a guest brought in a move. */
  get hasMerges(): boolean {
    return this.#hasMerges;
  }

  get prizes(): readonly LedgerEntry[] {
    return this.#prizes;
  }

  /** Entries of types `topup` and `refund`, which purchases made. */
  get bought(): readonly LedgerEntry[] {
    return this.#bought;
  }

  /** The coins of all entries, by day, sign and type (`CoinSums`). */
  get sums(): ReadonlyMap<string, number> {
    return this.#sums;
  }

  /** When the oldest entry was written, in milliseconds since 1970. */
  get oldestAt(): number {
    return this.#first?.at ?? Infinity;
  }

  /** The idempotency keys of entries of type `adjust`, by which operators corrected the balance. */
  get adjusted(): ReadonlySet<string> {
    return this.#adjusted;
  }

  /** The idempotency keys of entries that operators made, and `takenGrant` of grants that they took back. */
  get operated(): ReadonlySet<string> {
    return this.#operated;
  }

  addPage({ texts, isBegin }: EntryPage): void {
    if (isBegin) [this.#hashes, this.#last, this.#withKey, this.#prizes, this.#bought, this.#sums] = [[], undefined, 0, [], [], new Map()];
    for (const text of texts) this.#add(text);
  }

  #add(text: string): void {
    const entry = ledgerEntry.parse(text);
    if (entry === undefined) {
      this.#isInOrder = false;
      this.#kinds.find('unreadable_entry', `After entry ${this.#last?.seq ?? 0} comes "${text.slice(0, 60)}", which is no entry.`);
      // The balance before the next entry is not known.
      this.#isBroken = true;
      return;
    }
    const last = this.#isBroken ? undefined : this.#last;
    const before = this.#before(entry, last, text);
    this.#isBroken = false;
    this.#last = entry;
    this.#lastText = text;
    if (this.#hashes.length === 0) this.#first = entry;
    if (last !== undefined && entry.at < last.at - CLOCKS_DIFFER_MS)
      this.#kinds.find(
        'wrong_time',
        `Entry ${entry.seq} has the time ${timeText(entry.at)}, but entry ${last.seq} before it has the time ${timeText(last.at)}.`,
      );
    else if (!(entry.at < this.#newestAt))
      this.#kinds.find('wrong_time', `Entry ${entry.seq} has the time ${timeText(entry.at)}, which is in the future.`);
    if (before + entry.coins !== entry.balance) this.#findSum(entry, before, text);
    else this.#wrongSum = undefined;
    if (entry.balance < MIN_BALANCE || entry.balance > MAX_BALANCE)
      this.#kinds.find(
        'wrong_balance',
        `Entry ${entry.seq} has a balance of ${entry.balance}, outside of ${MIN_BALANCE} to ${MAX_BALANCE}.`,
      );
    else if (entry.balance < 0 && entry.coins < 0 && !mayOwe(entry))
      this.#kinds.find(
        'wrong_balance',
        `Entry ${entry.seq} takes the balance to ${entry.balance}, but only a refund or a grant taken back may take it below 0.`,
      );
    if (!isOperation(entry))
      this.#kinds.find('wrong_operation', `Entry ${entry.seq} is "${entry.letter}${entry.coins}", which is no operation.`);
    if (!mayHaveOrigin(entry.letter, entry.origin))
      this.#kinds.find(
        'wrong_origin',
        `Entry ${entry.seq} of type "${entry.letter}" has ${entry.origin === undefined ? 'no origin' : `the origin "${entry.origin.slice(0, 60)}"`}.`,
      );
    const sum = coinSumOf(entry);
    this.#sums.set(sum, (this.#sums.get(sum) ?? 0) + Math.abs(entry.coins));
    const isMerge = entry.letter === entryLetters.merge;
    if (entry.letter === entryLetters.prize) this.#prizes.push(entry);
    const isBought = entry.letter === entryLetters.topup || entry.letter === entryLetters.refund;
    if (isBought && this.#bought.length < MOST_BOUGHT) this.#bought.push(entry);
    if (entry.letter === entryLetters.adjust && this.#adjusted.size < MOST_BOUGHT) this.#adjusted.add(entry.key);
    if (isOfOperator(entry.origin) && this.#operated.size < MOST_BOUGHT)
      this.#operated.add(takesBack(entry) ? takenGrantOfEntry(entry.key) : entry.key);
    if (isMerge) this.#hasMerges = true;
    else this.#withKey++;
    this.#hashes.push(isMerge ? Number.NaN : this.#hash === undefined ? 0 : this.#hash(entry.key) >>> 0);
  }

  /**
   * The balance before an entry, which is normally the balance of the previous entry. If retention has deleted the previous entry, or an
   * entry is missing or in the wrong place, the balance before is not known. The result is then the entry's balance minus the entry's
   * coins, which agrees with the entry.
   */
  #before(entry: LedgerEntry, last: LedgerEntry | undefined, text: string): number {
    const unknown = entry.balance - entry.coins;
    if (last === undefined) return entry.seq === 1 && !this.#isBroken ? 0 : unknown;
    if (entry.seq === last.seq + 1) return last.balance;
    this.#isInOrder = false;
    const isSame = text === this.#lastText;
    const how = entry.seq === last.seq ? 'an entry stands twice' : entry.seq > last.seq ? 'an entry is missing' : 'the order is wrong';
    this.#kinds.find(
      'broken_chain',
      `Entry ${entry.seq} follows entry ${last.seq}: ${how}.`,
      isSame ? [['LREM', this.#ledger, -1, text]] : [],
    );
    return unknown;
  }

  /**
   * Records that an entry's balance is not the sum of the balance before and the entry's coins. If the next entry continues from that sum,
   * the entry's balance was changed. If it continues from the entry's own balance, the entry's coins were changed.
   */
  #findSum(entry: LedgerEntry, before: number, text: string): void {
    const { seq, balance, coins } = entry;
    const earlier = this.#wrongSum;
    this.#wrongSum = undefined;
    if (earlier !== undefined && earlier.sum + coins === balance)
      return this.#kinds.mend('wrong_sum', ...this.#rewritten(earlier.text, earlier.text.replace(/^(\d+):-?\d+/, `$1:${earlier.sum}`)));
    this.#kinds.find('wrong_sum', `Entry ${seq} has a balance of ${balance}, but ${before} and ${coins} are ${before + coins}.`);
    this.#wrongSum = { sum: before + coins, text };
  }

  /**
   * Commands that replace an entry. The commands find the entry by its text, because the service may append or delete entries meanwhile.
   */
  #rewritten(text: string, right: string): Command[] {
    return [
      ['LINSERT', this.#ledger, 'BEFORE', text, right],
      ['LREM', this.#ledger, 1, text],
    ];
  }
}

/** An operator's entry that takes a grant back (take-back.lua). */
const takesBack = ({ letter, key }: LedgerEntry): boolean => letter === entryLetters.adjust && isServiceKey(key);

const mayOwe = (entry: LedgerEntry): boolean =>
  entry.letter === entryLetters.refund || entry.letter === entryLetters.merge || takesBack(entry);

function isOperation(entry: LedgerEntry): boolean {
  const { letter, coins, key } = entry;
  const { topup, refund, prize } = entryLetters;
  // An entry that takes a grant back takes at most the balance, so the entry may have 0 coins.
  if (takesBack(entry)) return coins <= 0;
  if (isServiceKey(key) !== (letter === topup || letter === refund || letter === prize)) return false;
  switch (letter) {
    case entryLetters.credit:
    case entryLetters.purchase:
    case entryLetters.grant:
    case topup:
    case prize:
      return coins > 0;
    case entryLetters.debit:
      return coins < 0;
    // A refund takes at most the balance, so it may have 0 coins. A positive refund gives back coins of an earlier refund.
    case refund:
      return true;
    default:
      return (letter === entryLetters.merge || letter === entryLetters.adjust) && coins !== 0;
  }
}
