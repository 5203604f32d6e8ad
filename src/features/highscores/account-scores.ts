import { z } from 'zod';
import { standingKey } from '../../accounts/account-keys.ts';
import type { CallerScripts, ScriptCaller } from '../../accounts/caller-scripts.ts';
import { BANS_DUE } from '../../accounts/bans.ts';
import type { HoldingParts } from '../../accounts/holdings.ts';
import { checksCaller } from '../../accounts/prologues.ts';
import { standingOf } from '../../accounts/standing-look.ts';
import { standingLibrary } from '../../accounts/standing.ts';
import { Queue } from '../../redis/queue.ts';
import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import { pageOfSet } from '../../redis/set-pages.ts';
import { GameId } from '../catalogue/model.ts';
import { archivesKept, operatedBoardKeys } from './archives.ts';
import { boardKeys, BoardEntry, boardLibrary, parseEntries } from './model.ts';

/** What boards hold of an account. */

export const boardsOf = defineScript({
  file: new URL('boards-of.lua', import.meta.url),
  keys: ['boards'],
  args: [],
  answers: ['boards'],
  readOnly: true,
});

export const nameBoard = defineScript({
  file: new URL('name-board.lua', import.meta.url),
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
  library: boardLibrary,
});

const hideEntry = defineScript({
  file: new URL('hide-entry.lua', import.meta.url),
  keys: ['scores', 'players', 'version', 'secret'],
  args: ['game', 'accountId', 'isHidden'],
  answers: ['changed', 'none'],
  durable: true,
  library: boardLibrary,
});

export const removeEntry = defineScript({
  file: new URL('remove-entry.lua', import.meta.url),
  keys: ['scores', 'players', 'version', 'removed', 'secret'],
  args: ['game', 'accountId'],
  answers: ['removed', 'none'],
  durable: true,
  library: boardLibrary,
});

/**
 * Removes the entries of a deleted account from all boards that its set names, and from their archives. The set stays: on a Cluster a score
 * that was on its way may arrive later, and the next call removes it.
 */
export async function removeScores(accountId: string, scripts: ScriptRunner): Promise<void> {
  const [, ...games] = await scripts.run(boardsOf, { boards: boardKeys.ofAccount(accountId) }, {});
  for (const game of games)
    for await (const { archive: _, ...board } of boardsWith(game, scripts))
      await scripts.run(removeEntry, { ...board, ...sharedKeys(game) }, { game, accountId });
}

/**
 * Takes the entries of a banned account off all boards, or gives them back. Archives keep theirs: only operators see them. An entry that
 * a reset brought into an archive while it was hidden stays out of that list.
 */
export async function hideScores(accountId: string, isHidden: boolean, scripts: ScriptRunner): Promise<void> {
  const [, ...games] = await scripts.run(boardsOf, { boards: boardKeys.ofAccount(accountId) }, {});
  for (const game of games) {
    const keys = { ...boardOf(game), version: boardKeys.version(game) };
    await scripts.run(hideEntry, keys, { game, accountId, isHidden: isHidden ? 1 : 0 });
  }
}

const scanBoards = defineScript({
  file: new URL('scan-boards.lua', import.meta.url),
  keys: ['boards'],
  args: ['cursor', 'count'],
  answers: ['boards'],
  prologue: checksCaller,
  readOnly: true,
});

export const readEntry = defineScript({
  file: new URL('read-entry.lua', import.meta.url),
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
      .meta({ description: 'The number of the old board that has it, since an operator reset the board.' }),
  })
  .meta({
    id: 'OwnScore',
    example: { game: 'pebble-drop', playerId: 'k3Jx9QmZ2b', name: 'Ada', score: 1250, at: '2026-11-22T12:00:00.000Z' },
  });

/** Boards and archives that one call of `scoresPage` reads. One board with more archives comes whole. */
const TABLES_A_CALL = 20;

/**
 * The caller's entries on some boards, and on their archives. An entry may come twice.
 * @param cursor `0` at first. The answer's is `0` after the last page
 * @returns `looks`: how many sets, boards and archives the page read
 */
export async function scoresPage(
  caller: ScriptCaller & { readonly accountId: string },
  cursor: string,
  scripts: CallerScripts,
): Promise<{ scores: z.output<typeof OwnScore>[]; cursor: string; looks: number }> {
  const { accountId } = caller;
  const keys = { boards: boardKeys.ofAccount(accountId) };
  const page = await pageOfSet(cursor, TABLES_A_CALL, async (scan, count) => {
    const [, next, ...members] = await scripts.runAs(caller, scanBoards, keys, { cursor: scan, count });
    return { cursor: next!, members };
  });
  const { members: games, behind } = page;
  // The boards first, then their archives, as in `boardsWith`.
  const standing = await Promise.all(games.map((game) => ownScores(game, boardOf(game), accountId, scripts)));
  const archives = await Promise.all(games.map((game) => archivesOf(game, scripts)));
  let [end, tables] = [0, 0];
  while (end < games.length && tables < TABLES_A_CALL) tables += 1 + archives[end++]!.length;
  const archived = await Promise.all(
    games.slice(0, end).map((game, index) => Promise.all(archives[index]!.map((board) => ownScores(game, board, accountId, scripts)))),
  );
  return {
    scores: archived.flatMap((found, index) => [...standing[index]!, ...found.flat()]),
    cursor: end === 0 ? page.cursor : behind(games[end - 1]!),
    looks: 1 + games.length + tables,
  };
}

/** An account's entry on a board or in an archive, if it has one. */
async function ownScores(
  game: string,
  { archive, ...board }: BoardEntries,
  accountId: string,
  scripts: ScriptRunner,
): Promise<z.output<typeof OwnScore>[]> {
  const [word, ...figures] = await scripts.run(readEntry, board, { accountId });
  if (word === 'none') return [];
  return parseEntries(figures).map(({ rank: _, ...entry }) => ({ game, ...(archive === undefined ? {} : { archive }), ...entry }));
}

/**
 * Hands a guest's entries over to the account that the guest moved into, in archives too. If both have an entry on a board, the better
 * one stays.
 * For each board the account's set names the board first, then the entry moves, then the guest's set forgets the board. So an
 * interrupted call can be repeated, and no entry is ever without a set that names its board.
 * @param isLast `false`: the guest's set forgets nothing, because an entry of it may still arrive
 * @returns whether the guest's set names a board
 */
export async function moveScores(
  guestId: string,
  accountId: string,
  isLast: boolean,
  { scripts, catalogue }: Pick<HoldingParts, 'catalogue'> & { readonly scripts: ScriptRunner },
): Promise<boolean> {
  const guestBoards = { boards: boardKeys.ofAccount(guestId), standing: standingKey(guestId) };
  const [, ...games] = await scripts.run(boardsOf, { boards: boardKeys.ofAccount(guestId) }, {});
  let isHidden = false;
  for (const game of games) {
    const args = { game, order: catalogue.orderOf(game), guestId, accountId };
    const hand = async ({ archive: _, ...board }: BoardEntries): Promise<boolean> => {
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
    // The deletion of the account removes the guest's entries.
    for await (const board of boardsWith(game, scripts)) if (!(await hand(board))) return !isLast;
    if (isLast) await scripts.run(nameBoard, guestBoards, { game, isNamed: 0 });
  }
  // A ban that began or ended meanwhile has missed these entries.
  if (games.length > 0 && (isHidden || (await standingOf(accountId, scripts)).word === 'banned'))
    await new Queue(BANS_DUE, scripts, true).bring(accountId, 0);
  return !isLast && games.length > 0;
}

interface BoardEntries {
  readonly scores: string;
  readonly players: string;
  readonly secret: string;
  /** The number of an archive. Undefined for the board. */
  readonly archive?: number;
}

/** What a game's board and its archives share. */
function sharedKeys(game: string): { readonly version: string; readonly removed: string } {
  return { version: boardKeys.version(game), removed: operatedBoardKeys.removed(game) };
}

const boardOf = (game: string): BoardEntries => ({
  scores: boardKeys.scores(game),
  players: boardKeys.players(game),
  secret: boardKeys.secret(game),
});

async function archivesOf(game: string, scripts: ScriptRunner): Promise<BoardEntries[]> {
  return (await archivesKept(game, scripts)).map((number) => ({
    scores: operatedBoardKeys.archivedScores(game, number),
    players: operatedBoardKeys.archivedPlayers(game, number),
    secret: boardKeys.secret(game),
    archive: number,
  }));
}

/** A game's board, then its archives: a reset that comes before the board was dealt with has put its entries into an archive. */
async function* boardsWith(game: string, scripts: ScriptRunner): AsyncGenerator<BoardEntries> {
  yield boardOf(game);
  yield* await archivesOf(game, scripts);
}
