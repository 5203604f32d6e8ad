import { upgradeBoards } from './features/highscores/board-upgrade.ts';
import type { Upgrade } from './redis/upgrade.ts';

/**
 * The steps from each data version to the next one, from `OLDEST_DATA_VERSION` on, in order. The start of a service runs them before it
 * serves coin operations; everything else is served meanwhile, so the readers of a layout that changes take both until then.
 *
 * A release that changes the data layout of an earlier release raises `DATA_VERSION` (`redis/data-version.ts`, `ledger.lua`) and adds `{
 * from, run }` here. The file of `run` lies in the feature whose keys it changes. A layout that no release has written yet needs no step.
 */
export const upgrades: readonly Upgrade[] = [
  { from: 3, run: upgradeBoards },
  // From version 5 on a ledger may hold a balance below 0, which scripts of older versions cannot read. No older ledger has one.
  { from: 4, run: async () => {} },
];
