import { z } from 'zod';
import { ACCOUNT_ID } from '../accounts/ids.ts';
import { invalid, refuse, Refusal } from '../errors.ts';
import { GameId } from '../features/catalogue/model.ts';
import { PLAYER_ID } from '../features/highscores/entry-format.ts';
import { operatedBoardKeys } from '../features/highscores/archives.ts';
import {
  ALL_TIME,
  boardKeys,
  parseEntries,
  seasonField,
  seasonKeys,
  seasonLibraries,
  SeasonParameter,
} from '../features/highscores/model.ts';
import { defineScript } from '../redis/script.ts';
import { Who } from './named-accounts.ts';
import { refuseOtherGame } from '../server/identity/server-keys.ts';
import { operation, Reason, type OperatorServices } from './operation.ts';
import {
  archiveKeys,
  archivesOf,
  BoardArchive,
  BoardEntry,
  entriesOf,
  entryOn,
  playerOf,
  ranksOf,
  type OpenBoard,
} from './board-entries.ts';
import { Parts } from '../redis/unreadable.ts';
import { isOpen, readSeasons } from './season-records.ts';
import { entriesText, minute, some } from './shown/cells.ts';
import { archivesOf as shownArchives, entries as shownEntries } from './shown/shown-boards.ts';

const removePlayer = defineScript({
  file: new URL('remove-player.lua', import.meta.url),
  keys: ['scores', 'players', 'version', 'removed', 'secret'],
  args: ['game', 'accountId'],
  answers: ['removed', 'none'],
  library: seasonLibraries,
  durable: true,
});

const resetScript = defineScript({
  file: new URL('reset-board.lua', import.meta.url),
  keys: ['scores', 'players', 'version', 'archives', 'archivedScores', 'archivedPlayers'],
  args: ['game', 'number', 'archive'],
  answers: ['reset', 'empty', 'taken'],
  durable: true,
});

const dropScript = defineScript({
  file: new URL('drop-archive.lua', import.meta.url),
  keys: ['archives', 'archivedScores', 'archivedPlayers'],
  args: ['number', 'droppedAt'],
  answers: ['dropped', 'none'],
  durable: true,
});

/** Most entries in one answer. */
const MOST_ENTRIES = 100;

const PLACE_RULE = 'Must be a place on the board, 1 for the first';
const Place = z
  .string()
  .regex(/^[1-9]\d{0,8}$/, PLACE_RULE)
  .meta({ typed: { word: 'PLACE' } });

const NUMBER_RULE = 'Must be the number of an archive: 1 for the first';
const ArchiveNumber = z
  .string()
  .regex(/^[1-9]\d{0,8}$/, NUMBER_RULE)
  .meta({ typed: { word: 'N' } });

const JSON_HEADERS = `-H "authorization: Bearer $COINOP_KEY" -H 'content-type: application/json'`;

export const listBoard = operation({
  name: 'boards list',
  method: 'GET',
  path: '/v1/admin/boards/{game}',
  operationId: 'listBoard',
  role: 'viewer',
  reach: 'game',
  summary: 'The entries of a board between two places, with their accounts.',
  description: `\`from\` and \`to\` are places, 1 to 20 without them and ${MOST_ENTRIES} at most. Equal scores share a rank. \`archive\` reads an old board.`,
  input: z.object({
    game: GameId,
    from: Place.optional().meta({ description: 'The first place. Left out: 1.' }),
    to: Place.optional().meta({ description: `The last place, up to ${MOST_ENTRIES - 1} places after the first. Left out: 19 after it.` }),
    archive: ArchiveNumber.optional().meta({ description: 'An archive in place of the board.' }),
    season: SeasonParameter,
  }),
  reply: z.object({
    game: z.string(),
    ...seasonField,
    count: z.number().int().optional().meta({ description: 'Entries on the whole board. Left out if the board is damaged.' }),
    entries: z.array(BoardEntry),
    archives: z.array(BoardArchive).meta({ description: 'The old boards, the newest first.' }),
  }),
  errors: ['entry_not_found', 'season_not_found'],
  example: `curl -s "$base/v1/admin/boards/pebble-drop?from=1&to=50" -H "authorization: Bearer $COINOP_KEY"`,
  shown: ({ game, season, count, entries, archives }) => [
    count === undefined
      ? `The board of ${game} cannot be read.`
      : count === 0
        ? `The board of ${game} has no entries${season === undefined ? '' : ` in the season ${season.id}`}.`
        : `${game}${season === undefined ? '' : `, season ${season.id} until ${minute(season.endsAt)} (UTC)`}: ${entriesText(count)}`,
    ...some(shownEntries, entries),
    ...some(shownArchives(game), archives),
  ],
  async prepare({ game, from = '1', to, archive, season }, services) {
    const firstPlace = Number(from);
    const lastPlace = to === undefined ? firstPlace + 19 : Number(to);
    if (lastPlace < firstPlace || lastPlace >= firstPlace + MOST_ENTRIES)
      return invalid('to', `Must be from, or up to ${MOST_ENTRIES - 1} places behind it`);
    const parts = new Parts();
    const archives = (await parts.read(`archives of ${game}`, () => archivesOf(game, services))) ?? [];
    const number = archive === undefined ? undefined : Number(archive);
    const isKnown = number === undefined || archives.some((kept) => kept.archive === number && kept.droppedAt === undefined);
    if (!isKnown && parts.unreadable.length === 0) return refuse('entry_not_found');
    const found = await entriesOf({ game, archive: number, season }, firstPlace, lastPlace, services, parts);
    return found instanceof Refusal ? found : { reply: { game, ...found, archives, unreadable: parts.unreadable } };
  },
});

const Player = Who.meta({
  description: `A playerId of the board (10 characters), or what \`find\` takes. ${Who.meta()!.description!}`,
  example: 'k3Jx9QmZ2b',
});

export const removeEntry = operation({
  name: 'boards remove',
  method: 'POST',
  path: '/v1/admin/boards/{game}/remove',
  words: ['player'],
  operationId: 'removeBoardEntry',
  role: 'economist',
  reach: 'game',
  cannotBeUndone: true,
  summary: "Removes a player's entry from a board.",
  description:
    'The operators’ log keeps the score. The player may submit again: this is no ban. In a game with seasons the entry is removed from the ' +
    'board of all time and from each season that is not closed yet, so it wins no prize; `season` names one season instead. A key of one game ' +
    'names the player by playerId or accountId.',
  input: z.object({ game: GameId, player: Player, reason: Reason, season: SeasonParameter }),
  reply: z.object({
    game: z.string(),
    removed: BoardEntry.omit({ rank: true }),
    seasons: z.array(z.string()).optional().meta({ description: 'Seasons from which the entry was removed as well.' }),
  }),
  errors: ['entry_not_found', 'season_not_found'],
  example: `curl -s $base/v1/admin/boards/pebble-drop/remove ${JSON_HEADERS} -d '{"player":"k3Jx9QmZ2b","reason":"cheated, ticket 4711"}'`,
  shown: ({ game, removed: { name, score, playerId }, seasons = [] }) => [
    `Removed ${name} (${playerId}) with ${score} from the board of ${game}${seasons.length === 0 ? '' : `, in the seasons ${seasons.join(', ')} too`}.`,
  ],
  async prepare({ game, player, reason, season }, services, { key }) {
    const boards = await openBoards(game, season, services);
    if (boards instanceof Refusal) return boards;
    // An order, a room or an install may belong to another game, and a key of one game must not learn who owns it.
    if (key?.game !== undefined && !PLAYER_ID.test(player) && !ACCOUNT_ID.test(player)) return refuseOtherGame(key.game, 'player');
    const accountId = await playerOf(key?.game === undefined ? player : plainAccount(player), boards, services);
    if (accountId instanceof Refusal) return accountId;
    const standing = accountId === undefined ? [] : await Promise.all(boards.map(({ keys }) => entryOn(keys, accountId, services)));
    const removedEntry = standing.find((entry) => entry !== undefined);
    if (accountId === undefined || removedEntry === undefined)
      return refuse('entry_not_found', { message: `The board of ${game} has no entry of this player.` });
    const { name, score } = removedEntry;
    const where = boards.flatMap(({ season: id }, index) => (id === undefined || standing[index] === undefined ? [] : [id]));
    const ofSeasons = where.length === 0 ? '' : ` (seasons: ${where.join(', ')})`;
    return {
      question: `Remove "${name}" with the score ${score} (account ${accountId}) from the board of ${game}${ofSeasons}? Reason: ${reason}`,
      what: { game, account: accountId, season },
      why: reason,
      typed: { what: 'the score', figure: score },
      // The name of the player is left out, because the log outlives the account.
      noted: ({ removed: { playerId, score: of, at }, seasons }) => ({ playerId, score: of, at, seasons: seasons?.join(' ') }),
      async act() {
        const shared = { version: boardKeys.version(game), removed: operatedBoardKeys.removed(game) };
        const gone = await Promise.all(
          boards.map(async ({ keys, season: id }) => {
            const [word, ...figures] = await services.scripts.run(removePlayer, { ...keys, ...shared }, { game, accountId });
            return word === 'none' ? [] : [{ season: id, entry: parseEntries(figures)[0]! }];
          }),
        );
        const [taken, ...others] = gone.flat();
        if (taken === undefined) return refuse('entry_not_found');
        const { rank: _, ...removed } = taken.entry;
        const seasons = [taken, ...others].flatMap(({ season: id }) => id ?? []);
        return { game, removed: { ...removed, accountId }, ...(seasons.length === 0 ? {} : { seasons }) };
      },
    };
  },
});

/** An accountId of 22 characters could also be an installId. The prefix shows that it is an accountId. */
const plainAccount = (player: string): string => (ACCOUNT_ID.test(player) ? `account:${player}` : player);

/** The boards of a game from which an operator may remove an entry. A closed season keeps its entries. */
async function openBoards(
  game: string,
  wanted: string | undefined,
  services: OperatorServices,
): Promise<OpenBoard[] | Refusal<'season_not_found' | 'entry_not_found'>> {
  const secret = boardKeys.secret(game);
  const ofAllTime = { keys: { scores: boardKeys.scores(game), players: boardKeys.players(game), secret } };
  if (wanted === ALL_TIME) return [ofAllTime];
  const seasons = await readSeasons(game, services);
  const found = wanted === undefined ? undefined : seasons.find(({ season }) => season === wanted);
  if (wanted !== undefined && found === undefined) return refuse('season_not_found', { field: 'season' });
  if (found !== undefined && !isOpen(found))
    return refuse('entry_not_found', { message: `The season ${wanted} is closed: its prizes and its entries stay.` });
  const open = seasons.filter((season) => isOpen(season) && (wanted === undefined || season.season === wanted));
  const ofSeasons = open.map(({ season }) => ({
    keys: { scores: seasonKeys.scores(game, season), players: seasonKeys.players(game, season), secret },
    season,
  }));
  return wanted === undefined ? [ofAllTime, ...ofSeasons] : ofSeasons;
}

export const resetBoard = operation({
  name: 'boards reset',
  method: 'POST',
  path: '/v1/admin/boards/{game}/reset',
  operationId: 'resetBoard',
  title: 'Reset the board',
  role: 'economist',
  reach: 'game',
  cannotBeUndone: true,
  summary: 'Empties a board, and keeps its entries in an archive that can still be listed.',
  description:
    'The reset is atomic: a score that arrives meanwhile is in the archive or on the new board. The archive takes as much memory as the board ' +
    'did, until `drop` deletes it. Of two simultaneous resets one is refused. After an unclear answer check the archives in `listBoard` first: ' +
    'a second reset makes a second archive. Only the board of all time is reset: seasons begin by themselves.',
  input: z.object({ game: GameId, reason: Reason }),
  reply: z.object({ game: z.string(), archive: z.number().int(), entries: z.number().int() }),
  errors: ['entry_not_found'],
  example: `curl -s $base/v1/admin/boards/pebble-drop/reset ${JSON_HEADERS} -d '{"reason":"season 2 begins"}'`,
  shown: ({ game, archive, entries }) => [`The board of ${game} is empty. Archive ${archive} has its ${entriesText(entries)}.`],
  async prepare({ game, reason }, services, { by }) {
    const standing = await ranksOf({ game, season: ALL_TIME }, 1, 1, services);
    if (standing instanceof Refusal) return standing;
    const { count } = standing;
    if (count === 0) return refuse('entry_not_found', { message: emptyBoard(game) });
    const number = (await archivesOf(game, services)).length + 1;
    return {
      question: `Reset the board of ${game}? Its entries (${count}) go into archive ${number}. Reason: ${reason}`,
      what: { game },
      why: reason,
      typed: { what: 'the entries', figure: count },
      noted: ({ archive, entries }) => ({ archive, entries }),
      act: () => reset(game, number, { by, reason }, services),
    };
  },
});

export const dropArchive = operation({
  name: 'boards drop',
  method: 'POST',
  path: '/v1/admin/boards/{game}/drop',
  words: ['archive'],
  operationId: 'dropBoardArchive',
  role: 'admin',
  reach: 'game',
  cannotBeUndone: true,
  summary: 'Deletes the entries of an archive.',
  input: z.object({ game: GameId, archive: z.int(NUMBER_RULE).min(1, NUMBER_RULE).max(999_999_999, NUMBER_RULE), reason: Reason }),
  reply: z.object({ game: z.string(), archive: z.number().int() }),
  errors: ['entry_not_found'],
  example: `curl -s $base/v1/admin/boards/pebble-drop/drop ${JSON_HEADERS} -d '{"archive":1,"reason":"older than two years"}'`,
  shown: ({ game, archive }) => [`Archive ${archive} of the board of ${game} is deleted.`],
  async prepare({ game, archive: number, reason }, services) {
    const found = (await archivesOf(game, services)).find(({ archive, droppedAt }) => archive === number && droppedAt === undefined);
    if (found === undefined) return refuse('entry_not_found');
    return {
      question: `Delete archive ${number} of the board of ${game}, with ${found.entries} entries, for good? Reason: ${reason}`,
      what: { game, archive: number },
      why: reason,
      typed: { what: 'the entries', figure: found.entries },
      async act() {
        const [word] = await services.scripts.run(dropScript, archiveKeys(game, number), { number, droppedAt: services.now() });
        return word === 'none' ? refuse('entry_not_found') : { game, archive: number };
      },
    };
  },
});

/**
 * @param number of the archive. The number is fixed when the question is asked. So after another reset this reset does not archive a board
 * that nobody saw.
 */
async function reset(
  game: string,
  number: number,
  { by, reason }: { readonly by: string; readonly reason: string },
  services: OperatorServices,
) {
  const keys = {
    scores: boardKeys.scores(game),
    players: boardKeys.players(game),
    version: boardKeys.version(game),
    ...archiveKeys(game, number),
  };
  const archive = JSON.stringify({ at: services.now(), by, reason });
  const [word, entries] = await services.scripts.run(resetScript, keys, { game, number, archive });
  if (word === 'reset') return { game, archive: number, entries: Number(entries) };
  const message =
    word === 'empty' ? emptyBoard(game) : `The board of ${game} has just been reset by somebody else: archive ${number} has its entries.`;
  return refuse('entry_not_found', { message });
}

const emptyBoard = (game: string): string => `The board of ${game} has no entries.`;
