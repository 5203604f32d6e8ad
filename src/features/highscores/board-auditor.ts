import { accountKey, accountKeyPattern, standingKey } from '../../accounts/account-keys.ts';
import { lostAccount, standingIn } from '../../accounts/account-auditor.ts';
import { BANS_DUE } from '../../accounts/bans.ts';
import { setMemberAside } from '../../consistency/aside.ts';
import { pages } from '../../consistency/scan-pages.ts';
import type { Auditor, Command, Finding, Look } from '../../consistency/auditor.ts';
import { pairsOf } from '../../redis/pairs.ts';
import { operatedBoardKeys, parseArchive } from './archives.ts';
import { BoardCheck, boardTables, checkHasPlayers, foreignPlayer } from './board-check.ts';
import { parsePlayer, playerIdOf } from './entry.ts';
import { hidesEntries, isShown } from './hidden-entries.ts';
import { boardKeys } from './model.ts';

/** Checks that each board's scores, its players and the players' accounts agree. */
export const boardAuditor: Auditor = {
  keys: [
    {
      pattern: /^\{board:(.*)\}:players$/,
      counted: 'boards',
      type: 'hash',
      life: 'lasts',
      check: ([game], look) => new BoardCheck(game!, look).run(),
    },
    { pattern: /^\{board:(.*)\}:scores$/, type: 'zset', life: 'lasts', check: ([game], look) => checkHasPlayers(boardTables(game!), look) },
    {
      pattern: /^\{board:(.*)\}:(arrivals|version)$/,
      type: 'string',
      life: 'lasts',
      check: ([game, counter], look) => checkCounter(game!, counter!, look),
    },
    { pattern: /^\{board:(.*)\}:secret$/, life: 'lasts', type: 'string' },
    { pattern: /^\{board:(.*)\}:archives$/, type: 'hash', life: 'lasts', check: ([game], look) => checkArchives(game!, look) },
    {
      pattern: /^\{board:(.*)\}:archive:(\d+):scores$/,
      type: 'zset',
      check: ([game, number], look) => checkArchived(game!, Number(number), look),
    },
    {
      pattern: /^\{board:(.*)\}:archive:(\d+):players$/,
      type: 'hash',
      check: ([game, number], look) => checkArchived(game!, Number(number), look),
    },
    { pattern: /^\{board:(.*)\}:removed$/, type: 'set' },
    { pattern: accountKeyPattern('boards'), life: 'lasts', check: ([id], look) => checkAccount(id!, look) },
  ],
};

async function checkCounter(game: string, counter: string, look: Look): Promise<Finding[]> {
  const number = (await look.ask('GET', `{board:${game}}:${counter}`)) as string | null;
  if (number === null || /^\d+$/.test(number)) return [];
  const text = `Its counter ${counter} is "${number}", which is no whole number.`;
  // Processes compare the version with the one that they know: a high one makes all of them read the board again.
  const commands: Command[] = counter === 'version' ? [['SET', `{board:${game}}:${counter}`, look.now()]] : [];
  return [{ kind: 'wrong_counter', subject: `board ${game}`, text, commands }];
}

/** Checks that each game in the account's set has the account as a player, and shows the entry unless the account is banned. */
async function checkAccount(id: string, look: Look): Promise<Finding[]> {
  const findings: Finding[] = [];
  const subject = `account ${id}`;
  // `deletionAuditor` reports the set.
  if ((await standingIn(id, look)).deleted?.isClosed === true) return [];
  const isBanned = await hidesEntries(id, look);
  if ((await look.ask('EXISTS', accountKey(id), standingKey(id))) === 0) return [lostAccount(id)];
  for await (const games of pages(look, 'SSCAN', boardKeys.ofAccount(id))) {
    await Promise.all(
      games.map(async (game) => {
        const playerId = await playerIdOn(game, id, look);
        const [isListed, entry] = await look.together(
          ['SISMEMBER', boardKeys.ofAccount(id), game],
          ['HGET', boardKeys.players(game), playerId],
        );
        if (isListed === 1 && entry === null && !(await isHandedOver(id, game, look)) && !(await wasTakenOff(id, game, look)))
          findings.push(await withoutPlayer(id, game, look));
        if (typeof entry === 'string' && parsePlayer(entry) !== undefined && !entry.startsWith(id))
          findings.push(foreignPlayer(boardTables(game), playerId, entry, id));
        if (isBanned && entry !== null && (await isShown(game, playerId, look))) {
          const text = `It is banned, but the board ${game} shows its entry.`;
          findings.push({ kind: 'shown_entry', subject, text, commands: [['ZADD', BANS_DUE, 0, id]] });
        }
      }),
    );
  }
  return findings;
}

/**
 * The account has no entry on a board that its set names: the entry is lost, or the name is left over. If the board has no entries at all,
 * all of it is lost.
 */
async function withoutPlayer(id: string, game: string, look: Look): Promise<Finding> {
  const commands = setMemberAside(boardKeys.ofAccount(id), game);
  const [players, scores] = await look.together(['EXISTS', boardKeys.players(game)], ['EXISTS', boardKeys.scores(game)]);
  if (players === 0 && scores === 0)
    return { kind: 'lost_board', subject: `board ${game}`, text: 'Sets of accounts name it, and it has no entries.', commands };
  const text = `Its set names the board ${game}, which does not have it as a player.`;
  return { kind: 'board_without_player', subject: `account ${id}`, text, commands, explainedBy: [`board ${game}`] };
}

/** The player id of an account on a board. '' on a board without a secret: it has no players, or `BoardCheck` reports it. */
async function playerIdOn(game: string, accountId: string, look: Look): Promise<string> {
  const secret = (await look.ask('GET', boardKeys.secret(game))) as string | null;
  return secret === null ? '' : playerIdOf(secret, accountId);
}

/**
 * Whether the set names the board because of an unfinished move (`moveScores`): the account's set names it before the guest's entry
 * arrives, and the guest's set still names it after the entry has left. The queue of moves has to hold such a guest (`moveAuditor`).
 */
async function isHandedOver(id: string, game: string, look: Look): Promise<boolean> {
  const { target, guests, deleted } = await standingIn(id, look);
  // The set of a deleted account stays until its deletion is complete.
  if (deleted !== undefined) return !deleted.isClosed;
  if (target !== undefined || guests.length === 0) return target !== undefined;
  const players = await Promise.all(guests.map((guest) => playerIdOn(game, guest.id, look)));
  const entries = await look.ask('HMGET', boardKeys.players(game), ...players);
  return (entries as (string | null)[]).some((entry) => entry !== null);
}

/**
 * Whether an operator removed the account's entry from the board, alone or with the whole board. If the entries of an archive were deleted,
 * any account may have had an entry there.
 */
async function wasTakenOff(id: string, game: string, look: Look): Promise<boolean> {
  const { removed, archives, archivedPlayers } = operatedBoardKeys;
  const [isRemoved, records] = await look.together(['SISMEMBER', removed(game), id], ['HGETALL', archives(game)]);
  if (isRemoved === 1) return true;
  const kept = pairsOf(records as string[]);
  if (kept.some(([, record]) => parseArchive(record)?.droppedAt !== undefined)) return true;
  const playerId = await playerIdOn(game, id, look);
  const found = await Promise.all(kept.map(([number]) => look.ask('HEXISTS', archivedPlayers(game, Number(number)), playerId)));
  return found.includes(1);
}

async function checkArchives(game: string, look: Look): Promise<Finding[]> {
  const words = (await look.ask('HGETALL', operatedBoardKeys.archives(game))) as string[];
  const findings: Finding[] = [];
  for (const [number, text] of pairsOf(words)) {
    const record = parseArchive(text);
    const subject = `board ${game}`;
    if (record === undefined)
      findings.push({ kind: 'unreadable_archive', subject, text: `The record of its archive ${number} cannot be read.` });
    if (record === undefined || record.droppedAt !== undefined) continue;
    const entries = (await look.ask('ZCARD', operatedBoardKeys.archivedScores(game, Number(number)))) as number;
    const differs = `Its archive ${number} has ${entries} entries, and its record says ${record.entries}.`;
    // Fewer entries are fine: moves of guests and deletions of accounts remove some.
    if (entries > record.entries) findings.push({ kind: 'wrong_archive', subject, text: differs });
  }
  return findings;
}

/** Checks that the entries of an archive have a record. */
async function checkArchived(game: string, number: number, look: Look): Promise<Finding[]> {
  if ((await look.ask('HEXISTS', operatedBoardKeys.archives(game), String(number))) === 1) return [];
  const isLost = (await look.ask('EXISTS', operatedBoardKeys.archives(game))) === 0;
  const text = isLost ? 'The records of its archives are lost, and their entries are there.' : `Its archive ${number} has no record.`;
  return [{ kind: 'orphan_archive', subject: `board ${game}`, text }];
}
