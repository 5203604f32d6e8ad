import { storeAccountIdOf } from './ids.ts';
import type { CallerScripts } from './caller-scripts.ts';
import { standingOf, type ReadStanding } from './standing-reader.ts';

export interface StoreAccount {
  readonly accountId: string;
  /** Number of the user's accounts that were deleted before this account. */
  readonly ordinal: number;
  readonly state: ReadStanding;
}

/**
 * Finds the account of an app store's user: the first account in the order of ordinals that was not deleted. The account may not exist yet.
 * Tombstones stay forever and have no gaps, so a search with doubling steps, and then halving steps, finds the account.
 */
export async function storeAccountOf(store: string, subject: string, scripts: CallerScripts): Promise<StoreAccount> {
  const find = async (ordinal: number): Promise<StoreAccount> => {
    const accountId = storeAccountIdOf(store, subject, ordinal);
    return { accountId, ordinal, state: await standingOf(accountId, scripts) };
  };
  let [deleted, found] = [-1, await find(0)];
  for (let step = 1; found.state.word === 'deleted'; step *= 2) {
    deleted = found.ordinal;
    found = await find(deleted + step);
  }
  while (found.ordinal > deleted + 1) {
    const middle = await find(Math.floor((deleted + found.ordinal) / 2));
    if (middle.state.word === 'deleted') deleted = middle.ordinal;
    else found = middle;
  }
  return found;
}
