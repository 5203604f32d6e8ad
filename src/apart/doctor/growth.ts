import type { Redis } from 'ioredis';
import { ledgerEntry } from '../../features/coins/model.ts';
import { ledgerPatterns } from '../../features/coins/ledger-layout.ts';

/** The most ledgers that an estimate reads. */
const LEDGERS = 1000;

/** How many Redis keys are drawn at random. Drawing them takes some 30 ms of Redis's time. */
const DRAWS = 8000;

/** How many Redis keys are drawn, or ledgers are read, at the same time. */
const DRAWS_AT_ONCE = 200;

/**
 * How many of the newest entries of each ledger are read. If a ledger has more entries from today than were read, their number is
 * extrapolated.
 */
const ENTRIES = 200;

const DAY_MS = 86_400_000;

/** The growth is estimated only if the data is at least this old, in milliseconds. Younger data may come from a load test or an import. */
const LEAST_WINDOW_MS = 3_600_000;

/** The lowest number of entries from today in the sample. With fewer there is no estimate. */
const LEAST_ENTRIES = 30;

/** How fast the ledgers grow, estimated from a sample. */
export interface Growth {
  /**
   * The entries of one day as a part of all entries. The data in Redis grows in the same proportion, as far as it consists of accounts,
   * boards and ledgers.
   */
  readonly partADay: number;
  /** The error of `partADay`: two standard errors. It covers only the random choice of the sample. */
  readonly error: number;
  readonly ledgers: number;
  /** Whether the data is at least a day old. Otherwise `partADay` is projected from a shorter time to a day. */
  readonly isOfDay: boolean;
}

/**
 * Redis does not record how large it was yesterday. But ledger entries have times. In a random sample of ledgers, the share of entries from
 * the last 24 hours is the growth of a day. Data younger than a day is projected to a whole day.
 * @param draws Redis keys that were drawn at random; a key may be drawn several times
 * @returns undefined if the sample is too small or too young
 */
export async function estimateGrowth(redis: Redis, draws: readonly string[], now: number): Promise<Growth | undefined> {
  const names = [...new Set(draws.filter((key) => ledgerPatterns.ledger.test(key)))].slice(0, LEDGERS);
  const found: { entries: number; times: readonly number[] }[] = [];
  for (let index = 0; index < names.length; index += DRAWS_AT_ONCE) {
    const reads = names.slice(index, index + DRAWS_AT_ONCE).map(async (name) => {
      const [texts, entries] = await Promise.all([redis.lrange(name, -ENTRIES, -1), redis.llen(name)]);
      return { entries, times: texts.flatMap((text) => ledgerEntry.parse(text)?.at ?? []) };
    });
    found.push(...(await Promise.all(reads)));
  }
  return growthOf(found, now);
}

/**
 * Computes the growth from a sample of ledgers.
 * @param ledgers for each the number of its entries, and the times of its newest entries in rising order
 */
export function growthOf(
  ledgers: readonly { readonly entries: number; readonly times: readonly number[] }[],
  now: number,
): Growth | undefined {
  const oldest = Math.min(...ledgers.map(({ times }) => times[0] ?? now));
  const windowMs = Math.min(DAY_MS, now - oldest);
  if (windowMs < LEAST_WINDOW_MS) return undefined;
  let seen = 0;
  const rows = ledgers.map(({ entries, times }) => {
    const recent = times.filter((at) => at > now - windowMs).length;
    seen += recent;
    const oldestTime = times[0] ?? now;
    // All entries that were read are from the window, and the ledger has more entries that were not read. So the rate is extrapolated.
    const isCut = recent === times.length && entries > times.length && now > oldestTime;
    const ofWindow = isCut ? Math.min(entries, (recent * windowMs) / (now - oldestTime)) : recent;
    return { entries, ofDay: (ofWindow * DAY_MS) / windowMs };
  });
  if (seen < LEAST_ENTRIES) return undefined;
  const sum = (pick: (row: { entries: number; ofDay: number }) => number): number => rows.reduce((total, row) => total + pick(row), 0);
  const entries = sum((row) => row.entries);
  const partADay = sum((row) => row.ofDay) / entries;
  // Twice the standard error of a ratio of two sums.
  const error = (2 * Math.sqrt(sum((row) => (row.ofDay - partADay * row.entries) ** 2))) / entries;
  return { partADay, error, ledgers: rows.length, isOfDay: windowMs === DAY_MS };
}

/** Redis keys drawn at random; a key may be drawn several times. An empty Redis gives none. */
export async function drawKeys(redis: Redis): Promise<string[]> {
  const drawn: string[] = [];
  while (drawn.length < DRAWS) {
    const keys = await Promise.all(Array.from({ length: DRAWS_AT_ONCE }, () => redis.randomkey()));
    if (keys.includes(null)) break;
    drawn.push(...(keys as string[]));
  }
  return drawn;
}
