import type { Command, Probe } from '../../consistency/auditor.ts';
import { pairsOf } from '../../redis/reply-pairs.ts';
import type { LedgerFindings } from './ledger-findings.ts';
import { ledgerEntry, type LedgerEntry } from './model.ts';
import { bucketCount, bucketName, bucketOf } from './ledger-layout.ts';
import type { ReplacedSecretCheck } from './replaced-secret-check.ts';
import { KEY_SECRET } from './secret-keys.ts';

/** Buckets that are read in parallel. */
const BUCKETS_AT_ONCE = 64;

/**
 * The COUNT of each HSCAN of a bucket. If a bucket is small, so that it has the compact encoding, Redis ignores COUNT and returns the whole
 * bucket.
 */
export const FIELDS = 256;

/** The most hashes of an index that the commands of one finding correct. The next audit gives the commands for the rest. */
const MOST_PUT_RIGHT = 1000;

/**
 * The most fields of the index without a matching entry that the check keeps until its end. In a ledger in use most of these fields belong
 * to entries that were appended during the check.
 */
const STRANGE_KEPT = 100_000;

/** The idempotency keys of a ledger's entries, as hashes. */
export interface EntryKeys {
  /** For each entry, the hash of its idempotency key as an unsigned number. NaN for an entry of a move, which is not in the index. */
  readonly hashes: number[];
  readonly oldestRead: LedgerEntry;
  readonly newestRead: LedgerEntry;
  /** The number of entries that have an idempotency key, and so must be in the index. */
  readonly withKey: number;
}

/**
 * Checks that the index of a ledger leads from the hash of each entry's idempotency key to the entry, and nowhere else. `LedgerCheck` says
 * how.
 */
export class IndexCheck {
  readonly #ledger: string;
  /**
   * The hashes of all entries. When the check meets the field of a bucket that leads to an entry, it replaces the entry's hash h by −1 − h.
   */
  readonly #keys: EntryKeys;
  readonly #probe: Probe;
  readonly #kinds: LedgerFindings;
  readonly #use: ReplacedSecretCheck;
  #met = 0;
  /** Fields of the index that do not lead to an entry with the field's hash, or that are in a wrong bucket. */
  readonly #strange: { hash: string; bucket: number; seq: number; text: string }[] = [];
  /** The seqs of entries whose idempotency keys have the same hash. */
  readonly #sameHash: number[][] = [];
  #known: Set<number> | undefined;

  constructor(ledger: string, keys: EntryKeys, probe: Probe, kinds: LedgerFindings, use: ReplacedSecretCheck) {
    [this.#ledger, this.#keys, this.#probe, this.#kinds, this.#use] = [ledger, keys, probe, kinds, use];
  }

  /** @param firstBucket the reply of HSCAN for the bucket 0, if it was read after the entries */
  async run(firstBucket: [string, string[]] | undefined): Promise<void> {
    await this.#readBucket(0, firstBucket);
    const { newestRead, withKey } = this.#keys;
    let read = 1;
    const readUpTo = async (count: number): Promise<void> => {
      for (; read < count; read += BUCKETS_AT_ONCE) {
        const numbers = Array.from({ length: Math.min(BUCKETS_AT_ONCE, count - read) }, (_, index) => read + index);
        await Promise.all(numbers.map((number) => this.#readBucket(number)));
      }
      read = Math.max(1, count);
    };
    await readUpTo(bucketCount(newestRead.seq));
    for (const seqs of this.#sameHash) await this.#checkKeys(seqs);
    if (this.#met === withKey && this.#strange.length === 0) {
      if (withKey > 0) this.#use.wasPresent(this.#keys.oldestRead.at);
      return;
    }
    // The service may have appended or deleted entries during the check, so the index is compared with the ledger's present ends.
    const ledger = this.#ledger;
    for (;;) {
      const ends = (await this.#probe.atomically(['LINDEX', ledger, 0], ['LINDEX', ledger, -1])) as (string | null)[];
      const [oldest, newest] = ends.map((text) => (text === null ? undefined : ledgerEntry.parse(text)));
      if (oldest === undefined || newest === undefined) return;
      if (bucketCount(newest.seq) > read) await readUpTo(bucketCount(newest.seq));
      else return this.#findUnmatched(oldest.seq, newest);
    }
  }

  async #readBucket(number: number, firstPage?: [string, string[]]): Promise<void> {
    const bucket = bucketName(this.#ledger, number);
    let [cursor, fields] = firstPage ?? ((await this.#probe.ask('HSCAN', bucket, 0, 'COUNT', FIELDS)) as [string, string[]]);
    for (;;) {
      for (const [hash, text] of pairsOf(fields)) this.#meet(number, hash, text);
      if (cursor === '0') return;
      [cursor, fields] = (await this.#probe.ask('HSCAN', bucket, cursor, 'COUNT', FIELDS)) as [string, string[]];
    }
  }

  /** Compares a field of a bucket with the entries. The field's name is a hash, and its value is the seqs of the entries with this hash. */
  #meet(bucket: number, hash: string, text: string): void {
    const parts = text.split(',');
    if (parts.length > 1 && this.#sameHash.length < STRANGE_KEPT) this.#sameHash.push(parts.map(Number));
    for (const part of parts) {
      const seq = /^[1-9]\d{0,14}$/.test(part) ? Number(part) : Number.NaN;
      const index = seq - this.#keys.oldestRead.seq;
      const known = this.#keys.hashes[index];
      const own = Number(hash) >>> 0;
      if (known === own && isHash(hash) && bucket === bucketOf(own, this.#keys.newestRead.seq)) {
        this.#keys.hashes[index] = -1 - own;
        this.#met++;
      } else if (this.#strange.length < STRANGE_KEPT) this.#strange.push({ hash, bucket, seq, text });
    }
  }

  /**
   * Checks entries with the same hash. Different idempotency keys may have the same hash. If two entries have the same idempotency key, an
   * operation was applied twice.
   */
  async #checkKeys(seqs: readonly number[]): Promise<void> {
    const ledger = this.#ledger;
    const last = (await this.#probe.ask('LINDEX', ledger, -1)) as string | null;
    const lastSeq = ledgerEntry.parse(last ?? '')?.seq ?? 0;
    const found = (await this.#probe.atomically(
      ['LINDEX', ledger, -1],
      ...seqs.map((seq): Command => ['LINDEX', ledger, seq - lastSeq - 1]),
    )) as (string | null)[];
    // If an entry was appended after `lastSeq` was read, the indexes into the list are wrong. The next audit checks these entries.
    if (ledgerEntry.parse(found[0] ?? '')?.seq !== lastSeq) return;
    const keys = found.slice(1).map((text) => ledgerEntry.parse(text ?? '')?.key);
    for (const [index, key] of keys.entries())
      if (key !== undefined && keys.indexOf(key) < index && seqs[keys.indexOf(key)] !== seqs[index])
        this.#kinds.find('key_used_twice', `Entries ${seqs[keys.indexOf(key)]} and ${seqs[index]} have the same key "${key}".`);
  }

  /**
   * Reports the hashes and entries that do not match. @param oldestSeq the seq of the ledger's oldest entry now. @param newest the ledger's
   * newest entry now
   */
  async #findUnmatched(oldestSeq: number, newest: LedgerEntry): Promise<void> {
    const { newestRead } = this.#keys;
    const strange = this.#strange.filter(
      ({ seq }) => !(seq > newestRead.seq && seq <= newest.seq) && !(seq >= this.#keys.oldestRead.seq && seq < oldestSeq),
    );
    if (await this.#isOfOtherSecret(strange, oldestSeq)) this.#kinds.explainBy(`key ${KEY_SECRET}`);
    for (const strangeKey of strange) this.#findStrange(strangeKey, newest);
    const without = this.#met < this.#keys.withKey ? this.#withoutKey(oldestSeq) : [];
    const wrong = new Set(strange.map(({ hash }) => Number(hash) >>> 0));
    const pointedAt = new Set(strange.map(({ seq }) => seq));
    // A key's hash that leads to a wrong entry was found above. Such a hash also explains why no hash leads to the key's own entry, and why
    // no right hash leads to the wrong entry.
    const unexplained = without.filter(({ seq, own }) => !wrong.has(own) && !pointedAt.has(seq));
    for (const { seq } of unexplained.slice(0, 1)) await this.#findWithoutKey(seq, oldestSeq, unexplained.length);
    this.#putRight(new Set([...unexplained.map(({ own }) => own), ...wrong]), strange, newest);
  }

  /**
   * Whether the first entries of the ledger seem to have been written with another secret: up to some entry, the index leads to each entry
   * from a hash that belongs to no idempotency key of the ledger, and to each later entry from the right hash.
   */
  async #isOfOtherSecret(strange: readonly { hash: string; seq: number }[], oldestSeq: number): Promise<boolean> {
    const { hashes, oldestRead } = this.#keys;
    const found = new Set(strange.filter(({ hash }) => !this.#allHashes().has(Number(hash) >>> 0)).map(({ seq }) => seq));
    const begin = Math.max(0, oldestSeq - oldestRead.seq);
    let end = begin;
    while (end < hashes.length && (Number.isNaN(hashes[end]) || found.has(oldestRead.seq + end))) end++;
    if (end === begin) this.#use.wasPresent(oldestRead.at);
    if (end === begin || hashes.some((known, index) => index >= end && known >= 0)) return false;
    const text = await this.#probe.ask('LINDEX', this.#ledger, end - 1 - begin);
    const entry = typeof text === 'string' ? ledgerEntry.parse(text) : undefined;
    if (entry?.seq !== oldestRead.seq + end - 1) return false;
    this.#use.wasOther(this.#ledger, entry.at);
    return true;
  }

  /** Reports a hash of the index that does not lead to its entry, or that is in a wrong bucket. */
  #findStrange({ hash, bucket, seq, text }: { hash: string; bucket: number; seq: number; text: string }, newest: LedgerEntry): void {
    const name = `Hash ${hash} in bucket ${bucket}`;
    const known = this.#keys.hashes[seq - this.#keys.oldestRead.seq];
    const own = Number(hash) >>> 0;
    if (known === undefined || Number.isNaN(seq)) {
      // The hash belongs to an entry of the ledger, but the field leads to no entry.
      const isOfEntry = Number.isNaN(seq) && isHash(hash) && this.#allHashes().has(own);
      const kind = isOfEntry ? 'key_points_elsewhere' : 'key_without_entry';
      return this.#kinds.find(kind, `${name} leads to entry ${seq} ("${text}"), which the ledger does not have.`);
    }
    if (!isHash(hash) || (known !== own && known !== -1 - own))
      return this.#kinds.find('key_points_elsewhere', `${name} leads to entry ${seq}, whose key has another hash.`);
    if (known === own) {
      this.#keys.hashes[seq - this.#keys.oldestRead.seq] = -1 - own;
      this.#met++;
    }
    // If the ledger's length doubled during the check, splits of buckets may have moved the hash, so nothing is reported.
    if (bucket !== bucketOf(own, newest.seq) && newest.seq < 2 * this.#keys.newestRead.seq)
      return this.#kinds.find('key_in_wrong_bucket', `${name} belongs into bucket ${bucketOf(own, newest.seq)}.`);
    const seqs = text.split(',');
    if (new Set(seqs).size < seqs.length) this.#kinds.find('key_twice', `${name} leads to entry ${seq} twice.`);
  }

  #allHashes(): ReadonlySet<number> {
    return (this.#known ??= new Set(this.#keys.hashes.map((known) => (known < 0 ? -1 - known : known))));
  }

  /** The entries to which no hash of the index leads. */
  #withoutKey(oldestSeq: number): { seq: number; own: number }[] {
    return [...this.#keys.hashes.entries()].flatMap(([index, known]) => {
      const seq = this.#keys.oldestRead.seq + index;
      return known >= 0 && seq >= oldestSeq ? [{ seq, own: known }] : [];
    });
  }

  async #findWithoutKey(seq: number, oldestSeq: number, count: number): Promise<void> {
    const text = await this.#probe.ask('LINDEX', this.#ledger, seq - oldestSeq);
    const entry = typeof text === 'string' ? ledgerEntry.parse(text) : undefined;
    const key = entry?.seq === seq ? ` "${entry.key}"` : '';
    this.#kinds.find('entry_without_key', `The index does not lead from the idempotency key${key} to its entry ${seq}.`);
    this.#kinds.more('entry_without_key', count - 1);
  }

  /** Adds commands that make these hashes lead to their entries. A hash that belongs to no entry gets no command. */
  #putRight(hashes: ReadonlySet<number>, strange: readonly { hash: string; bucket: number }[], newest: LedgerEntry): void {
    const seqs = new Map<number, number[]>();
    for (const [index, known] of this.#keys.hashes.entries()) {
      const own = known < 0 ? -1 - known : known;
      if (!hashes.has(own)) continue;
      if (!seqs.has(own) && seqs.size >= MOST_PUT_RIGHT) continue;
      seqs.set(own, [...(seqs.get(own) ?? []), this.#keys.oldestRead.seq + index]);
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
    const kind = ['key_points_elsewhere', 'entry_without_key', 'key_twice', 'key_in_wrong_bucket'].find((candidate) =>
      this.#kinds.has(candidate),
    );
    if (kind !== undefined) this.#kinds.mend(kind, ...commands);
  }
}

/** Whether the text is a signed integer of 32 bits, as the hashes in the index are. */
function isHash(text: string): boolean {
  return String(Number(text) | 0) === text;
}
