import { z } from 'zod';
import { rateLimited } from '../../errors.ts';
import type { RequestMeta } from '../../server/http/endpoint.ts';
import { GameId, seasonPrize, type ScoreOrder } from '../catalogue/model.ts';
import { payoutsKey, seasonPayout } from '../coins/model.ts';
import { boardMember, entryIn, HEAD_LENGTH, PLACE_LENGTH, playerEntry } from './entry-format.ts';
import { defineLibrary } from '../../redis/script.ts';
import { defineFormat, whole, word } from '../../redis/text-format.ts';

/** The number of entries in a board's top list. */
export const TOP_SIZE = 10;

const MAX_SCORE = Number.MAX_SAFE_INTEGER;
const SCORE_RULE = 'Must be a number from −9,007,199,254,740,991 to 9,007,199,254,740,991';

export const Score = z
  .number(SCORE_RULE)
  .min(-MAX_SCORE, SCORE_RULE)
  .max(MAX_SCORE, SCORE_RULE)
  .meta({ description: 'Any number from −9,007,199,254,740,991 to 9,007,199,254,740,991, kept exactly as a double.' });

export const BoardParams = z.object({ game: GameId });

const entryFields = {
  rank: z.number().int().min(1),
  playerId: z.string().meta({ description: "The player's id on this board only. Nobody can compute an account or an install from it." }),
  name: z.string(),
  score: z.number(),
  at: z.iso.datetime().meta({ description: 'When the score was submitted.' }),
};

const example = { rank: 1, playerId: 'k3Jx9QmZ2b', name: 'Ada', score: 1250, at: '2026-11-22T12:00:00.000Z' };

export const BoardEntry = z.object(entryFields).meta({ id: 'HighscoreEntry', example });

/**
 * The caller's entry in a reply, or null. The schema repeats the fields of `BoardEntry` and does not refer to it, because client generators
 * do not support a nullable reference.
 */
export const OwnEntry = z
  .object(entryFields)
  .nullable()
  .meta({ id: 'OwnHighscoreEntry', description: 'The entry of the caller: `null` without a score.', example });

export const Top = z.array(BoardEntry).max(TOP_SIZE).meta({
  description:
    'The ten best entries, one for each player. Equal scores share a rank (1, 2, 2, 4), and the earlier of them is listed first.',
});

export const boardKeys = {
  /** A sorted set: the board's entries by score. `board.lua` describes the keys `scores`, `players`, `arrivals` and `secret`. */
  scores: (game: string) => `{board:${game}}:scores`,
  /** A hash: the account, the place and the name of each entry, by player id. */
  players: (game: string) => `{board:${game}}:players`,
  /** A number: the time at which the newest entry arrived, in tenths of a millisecond since 1970. */
  arrivals: (game: string) => `{board:${game}}:arrivals`,
  /** A random text from which the player ids are made. */
  secret: (game: string) => `{board:${game}}:secret`,
  /** A counter of the changes of the top ten (`submit.lua`). */
  version: (game: string) => `{board:${game}}:version`,
  /**
   * The channel on which scripts announce a change of the top ten. The message is the name of the process that submitted the score, or `-`
   * for a change without a submission.
   */
  channel: (game: string) => `{board:${game}}`,
  /** The account's set of boards: the games on whose boards the account has an entry. */
  ofAccount: (accountId: string) => `{${accountId}}:boards`,
};

/** The keys of a game's seasons. `season.lua` describes these keys, and derives their names from the board's key `scores`. */
export const seasonKeys = {
  seasons: (game: string) => `{board:${game}}:seasons`,
  closed: (game: string) => `{board:${game}}:closed`,
  season: (game: string, id: string) => `{board:${game}}:season:${id}`,
  scores: (game: string, id: string) => `{board:${game}}:season:${id}:scores`,
  players: (game: string, id: string) => `{board:${game}}:season:${id}:players`,
  payouts: payoutsKey,
  unpaid: (game: string, id: string) => `{board:${game}}:season:${id}:unpaid`,
};

/** The name of the queue of seasons, in which a season is due at the time of its payment. A member is `<game> <season>`. */
export const SEASONS_DUE = 'seasons:due';

/** The id of a season: `2026-11-23` for a daily, `2026-W48` (ISO 8601) for a weekly, `2026-11` for a monthly season. */
const SEASON_ID = /^\d{4}-(?:W\d\d|\d\d(?:-\d\d)?)$/;

const SEASON_RULE = 'Must be a season such as 2026-11-23, 2026-W48 or 2026-11, or all';

/** The parameter `season` of a query. */
export const SeasonParameter = z
  .string()
  .refine((text) => text === ALL_TIME || isSeasonId(text), SEASON_RULE)
  .optional()
  .meta({
    description:
      'A season of the game: 2026-11-23, 2026-W48 or 2026-11. `all`: the board of all time. If left out: the current season, or the board of all time if the game has no seasons.',
    example: '2026-W48',
  });

/** The word that a request sends in place of a season's id to get the board of all time. */
export const ALL_TIME = 'all';

export function isSeasonId(text: string): boolean {
  return SEASON_ID.test(text);
}

export const SeasonOfBoard = z
  .object({ id: z.string(), endsAt: z.iso.datetime() })
  .meta({ id: 'BoardSeason', example: { id: '2026-W48', endsAt: '2026-11-30T00:00:00.000Z' } });

/** The season in a reply. Left out for the board of all time. */
export const seasonField = {
  season: SeasonOfBoard.optional().meta({ description: 'The season of the board. Left out for the board of all time.' }),
};

/**
 * The member `season` of a reply, or no member for the board of all time.
 * @param id as scripts answer: '' for the board of all time
 * @param endsAt milliseconds since 1970
 */
export function seasonIn(id: string, endsAt: string): { season?: z.output<typeof SeasonOfBoard> } {
  return id === '' ? {} : { season: { id, endsAt: new Date(Number(endsAt)).toISOString() } };
}

/**
 * The arguments from which scripts find the board that a reader wants (`board_for` of season.lua).
 * @param season '' for the current season
 */
export function boardArgs(
  game: string,
  catalogue: { orderOf(game: string): ScoreOrder; seasonsOf(game: string): { readonly period: string } | undefined },
  season = '',
): { order: ScoreOrder; period: string; season: string } {
  return { order: catalogue.orderOf(game), period: catalogue.seasonsOf(game)?.period ?? '', season };
}

/** The game of a board's channel. Undefined for a channel that is not a board's. */
export function gameOf(channel: string): string | undefined {
  return channel.startsWith('{board:') ? channel.slice('{board:'.length, -1) : undefined;
}

/**
 * The number of entries that count as one request, because Redis reads 20 entries of a big board in about the time of an ordinary request.
 */
const ENTRIES_A_REQUEST = 20;

/**
 * Counts a read of many entries as several requests of the client.
 * @throws Refusal `rate_limited`, before the read
 */
export function chargeEntries(entries: number, meta: Pick<RequestMeta, 'charge'>): void {
  const further = Math.ceil(entries / ENTRIES_A_REQUEST) - 1;
  const waitMs = further > 0 ? meta.charge(further) : 0;
  if (waitMs > 0) throw rateLimited(waitMs);
}

/** Lua functions for every script that reads or changes a board. */
export const boardLibrary = defineLibrary(new URL('board.lua', import.meta.url), {
  formats: [boardMember, playerEntry],
  constants: { PLACE_LENGTH, HEAD_LENGTH },
});

/**
 * The threshold of a prize of a closed season: the least score that wins the prize, and the coins of the prize. A season's thresholds are
 * separated by blanks, best first.
 */
export const seasonThreshold = defineFormat('threshold', '<least>:<coins>', {
  /** The least score; `*` if any score wins. */
  least: word,
  coins: whole,
});

/** Lua functions for every script that reads or changes a season. */
export const seasonLibrary = defineLibrary(new URL('season.lua', import.meta.url), {
  formats: [seasonPayout, seasonPrize, seasonThreshold],
});

export const seasonLibraries = [boardLibrary, seasonLibrary];

/**
 * Parses consecutive entries of a board.
 * @param figures member, score, member, score, … best first
 * @param start place (0 for the best) and rank of the first entry
 * @param damaged is told of each member that is no entry, which is left out. If left out, such a member is an error
 */
export function parseEntries(
  figures: readonly string[],
  start = { place: 0, rank: 1 },
  damaged?: (member: string) => void,
): z.output<typeof BoardEntry>[] {
  const entries: z.output<typeof BoardEntry>[] = [];
  for (let index = 0; index + 1 < figures.length; index += 2) {
    const [member, score] = [figures[index]!, Number(figures[index + 1])];
    const above = entries.at(-1);
    const rank = above === undefined ? start.rank : above.score === score ? above.rank : start.place + index / 2 + 1;
    try {
      const { playerId, name, at } = entryIn(member);
      entries.push({ rank, playerId, name, score, at });
    } catch (error) {
      if (damaged === undefined) throw error;
      damaged(member);
    }
  }
  return entries;
}
