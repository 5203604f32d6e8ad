import { z } from 'zod';
import type { ScriptCaller } from '../../accounts/caller-scripts.ts';
import { OptionalInstallId } from '../../accounts/ids.ts';
import { checksCaller } from '../../accounts/prologues.ts';
import { defineScript } from '../../redis/script.ts';
import { Encoded } from '../../server/http/endpoint.ts';
import { endpoint, type Services } from '../../declare.ts';
import { refuse } from '../../errors.ts';
import {
  boardArgs,
  boardKeys,
  BoardParams,
  OwnEntry,
  parseEntries,
  seasonField,
  seasonIn,
  seasonLibraries,
  SeasonParameter,
  Top,
  TOP_SIZE,
} from './model.ts';

export const topScript = defineScript({
  file: new URL('top.lua', import.meta.url),
  keys: ['scores', 'players', 'version', 'secret'],
  args: ['order', 'size', 'known', 'accountId', 'period', 'season'],
  answers: ['season_not_found', 'top', 'own'],
  prologue: checksCaller,
  slotOf: 'scores',
  library: seasonLibraries,
  readOnly: true,
});

export const topScores = endpoint({
  method: 'GET',
  path: '/v1/highscores/{game}',
  operationId: 'getHighscores',
  caller: 'public',
  summary: "A game's ten best scores; an empty list for a game without scores.",
  description:
    'The list is at most 100 ms old, and includes every submission that was answered before the request. ' +
    'The higher score is the better one, unless the catalogue gives the game `order: "asc"`. ' +
    "With an installId or a session the answer has the caller's own entry too, however far down it is. " +
    'In a game with seasons the list is that of the current season.',
  params: BoardParams,
  query: z.object({ installId: OptionalInstallId, season: SeasonParameter }),
  reply: z.object({
    game: z.string().meta({ example: 'pebble-drop' }),
    top: Top,
    you: OwnEntry.optional(),
    ...seasonField,
  }),
  errors: ['season_not_found'],
  example: `curl -s $base/v1/highscores/pebble-drop`,
  handle({ caller, params: { game }, query: { season } }, services: TopServices) {
    if (season !== undefined) return topOfSeason(game, season, caller, services);
    if (caller !== undefined) return topWithYou(game, caller, services);
    const { boards } = services;
    const find = () => boards.find(game) ?? readTop(game, services);
    return boards.isAlone ? find() : boards.heard().then(find);
  },
});

type TopServices = Pick<Services, 'boards' | 'scripts' | 'catalogue'>;

export const topKeys = (game: string) => ({
  scores: boardKeys.scores(game),
  players: boardKeys.players(game),
  version: boardKeys.version(game),
  secret: boardKeys.secret(game),
});

function readTop(game: string, { boards, scripts, catalogue }: TopServices): Promise<Encoded> {
  const order = catalogue.orderOf(game);
  return boards.read(game, order, () =>
    scripts.runWithoutAccount(topScript, topKeys(game), { ...boardArgs(game, catalogue), size: TOP_SIZE, known: '', accountId: '' }),
  );
}

type TopCaller = ScriptCaller & { readonly accountId: string };

async function topWithYou(game: string, caller: TopCaller, services: TopServices): Promise<Encoded> {
  const { boards, scripts, catalogue } = services;
  const call = boards.call(game, catalogue.orderOf(game));
  const args = { ...boardArgs(game, catalogue), size: TOP_SIZE, known: call.known, accountId: caller.accountId };
  const [, rank, member, score, ...list] = await scripts.runAs(caller, topScript, topKeys(game), args);
  const { text, season } = call.listOf(list);
  const you = ownEntry(rank!, [member!, score!]);
  return new Encoded(`{"ok":true,"game":${JSON.stringify(game)},"top":${text},"you":${JSON.stringify(you)}${season}}`);
}

/** Reads the list of the season that a request names. The list is not cached, because few clients ask for it. */
async function topOfSeason(game: string, season: string, caller: TopCaller | undefined, { scripts, catalogue }: TopServices) {
  const args = { ...boardArgs(game, catalogue, season), size: TOP_SIZE, known: '', accountId: caller?.accountId ?? '' };
  const [word, ...words] = await scripts.runWithOrWithout(caller, topScript, topKeys(game), args);
  if (word === 'season_not_found') return refuse(word, { field: 'season' });
  const [rank, member, score] = word === 'own' ? words.splice(0, 3) : [];
  const [id, endsAt, , ...figures] = words;
  const you = rank === undefined ? {} : { you: ownEntry(rank, [member!, score!]) };
  return { game, top: parseEntries(figures), ...you, ...seasonIn(id!, endsAt!) };
}

/** The caller's entry in an answer, or null if the caller has no entry. @param rank the rank of the entry; '' if the caller has no entry */
function ownEntry(rank: string, figures: readonly string[]): z.output<typeof OwnEntry> {
  return rank === '' ? null : parseEntries(figures, { place: 0, rank: Number(rank) })[0]!;
}
