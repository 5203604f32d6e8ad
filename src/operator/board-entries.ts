import { z } from 'zod';
import { isoTime } from '../accounts/merge-rules.ts';
import { AccountId } from '../accounts/ids.ts';
import { invalid, refuse, Refusal } from '../errors.ts';
import { PLAYER_ID } from '../features/highscores/entry-format.ts';
import { operatedBoardKeys, parseArchive } from '../features/highscores/archives.ts';
import { readEntry } from '../features/highscores/account-scores.ts';
import { ALL_TIME, boardArgs, boardKeys, parseEntries, seasonIn, seasonKeys, seasonLibraries } from '../features/highscores/model.ts';
import { read, readHash } from '../redis/reads.ts';
import { defineScript } from '../redis/script.ts';
import { factsWhereItIs } from './account-facts.ts';
import { Account, accountsNamed } from './named-accounts.ts';
import type { Parts } from '../redis/unreadable.ts';
import type { OperatorServices } from './operation.ts';

const readRanks = defineScript({
  file: new URL('read-ranks.lua', import.meta.url),
  keys: ['scores'],
  args: ['order', 'from', 'to', 'period', 'season'],
  answers: ['season_not_found', 'ranks'],
  library: seasonLibraries,
  readOnly: true,
});

export const BoardEntry = z
  .object({
    rank: z.number().int(),
    playerId: z.string(),
    accountId: AccountId.optional().meta({ description: 'Left out for an entry without an owner.' }),
    name: z.string(),
    score: z.number(),
    at: z.iso.datetime(),
  })
  .meta({
    id: 'OperatorBoardEntry',
    example: {
      rank: 1,
      playerId: 'k3Jx9QmZ2b',
      accountId: 'BQ5v1mHk2nYtZ8cXw0aLpR',
      name: 'Ada',
      score: 1250,
      at: '2026-11-22T12:00:00.000Z',
    },
  });

export const BoardArchive = z
  .object({
    archive: z.number().int(),
    at: z.iso.datetime(),
    by: z.string(),
    reason: z.string(),
    entries: z.number().int(),
    droppedAt: z.iso.datetime().optional().meta({ description: 'When its entries were deleted.' }),
  })
  .meta({
    id: 'BoardArchive',
    example: { archive: 1, at: '2026-11-22T12:00:00.000Z', by: 'ada@ops-1', reason: 'season 2 begins', entries: 1250 },
  });

export interface OpenBoard {
  readonly keys: { readonly scores: string; readonly players: string; readonly secret: string };
  /** Undefined: the board of all time. */
  readonly season?: string;
}

/** The account into which an account has moved, or the account itself. */
async function currentOf(accountId: string, services: OperatorServices): Promise<string> {
  return (await factsWhereItIs(accountId, services)).accountId;
}

/** The account of a player. An operator names the player by the playerId on the board or by an account. */
export async function playerOf(
  player: string,
  boards: readonly OpenBoard[],
  services: OperatorServices,
): Promise<string | undefined | Refusal<'invalid_request'>> {
  if (PLAYER_ID.test(player)) {
    const found = await Promise.all(boards.map(({ keys }) => accountsOf([player], keys.players, services)));
    return found.flat().find((accountId) => accountId !== undefined);
  }
  const accounts = (await accountsNamed(player, services)).filter(({ deletedAt }) => deletedAt === undefined);
  // If data was damaged, a board may have an entry of an account that does not exist.
  const ids = accounts.length > 0 || !Account.safeParse(player).success ? accounts.map(({ accountId }) => accountId) : [player];
  const [current, otherAccount] = [...new Set(await Promise.all(ids.map((accountId) => currentOf(accountId, services))))];
  return otherAccount === undefined ? current : invalid('player', 'Names two accounts: put account: or install: in front');
}

/** An account's entry on a board. */
export async function entryOn(keys: OpenBoard['keys'], accountId: string, { scripts }: OperatorServices) {
  const [word, ...figures] = await scripts.run(readEntry, keys, { accountId });
  return word === 'none' ? undefined : parseEntries(figures)[0];
}

export function archiveKeys(game: string, number: number) {
  return {
    archives: operatedBoardKeys.archives(game),
    archivedScores: operatedBoardKeys.archivedScores(game, number),
    archivedPlayers: operatedBoardKeys.archivedPlayers(game, number),
  };
}

/** The newest first. */
export async function archivesOf(game: string, { scripts }: OperatorServices): Promise<z.input<typeof BoardArchive>[]> {
  const archives = (await readHash(scripts, operatedBoardKeys.archives(game))).map(([number, record]) => {
    const { at, by, reason, entries, droppedAt } = parseArchive(record) ?? UNREADABLE;
    return { archive: Number(number), by, reason, entries, at: new Date(at).toISOString(), droppedAt: isoTime(droppedAt) };
  });
  return archives.toSorted((one, other) => other.archive - one.archive);
}

const UNREADABLE = { at: 0, by: '', reason: 'The record of this archive cannot be read.', entries: 0, droppedAt: undefined };

const scoresOf = (game: string, archive: number | undefined): { scores: string; players: string } =>
  archive === undefined
    ? { scores: boardKeys.scores(game), players: boardKeys.players(game) }
    : { scores: operatedBoardKeys.archivedScores(game, archive), players: operatedBoardKeys.archivedPlayers(game, archive) };

/** Names one of a game's boards. */
interface BoardPart {
  readonly game: string;
  /** The number of an archive. */
  readonly archive?: number | undefined;
  /** As in `SeasonParameter`. Only the board of all time has archives. */
  readonly season?: string | undefined;
}

/** @param parts notes damaged entries, which are left out. If left out, a damaged entry is an error */
export async function ranksOf(
  { game, archive, season }: BoardPart,
  from: number,
  to: number,
  { scripts, catalogue }: OperatorServices,
  parts?: Parts,
) {
  const [word, id = '', endsAt = '', count, firstRank, ...figures] = await scripts.run(
    readRanks,
    { scores: scoresOf(game, archive).scores },
    {
      ...boardArgs(game, catalogue, archive === undefined ? season : ALL_TIME),
      from,
      to,
    },
  );
  if (word === 'season_not_found') return refuse(word);
  const damaged = parts && ((member: string) => parts.note(`entry ${member.slice(0, MOST_NAMED)}`));
  const entries = parseEntries(figures, { place: from - 1, rank: Number(firstRank) }, damaged);
  return { count: Number(count), entries, ...seasonIn(id, endsAt) };
}

/** The most characters of a damaged entry in its name. */
const MOST_NAMED = 80;

export async function entriesOf(part: BoardPart, from: number, to: number, services: OperatorServices, parts: Parts) {
  const ranks = await parts.read(`scores of ${part.game}`, () => ranksOf(part, from, to, services, parts));
  if (ranks === undefined) return { entries: [] };
  if (ranks instanceof Refusal) return ranks;
  const { entries, season } = ranks;
  const { players } = season === undefined ? scoresOf(part.game, part.archive) : { players: seasonKeys.players(part.game, season.id) };
  const playerIds = entries.map(({ playerId }) => playerId);
  const accounts = (await parts.read(`players of ${part.game}`, () => accountsOf(playerIds, players, services))) ?? [];
  return { ...ranks, entries: entries.map((entry, index) => ({ ...entry, accountId: accounts[index] })) };
}

/** The account of each player. */
export async function accountsOf(playerIds: readonly string[], players: string, { scripts }: OperatorServices) {
  if (playerIds.length === 0) return [];
  // Even a damaged entry begins with the id of its account.
  return (await read(scripts, 'HMGET', players, ...playerIds)).map((text) => /^[\w-]{22}/.exec(text)?.[0]);
}
