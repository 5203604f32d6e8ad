import type { Redis } from 'ioredis';
import { ledgerPatterns } from '../../features/coins/ledger-layout.ts';
import { coinKeys, ledgerEntry } from '../../features/coins/model.ts';
import { sizeText } from '../../process/memory.ts';
import type { Diagnosis } from './diagnosis.ts';

/** How many accounts are examined. They are the accounts to which most of the drawn Redis keys belong. */
const CANDIDATES = 20;

/** The most accounts that the report names. */
const NAMED = 3;

/**
 * An account is suspicious from this number of entries in a day. It is more than a player can make: an entry every nine seconds, day and
 * night.
 */
const SUSPICIOUS_ENTRIES = 10_000;

/** The report names only accounts with at least this many entries in a day. */
const WORTH_A_LINE = 1000;

/** How many of the newest entries of a ledger are read to estimate the average length of its entries. */
const MEASURED = 20;

/**
 * The bytes of an entry besides its text: its line in the index of idempotency keys, and Redis's own bytes
 * (docs/operating.md#what-an-address-can-add).
 */
const OVERHEAD_BYTES = 25;

const DAY_MS = 86_400_000;

interface FastAccount {
  readonly id: string;
  readonly entries: number;
  readonly bytes: number;
}

/**
 * Names the accounts whose ledgers grew most in the last 24 hours. A ledger has one Redis key for each 32 of its idempotency keys. So an
 * account with more entries is drawn more often. If an account has a thousandth of all Redis keys, 8,000 draws almost certainly include the
 * account.
 * @param draws Redis keys that were drawn at random; a key may be drawn several times
 */
export async function examineAccounts(
  redis: Redis,
  draws: readonly string[],
  now: number,
  diagnosis: Diagnosis,
  node?: string,
): Promise<void> {
  const counts = new Map<string, number>();
  for (const key of draws) {
    const id = (ledgerPatterns.ledger.exec(key) ?? ledgerPatterns.bucket.exec(key))?.[1];
    if (id !== undefined) counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  const candidates = [...counts].toSorted(([, one], [, other]) => other - one).slice(0, CANDIDATES);
  const found = await Promise.all(candidates.map(([id]) => growthOf(redis, id, now - DAY_MS)));
  const fast = found.filter(({ entries }) => entries >= WORTH_A_LINE).toSorted((one, other) => other.entries - one.entries);
  if (fast.length === 0) return;
  const named = fast.slice(0, NAMED).map(({ id, entries, bytes }) => `${id} (${entries} entries, ${sizeText(bytes)})`);
  diagnosis.fact(node === undefined ? 'fastest accounts' : `fastest accounts of ${node}`, `${named.join(', ')} in the last 24 hours`);
  for (const { id, entries, bytes } of fast.slice(0, NAMED))
    if (entries >= SUSPICIOUS_ENTRIES)
      diagnosis.find(
        'warning',
        'fast_account',
        {
          text: `The ledger of the account ${id} grew by ${entries} entries in the last 24 hours.`,
          cost: `These entries take ${sizeText(bytes)}, forever unless LEDGER_RETENTION_DAYS is set.`,
          mend: `npm run admin -- accounts show ${id}, then accounts ban; a game that credits for every frame should add up first`,
        },
        node,
      );
}

/**
 * Counts an account's ledger entries since a time. Entries are in the order of their times, so a binary search has to read only some
 * twenty.
 */
async function growthOf(redis: Redis, id: string, since: number): Promise<FastAccount> {
  const ledger = coinKeys.ledger(id);
  const length = await redis.llen(ledger);
  let [from, to] = [0, length];
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    const at = ledgerEntry.parse((await redis.lindex(ledger, middle)) ?? '')?.at ?? 0;
    if (at > since) to = middle;
    else from = middle + 1;
  }
  const newest = await redis.lrange(ledger, -MEASURED, -1);
  const bytesEach = newest.reduce((sum, text) => sum + text.length, 0) / Math.max(1, newest.length) + OVERHEAD_BYTES;
  return { id, entries: length - from, bytes: (length - from) * bytesEach };
}
