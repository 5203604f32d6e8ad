import { upgradeBoards } from './features/highscores/board-upgrade.ts';
import type { Upgrade } from './redis/upgrade.ts';

/**
 * The steps from each data version to the next version, from `OLDEST_DATA_VERSION` on, in order. A starting service runs the steps before
 * it serves coin operations. It serves everything else meanwhile, so code that reads a layout that a step changes must read both layouts
 * until the step is done.
 *
 * A release that changes the data layout of an earlier release raises `DATA_VERSION` (`redis/data-version.ts`, `ledger.lua`) and adds `{
 * from, run }` here. The file of `run` lies in the feature whose keys it changes. A layout that no release has written yet needs no step.
 */
export const upgrades: readonly Upgrade[] = [
  { from: 3, run: upgradeBoards },
  // From version 5 on a balance may be negative, which scripts of older versions cannot read. No ledger of an older version has one, so
  // this step does nothing.
  { from: 4, run: async () => {} },
];
