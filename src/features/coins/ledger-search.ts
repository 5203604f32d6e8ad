import { standingIn } from '../../accounts/account-auditor.ts';
import type { MovedGuest } from '../../accounts/standing.ts';
import { Unsettled, type Command, type Probe } from '../../consistency/auditor.ts';
import type { KeyHash } from './key-hash.ts';
import { bucketName, bucketOf, ledgerKeys } from './ledger-layout.ts';
import { coinKeys, ledgerEntry, type LedgerEntry } from './model.ts';

/**
 * An entry that was found by its idempotency key. The time is undefined for an entry of a guest's small ledger that is filed with the
 * account (`file_guest` of ledger.lua), because the hash that finds the entry has no times.
 */
export type FoundEntry = Pick<LedgerEntry, 'letter' | 'coins' | 'balance'> & { readonly at: number | undefined };

/** The entries with certain idempotency keys in the ledgers of some accounts. */
export interface FoundEntries {
  readonly entries: ReadonlyMap<string, FoundEntry>;
  /** The accounts whose ledgers were searched. For a guest that moved, the account into which it moved. */
  readonly accountIds: readonly string[];
  /**
   * Whether the ledgers still have all entries since this time, in milliseconds since 1970. Retention and deletions of accounts remove
   * entries.
   */
  hasAllSince(time: number): boolean;
}

/**
 * Finds entries by their idempotency keys, as `used_for` of `ledger.lua` does: in the ledger of each account, and in the ledgers of the
 * guests that moved into the account.
 */
export async function findEntries(owners: Iterable<string>, keys: readonly string[], probe: Probe, hash: KeyHash): Promise<FoundEntries> {
  const entries = new Map<string, FoundEntry>();
  const accountIds = new Set<string>();
  const wholeSince: number[] = [];
  for (const owner of owners) {
    const standing = await standingIn(owner, probe);
    const id = standing.target ?? owner;
    if (accountIds.has(id)) continue;
    const { deleted, guests } = id === owner ? standing : await standingIn(id, probe);
    if (deleted !== undefined) {
      wholeSince.push(Infinity);
      continue;
    }
    accountIds.add(id);
    wholeSince.push(await new Search(keys, entries, probe, hash).run(id, guests));
    // If an account moved during the search, its ledger moved too.
    if ((await standingIn(owner, probe)).target !== standing.target) throw new Unsettled('The account has moved');
  }
  return { entries, accountIds: [...accountIds], hasAllSince: (time) => wholeSince.every((since) => since <= time) };
}

class Search {
  readonly #keys: readonly string[];
  readonly #found: Map<string, FoundEntry>;
  readonly #probe: Probe;
  readonly #hash: KeyHash;

  constructor(keys: readonly string[], found: Map<string, FoundEntry>, probe: Probe, hash: KeyHash) {
    this.#keys = keys;
    this.#found = found;
    this.#probe = probe;
    this.#hash = hash;
  }

  /** @returns the time from which on the ledger has all entries, in milliseconds since 1970 */
  async run(id: string, guests: readonly MovedGuest[]): Promise<number> {
    const ledger = coinKeys.ledger(id);
    const ends: Command[] = [
      ['LINDEX', ledger, 0],
      ['LINDEX', ledger, -1],
    ];
    const texts = (await this.#probe.together(...ends)) as (string | null)[];
    const [oldest, newest] = texts.map((text) => (text === null ? undefined : ledgerEntry.parse(text)));
    if (newest !== undefined) await this.#byIndex(ledger, newest.seq);
    if (guests.some(({ isFiled }) => isFiled)) await this.#filed(id);
    for (const guest of guests) if (!guest.isFiled) await this.#byIndex(coinKeys.guestLedger(id, guest.id), guest.lastSeq);
    // A new entry may change the bucket of a hash. A new entry also changes the index of each other entry in the list, because indexes are
    // counted from the last entry.
    if (this.#missing().length > 0 && (await this.#probe.ask('LINDEX', ledger, -1)) !== texts[1])
      throw new Unsettled('The ledger has changed');
    return oldest === undefined || oldest.seq === 1 ? 0 : oldest.at;
  }

  #missing(): string[] {
    return this.#keys.filter((key) => !this.#found.has(key));
  }

  async #byIndex(ledger: string, lastSeq: number): Promise<void> {
    const keys = this.#missing();
    const hashes = keys.map((key) => this.#hash(key));
    const buckets = hashes.map((hash): Command => ['HGET', bucketName(ledger, bucketOf(hash, lastSeq)), String(hash)]);
    const seqs = (await this.#probe.together(...buckets)) as (string | null)[];
    const places = keys.flatMap((key, index) => (seqs[index]?.split(',') ?? []).map((seq) => ({ key, place: Number(seq) - lastSeq - 1 })));
    const readable = places.filter(({ place }) => place < 0);
    const texts = await this.#probe.together(...readable.map(({ place }): Command => ['LINDEX', ledger, place]));
    for (const [index, { key }] of readable.entries()) {
      const entry = ledgerEntry.parse((texts[index] as string | null) ?? '');
      if (entry?.key === key) this.#found.set(key, entry);
    }
  }

  async #filed(id: string): Promise<void> {
    const keys = this.#missing();
    if (keys.length === 0) return;
    const lines = (await this.#probe.ask('HMGET', ledgerKeys.filedKeys(id), ...keys)) as (string | null)[];
    for (const [index, key] of keys.entries()) {
      const [, letter, coins, balance] = /^([a-z])(-?\d+) (-?\d+)$/m.exec(lines[index] ?? '') ?? [];
      if (letter !== undefined) this.#found.set(key, { letter, coins: Number(coins), balance: Number(balance), at: undefined });
    }
  }
}
