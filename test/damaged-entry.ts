import type { Redis } from 'ioredis';
import { boardKeys } from '../src/features/highscores/model.ts';

/** Damages an account's entry on a board: its time is no number in base 36 any more. */
export async function damageEntry(redis: Redis, game: string, accountId: string): Promise<void> {
  const [scores, players] = [boardKeys.scores(game), boardKeys.players(game)];
  const entry = (await redis.hget(players, accountId))!;
  const score = (await redis.zscore(scores, entry))!;
  const damaged = `${entry.slice(0, 12)}!!!!!!!!!${entry.slice(21)}`;
  await redis.multi().zrem(scores, entry).zadd(scores, score, damaged).hset(players, accountId, damaged).exec();
}
