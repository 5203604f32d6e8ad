import { upgradeBoards } from './features/highscores/board-upgrade.ts';
import type { Upgrade } from './redis/upgrade.ts';

/**
 * How data of each version from `OLDEST_DATA_VERSION` on becomes data of the next one, in order. The start of a service runs them before
 * it serves coin operations; everything else is served meanwhile, so the readers of a layout that changes take both until then.
 *
 * A release that changes the layout of the data of a release before raises `DATA_VERSION` (`redis/data-version.ts`, `ledger.lua`) and adds
 * `{ from, run }` here. The file of `run` lies in the feature whose keys it changes. A change that no release wrote yet needs none.
 */
export const upgrades: readonly Upgrade[] = [
  { from: 3, run: upgradeBoards },
  // From 5 on a ledger may hold a balance below 0, which scripts of older versions cannot read. No older ledger has one.
  { from: 4, run: async () => {} },
];
