import type { Redis } from 'ioredis';
import { memberOf, placeText, playerEntry, playerIdOf } from '../src/features/highscores/entry-format.ts';
import { boardKeys } from '../src/features/highscores/model.ts';

/** Entries of boards in Redis, for tests that read them without the service. */
type Commands = Pick<Redis, 'get' | 'set' | 'hget' | 'hset' | 'hvals' | 'zadd' | 'zscore'>;

export interface RawEntry {
  readonly playerId: string;
  /** In the sorted set of scores. */
  readonly member: string;
  /** In the hash of players. */
  readonly text: string;
}

/** The entry of an account, if it has one. */
export async function entryOn(redis: Commands, game: string, accountId: string): Promise<RawEntry | undefined> {
  const secret = await redis.get(boardKeys.secret(game));
  if (secret === null) return undefined;
  const playerId = playerIdOf(secret, accountId);
  const text = await redis.hget(boardKeys.players(game), playerId);
  return text === null ? undefined : { playerId, member: memberOf(playerId, text), text };
}

/** The accounts with an entry. */
export async function accountsOn(redis: Commands, game: string): Promise<string[]> {
  // The other values are scores of hidden entries.
  return (await redis.hvals(boardKeys.players(game))).flatMap((text) => playerEntry.parse(text)?.accountId ?? []);
}

/** Writes an entry as `submit.lua` does on a descending board, and nothing else. */
export async function addEntry(redis: Commands, game: string, accountId: string, score: number, name = 'Ada'): Promise<RawEntry> {
  await redis.set(boardKeys.secret(game), 's'.repeat(40), 'NX');
  const playerId = playerIdOf((await redis.get(boardKeys.secret(game)))!, accountId);
  const place = placeText(Date.now() * 10, false);
  const [member, text] = [place + playerId + name, playerEntry.write({ accountId, place, name })];
  await redis.zadd(boardKeys.scores(game), score, member);
  await redis.hset(boardKeys.players(game), playerId, text);
  return { playerId, member, text };
}

/** Damages an account's entry on a board: its place becomes a text that is no number. */
export async function damageEntry(redis: Redis, game: string, accountId: string): Promise<void> {
  const { playerId, member } = (await entryOn(redis, game, accountId))!;
  const [scores, players] = [boardKeys.scores(game), boardKeys.players(game)];
  const score = (await redis.zscore(scores, member))!;
  const place = ' '.repeat(7);
  await redis
    .multi()
    .zrem(scores, member)
    .zadd(scores, score, `${place}${playerId}Ada`)
    .hset(players, playerId, playerEntry.write({ accountId, place, name: 'Ada' }))
    .exec();
}
