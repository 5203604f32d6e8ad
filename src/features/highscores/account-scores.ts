import { z } from 'zod';
import { standingKey } from '../../accounts/account-keys.ts';
import type { CallerScripts, ScriptCaller } from '../../accounts/caller-scripts.ts';
import { BANS_DUE } from '../../accounts/ban.ts';
import type { HoldingServices } from '../../accounts/holdings.ts';
import { checksCaller } from '../../accounts/prologues.ts';
import { standingOf } from '../../accounts/standing-reader.ts';
import { standingLibrary } from '../../accounts/standing.ts';
import { Queue } from '../../redis/queue.ts';
import { read } from '../../redis/reads.ts';
import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import { pageOfSet } from '../../redis/set-pages.ts';
import { GameId } from '../catalogue/model.ts';
import { archivesKept, operatedBoardKeys } from './archives.ts';
import { seasonPayout } from '../coins/model.ts';
import { boardKeys, BoardEntry, boardLibrary, parseEntries, seasonKeys, seasonLibraries } from './model.ts';

/** Reads and changes the entries that an account has on boards, in their archives and in their seasons. */

/** Adds a game to an account's set of boards, or removes the game. A game is not added to the set of a deleted account. */
export const nameBoard = defineScript({
  name: 'highscores/name-board',
  lua: `if is_named == '1' and standing_of(standing) == 'deleted' then return {'account_deleted'} end
    redis.call(is_named == '1' and 'SADD' or 'SREM', boards, game)
    return {'named'}`,
  keys: ['boards', 'standing'],
  args: ['game', 'isNamed'],
  answers: ['named', 'account_deleted'],
  durable: true,
  library: standingLibrary,
});

export const moveEntry = defineScript({
  file: new URL('move-entry.lua', import.meta.url),
  keys: ['scores', 'players', 'version', 'removed', 'secret'],
  args: ['game', 'order', 'guestId', 'accountId'],
  answers: ['moved', 'moved_hidden'],
  durable: true,
  library: seasonLibraries,
});

const hideEntry = defineScript({
  file: new URL('hide-entry.lua', import.meta.url),
  keys: ['scores', 'players', 'version', 'secret'],
  args: ['game', 'accountId', 'isHidden'],
  answers: ['changed', 'none'],
  durable: true,
  library: seasonLibraries,
});

const renameEntry = defineScript({
  file: new URL('rename-entry.lua', import.meta.url),
  keys: ['scores', 'players', 'version', 'secret'],
  args: ['game', 'accountId', 'name'],
  answers: ['renamed', 'none'],
  durable: true,
  library: boardLibrary,
});

export const removeEntry = defineScript({
  file: new URL('remove-entry.lua', import.meta.url),
  keys: ['scores', 'players', 'version', 'removed', 'secret'],
  args: ['game', 'accountId'],
  answers: ['removed', 'none'],
  durable: true,
  library: seasonLibraries,
});

export const forgetPayouts = defineScript({
  file: new URL('forget-payouts.lua', import.meta.url),
  keys: ['payouts', 'secret'],
  args: ['accounts'],
  answers: ['forgotten'],
  durable: true,
  library: boardLibrary,
  formats: [seasonPayout],
});

/**
 * Removes the entries of a deleted account from all boards that the account's set of boards names, with their archives and seasons. Removes
 * the account's id from the prizes of seasons. The set of boards stays, because on a Cluster a score may arrive after the deletion. The
 * next call removes that score.
 * @param guests the ids of guests that moved into the account: a prize may have the id of a guest
 */
export async function removeScores(accountId: string, guests: readonly string[], scripts: ScriptRunner): Promise<void> {
  const games = await read(scripts, 'SMEMBERS', boardKeys.ofAccount(accountId));
  for (const game of games) {
    for await (const { keys, season } of boardsWith(game, scripts)) {
      await scripts.run(removeEntry, { ...keys, ...sharedKeys(game) }, { game, accountId });
      if (season === undefined) continue;
      const payouts = { payouts: seasonKeys.payouts(game, season), secret: keys.secret };
      for (let start = 0; start <= guests.length; start += ACCOUNTS_AT_ONCE)
        await scripts.run(forgetPayouts, payouts, { accounts: [accountId, ...guests].slice(start, start + ACCOUNTS_AT_ONCE).join(' ') });
    }
  }
}

/**
 * Hides the entries of a banned account on all boards and seasons, or makes them visible again after the ban. Archives are not changed,
 * because only operators see archives. If an entry was hidden when a reset archived its board, the entry stays hidden in the archive.
 */
export async function hideScores(accountId: string, isHidden: boolean, scripts: ScriptRunner): Promise<void> {
  const games = await read(scripts, 'SMEMBERS', boardKeys.ofAccount(accountId));
  const hideOn = async (game: string): Promise<void> => {
    const version = boardKeys.version(game);
    for (const { keys } of [boardOf(game), ...(await seasonsOf(game, scripts))])
      await scripts.run(hideEntry, { ...keys, version }, { game, accountId, isHidden: isHidden ? 1 : 0 });
  };
  // An account may be on thousands of boards. Many boards are changed at the same time, because calls in one turn of the event loop share a
  // Redis command.
  for (let start = 0; start < games.length; start += BOARDS_AT_ONCE)
    await Promise.all(games.slice(start, start + BOARDS_AT_ONCE).map(hideOn));
}

/** The number of boards on which entries are hidden, made visible or moved at the same time, which takes Redis about a millisecond. */
const BOARDS_AT_ONCE = 50;

/** The number of accounts that one call of `forget-payouts.lua` removes from payouts, which takes Redis less than a millisecond. */
const ACCOUNTS_AT_ONCE = 100;

/** Changes the name on all entries of an account, in archives and seasons too. @returns the number of entries with a new name */
export async function renameScores(accountId: string, name: string, scripts: ScriptRunner): Promise<number> {
  const games = await read(scripts, 'SMEMBERS', boardKeys.ofAccount(accountId));
  let renamed = 0;
  for (const game of games)
    for await (const { keys } of boardsWith(game, scripts)) {
      const [word] = await scripts.run(renameEntry, { ...keys, version: boardKeys.version(game) }, { game, accountId, name });
      if (word === 'renamed') renamed++;
    }
  return renamed;
}

/**
 * Lists some of the games on whose boards the caller has an entry. `cursor` is 0 at first. Answers boards(next cursor, 0 after the last page;
 * game …).
 */
const scanBoards = defineScript({
  name: 'highscores/scan-boards',
  lua: `local found = redis.call('SSCAN', boards, cursor, 'COUNT', count)
    local answer = {'boards', found[1]}
    for index, game in ipairs(found[2]) do answer[index + 2] = game end
    return answer`,
  keys: ['boards'],
  args: ['cursor', 'count'],
  answers: ['boards'],
  prologue: checksCaller,
  readOnly: true,
});

/** Reads an account's entry on a board, even if the entry is hidden. Answers standing(member, score), none. */
export const readEntry = defineScript({
  name: 'highscores/read-entry',
  lua: `local entry = entry_of_account(secret, players, account_id)
    -- An entry has no score if an operator deleted the board's scores by hand.
    local score = entry and score_of(scores, players, entry)
    if not score then return {'none'} end
    return {'standing', entry.member, score}`,
  keys: ['scores', 'players', 'secret'],
  args: ['accountId'],
  answers: ['standing', 'none'],
  readOnly: true,
  library: boardLibrary,
});

export const OwnScore = BoardEntry.omit({ rank: true })
  .extend({
    game: GameId,
    archive: z
      .number()
      .int()
      .optional()
      .meta({ description: 'The number of the archive that has this entry. Left out for the current board.' }),
    season: z.string().optional().meta({ description: 'The season of the board. Left out for the board of all time.' }),
  })
  .meta({
    id: 'OwnScore',
    example: { game: 'pebble-drop', playerId: 'k3Jx9QmZ2b', name: 'Ada', score: 1250, at: '2026-11-22T12:00:00.000Z' },
  });

/**
 * After a call of `scoresPage` has read this number of boards, archives and seasons, it does not begin another game. The call reads all
 * archives and seasons of a game, even if it then reads more than this number.
 */
const TABLES_A_CALL = 20;

/**
 * Reads the caller's entries on some boards, in their archives and in their seasons. Two pages may have the same entry.
 * @param cursor `0` at first. The answer's cursor is `0` after the last page
 * @returns `reads`: the number of sets, boards, archives and seasons that this call has read
 */
export async function scoresPage(
  caller: ScriptCaller & { readonly accountId: string },
  cursor: string,
  scripts: CallerScripts,
): Promise<{ scores: z.output<typeof OwnScore>[]; cursor: string; reads: number }> {
  const { accountId } = caller;
  const keys = { boards: boardKeys.ofAccount(accountId) };
  const page = await pageOfSet(cursor, TABLES_A_CALL, async (scan, count) => {
    const [, next, ...members] = await scripts.runAs(caller, scanBoards, keys, { cursor: scan, count });
    return { cursor: next!, members };
  });
  const { members: games, behind } = page;
  // The boards are read before their archives. The comment of `boardsWith` gives the reason.
  const standing = await Promise.all(games.map((game) => ownScores(game, boardOf(game), accountId, scripts)));
  const others = await Promise.all(games.map((game) => otherBoardsOf(game, scripts)));
  let [end, tables] = [0, 0];
  while (end < games.length && tables < TABLES_A_CALL) tables += 1 + others[end++]!.length;
  const found = await Promise.all(
    games.slice(0, end).map((game, index) => Promise.all(others[index]!.map((board) => ownScores(game, board, accountId, scripts)))),
  );
  return {
    scores: found.flatMap((ofGame, index) => [...standing[index]!, ...ofGame.flat()]),
    cursor: end === 0 ? page.cursor : behind(games[end - 1]!),
    reads: 1 + games.length + tables,
  };
}

/** An account's entry on a board, in an archive or in a season, if it has one. */
async function ownScores(
  game: string,
  { keys, archive, season }: BoardEntries,
  accountId: string,
  scripts: ScriptRunner,
): Promise<z.output<typeof OwnScore>[]> {
  const [word, ...figures] = await scripts.run(readEntry, keys, { accountId });
  if (word === 'none') return [];
  const where = { ...(archive === undefined ? {} : { archive }), ...(season === undefined ? {} : { season }) };
  return parseEntries(figures).map(({ rank: _, ...entry }) => ({ game, ...where, ...entry }));
}

/**
 * Moves a guest's entries to the account that the guest moved into, in archives and seasons too. If both the guest and the account have an
 * entry on a board, the better entry stays.
 * For each board, the function first adds the board to the account's set of boards, then moves the entry, and then removes the board from
 * the guest's set. So a call that was interrupted can be repeated, and at any time the account's set or the guest's set names the board of
 * each entry.
 * @param isLast `false`: the guest's set keeps its boards, because an entry of the guest may still arrive
 * @returns whether the guest's set of boards is not empty
 */
export async function moveScores(
  guestId: string,
  accountId: string,
  isLast: boolean,
  { scripts, catalogue }: Pick<HoldingServices, 'catalogue'> & { readonly scripts: ScriptRunner },
): Promise<boolean> {
  const guestBoards = { boards: boardKeys.ofAccount(guestId), standing: standingKey(guestId) };
  const games = await read(scripts, 'SMEMBERS', boardKeys.ofAccount(guestId));
  let isHidden = false;
  for (const game of games) {
    const args = { game, order: catalogue.orderOf(game), guestId, accountId };
    const hand = async ({ keys: board }: BoardEntries): Promise<boolean> => {
      const [word] = await scripts.run(readEntry, board, { accountId: guestId });
      if (word === 'standing') {
        const keys = { boards: boardKeys.ofAccount(accountId), standing: standingKey(accountId) };
        const [named] = await scripts.run(nameBoard, keys, { game, isNamed: 1 });
        if (named === 'account_deleted') return false;
      }
      const [moved] = await scripts.run(moveEntry, { ...board, ...sharedKeys(game) }, args);
      isHidden ||= moved === 'moved_hidden';
      return true;
    };
    // The board comes before its archives. The comment of `boardsWith` gives the reason. If the account was deleted, nothing more is moved,
    // because the deletion removes the guest's entries too.
    if (!(await hand(boardOf(game)))) return !isLast;
    const others = await otherBoardsOf(game, scripts);
    for (let start = 0; start < others.length; start += BOARDS_AT_ONCE)
      if ((await Promise.all(others.slice(start, start + BOARDS_AT_ONCE).map(hand))).includes(false)) return !isLast;
    if (isLast) await scripts.run(nameBoard, guestBoards, { game, isNamed: 0 });
  }
  // If a ban of the account began or ended during the move, it may have missed the moved entries. So the queue of bans checks the account
  // again.
  if (games.length > 0 && (isHidden || (await standingOf(accountId, scripts)).word === 'banned'))
    await new Queue(BANS_DUE, scripts, true).bring(accountId, 0);
  return !isLast && games.length > 0;
}

/** The entries of a game's board of all time, of one of its archives or of one of its seasons. */
interface BoardEntries {
  readonly keys: { readonly scores: string; readonly players: string; readonly secret: string };
  /** The number of the archive. Left out for a board or a season. */
  readonly archive?: number;
  /** The id of the season. Left out for a board of all time or an archive. */
  readonly season?: string;
}

/** The keys that are the same for a game's board, its archives and its seasons. */
function sharedKeys(game: string): { readonly version: string; readonly removed: string } {
  return { version: boardKeys.version(game), removed: operatedBoardKeys.removed(game) };
}

/** The game's board of all time. */
const boardOf = (game: string): BoardEntries => ({
  keys: { scores: boardKeys.scores(game), players: boardKeys.players(game), secret: boardKeys.secret(game) },
});

async function seasonsOf(game: string, scripts: ScriptRunner): Promise<BoardEntries[]> {
  const seasons = await read(scripts, 'ZREVRANGE', seasonKeys.seasons(game), 0, -1);
  const secret = boardKeys.secret(game);
  return seasons.map((season) => ({
    keys: { scores: seasonKeys.scores(game, season), players: seasonKeys.players(game, season), secret },
    season,
  }));
}

/** A game's archives and seasons. */
async function otherBoardsOf(game: string, scripts: ScriptRunner): Promise<BoardEntries[]> {
  const [archives, seasons] = await Promise.all([archivesKept(game, scripts), seasonsOf(game, scripts)]);
  const { archivedScores, archivedPlayers } = operatedBoardKeys;
  const secret = boardKeys.secret(game);
  return [
    ...archives.map((archive) => ({
      keys: { scores: archivedScores(game, archive), players: archivedPlayers(game, archive), secret },
      archive,
    })),
    ...seasons,
  ];
}

/**
 * A game's board, then its archives and seasons. The order matters: a reset moves entries from the board to a new archive, and a reader
 * that begins with the archives could miss such an entry.
 */
async function* boardsWith(game: string, scripts: ScriptRunner): AsyncGenerator<BoardEntries> {
  yield boardOf(game);
  yield* await otherBoardsOf(game, scripts);
}
