import type { Redis } from 'ioredis';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { placeText, playerEntry, playerIdOf } from '../../src/features/highscores/entry-format.ts';
import { boardKeys } from '../../src/features/highscores/model.ts';
import { withoutAppending, Stream } from './fill.ts';

const ENTRIES_PER_COMMAND = 100;
const CHUNK_LENGTH = 256 * 1024;

/**
 * Fills a board with `size` entries as submissions would leave them, but without submissions: ten million entries take half a minute. The
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
  const secret = 'bench'.padEnd(40, '0');
  const begin = Date.now() * 10 - size;
  await withoutAppending([redis], size, signal, async () => {
    const stream = await Stream.open(redis, signal);
    for (let start = 0; start < size; start += ENTRIES_PER_COMMAND) {
      const scored: (string | number)[] = [scores];
      const held: string[] = [players];
      for (let player = start; player < Math.min(size, start + ENTRIES_PER_COMMAND); player++) {
        const install = installOf(player);
        const id = install === undefined ? `x${player}`.padEnd(idLength, 'x') : accountIdOf(install);
        const [place, playerId, name] = [placeText(begin + player, false), playerIdOf(secret, id), `Player ${player}`];
        scored.push(scoreOf(player), `${place}${playerId}${name}`);
        held.push(playerId, playerEntry.write({ accountId: id, place, name }));
      }
      void stream.call('ZADD', scored);
      void stream.call('HSET', held);
      await stream.flush(CHUNK_LENGTH);
    }
    void stream.call('SET', [boardKeys.arrivals(game), begin + size]);
    void stream.call('SET', [boardKeys.secret(game), secret]);
    void stream.call('SET', [boardKeys.version(game), 1]);
    await stream.end();
  });
}

/** Spread over a million scores. */
function scoreOf(player: number): number {
  return (player * 7919) % 1_000_003;
}
