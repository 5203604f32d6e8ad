import type { Redis } from 'ioredis';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { atText, boardKeys } from '../../src/features/highscores/model.ts';
import { withoutAppending, Stream } from './fill.ts';

/** The layout of `submit.lua` for a descending board. */
const HIGHEST_PLACE = 999_999_999_999;

const PLAYER_ID_LENGTH = 12;

const ENTRIES_PER_COMMAND = 100;
const CHUNK_LENGTH = 256 * 1024;

/**
 * Fills a board with `size` entries as submissions would leave them, without running any: ten million take half a minute. The
 * accounts themselves stay empty.
 * @param redis that has the board's slot
 * @param installOf the install of a player. Without one the account's id is made up, and has the same length.
 */
export async function fillBoard(
  redis: Redis,
  game: string,
  { size, installOf, signal }: { size: number; installOf: (player: number) => string | undefined; signal: AbortSignal },
): Promise<void> {
  const idLength = accountIdOf('bench').length;
  const [scores, players] = [boardKeys.scores(game), boardKeys.players(game)];
  const at = atText(Date.now());
  await withoutAppending([redis], size, signal, async () => {
    const stream = await Stream.open(redis, signal);
    for (let start = 0; start < size; start += ENTRIES_PER_COMMAND) {
      const scored: (string | number)[] = [scores];
      const held: string[] = [players];
      for (let player = start; player < Math.min(size, start + ENTRIES_PER_COMMAND); player++) {
        const install = installOf(player);
        const id = install === undefined ? `x${player}`.padEnd(idLength, 'x') : accountIdOf(install);
        const entry = `${HIGHEST_PLACE - player - 1}${at}${player.toString(36).padStart(PLAYER_ID_LENGTH, '0')}Player ${player}`;
        scored.push(scoreOf(player), entry);
        held.push(id, entry);
      }
      void stream.call('ZADD', scored);
      void stream.call('HSET', held);
      await stream.flush(CHUNK_LENGTH);
    }
    void stream.call('SET', [boardKeys.arrivals(game), size]);
    void stream.call('SET', [boardKeys.version(game), 1]);
    await stream.end();
  });
}

/** Spread over a million scores. */
function scoreOf(player: number): number {
  return (player * 7919) % 1_000_003;
}
