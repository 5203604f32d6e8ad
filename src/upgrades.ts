import { upgradeBoards } from './features/highscores/board-upgrade.ts';
import type { Upgrade } from './redis/upgrade.ts';

/**
 * The steps from each data version to the next version, from `OLDEST_DATA_VERSION` on, in order. A starting service runs the steps before
 * it serves coin operations. It serves everything else during a step. So code that reads data which a step changes must read both the old
 * and the new layout until the step is done.
 *
 * A release that changes the data layout of an earlier release raises `DATA_VERSION` (`redis/data/data-version.ts`, `ledger.lua`) and adds `{
 * from, run }` here. The file with `run` is in the feature whose keys it changes. A layout needs no step before a release has written it.
 */
export const upgrades: readonly Upgrade[] = [
  { from: 3, run: upgradeBoards },
  // From version 5 on a balance may be negative, which scripts of older versions cannot read. No ledger of an older version has a negative
  // balance, so this step does nothing.
  { from: 4, run: async () => {} },
];
