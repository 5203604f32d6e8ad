import { randomBytes } from 'node:crypto';
import { ACCOUNT_ID } from '../../accounts/ids.ts';
import { pairsOf } from '../../redis/reply-pairs.ts';
import { defineScript } from '../../redis/script.ts';
import { ScriptRunner } from '../../redis/script-runner.ts';
import type { Upgrade } from '../../redis/upgrade.ts';
import { boardLibrary, boardKeys } from './model.ts';

const upgradeScript = defineScript({
  file: new URL('upgrade-board.lua', import.meta.url),
  keys: ['scores', 'players', 'secret', 'arrivals'],
  args: ['seed', 'accounts'],
  answers: ['upgraded'],
  library: boardLibrary,
});

/** The most entries that one call of `upgrade-board.lua` converts, which takes Redis 3 ms. */
const ENTRIES_AT_ONCE = 200;

/**
 * Converts boards and archives from version 3 of the data to version 4. In version 3 the field of an entry in the hash of players was the
 * account's id. In version 4 the field is the player's id, and the entry names the account. During the upgrade a board has entries of both
 * layouts. Readers see entries of both layouts, but submissions are accepted only after the upgrade.
 */
export const upgradeBoards: Upgrade['run'] = async (redis, keysLike) => {
  const scripts = new ScriptRunner(redis, { now: Date.now });
  const seed = randomBytes(24).toString('base64url');
  for await (const names of keysLike('{board:*}:*players')) {
    for (const players of names) {
      const [, game] = /^\{board:(.*)\}:(?:archive:\d+:)?players$/.exec(players) ?? [];
      if (game === undefined) continue;
      const keys = {
        scores: players.replace(/players$/, 'scores'),
        players,
        secret: boardKeys.secret(game),
        arrivals: boardKeys.arrivals(game),
      };
      let cursor = '0';
      do {
        const [next, fields] = await redis.hscan(players, cursor, 'COUNT', ENTRIES_AT_ONCE);
        cursor = next;
        // HSCAN returns all fields of a small hash at once, whatever COUNT says, so `old` may have more entries than one script should
        // convert.
        const old = pairsOf(fields).flatMap(([field]) => (ACCOUNT_ID.test(field) ? [field] : []));
        for (let start = 0; start < old.length; start += ENTRIES_AT_ONCE)
          await scripts.run(upgradeScript, keys, { seed, accounts: old.slice(start, start + ENTRIES_AT_ONCE).join(' ') });
      } while (cursor !== '0');
    }
  }
};
