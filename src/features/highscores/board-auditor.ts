import { accountKey, accountKeyPattern, standingKey } from '../../accounts/account-keys.ts';
import { lostAccount, standingIn } from '../../accounts/account-auditor.ts';
import { BANS_DUE } from '../../accounts/ban.ts';
import { setMemberAside } from '../../consistency/set-aside-keys.ts';
import { pages } from '../../consistency/scan-pages.ts';
import type { Auditor, Command, Finding, Probe } from '../../consistency/auditor.ts';
import { pairsOf } from '../../redis/reply-pairs.ts';
import { operatedBoardKeys, parseArchive } from './archives.ts';
import { BoardCheck, boardTables, checkHasPlayers, foreignPlayer } from './board-check.ts';
import { hiddenPlayerIn, playerEntry, playerIdOf } from './entry-format.ts';
import { hidesEntries, isShown } from './hidden-entries.ts';
import { boardKeys } from './model.ts';

const ofBoard = ([game]: readonly string[]): string => `board ${game}`;

/** Checks that each board's scores, the board's players and the players' accounts agree. */
export const boardAuditor: Auditor = {
  keys: [
    {
      pattern: /^\{board:(.*)\}:players$/,
      counted: 'boards',
      type: 'hash',
      life: 'lasts',
      check: ([game], probe) => new BoardCheck(game!, probe).run(),
    },
    {
      pattern: /^\{board:(.*)\}:scores$/,
      type: 'zset',
      life: 'lasts',
      check: ([game], probe) => checkHasPlayers(boardTables(game!), probe),
    },
    { pattern: /^\{board:(.*)\}:arrivals$/, type: 'string', life: 'lasts' },
    {
      pattern: /^\{board:(.*)\}:version$/,
      type: 'string',
      life: 'lasts',
      texts: { what: 'version', isRight: (text) => /^\d+$/.test(text), kind: 'wrong_counter', subject: ofBoard, mend: newVersion },
    },
    { pattern: /^\{board:(.*)\}:secret$/, life: 'lasts', type: 'string' },
    {
      pattern: /^\{board:(.*)\}:archives$/,
      type: 'hash',
      life: 'lasts',
      texts: {
        what: 'list of archives',
        isRight: (text) => parseArchive(text) !== undefined,
        kind: 'unreadable_archive',
        subject: ofBoard,
      },
      check: ([game], probe) => checkArchives(game!, probe),
    },
    {
      pattern: /^\{board:(.*)\}:archive:(\d+):scores$/,
      type: 'zset',
      check: ([game, number], probe) => checkArchived(game!, Number(number), probe),
    },
    {
      pattern: /^\{board:(.*)\}:archive:(\d+):players$/,
      type: 'hash',
      texts: {
        what: 'players in an archive',
        isRight: (text, id) => hiddenPlayerIn(id) !== undefined || playerEntry.parse(text) !== undefined,
        kind: 'unreadable_entry',
        subject: ofBoard,
      },
      check: ([game, number], probe) => checkArchived(game!, Number(number), probe),
    },
    { pattern: /^\{board:(.*)\}:removed$/, type: 'set' },
    { pattern: accountKeyPattern('boards'), check: ([id], probe) => checkAccount(id!, probe) },
  ],
};

/**
 * Commands that make all processes read the board again, because each process compares the board's version with the version that it knows.
 * The new version is the time, which is higher than any version that a process knows.
 */
function newVersion(key: string, now: number): Command[] {
  return [['SET', key, now]];
}

/**
 * Checks that the account is a player on each board that its set of boards names, and that these boards hide its entries if it is banned.
 */
async function checkAccount(id: string, probe: Probe): Promise<Finding[]> {
  const findings: Finding[] = [];
  const subject = `account ${id}`;
  // `deletionAuditor` reports data that a deleted account still has.
  if ((await standingIn(id, probe)).deleted?.isClosed === true) return [];
  const isBanned = await hidesEntries(id, probe);
  if ((await probe.ask('EXISTS', accountKey(id), standingKey(id))) === 0) return [lostAccount(id)];
  for await (const games of pages(probe, 'SSCAN', boardKeys.ofAccount(id))) {
    await Promise.all(
      games.map(async (game) => {
        const playerId = await playerIdOn(game, id, probe);
        const [isListed, entry] = await probe.together(
          ['SISMEMBER', boardKeys.ofAccount(id), game],
          ['HGET', boardKeys.players(game), playerId],
        );
        if (isListed === 1 && entry === null && !(await isHandedOver(id, game, probe)) && !(await wasTakenOff(id, game, probe)))
          findings.push(await withoutPlayer(id, game, probe));
        if (typeof entry === 'string' && playerEntry.parse(entry) !== undefined && !entry.startsWith(id))
          findings.push(foreignPlayer(boardTables(game), playerId, entry, id));
        if (isBanned && entry !== null && (await isShown(game, playerId, probe))) {
          const text = `The account is banned, but the board ${game} shows its entry.`;
          findings.push({ kind: 'shown_entry', subject, text, commands: [['ZADD', BANS_DUE, 0, id]] });
        }
      }),
    );
  }
  return findings;
}

/**
 * The finding for an account that has no entry on a board of its set of boards: the entry is lost, or the set should no longer name the
 * board. If the board has no entries at all, the whole board is lost.
 */
async function withoutPlayer(id: string, game: string, probe: Probe): Promise<Finding> {
  const commands = setMemberAside(boardKeys.ofAccount(id), game);
  const [players, scores] = await probe.together(['EXISTS', boardKeys.players(game)], ['EXISTS', boardKeys.scores(game)]);
  if (players === 0 && scores === 0)
    return {
      kind: 'lost_board',
      subject: `board ${game}`,
      text: 'The sets of boards of some accounts name the board, but the board has no entries.',
      commands,
    };
  const text = `The account's set of boards names the board ${game}, but the board has no entry of it.`;
  return { kind: 'board_without_player', subject: `account ${id}`, text, commands, explainedBy: [`board ${game}`] };
}

/**
 * The player id of an account on a board. '' if the board has no secret: then it has no players, or `BoardCheck` reports the lost secret.
 */
async function playerIdOn(game: string, accountId: string, probe: Probe): Promise<string> {
  const secret = (await probe.ask('GET', boardKeys.secret(game))) as string | null;
  return secret === null ? '' : playerIdOf(secret, accountId);
}

/**
 * Whether an unfinished move is the reason why the account's set names a board on which the account has no entry. `moveScores` adds the
 * board to the account's set before the guest's entry arrives, and removes the board from the guest's set after the entry has left.
 * `moveAuditor` checks that the queue of moves has an entry for the guest.
 */
async function isHandedOver(id: string, game: string, probe: Probe): Promise<boolean> {
  const { target, guests, deleted } = await standingIn(id, probe);
  // The set of boards of a deleted account stays until the account is erased.
  if (deleted !== undefined) return !deleted.isClosed;
  if (target !== undefined || guests.length === 0) return target !== undefined;
  const players = await Promise.all(guests.map((guest) => playerIdOn(game, guest.id, probe)));
  const entries = await probe.ask('HMGET', boardKeys.players(game), ...players);
  return (entries as (string | null)[]).some((entry) => entry !== null);
}

/**
 * Whether an operator removed the account's entry from the board, or reset the whole board. If an operator deleted the entries of an
 * archive, the answer is yes, because any account may have had an entry in that archive.
 */
async function wasTakenOff(id: string, game: string, probe: Probe): Promise<boolean> {
  const { removed, archives, archivedPlayers } = operatedBoardKeys;
  const [isRemoved, records] = await probe.together(['SISMEMBER', removed(game), id], ['HGETALL', archives(game)]);
  if (isRemoved === 1) return true;
  const kept = pairsOf(records as string[]);
  if (kept.some(([, record]) => parseArchive(record)?.droppedAt !== undefined)) return true;
  const playerId = await playerIdOn(game, id, probe);
  const found = await Promise.all(kept.map(([number]) => probe.ask('HEXISTS', archivedPlayers(game, Number(number)), playerId)));
  return found.includes(1);
}

async function checkArchives(game: string, probe: Probe): Promise<Finding[]> {
  const words = (await probe.ask('HGETALL', operatedBoardKeys.archives(game))) as string[];
  const findings: Finding[] = [];
  for (const [number, text] of pairsOf(words)) {
    const record = parseArchive(text);
    if (record === undefined || record.droppedAt !== undefined) continue;
    const entries = (await probe.ask('ZCARD', operatedBoardKeys.archivedScores(game, Number(number)))) as number;
    const differs = `The board's archive ${number} has ${entries} entries, but the record of the archive says ${record.entries}.`;
    // Fewer entries than the record says are no finding, because moves of guests and deletions of accounts remove entries.
    if (entries > record.entries) findings.push({ kind: 'wrong_archive', subject: `board ${game}`, text: differs });
  }
  return findings;
}

/** Checks that an archive whose entries exist has a record. */
async function checkArchived(game: string, number: number, probe: Probe): Promise<Finding[]> {
  if ((await probe.ask('HEXISTS', operatedBoardKeys.archives(game), String(number))) === 1) return [];
  const isLost = (await probe.ask('EXISTS', operatedBoardKeys.archives(game))) === 0;
  const text = isLost
    ? 'The records of its archives are lost, but the entries of the archives exist.'
    : `The board's archive ${number} has no record.`;
  return [{ kind: 'orphan_archive', subject: `board ${game}`, text }];
}
