import { z } from 'zod';
import { endpoint, type Services } from '../../declare.ts';
import { invalid, refuse } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import { limitParameter } from '../../server/http/endpoint.ts';
import { HEAD_LENGTH, HEAD_PATTERN } from './entry-format.ts';
import {
  ALL_TIME,
  boardArgs,
  BoardEntry,
  boardKeys,
  BoardParams,
  chargeEntries,
  isSeasonId,
  parseEntries,
  seasonField,
  seasonIn,
  seasonLibraries,
  SeasonParameter,
} from './model.ts';

/** The services of endpoints that read a board's entries. The catalogue gives the order of the board. */
export type BoardServices = Pick<Services, 'scripts' | 'catalogue'>;

export const entriesScript = defineScript({
  file: new URL('entries.lua', import.meta.url),
  keys: ['scores'],
  args: ['order', 'limit', 'score', 'head', 'period', 'season'],
  answers: ['season_not_found', 'entries'],
  library: seasonLibraries,
  readOnly: true,
});

/** The number of entries of a page if the request names no limit. */
const PAGE_SIZE = 20;

/** The most entries of a page that a request may ask for. */
const MOST_ENTRIES = 100;

/**
 * The text of a decoded cursor. The text names the last entry of a page by the entry's score, the head of the entry's member and, on a
 * season's board, the season's id. Redis writes a score with up to 20 digits behind the point, as in 0.00012345678901234567.
 */
const PLACE = new RegExp(`^(-?\\d{1,16}(?:\\.\\d{1,20})?(?:e[+-]\\d{1,3})?) (${HEAD_PATTERN})(?: ([\\dW-]{7,10}))?$`);

const CURSOR_RULE = 'Must be the nextCursor of a page of this board';

const EntriesCursor = z
  .string()
  .max(100, { error: CURSOR_RULE, abort: true })
  .regex(/^[\w-]+$/, { error: CURSOR_RULE, abort: true })
  .refine((text) => placeIn(text) !== undefined, CURSOR_RULE)
  .meta({ description: 'Cursor of the next page.' });

export const boardEntries = endpoint({
  method: 'GET',
  path: '/v1/highscores/{game}/entries',
  operationId: 'listHighscores',
  caller: 'none',
  summary: "A page of a game's board, best first.",
  description:
    'A page begins after the last entry of the previous page, even if that entry has moved or left since. So no entry comes twice, and ' +
    'no unchanged entry is skipped; a player who improves may move to a page that was already read. Ranks are those at the time ' +
    'of the page. Each 20 entries of a page count as a request. In a game with seasons the pages are those of the season in which the first one ' +
    'was read.',
  params: BoardParams,
  query: z.object({
    limit: limitParameter(MOST_ENTRIES, `Entries per page, 1 to ${MOST_ENTRIES}. The default is ${PAGE_SIZE}.`),
    cursor: EntriesCursor.optional(),
    season: SeasonParameter,
  }),
  reply: z.object({
    game: z.string().meta({ example: 'pebble-drop' }),
    entries: z.array(BoardEntry),
    nextCursor: EntriesCursor.optional().meta({ description: 'Left out on the last page.' }),
    ...seasonField,
  }),
  errors: ['season_not_found'],
  example: `curl -s "$base/v1/highscores/pebble-drop/entries?limit=50"`,
  async handle({ params: { game }, query: { limit = PAGE_SIZE, cursor, season }, meta }, services: BoardServices) {
    const { scripts, catalogue } = services;
    const last = cursor === undefined ? undefined : placeIn(cursor)!;
    // If the cursor is from a page of a season, the next page is of the same season, even if that season has ended since.
    if (last !== undefined && season !== undefined && season !== (last.season ?? ALL_TIME)) throw invalid('cursor', CURSOR_RULE);
    chargeEntries(Number(limit), meta);
    const keys = { scores: boardKeys.scores(game) };
    const args = { ...boardArgs(game, catalogue, last === undefined ? season : (last.season ?? ALL_TIME)), score: '', head: '' };
    // Reads one entry more than the page has, to learn whether another page follows.
    const [word, id = '', endsAt = '', place, rank, ...figures] = await scripts.run(entriesScript, keys, {
      ...args,
      ...(last === undefined ? {} : { score: last.score, head: last.head }),
      limit: Number(limit) + 1,
    });
    if (word === 'season_not_found') return refuse(word, { field: 'season' });
    const isLast = figures.length <= 2 * Number(limit);
    const shown = isLast ? figures : figures.slice(0, -2);
    const entries = parseEntries(shown, { place: Number(place), rank: Number(rank) });
    return { game, entries, ...(isLast ? {} : { nextCursor: cursorOf(shown, id) }), ...seasonIn(id, endsAt) };
  },
});

function cursorOf(figures: readonly string[], season: string): string {
  return Buffer.from(`${figures.at(-1)} ${figures.at(-2)!.slice(0, HEAD_LENGTH)}${season === '' ? '' : ` ${season}`}`).toString(
    'base64url',
  );
}

function placeIn(cursor: string): { score: string; head: string; season: string | undefined } | undefined {
  const [, score, head, season] = PLACE.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? [];
  if (score === undefined || (season !== undefined && !isSeasonId(season))) return undefined;
  return { score, head: head!, season };
}
