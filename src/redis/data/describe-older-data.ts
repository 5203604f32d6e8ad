import { heartbeatIn, idIn, isTooOld } from './data-id.ts';
import type { Newest } from './known-data.ts';

/** Data that is older than the state that DATA_DIR knows. Times are in milliseconds since 1970, by Redis's clock. */
export interface OlderData {
  /** How far the data is behind the state that DATA_DIR knows, in milliseconds of serving. */
  readonly behindMs: number;
  /** When the data in Redis was last served before it became the older state. */
  readonly endsAt: number;
  /** The last time at which a service served the newer state, as far as DATA_DIR knows. 0: unknown. */
  readonly knownUntil: number;
}

/**
 * Compares the data in Redis with the newest heartbeats in DATA_DIR, as a running service does (`data-verdict.ts`).
 * @param read reads a key of Redis
 * @returns the comparison for the primary that is the most behind; undefined if a service would serve the data
 */
export async function findOlder(id: string, newest: Newest, read: (key: string) => Promise<string | null>): Promise<OlderData | undefined> {
  const parts = await Promise.all(
    Object.entries(newest.heartbeats).map(async ([key, known]) => {
      const value = await read(key);
      const found = idIn(value) === id ? heartbeatIn(value) : undefined;
      if (found === undefined || !isTooOld(found.heartbeat, known)) return [];
      return { behindMs: known - found.heartbeat, endsAt: found.at, knownUntil: newest.times[key] ?? 0 };
    }),
  );
  return parts.flat().toSorted((one, other) => other.behindMs - one.behindMs)[0];
}

/** The older state in words for operators, without a full stop. */
export function textOfOlder({ behindMs, endsAt, knownUntil }: OlderData): string {
  return `${Math.round(behindMs / 1000)} s older than the one that the services of DATA_DIR saw${missingFrom(endsAt, knownUntil)}`;
}

/**
 * Words for the changes that older data lacks. '' if these changes are not known, for example because another service has served the data
 * since.
 * @param endsAt, knownUntil as of `OlderData`
 */
export function missingFrom(endsAt: number, knownUntil: number): string {
  if (endsAt >= knownUntil || knownUntil > LATEST_DATE_MS) return '';
  return `: it ends at ${timeOf(endsAt)}, and what was acknowledged from then until ${timeOf(knownUntil)} is missing`;
}

export function timeOf(milliseconds: number): string {
  return new Date(Math.min(milliseconds, LATEST_DATE_MS)).toISOString();
}

/** The last time that `Date` can show. A later time is possible in a file or a Redis that somebody edited by hand. */
const LATEST_DATE_MS = 8.64e15;
