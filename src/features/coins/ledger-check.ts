import { missingAccount } from '../../accounts/account-auditor.ts';
import { accountKey, standingKey } from '../../accounts/account-keys.ts';
import { parseStanding } from '../../accounts/standing.ts';
import type { Command, Finding, Look } from '../../consistency/auditor.ts';
import { mayHaveOrigin } from './entry-origin.ts';
import { FIELDS, IndexCheck } from './index-check.ts';
import type { KeyHash } from './key-hash.ts';
import { LedgerFindings } from './ledger-findings.ts';
import { bucketName, entryPages, parseEntry, type EntryPage, type LedgerEntry } from './ledger-layout.ts';
import { coinKeys, entryLetters, MAX_BALANCE, MIN_BALANCE, payoutsKey } from './model.ts';
import type { SecretUse } from './secret-use.ts';
import { isServiceKey } from './service-key.ts';

/** Most entries of purchases of one ledger that are compared with the purchases. */
const MOST_BOUGHT = 100_000;

/** Compares the entries that purchases made in a ledger with the purchases. `adjusted`: the keys of operators' entries. */
export type BoughtCheck = (
  ledger: { readonly accountId: string; readonly guestId: string | undefined },
  bought: readonly LedgerEntry[],
  adjusted: ReadonlySet<string>,
  look: Look,
) => Promise<readonly Finding[]>;

/** What the checks of all ledgers share. */
export interface LedgerParts {
  /** Undefined without a secret. */
  readonly hash: KeyHash | undefined;
  readonly checkBought: BoughtCheck;
  readonly use: SecretUse;
}

/**
 * Checks one ledger.
 *
 * - The entries follow each other: seq and balance. An entry never changes, and neighbours on one page are neighbours in Redis,
 *   so what a page shows is certain.
 * - The index leads from the hash of each entry's key to the entry, and nowhere else. The check keeps the hash of each entry's
 *   key, and compares it with the index: 8 bytes an entry.
 *
 * While the check reads, the service may append entries, split buckets, and delete the oldest entries with their keys. The check
 * therefore covers the entries that exist both at its beginning and at its end. A split moves hashes only to a bucket with a
 * higher number, so buckets are read in the order of their numbers.
 */
export class LedgerCheck {
  readonly #id: string;
  readonly #ledger: string;
  readonly #guest: { readonly id: string; readonly isFiled: boolean } | undefined;
  readonly #look: Look;
  readonly #parts: LedgerParts;
  /** Findings about other things than the ledger itself. */
  readonly #findings: Finding[] = [];
  readonly #kinds: LedgerFindings;
  /** For each entry the hash of its key as an unsigned number, and NaN for an entry of a move, which is not in the index. */
  #hashes: number[] = [];
  #first: LedgerEntry | undefined;
  #last: LedgerEntry | undefined;
  /** Whether no entry is missing or out of order, so that `#hashes` can be indexed by seq. */
  #isInOrder = true;
  #withKey = 0;
  #hasMerges = false;
  /** What came before the next entry is not known. */
  #isBroken = false;
  #lastText = '';
  /** The entry before, if it does not fit to its balance, and what its balance would be by the sum. */
  #wrongSum: { readonly sum: number; readonly text: string } | undefined;
  #prizes: LedgerEntry[] = [];
  #bought: LedgerEntry[] = [];
  readonly #adjusted = new Set<string>();
  readonly #newestAt = Date.now() + AHEAD_MS;

  /** @param guest a guest of the account, to check its ledger. A filed ledger has no index: `guest-auditor.ts` checks it. */
  constructor(id: string, look: Look, parts: LedgerParts, guest?: { readonly id: string; readonly isFiled: boolean }) {
    this.#id = id;
    this.#kinds = new LedgerFindings(guest === undefined ? `account ${id}` : `guest ${guest.id} of account ${id}`);
    this.#ledger = guest === undefined ? coinKeys.ledger(id) : coinKeys.guestLedger(id, guest.id);
    this.#guest = guest;
    this.#look = look;
    this.#parts = parts;
  }

  async run(): Promise<Finding[]> {
    await this.#check();
    return [...this.#kinds.all(), ...this.#findings];
  }

  async #check(): Promise<void> {
    const pages = entryPages(this.#look, this.#ledger);
    const [first, bucket, isAccount] = await Promise.all([
      pages.next(),
      this.#look.ask('HSCAN', bucketName(this.#ledger, 0), 0, 'COUNT', FIELDS),
      this.#look.ask('EXISTS', accountKey(this.#id)),
    ]);
    if (first.done === true) return;
    const owner = this.#guest !== undefined || isAccount === 1 ? 'there' : await this.#ownerWithoutFields();
    if (owner === 'gone') return;
    this.#addPage(first.value);
    let isOnePage = true;
    for await (const page of pages) {
      isOnePage = false;
      this.#addPage(page);
    }
    this.#look.count('entries', this.#hashes.length);
    const { balance = 0 } = this.#last ?? {};
    if (balance < 0) this.#look.count('coins owed', -balance);
    if (this.#guest === undefined && (await this.#isOwnerLost(owner))) return;
    await this.#checkPrizes();
    if (this.#bought.length > 0) {
      const ledger = { accountId: this.#id, guestId: this.#guest?.id };
      this.#findings.push(...(await this.#parts.checkBought(ledger, this.#bought, this.#adjusted, this.#look)));
    }
    if (!this.#isInOrder || this.#last === undefined || this.#guest?.isFiled === true) return;
    // `ledger-auditor.ts` reports a missing secret once, instead of with each ledger.
    if (this.#parts.hash === undefined) return;
    // Buckets are read after the entries, so that the key of each entry read is already in its bucket.
    const keys = { hashes: this.#hashes, first: this.#first!, last: this.#last, withKey: this.#withKey };
    const check = new IndexCheck(this.#ledger, keys, this.#look, this.#kinds, this.#parts.use);
    await check.run(isOnePage ? (bucket as [string, string[]]) : undefined);
  }

  /**
   * `gone`: the account is a guest whose move is just deleting the ledger and its index, or was deleted. The queue of moves then has to
   * hold it (`moveAuditor`), and `deletionAuditor` reports what a deletion left. `unknown`: it has no standing either.
   */
  async #ownerWithoutFields(): Promise<'there' | 'gone' | 'unknown'> {
    const record = (await this.#look.ask('GET', standingKey(this.#id))) as string | null;
    const { target, deleted } = parseStanding(record);
    if (target !== undefined || deleted !== undefined) return 'gone';
    return record === null ? 'unknown' : 'there';
  }

  async #isOwnerLost(owner: 'there' | 'unknown'): Promise<boolean> {
    // An account with a guest has both fields and a standing.
    if (owner === 'there' && !this.#hasMerges) return false;
    const lost = await missingAccount(this.#id, this.#look);
    if (lost !== undefined) this.#findings.push(lost);
    return lost !== undefined;
  }

  /** Checks that each prize has a payout in its season, unless the season is no longer kept. */
  async #checkPrizes(): Promise<void> {
    for (const { seq, coins, key } of this.#prizes) {
      const [, game = '', season = '', playerId = ''] = key.split('·');
      const payouts = payoutsKey(game, season);
      const [isKept, payout] = (await this.#look.together(['EXISTS', payouts], ['HGET', payouts, playerId])) as [number, string | null];
      // During the payment a payout has no outcome yet.
      if (isKept === 1 && !new RegExp(`^\\S+ ${coins}(?: paid| deleted)?$`).test(payout ?? ''))
        this.#findings.push({
          kind: 'prize_without_payout',
          subject: this.#kinds.subject,
          text: `Entry ${seq} is a prize of ${coins} coins, and the payout of ${key} is "${payout ?? 'missing'}".`,
          explainedBy: [`season ${season} of board ${game}`],
        });
    }
  }

  #addPage({ texts, isBegin }: EntryPage): void {
    if (isBegin) [this.#hashes, this.#last, this.#withKey, this.#prizes, this.#bought] = [[], undefined, 0, [], []];
    for (const text of texts) this.#add(text);
  }

  #add(text: string): void {
    const entry = parseEntry(text);
    if (entry === undefined) {
      this.#isInOrder = false;
      this.#kinds.find('unreadable_entry', `After entry ${this.#last?.seq ?? 0} comes "${text.slice(0, 60)}", which is no entry.`);
      // The entry after it follows nothing that is known.
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
        `Entry ${entry.seq} is of ${timeText(entry.at)}, and entry ${last.seq} before it of ${timeText(last.at)}.`,
      );
    else if (!(entry.at < this.#newestAt))
      this.#kinds.find('wrong_time', `Entry ${entry.seq} is of ${timeText(entry.at)}, which is still to come.`);
    if (before + entry.coins !== entry.balance) this.#findSum(entry, before, text);
    else this.#wrongSum = undefined;
    if (entry.balance < MIN_BALANCE || entry.balance > MAX_BALANCE)
      this.#kinds.find(
        'wrong_balance',
        `Entry ${entry.seq} has a balance of ${entry.balance}, outside of ${MIN_BALANCE} to ${MAX_BALANCE}.`,
      );
    else if (entry.balance < 0 && entry.coins < 0 && entry.letter !== entryLetters.refund && entry.letter !== entryLetters.merge)
      this.#kinds.find('wrong_balance', `Entry ${entry.seq} takes the balance to ${entry.balance}, and only a refund may take it below 0.`);
    if (!isOperation(entry))
      this.#kinds.find('wrong_operation', `Entry ${entry.seq} is "${entry.letter}${entry.coins}", which is no operation.`);
    if (!mayHaveOrigin(entry.letter, entry.origin))
      this.#kinds.find(
        'wrong_origin',
        `Entry ${entry.seq} of type "${entry.letter}" has ${entry.origin === undefined ? 'no origin' : `the origin "${entry.origin.slice(0, 60)}"`}.`,
      );
    const isMerge = entry.letter === entryLetters.merge;
    if (entry.letter === entryLetters.prize) this.#prizes.push(entry);
    const isBought = entry.letter === entryLetters.topup || entry.letter === entryLetters.refund;
    if (isBought && this.#bought.length < MOST_BOUGHT) this.#bought.push(entry);
    if (entry.letter === entryLetters.adjust && this.#adjusted.size < MOST_BOUGHT) this.#adjusted.add(entry.key);
    if (isMerge) this.#hasMerges = true;
    else this.#withKey++;
    this.#hashes.push(isMerge ? Number.NaN : this.#hashOf(entry.key));
  }

  /**
   * The balance before an entry. Retention deletes the oldest entries, and an entry may be missing or in the wrong place: then it is not
   * known, and counts as right.
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
   * The entry does not fit to the balance before it. If the next entry fits to the balance of the sum, the balance was changed; if it fits
   * to the entry's own balance, its coins were.
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

  /** Finds the entry by its text, because other entries may come or go meanwhile. */
  #rewritten(text: string, right: string): Command[] {
    return [
      ['LINSERT', this.#ledger, 'BEFORE', text, right],
      ['LREM', this.#ledger, 1, text],
    ];
  }

  #hashOf(key: string): number {
    const { hash } = this.#parts;
    return hash === undefined ? 0 : hash(key) >>> 0;
  }
}

function isOperation({ letter, coins, key }: LedgerEntry): boolean {
  const { topup, refund, prize } = entryLetters;
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
    // A refund takes at most the balance, and a positive refund gives back the coins of another one.
    case refund:
      return true;
    default:
      return (letter === entryLetters.merge || letter === entryLetters.adjust) && coins !== 0;
  }
}

/** The clocks of two processes that write to one ledger may differ by this much. */
const CLOCKS_DIFFER_MS = 60_000;

/**
 * No clock is ahead of the audit's by ten years. An entry that is ahead by less contradicts nothing until another one follows it, and a
 * trial run may have been set to next year.
 */
const AHEAD_MS = 10 * 366 * 86_400_000;

/** A time beyond the range of dates is shown as a number. */
function timeText(milliseconds: number): string {
  return Math.abs(milliseconds) <= 8.64e15 ? new Date(milliseconds).toISOString() : String(milliseconds);
}
