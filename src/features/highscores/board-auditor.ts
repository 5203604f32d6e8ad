import { accountKey, accountKeyPattern, standingKey } from '../../accounts/account-keys.ts';
import { standingIn } from '../../accounts/account-auditor.ts';
import { Fingerprints } from '../../consistency/fingerprints.ts';
import { pages } from '../../consistency/scan-pages.ts';
import type { Auditor, Command, Finding, Look } from '../../consistency/auditor.ts';
import { pairsOf } from '../../redis/pairs.ts';
import { operatedBoardKeys, parseArchive } from './archives.ts';
import { boardKeys } from './model.ts';

/** The check lists so many findings of one kind for a board, and looks again at so many suspects. */
const LISTED = 5;
const SUSPECTS = 10_000;

/** `submit.lua` takes it minus the arrival as the place on boards that are read in reverse. */
const HIGHEST_PLACE = 999_999_999_999;
const PLACE_LENGTH = 12;

/** Place, time and player id, and then a name: `submit.lua`. */
const ENTRY = /^\d{12}[0-9a-z]{9}[\w-]{12}./su;

/** Checks that each board's scores, its players and the players' accounts agree. */
export const boardAuditor: Auditor = {
  keys: [
    { pattern: /^\{board:(.*)\}:players$/, counted: 'boards', life: 'lasts', check: ([game], look) => new BoardCheck(game!, look).run() },
    { pattern: /^\{board:(.*)\}:scores$/, life: 'lasts', check: ([game], look) => checkHasPlayers(game!, look) },
    {
      pattern: /^\{board:(.*)\}:(arrivals|version)$/,
      life: 'lasts',
      check: ([game, counter], look) => checkCounter(game!, counter!, look),
    },
    { pattern: /^\{board:(.*)\}:archives$/, life: 'lasts', check: ([game], look) => checkArchives(game!, look) },
    {
      pattern: /^\{board:(.*)\}:archive:(\d+):(?:scores|players)$/,
      check: ([game, number], look) => checkArchived(game!, Number(number), look),
    },
    { pattern: /^\{board:(.*)\}:removed$/ },
    { pattern: accountKeyPattern('boards'), life: 'lasts', check: ([id], look) => checkAccount(id!, look) },
  ],
};

async function checkHasPlayers(game: string, look: Look): Promise<Finding[]> {
  const [isThere, scores] = (await look.together(['EXISTS', boardKeys.players(game)], ['ZCARD', boardKeys.scores(game)])) as number[];
  if (isThere === 1 || scores === 0) return [];
  return [{ kind: 'score_without_player', subject: `board ${game}`, text: `It has ${scores} scores and no players.` }];
}

async function checkCounter(game: string, counter: string, look: Look): Promise<Finding[]> {
  const number = (await look.ask('GET', `{board:${game}}:${counter}`)) as string | null;
  if (number === null || /^\d+$/.test(number)) return [];
  return [{ kind: 'wrong_counter', subject: `board ${game}`, text: `Its counter ${counter} is "${number}", which is no whole number.` }];
}

/** Each game in the account's set has the account among its players. */
async function checkAccount(id: string, look: Look): Promise<Finding[]> {
  const findings: Finding[] = [];
  const subject = `account ${id}`;
  const owners = (await look.ask('EXISTS', accountKey(id), standingKey(id))) as number;
  if (owners === 0) findings.push({ kind: 'orphan_boards', subject, text: 'It has a set of boards, but is no account.' });
  for await (const games of pages(look, 'SSCAN', boardKeys.ofAccount(id))) {
    await Promise.all(
      games.map(async (game) => {
        const [isListed, isPlayer] = await look.together(
          ['SISMEMBER', boardKeys.ofAccount(id), game],
          ['HEXISTS', boardKeys.players(game), id],
        );
        if (isListed === 1 && isPlayer === 0 && !(await isHandedOver(id, game, look)) && !(await wasTakenOff(id, game, look)))
          findings.push({
            kind: 'board_without_player',
            subject,
            text: `Its set names the board ${game}, which does not have it as a player.`,
          });
      }),
    );
  }
  return findings;
}

/**
 * Whether the set names the board because of a move that is under way (`moveScores`): the account's set names it before the guest's
 * entry arrives, and the guest's set after the entry has left. The queue of moves has to hold such a guest (`moveAuditor`).
 */
async function isHandedOver(id: string, game: string, look: Look): Promise<boolean> {
  const { target, guests, deleted } = await standingIn(id, look);
  // The set of an account that is being erased stays until the last look.
  if (deleted !== undefined) return !deleted.isClosed;
  if (target !== undefined || guests.length === 0) return target !== undefined;
  const entries = await look.ask('HMGET', boardKeys.players(game), ...guests.map((guest) => guest.id));
  return (entries as (string | null)[]).some((entry) => entry !== null);
}

/**
 * Whether an operator took the account's entry off the board: alone, or with the whole board. Once the entries of an archive are deleted,
 * any account may have had one there.
 */
async function wasTakenOff(id: string, game: string, look: Look): Promise<boolean> {
  const { removed, archives, archivedPlayers } = operatedBoardKeys;
  const [isRemoved, records] = await look.together(['SISMEMBER', removed(game), id], ['HGETALL', archives(game)]);
  if (isRemoved === 1) return true;
  const kept = pairsOf(records as string[]);
  if (kept.some(([, record]) => parseArchive(record)?.droppedAt !== undefined)) return true;
  const found = await Promise.all(kept.map(([number]) => look.ask('HEXISTS', archivedPlayers(game, Number(number)), id)));
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
    // Moves of guests and deletions of accounts take entries out.
    if (entries > record.entries) findings.push({ kind: 'wrong_archive', subject, text: differs });
  }
  return findings;
}

/** The entries of an archive belong to a record. */
async function checkArchived(game: string, number: number, look: Look): Promise<Finding[]> {
  if ((await look.ask('HEXISTS', operatedBoardKeys.archives(game), String(number))) === 1) return [];
  return [{ kind: 'orphan_archive', subject: `board ${game}`, text: `It has entries of an archive ${number} without a record.` }];
}

/**
 * Checks a board. It reads all players and then all scores, and keeps 64 bits of each player's entry to find scores without a
 * player. Submissions go on meanwhile, so the check looks at each suspect again, for itself.
 */
class BoardCheck {
  readonly #game: string;
  readonly #look: Look;
  readonly #findings: Finding[] = [];
  readonly #entries = new Fingerprints();
  /** Accounts whose entry is not among the scores, or whose set does not name the board. */
  readonly #suspects = new Set<string>();
  /** Scores without a player. */
  readonly #strangers = new Set<string>();
  #highestArrival = 0;

  constructor(game: string, look: Look) {
    this.#game = game;
    this.#look = look;
  }

  async run(): Promise<Finding[]> {
    await this.#readPlayers();
    await this.#readScores();
    const arrivals = Number((await this.#look.ask('GET', boardKeys.arrivals(this.#game))) ?? 0);
    if (arrivals < this.#highestArrival)
      this.#find('wrong_arrivals', [`It counts ${arrivals} arrivals, but has a score that arrived as number ${this.#highestArrival}.`]);
    await this.#checkSuspects();
    await this.#checkStrangers();
    return this.#findings;
  }

  async #readPlayers(): Promise<void> {
    const { scores, ofAccount } = boardKeys;
    const unreadable: string[] = [];
    let count = 0;
    for await (const fields of pages(this.#look, 'HSCAN', boardKeys.players(this.#game))) {
      const players = pairsOf(fields);
      if (players.length === 0) continue;
      count += players.length;
      for (const [id, entry] of players) {
        this.#entries.add(entry);
        if (unreadable.length < SUSPECTS && !ENTRY.test(entry))
          unreadable.push(`The entry of the account ${id} cannot be read: "${entry}".`);
      }
      // Other clients may write in between: each suspect is looked at again.
      const isNamed = players.map(([id]): Command => ['SISMEMBER', ofAccount(id), this.#game]);
      const commands: Command[] = [['ZMSCORE', scores(this.#game), ...players.map(([, entry]) => entry)], ...isNamed];
      const [standing, ...named] = await Promise.all(commands.map((command) => this.#look.ask(...command)));
      for (const [index, [id]] of players.entries())
        if (((standing as unknown[])[index] === null || named[index] !== 1) && this.#suspects.size < SUSPECTS) this.#suspects.add(id);
    }
    this.#look.count('board players', count);
    this.#find('unreadable_entry', unreadable);
  }

  async #readScores(): Promise<void> {
    for await (const members of pages(this.#look, 'ZSCAN', boardKeys.scores(this.#game))) {
      for (const [entry] of pairsOf(members)) {
        const place = Number(entry.slice(0, PLACE_LENGTH));
        if (Number.isInteger(place)) this.#highestArrival = Math.max(this.#highestArrival, Math.min(place, HIGHEST_PLACE - place));
        if (!this.#entries.has(entry) && this.#strangers.size < SUSPECTS) this.#strangers.add(entry);
      }
    }
  }

  async #checkSuspects(): Promise<void> {
    const { players, ofAccount } = boardKeys;
    const [withoutScore, unnamed]: string[][] = [[], []];
    for (const id of this.#suspects) {
      const [entry, isNamed] = await this.#look.atomically(['HGET', players(this.#game), id], ['SISMEMBER', ofAccount(id), this.#game]);
      if (entry === null) continue;
      if (isNamed !== 1) unnamed!.push(`The account ${id} has an entry, but its set of boards does not name the board.`);
      if (!(await this.#isStanding(id, entry as string)))
        withoutScore!.push(`The account ${id} is a player, but its entry "${entry as string}" is not among the scores.`);
    }
    this.#find('player_without_board', unnamed!);
    this.#find('player_without_score', withoutScore!);
  }

  /** Whether the account's entry is among the scores. A submission replaces the entry: then the new one has to be. */
  async #isStanding(id: string, known: string): Promise<boolean> {
    let entry = known;
    for (;;) {
      const [now, score] = await this.#look.atomically(
        ['HGET', boardKeys.players(this.#game), id],
        ['ZSCORE', boardKeys.scores(this.#game), entry],
      );
      if (now === null) return true;
      if (now === entry) return score !== null;
      entry = now as string;
    }
  }

  /** A score that stands before and after all players were read, and is none of theirs, has no player. */
  async #checkStrangers(): Promise<void> {
    if (this.#strangers.size === 0) return;
    for await (const fields of pages(this.#look, 'HSCAN', boardKeys.players(this.#game)))
      for (const [, entry] of pairsOf(fields)) this.#strangers.delete(entry);
    const entries = [...this.#strangers];
    const standing = await Promise.all(entries.map((entry) => this.#look.ask('ZSCORE', boardKeys.scores(this.#game), entry)));
    this.#find(
      'score_without_player',
      entries.filter((_, index) => standing[index] !== null).map((entry) => `The score of the entry "${entry}" has no player.`),
    );
  }

  #find(kind: string, texts: readonly string[]): void {
    const subject = `board ${this.#game}`;
    for (const text of texts.slice(0, LISTED)) this.#findings.push({ kind, subject, text });
    if (texts.length > LISTED) this.#findings.push({ kind, subject, text: `The same holds for ${texts.length - LISTED} more.` });
  }
}
