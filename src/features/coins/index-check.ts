import type { Command, Probe } from '../../consistency/auditor.ts';
import { pairsOf } from '../../redis/pairs.ts';
import type { LedgerFindings } from './ledger-findings.ts';
import { ledgerEntry, type LedgerEntry } from './model.ts';
import { bucketCount, bucketName, bucketOf } from './ledger-layout.ts';
import type { SecretUse } from './secret-use.ts';
import { KEY_SECRET } from './secret-keys.ts';

/** Buckets read at a time. */
const BUCKETS_AT_ONCE = 64;

/** Fields that one command reads of a bucket that has outgrown Redis's compact encoding. A compact bucket is read as a whole. */
export const FIELDS = 256;

/** Most hashes of an index that the commands of a finding put right. The next audit gives the rest. */
const MOST_PUT_RIGHT = 1000;

/** Most unexplained keys of a ledger that are kept until the end of its check. In a live ledger most belong to newer entries. */
const STRANGE_KEPT = 100_000;

/** The keys of a ledger's entries. */
export interface EntryKeys {
  /** For each entry the hash of its key as an unsigned number; NaN for an entry of a move, which is not in the index. */
  readonly hashes: number[];
  readonly oldestRead: LedgerEntry;
  readonly newestRead: LedgerEntry;
  /** The number of entries that are in the index. */
  readonly withKey: number;
}

/** Checks that the index of a ledger leads from the hash of each entry's key to the entry, and nowhere else (`LedgerCheck`). */
export class IndexCheck {
  readonly #ledger: string;
  /** An entry that was found in a bucket has −1 minus its hash. */
  readonly #keys: EntryKeys;
  readonly #probe: Probe;
  readonly #kinds: LedgerFindings;
  readonly #use: SecretUse;
  #met = 0;
  /** Keys in the index that no entry of the check explains. */
  readonly #strange: { hash: string; bucket: number; seq: number; text: string }[] = [];
  /** Entries whose keys have the same hash. */
  readonly #sameHash: number[][] = [];
  #known: Set<number> | undefined;

  constructor(ledger: string, keys: EntryKeys, probe: Probe, kinds: LedgerFindings, use: SecretUse) {
    [this.#ledger, this.#keys, this.#probe, this.#kinds, this.#use] = [ledger, keys, probe, kinds, use];
  }

  /** @param firstBucket the reply for the bucket 0, if it was read after the entries */
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
    // The service may have written meanwhile.
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

  /** Compares a hash of a bucket, and the seqs that it leads to, with the entries. */
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

  /** Different keys with the same hash are fine. If two entries have the same key, the key was applied twice. */
  async #checkKeys(seqs: readonly number[]): Promise<void> {
    const ledger = this.#ledger;
    const last = (await this.#probe.ask('LINDEX', ledger, -1)) as string | null;
    const lastSeq = ledgerEntry.parse(last ?? '')?.seq ?? 0;
    const found = (await this.#probe.atomically(
      ['LINDEX', ledger, -1],
      ...seqs.map((seq): Command => ['LINDEX', ledger, seq - lastSeq - 1]),
    )) as (string | null)[];
    // An entry was written in between, so the places do not match. The next attempt checks again.
    if (ledgerEntry.parse(found[0] ?? '')?.seq !== lastSeq) return;
    const keys = found.slice(1).map((text) => ledgerEntry.parse(text ?? '')?.key);
    for (const [index, key] of keys.entries())
      if (key !== undefined && keys.indexOf(key) < index && seqs[keys.indexOf(key)] !== seqs[index])
        this.#kinds.find('key_used_twice', `Entries ${seqs[keys.indexOf(key)]} and ${seqs[index]} have the same key "${key}".`);
  }

  /** @param oldestSeq of the ledger as it is now, as is `newest` */
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
    // A key that leads elsewhere explains the entry that it does not lead to, and the entry that it leads to.
    const unexplained = without.filter(({ seq, own }) => !wrong.has(own) && !pointedAt.has(seq));
    for (const { seq } of unexplained.slice(0, 1)) await this.#findWithoutKey(seq, oldestSeq, unexplained.length);
    this.#putRight(new Set([...unexplained.map(({ own }) => own), ...wrong]), strange, newest);
  }

  /**
   * Whether the ledger seems to have begun with another secret: the index has each entry up to some point under a hash that belongs to no
   * key, and each later entry under its own hash.
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

  /** A hash of the index that does not lead to its entry, or lies in another bucket than its own. */
  #findStrange({ hash, bucket, seq, text }: { hash: string; bucket: number; seq: number; text: string }, newest: LedgerEntry): void {
    const name = `Hash ${hash} in bucket ${bucket}`;
    const known = this.#keys.hashes[seq - this.#keys.oldestRead.seq];
    const own = Number(hash) >>> 0;
    if (known === undefined || Number.isNaN(seq)) {
      // The hash belongs to an entry of the ledger, but leads to another entry.
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
    // A split that happened meanwhile has moved the hash.
    if (bucket !== bucketOf(own, newest.seq) && newest.seq < 2 * this.#keys.newestRead.seq)
      return this.#kinds.find('key_in_wrong_bucket', `${name} belongs into bucket ${bucketOf(own, newest.seq)}.`);
    const seqs = text.split(',');
    if (new Set(seqs).size < seqs.length) this.#kinds.find('key_twice', `${name} leads to entry ${seq} twice.`);
  }

  #allHashes(): ReadonlySet<number> {
    return (this.#known ??= new Set(this.#keys.hashes.map((known) => (known < 0 ? -1 - known : known))));
  }

  /** Entries to which no key of the index leads. */
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
    this.#kinds.find('entry_without_key', `The index does not lead from the key${key} to its entry ${seq}.`);
    this.#kinds.more('entry_without_key', count - 1);
  }

  /** Commands that make these hashes lead to their entries. A hash that belongs to no entry has none. */
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

/** A signed integer of 32 bits. */
function isHash(text: string): boolean {
  return String(Number(text) | 0) === text;
}
