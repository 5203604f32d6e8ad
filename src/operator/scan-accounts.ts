import { accountKeyPattern } from '../accounts/account-keys.ts';
import { defineScript } from '../redis/script.ts';
import type { OperatorServices } from './operation.ts';

/** Searches through all accounts, in parts: there is no index of accounts, because it would make other requests slower. */

/**
 * Finds accounts in a part of the keys of one primary. `place` is any key of the primary, and `cursor` is the cursor of SCAN, 0 at first.
 * Answers part(next cursor, key …).
 */
const scanAccounts = defineScript({
  name: 'operator/scan-accounts',
  lua: `local part = redis.call('SCAN', cursor, 'MATCH', '{*}:account', 'COUNT', count)
    return {'part', part[1], unpack(part[2])}`,
  keys: ['place'],
  args: ['cursor', 'count'],
  answers: ['part'],
  readOnly: true,
});

/**
 * The number of keys that one script scans, in some 0.1 ms. An account has about six keys, so a part has some 40 accounts, which are then
 * read.
 */
const KEYS_AT_ONCE = 200;

export const SCAN_CURSOR = /^(\d{1,3})\.(\d{1,20})$/;

/** A part of all accounts. An account may come twice. */
export interface AccountsPart {
  readonly ids: readonly string[];
  /** The cursor of the next part. Undefined: this is the last part. */
  readonly next: string | undefined;
}

/**
 * @param cursor that an earlier part gave, or `0.0` at first
 * @returns undefined for a cursor that no part can have given
 */
export async function accountsPart(cursor: string, services: OperatorServices): Promise<AccountsPart | undefined> {
  const places = placesOf(services);
  const [, primary, from = '0'] = SCAN_CURSOR.exec(cursor)!;
  const index = Number(primary);
  if (index >= places.length) return undefined;
  const [, next = '0', ...keys] = await services.scripts.run(
    scanAccounts,
    { place: places[index]! },
    { cursor: from, count: KEYS_AT_ONCE },
  );
  const ids = keys.flatMap((key) => KEY.exec(key)?.[1] ?? []);
  if (next !== '0') return { ids, next: `${index}.${next}` };
  return { ids, next: index + 1 < places.length ? `${index + 1}.0` : undefined };
}

const KEY = accountKeyPattern('account');

/**
 * The most random names that are drawn to find one on each primary. With a hundred equal primaries 1 in 20,000 lists would miss a primary.
 */
const MOST_DRAWN = 1000;

/** A key on each primary; only one key for a single Redis. The order of the keys stays the same as long as the slots do not move. */
function placesOf({ scripts }: OperatorServices): string[] {
  const places: string[] = [];
  for (let number = 0; number < (scripts.isOnCluster ? MOST_DRAWN : 1); number++) {
    const key = `{${number}}`;
    if (!places.some((place) => scripts.areTogether(place, key))) places.push(key);
  }
  return places;
}
