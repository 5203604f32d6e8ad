import { standingIn } from '../../accounts/account-auditor.ts';
import type { MovedGuest } from '../../accounts/standing.ts';
import { Unsettled, type Command, type Probe } from '../../consistency/auditor.ts';
import type { KeyHash } from './key-hash.ts';
import { bucketName, bucketOf, ledgerKeys } from './ledger-layout.ts';
import { coinKeys, ledgerEntry, type LedgerEntry } from './model.ts';

/** An entry that was found by its key. A filed guest's index has no time. */
export type FoundEntry = Pick<LedgerEntry, 'letter' | 'coins' | 'balance'> & { readonly at: number | undefined };

/** The entries that the ledgers of some accounts have under some keys. */
export interface FoundEntries {
  readonly entries: ReadonlyMap<string, FoundEntry>;
  /** Accounts whose ledgers were searched: of guests that moved, the accounts that they moved into. */
  readonly accountIds: readonly string[];
  /** Whether the ledgers still have all entries since this time, as far as retention and deletions are concerned. */
  hasAllSince(time: number): boolean;
}

/**
 * Finds entries by their keys, as `used_for` of `ledger.lua` does: in the ledger of each account, and in the ledgers of the guests that
 * moved into it.
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
    // The guest may have moved meanwhile, and its ledger with it.
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

  /** @returns since when the ledger has all entries */
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
    // A new entry changes the buckets, and the places of entries that are counted from the last one.
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
