import { z } from 'zod';
import type { ScriptCaller } from '../../accounts/caller-scripts.ts';
import { OptionalInstallId } from '../../accounts/ids.ts';
import { checksCaller } from '../../accounts/prologues.ts';
import { defineScript } from '../../redis/script.ts';
import { Encoded } from '../../server/http/endpoint.ts';
import { endpoint, type Services } from '../../declare.ts';
import { boardKeys, boardLibrary, BoardParams, OwnEntry, parseEntries, Top, TOP_SIZE } from './model.ts';

export const topScript = defineScript({
  file: new URL('top.lua', import.meta.url),
  keys: ['scores', 'players', 'version', 'secret'],
  args: ['order', 'size', 'known', 'accountId'],
  answers: ['top', 'own'],
  prologue: checksCaller,
  slotOf: 'scores',
  library: boardLibrary,
  readOnly: true,
});

export const topScores = endpoint({
  method: 'GET',
  path: '/v1/highscores/{game}',
  operationId: 'getHighscores',
  caller: 'public',
  summary: "A game's ten best scores; an empty list for a game without scores.",
  description:
    'The list is at most 100 ms old, and holds every submission that was answered before the request. ' +
    'The higher score is the better one, unless the catalogue gives the game `order: "asc"`. ' +
    "With an installId or a session the answer has the caller's own entry too, however far down it is.",
  params: BoardParams,
  query: z.object({ installId: OptionalInstallId }),
  reply: z.object({
    game: z.string().meta({ example: 'pebble-drop' }),
    top: Top,
    you: OwnEntry.optional(),
  }),
  example: `curl -s $base/v1/highscores/pebble-drop`,
  handle({ caller, params: { game } }, services: TopServices) {
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
  const args = { order, size: TOP_SIZE, known: '', accountId: '' };
  return boards.read(game, order, () => scripts.runWithoutAccount(topScript, topKeys(game), args));
}

async function topWithYou(game: string, caller: ScriptCaller & { readonly accountId: string }, services: TopServices): Promise<Encoded> {
  const { boards, scripts, catalogue } = services;
  const order = catalogue.orderOf(game);
  const call = boards.call(game, order);
  const args = { order, size: TOP_SIZE, known: call.known, accountId: caller.accountId };
  const [, rank, member, score, version, ...figures] = await scripts.runAs(caller, topScript, topKeys(game), args);
  const list = call.listOf(version === call.known ? [] : [version!, ...figures]);
  const [you = null] = rank === '' ? [] : parseEntries([member!, score!], { place: 0, rank: Number(rank) });
  return new Encoded(`{"ok":true,"game":${JSON.stringify(game)},"top":${list},"you":${JSON.stringify(you)}}`);
}
