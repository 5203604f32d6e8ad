import { z } from 'zod';
import { OptionalInstallId } from '../../accounts/ids.ts';
import { checksCaller } from '../../accounts/prologues.ts';
import { endpoint } from '../../declare.ts';
import { refuse } from '../../errors.ts';
import { limitParameter } from '../../server/http/endpoint.ts';
import { defineScript } from '../../redis/script.ts';
import type { BoardServices } from './entries.ts';
import { PLAYER_ID } from './entry-format.ts';
import {
  boardArgs,
  BoardEntry,
  boardKeys,
  BoardParams,
  chargeEntries,
  OwnEntry,
  parseEntries,
  seasonField,
  seasonIn,
  seasonLibraries,
  SeasonParameter,
} from './model.ts';

export const aroundScript = defineScript({
  file: new URL('around.lua', import.meta.url),
  keys: ['scores', 'players', 'secret'],
  args: ['order', 'limit', 'accountId', 'playerId', 'period', 'season'],
  answers: ['season_not_found', 'none', 'around'],
  prologue: checksCaller,
  slotOf: 'scores',
  library: seasonLibraries,
  readOnly: true,
});

/** The number of entries on each side of the caller's entry if the request names no limit. */
const ENTRIES_EACH_SIDE = 10;

/** The most entries on each side that a request may ask for. */
const MOST_EACH_SIDE = 50;

const PLAYER_RULE = 'Must be the playerId of an entry';

export const aroundMe = endpoint({
  method: 'GET',
  path: '/v1/highscores/{game}/around',
  operationId: 'getHighscoresAround',
  caller: 'optional',
  keyScope: 'scores',
  reach: 'game',
  summary: "The caller's entry on a game's board, and the entries around it.",
  description:
    'A caller without a score gets `you: null` and no entries. A request without a caller names the player by `playerId`, which is ' +
    'otherwise ignored; with neither it is 401 `identity_required`. Each 20 entries count as a request.',
  params: BoardParams,
  query: z.object({
    installId: OptionalInstallId,
    playerId: z
      .string()
      .regex(PLAYER_ID, PLAYER_RULE)
      .optional()
      .meta({ description: 'A player of the board, for requests without a caller.', example: 'k3Jx9QmZ2b' }),
    season: SeasonParameter,
    limit: limitParameter(MOST_EACH_SIDE, `Entries on each side, 1 to ${MOST_EACH_SIDE}. The default is ${ENTRIES_EACH_SIDE}.`),
  }),
  reply: z.object({
    game: z.string().meta({ example: 'pebble-drop' }),
    you: OwnEntry,
    entries: z.array(BoardEntry).meta({ description: 'In the order of the board, with the entry `you`.' }),
    ...seasonField,
  }),
  errors: ['identity_required', 'season_not_found'],
  example: `curl -s "$base/v1/highscores/pebble-drop/around?limit=5" -H 'x-install-id: install-0001'`,
  async handle({ caller, params: { game }, query: { playerId = '', limit = ENTRIES_EACH_SIDE, season }, meta }, services: BoardServices) {
    const { scripts, catalogue } = services;
    if (caller === undefined && playerId === '') return refuse('identity_required');
    chargeEntries(2 * Number(limit), meta);
    const keys = { scores: boardKeys.scores(game), players: boardKeys.players(game), secret: boardKeys.secret(game) };
    const who = caller === undefined ? { accountId: '', playerId } : { accountId: caller.accountId, playerId: '' };
    const args = { ...boardArgs(game, catalogue, season), limit, ...who };
    const answer = await scripts.runWithOrWithout(caller, aroundScript, keys, args);
    const [word, id = '', endsAt = '', own, place, rank, ...figures] = answer;
    if (word === 'season_not_found') return refuse(word, { field: 'season' });
    const ofSeason = seasonIn(id, endsAt);
    if (word === 'none') return { game, you: null, entries: [], ...ofSeason };
    const entries = parseEntries(figures, { place: Number(place), rank: Number(rank) });
    return { game, you: entries[Number(own) - Number(place)]!, entries, ...ofSeason };
  },
});
