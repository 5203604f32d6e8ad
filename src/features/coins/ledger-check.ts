import { lostAccount, missingAccount, standingIn } from '../../accounts/account-auditor.ts';
import { accountKey, standingKey } from '../../accounts/account-keys.ts';
import { setAside } from '../../consistency/aside.ts';
import type { Command, Finding, Look } from '../../consistency/auditor.ts';
import { pairsOf } from '../../redis/pairs.ts';
import { mayHaveOrigin } from './entry-origin.ts';
import type { KeyHash } from './key-hash.ts';
import {
  bucketCount,
  bucketName,
  bucketOf,
  entryPages,
  ledgerKeys,
  parseEntry,
  type EntryPage,
  type LedgerEntry,
} from './ledger-layout.ts';
import { coinKeys, entryLetters, MAX_BALANCE, MIN_BALANCE, payoutsKey } from './model.ts';
import { isServiceKey } from './service-key.ts';

/** Buckets read at a time. */
const BUCKETS_AT_ONCE = 64;

/** Fields that one command reads of a bucket that has outgrown Redis's compact encoding. A compact bucket is read as a whole. */
const FIELDS = 256;

/** Most commands of a finding, and most hashes of an index that they put right. The next audit has those that are left. */
const MOST_COMMANDS = 100;
const MOST_PUT_RIGHT = 1000;

/** Most unexplained keys of a ledger that are kept until the end of its check. In a live ledger most belong to newer entries. */
const STRANGE_KEPT = 100_000;

/** The number of a bucket has no leading zeros. */
const BUCKET_NUMBER = /^(0|[1-9]\d{0,9})$/;

/** Most entries of purchases of one ledger that are compared with the purchases. */
const MOST_BOUGHT = 100_000;

/** Compares the entries that purchases made in a ledger with the purchases. `adjusted`: the keys of operators' entries. */
export type BoughtCheck = (
  ledger: { readonly accountId: string; readonly guestId: string | undefined },
  bought: readonly LedgerEntry[],
  adjusted: ReadonlySet<string>,
  look: Look,
) => Promise<readonly Finding[]>;

/** Checks that a bucket belongs to a ledger that is long enough to have it. `LedgerCheck` reads the buckets of a ledger. */
export async function checkBucket(id: string, bucket: string, look: Look): Promise<Finding[]> {
  const key = ledgerKeys.bucket(id, bucket);
  const [last, isThere] = (await look.together(['LINDEX', coinKeys.ledger(id), -1], ['EXISTS', key])) as [string | null, number];
  if (isThere === 0) return [];
  const subject = `account ${id}`;
  if (last === null) {
    const { deleted, target } = await standingIn(id, look);
    // A deletion or a move is deleting it.
    if (deleted !== undefined || target !== undefined) return [];
    // Without fields and standing the whole account is lost.
    if ((await look.ask('EXISTS', accountKey(id), standingKey(id))) === 0) return [lostAccount(id)];
    const text = 'Its ledger is lost, and with it the balance: the index of its entries is there.';
    return [{ kind: 'lost_ledger', subject, text }];
  }
  const entry = parseEntry(last);
  if (entry === undefined || (BUCKET_NUMBER.test(bucket) && Number(bucket) < bucketCount(entry.seq))) return [];
  const text = `Bucket ${key} belongs to nothing: a ledger of ${entry.seq} entries has ${bucketCount(entry.seq)} buckets.`;
  return [{ kind: 'orphan_bucket', subject, text, commands: setAside(key), explainedBy: [subject] }];
}

/** Checks that a bucket of a guest's ledger belongs to a guest whose ledger is not filed, and is long enough to have it. */
export async function checkGuestBucket(id: string, guest: string, bucket: string, look: Look): Promise<Finding[]> {
  const found = (await standingIn(id, look)).guests.find((each) => each.id === guest);
  if (found?.isFiled === false && BUCKET_NUMBER.test(bucket) && Number(bucket) < bucketCount(found.lastSeq)) return [];
  const lost = found === undefined ? await missingAccount(id, look) : undefined;
  if (lost !== undefined) return [lost];
  const why = found === undefined ? 'is none of its guests' : found.isFiled ? 'is filed' : `has ${bucketCount(found.lastSeq)} buckets`;
  const key = bucketName(coinKeys.guestLedger(id, guest), bucket);
  const subject = `account ${id}`;
  const text = `Bucket ${key} belongs to nothing: ${guest} ${why}.`;
  return [{ kind: 'orphan_bucket', subject, text, commands: setAside(key), explainedBy: [subject] }];
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
  readonly #subject: string;
  readonly #ledger: string;
  readonly #guest: { readonly id: string; readonly isFiled: boolean } | undefined;
  readonly #look: Look;
  readonly #hash: KeyHash | undefined;
  readonly #checkBought: BoughtCheck;
  /** Findings about other things than the ledger itself. */
  readonly #findings: Finding[] = [];
  /** Findings by their kinds: one damage of a ledger often shows at several entries. */
  readonly #ofKinds = new Map<string, { readonly text: string; readonly commands: Command[]; more: number }>();
  /**
   * For each entry the hash of its key as an unsigned number; −1 minus its hash once the entry was found in a bucket; NaN for an entry
   * of a move, which is not in the index. The first value belongs to the entry `#firstSeq`.
   */
  #hashes: number[] = [];
  #firstSeq = 0;
  #last: LedgerEntry | undefined;
  /** Whether no entry is missing or out of order, so that `#hashes` can be indexed by seq. */
  #isInOrder = true;
  #withKey = 0;
  #met = 0;
  /** Keys in the index that no entry of the check explains. */
  #strange: { hash: string; bucket: number; seq: number; text: string }[] = [];
  /** Entries whose keys have the same hash. */
  #sameHash: number[][] = [];
  #hasMerges = false;
  #known: Set<number> | undefined;
  /** What came before the next entry is not known. */
  #isBroken = false;
  #lastText = '';
  /** The entry before, if it does not fit to its balance, and what its balance would be by the sum. */
  #wrongSum: { readonly sum: number; readonly text: string } | undefined;
  #prizes: LedgerEntry[] = [];
  #bought: LedgerEntry[] = [];
  readonly #adjusted = new Set<string>();

  /** @param guest a guest of the account, to check its ledger. A filed ledger has no index: `guest-auditor.ts` checks it. */
  constructor(
    id: string,
    look: Look,
    hash: KeyHash | undefined,
    checkBought: BoughtCheck,
    guest?: { readonly id: string; readonly isFiled: boolean },
  ) {
    this.#id = id;
    this.#subject = guest === undefined ? `account ${id}` : `guest ${guest.id} of account ${id}`;
    this.#ledger = guest === undefined ? coinKeys.ledger(id) : coinKeys.guestLedger(id, guest.id);
    this.#guest = guest;
    this.#look = look;
    this.#hash = hash;
    this.#checkBought = checkBought;
  }

  async run(): Promise<Finding[]> {
    await this.#check();
    const own = [...this.#ofKinds].map(([kind, { text, commands, more }]): Finding => {
      const rest = more === 0 ? '' : ` The same holds for ${more} more.`;
      return { kind, subject: this.#subject, text: text + rest, commands: commands.slice(0, MOST_COMMANDS) };
    });
    return [...own, ...this.#findings];
  }

  async #check(): Promise<void> {
    const pages = entryPages(this.#look, this.#ledger);
    const [first, bucket, owners] = await Promise.all([
      pages.next(),
      this.#look.ask('HSCAN', bucketName(this.#ledger, 0), 0, 'COUNT', FIELDS),
      this.#look.ask('EXISTS', accountKey(this.#id), standingKey(this.#id)),
    ]);
    if (first.done === true || (await this.#isLeftBehind(owners as number))) return;
    this.#addPage(first.value);
    let isOnePage = true;
    for await (const page of pages) {
      isOnePage = false;
      this.#addPage(page);
    }
    this.#look.count('entries', this.#hashes.length);
    const { balance = 0 } = this.#last ?? {};
    if (balance < 0) this.#look.count('coins owed', -balance);
    if (this.#guest === undefined && (await this.#checkOwners(owners as number))) return;
    await this.#checkPrizes();
    if (this.#bought.length > 0) {
      const ledger = { accountId: this.#id, guestId: this.#guest?.id };
      this.#findings.push(...(await this.#checkBought(ledger, this.#bought, this.#adjusted, this.#look)));
    }
    if (!this.#isInOrder || this.#last === undefined || this.#guest?.isFiled === true) return;
    // `ledger-auditor.ts` reports a missing secret once, instead of with each ledger.
    if (this.#hash === undefined) return;
    // Buckets are read after the entries, so that the key of each entry read is already in its bucket.
    await this.#compareKeys(isOnePage ? (bucket as [string, string[]]) : undefined);
  }

  /**
   * Whether the account is a guest whose move is just deleting the ledger and its index, or was deleted. The queue of moves then has to
   * hold it (`moveAuditor`), and `deletionAuditor` reports what a deletion left.
   */
  async #isLeftBehind(owners: number): Promise<boolean> {
    if (this.#guest !== undefined || owners !== 1) return false;
    const { target, deleted } = await standingIn(this.#id, this.#look);
    return target !== undefined || deleted !== undefined;
  }

  /**
   * @param owners the number of keys that show whose ledger it is: the account's fields and its standing
   * @returns whether the account or its standing is lost
   */
  async #checkOwners(owners: number): Promise<boolean> {
    // An account with a guest has both. An emptied standing counts as one.
    if (owners > 0 && !this.#hasMerges) return false;
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
        this.#find(
          'prize_without_payout',
          `Entry ${seq} is a prize of ${coins} coins, and the payout of ${key} is "${payout ?? 'missing'}".`,
        );
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
      this.#find('unreadable_entry', `After entry ${this.#last?.seq ?? 0} comes "${text.slice(0, 60)}", which is no entry.`);
      // The entry after it follows nothing that is known.
      this.#isBroken = true;
      return;
    }
    const last = this.#isBroken ? undefined : this.#last;
    const before = this.#before(entry, last, text);
    this.#isBroken = false;
    this.#last = entry;
    this.#lastText = text;
    if (this.#hashes.length === 0) this.#firstSeq = entry.seq;
    if (last !== undefined && entry.at < last.at - CLOCKS_DIFFER_MS)
      this.#find('wrong_time', `Entry ${entry.seq} is of ${timeText(entry.at)}, and entry ${last.seq} before it of ${timeText(last.at)}.`);
    if (before + entry.coins !== entry.balance) this.#findSum(entry, before, text);
    else this.#wrongSum = undefined;
    if (entry.balance < MIN_BALANCE || entry.balance > MAX_BALANCE)
      this.#find('wrong_balance', `Entry ${entry.seq} has a balance of ${entry.balance}, outside of ${MIN_BALANCE} to ${MAX_BALANCE}.`);
    else if (entry.balance < 0 && entry.coins < 0 && entry.letter !== entryLetters.refund && entry.letter !== entryLetters.merge)
      this.#find('wrong_balance', `Entry ${entry.seq} takes the balance to ${entry.balance}, and only a refund may take it below 0.`);
    if (!isOperation(entry)) this.#find('wrong_operation', `Entry ${entry.seq} is "${entry.letter}${entry.coins}", which is no operation.`);
    if (!mayHaveOrigin(entry.letter, entry.origin))
      this.#find(
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
    this.#find('broken_chain', `Entry ${entry.seq} follows entry ${last.seq}: ${how}.`, isSame ? [['LREM', this.#ledger, -1, text]] : []);
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
      return void this.#ofKinds
        .get('wrong_sum')!
        .commands.push(...this.#rewritten(earlier.text, earlier.text.replace(/^(\d+):-?\d+/, `$1:${earlier.sum}`)));
    this.#find('wrong_sum', `Entry ${seq} has a balance of ${balance}, but ${before} and ${coins} are ${before + coins}.`);
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
    return this.#hash === undefined ? 0 : this.#hash(key) >>> 0;
  }

  async #compareKeys(firstBucket: [string, string[]] | undefined): Promise<void> {
    await this.#readBucket(0, firstBucket);
    const last = this.#last!;
    let read = 1;
    const readUpTo = async (count: number): Promise<void> => {
      for (; read < count; read += BUCKETS_AT_ONCE) {
        const numbers = Array.from({ length: Math.min(BUCKETS_AT_ONCE, count - read) }, (_, index) => read + index);
        await Promise.all(numbers.map((number) => this.#readBucket(number)));
      }
      read = Math.max(1, count);
    };
    await readUpTo(bucketCount(last.seq));
    for (const seqs of this.#sameHash) await this.#checkKeys(seqs);
    if (this.#met === this.#withKey && this.#strange.length === 0) return;
    // The service may have written meanwhile.
    const ledger = this.#ledger;
    for (;;) {
      const ends = (await this.#look.atomically(['LINDEX', ledger, 0], ['LINDEX', ledger, -1])) as (string | null)[];
      const [oldest, newest] = ends.map((text) => (text === null ? undefined : parseEntry(text)));
      if (oldest === undefined || newest === undefined) return;
      if (bucketCount(newest.seq) > read) await readUpTo(bucketCount(newest.seq));
      else return this.#findUnmatched(oldest.seq, newest);
    }
  }

  async #readBucket(number: number, first?: [string, string[]]): Promise<void> {
    const bucket = bucketName(this.#ledger, number);
    let [cursor, fields] = first ?? ((await this.#look.ask('HSCAN', bucket, 0, 'COUNT', FIELDS)) as [string, string[]]);
    for (;;) {
      for (const [hash, text] of pairsOf(fields)) this.#meet(number, hash, text);
      if (cursor === '0') return;
      [cursor, fields] = (await this.#look.ask('HSCAN', bucket, cursor, 'COUNT', FIELDS)) as [string, string[]];
    }
  }

  /** Compares a hash of a bucket, and the seqs that it leads to, with the entries. */
  #meet(bucket: number, hash: string, text: string): void {
    const parts = text.split(',');
    if (parts.length > 1 && this.#sameHash.length < STRANGE_KEPT) this.#sameHash.push(parts.map(Number));
    for (const part of parts) {
      const seq = /^[1-9]\d{0,14}$/.test(part) ? Number(part) : Number.NaN;
      const index = seq - this.#firstSeq;
      const known = this.#hashes[index];
      const own = Number(hash) >>> 0;
      if (known === own && isHash(hash) && bucket === bucketOf(own, this.#last!.seq)) {
        this.#hashes[index] = -1 - own;
        this.#met++;
      } else if (this.#strange.length < STRANGE_KEPT) this.#strange.push({ hash, bucket, seq, text });
    }
  }

  /** Different keys with the same hash are fine. If two entries have the same key, the key was applied twice. */
  async #checkKeys(seqs: readonly number[]): Promise<void> {
    const ledger = this.#ledger;
    const last = (await this.#look.ask('LINDEX', ledger, -1)) as string | null;
    const lastSeq = parseEntry(last ?? '')?.seq ?? 0;
    const found = (await this.#look.atomically(
      ['LINDEX', ledger, -1],
      ...seqs.map((seq): Command => ['LINDEX', ledger, seq - lastSeq - 1]),
    )) as (string | null)[];
    // An entry was written in between, so the places do not match. The next attempt checks again.
    if (parseEntry(found[0] ?? '')?.seq !== lastSeq) return;
    const keys = found.slice(1).map((text) => parseEntry(text ?? '')?.key);
    for (const [index, key] of keys.entries())
      if (key !== undefined && keys.indexOf(key) < index && seqs[keys.indexOf(key)] !== seqs[index])
        this.#find('key_used_twice', `Entries ${seqs[keys.indexOf(key)]} and ${seqs[index]} have the same key "${key}".`);
  }

  /** @param oldestSeq like `newest`, of the current ledger */
  async #findUnmatched(oldestSeq: number, newest: LedgerEntry): Promise<void> {
    const last = this.#last!;
    const strange = this.#strange.filter(
      ({ seq }) => !(seq > last.seq && seq <= newest.seq) && !(seq >= this.#firstSeq && seq < oldestSeq),
    );
    for (const each of strange) this.#findStrange(each, newest);
    const without = this.#met < this.#withKey ? this.#withoutKey(oldestSeq) : [];
    const wrong = new Set(strange.map(({ hash }) => Number(hash) >>> 0));
    const pointedAt = new Set(strange.map(({ seq }) => seq));
    // A key that leads elsewhere explains the entry that it does not lead to, and the entry that it leads to.
    const unexplained = without.filter(({ seq, own }) => !wrong.has(own) && !pointedAt.has(seq));
    for (const { seq } of unexplained.slice(0, 1)) await this.#findWithoutKey(seq, oldestSeq, unexplained.length);
    this.#putRight(new Set([...unexplained.map(({ own }) => own), ...wrong]), strange, newest);
  }

  /** A hash of the index that does not lead to its entry, or lies in another bucket than its own. */
  #findStrange({ hash, bucket, seq, text }: { hash: string; bucket: number; seq: number; text: string }, newest: LedgerEntry): void {
    const name = `Hash ${hash} in bucket ${bucket}`;
    const known = this.#hashes[seq - this.#firstSeq];
    const own = Number(hash) >>> 0;
    if (known === undefined || Number.isNaN(seq)) {
      // The hash of an entry that the ledger has leads to another one.
      const isOfEntry = Number.isNaN(seq) && isHash(hash) && this.#allHashes().has(own);
      const kind = isOfEntry ? 'key_points_elsewhere' : 'key_without_entry';
      return this.#find(kind, `${name} leads to entry ${seq} ("${text}"), which the ledger does not have.`);
    }
    if (!isHash(hash) || (known !== own && known !== -1 - own))
      return this.#find('key_points_elsewhere', `${name} leads to entry ${seq}, whose key has another hash.`);
    if (known === own) {
      this.#hashes[seq - this.#firstSeq] = -1 - own;
      this.#met++;
    }
    // A split that happened meanwhile has moved the hash.
    if (bucket !== bucketOf(own, newest.seq) && newest.seq < 2 * this.#last!.seq)
      return this.#find('key_in_wrong_bucket', `${name} belongs into bucket ${bucketOf(own, newest.seq)}.`);
    const seqs = text.split(',');
    if (new Set(seqs).size < seqs.length) this.#find('key_twice', `${name} leads to entry ${seq} twice.`);
  }

  #allHashes(): ReadonlySet<number> {
    return (this.#known ??= new Set(this.#hashes.map((known) => (known < 0 ? -1 - known : known))));
  }

  /** Entries to which no key of the index leads. */
  #withoutKey(oldestSeq: number): { seq: number; own: number }[] {
    return [...this.#hashes.entries()].flatMap(([index, known]) => {
      const seq = this.#firstSeq + index;
      return known >= 0 && seq >= oldestSeq ? [{ seq, own: known }] : [];
    });
  }

  async #findWithoutKey(seq: number, oldestSeq: number, count: number): Promise<void> {
    const text = await this.#look.ask('LINDEX', this.#ledger, seq - oldestSeq);
    const entry = typeof text === 'string' ? parseEntry(text) : undefined;
    const key = entry?.seq === seq ? ` "${entry.key}"` : '';
    this.#find('entry_without_key', `The index does not lead from the key${key} to its entry ${seq}.`);
    this.#ofKinds.get('entry_without_key')!.more += count - 1;
  }

  /** Commands that make these hashes lead to their entries. A hash that belongs to no entry has none. */
  #putRight(hashes: ReadonlySet<number>, strange: readonly { hash: string; bucket: number }[], newest: LedgerEntry): void {
    const seqs = new Map<number, number[]>();
    for (const [index, known] of this.#hashes.entries()) {
      const own = known < 0 ? -1 - known : known;
      if (!hashes.has(own)) continue;
      if (!seqs.has(own) && seqs.size >= MOST_PUT_RIGHT) continue;
      seqs.set(own, [...(seqs.get(own) ?? []), this.#firstSeq + index]);
    }
    const words = new Map<string, string[]>();
    for (const [own, found] of seqs) {
      const bucket = bucketName(this.#ledger, bucketOf(own, newest.seq));
      words.set(bucket, [...(words.get(bucket) ?? []), String(own | 0), found.join(',')]);
    }
    const commands = [...words].map(([bucket, fields]): Command => ['HSET', bucket, ...fields]);
    for (const { hash, bucket } of strange)
      if (seqs.has(Number(hash) >>> 0) && bucket !== bucketOf(Number(hash) >>> 0, newest.seq))
        commands.push(['HDEL', bucketName(this.#ledger, bucket), hash]);
    const [first] = ['key_points_elsewhere', 'entry_without_key', 'key_twice', 'key_in_wrong_bucket'].flatMap(
      (kind) => this.#ofKinds.get(kind) ?? [],
    );
    first?.commands.push(...commands);
  }

  #find(kind: string, text: string, commands: readonly Command[] = []): void {
    const known = this.#ofKinds.get(kind);
    if (known === undefined) this.#ofKinds.set(kind, { text, commands: [...commands], more: 0 });
    else {
      known.more++;
      known.commands.push(...commands);
    }
  }
}

/** A signed integer of 32 bits. */
function isHash(text: string): boolean {
  return String(Number(text) | 0) === text;
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

/** A time beyond the range of dates is shown as a number. */
function timeText(milliseconds: number): string {
  return Math.abs(milliseconds) <= 8.64e15 ? new Date(milliseconds).toISOString() : String(milliseconds);
}
