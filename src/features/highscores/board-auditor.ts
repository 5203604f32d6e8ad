import { accountKey, accountKeyPattern, standingKey } from '../../accounts/account-keys.ts';
import { standingIn } from '../../accounts/account-auditor.ts';
import { Fingerprints } from '../../consistency/fingerprints.ts';
import { pages } from '../../consistency/scan-pages.ts';
import type { Auditor, Command, Finding, Look } from '../../consistency/auditor.ts';
import { pairsOf } from '../../redis/pairs.ts';
import { operatedBoardKeys, parseArchive } from './archives.ts';
import { arrivalOf, HEAD_LENGTH, hiddenField, hiddenPlayerIn, memberOf, parsePlayer, playerIdOf } from './entry.ts';
import { hiddenWithoutBan, hidesEntries, isShown } from './hidden-entries.ts';
import { boardKeys, seasonKeys } from './model.ts';

/** The check lists so many findings of one kind for a board, and looks again at so many suspects. */
const LISTED = 5;
const SUSPECTS = 10_000;

/** Checks that each board's scores, its players and the players' accounts agree. */
export const boardAuditor: Auditor = {
  keys: [
    { pattern: /^\{board:(.*)\}:players$/, counted: 'boards', life: 'lasts', check: ([game], look) => new BoardCheck(game!, look).run() },
    { pattern: /^\{board:(.*)\}:scores$/, life: 'lasts', check: ([game], look) => checkHasPlayers(boardTables(game!), look) },
    {
      pattern: /^\{board:(.*)\}:(arrivals|version)$/,
      life: 'lasts',
      check: ([game, counter], look) => checkCounter(game!, counter!, look),
    },
    { pattern: /^\{board:(.*)\}:secret$/, life: 'lasts' },
    { pattern: /^\{board:(.*)\}:archives$/, life: 'lasts', check: ([game], look) => checkArchives(game!, look) },
    {
      pattern: /^\{board:(.*)\}:archive:(\d+):(?:scores|players)$/,
      check: ([game, number], look) => checkArchived(game!, Number(number), look),
    },
    { pattern: /^\{board:(.*)\}:removed$/ },
    { pattern: accountKeyPattern('boards'), life: 'lasts', check: ([id], look) => checkAccount(id!, look) },
  ],
};

/** The keys of a board or of a season. */
interface Tables {
  readonly subject: string;
  readonly scores: string;
  readonly players: string;
}

const boardTables = (game: string): Tables => ({
  subject: `board ${game}`,
  scores: boardKeys.scores(game),
  players: boardKeys.players(game),
});

export const seasonTables = (game: string, season: string): Tables => ({
  subject: `season ${season} of board ${game}`,
  scores: seasonKeys.scores(game, season),
  players: seasonKeys.players(game, season),
});

export async function checkHasPlayers({ subject, scores, players }: Tables, look: Look): Promise<Finding[]> {
  const [isThere, count] = (await look.together(['EXISTS', players], ['ZCARD', scores])) as number[];
  if (isThere === 1 || count === 0) return [];
  return [{ kind: 'score_without_player', subject, text: `It has ${count} scores and no players.` }];
}

async function checkCounter(game: string, counter: string, look: Look): Promise<Finding[]> {
  const number = (await look.ask('GET', `{board:${game}}:${counter}`)) as string | null;
  if (number === null || /^\d+$/.test(number)) return [];
  return [{ kind: 'wrong_counter', subject: `board ${game}`, text: `Its counter ${counter} is "${number}", which is no whole number.` }];
}

/** Each game in the account's set has the account among its players, and shows the entry unless the account is banned. */
async function checkAccount(id: string, look: Look): Promise<Finding[]> {
  const findings: Finding[] = [];
  const subject = `account ${id}`;
  const isBanned = await hidesEntries(id, look);
  const owners = (await look.ask('EXISTS', accountKey(id), standingKey(id))) as number;
  if (owners === 0) findings.push({ kind: 'orphan_boards', subject, text: 'It has a set of boards, but is no account.' });
  for await (const games of pages(look, 'SSCAN', boardKeys.ofAccount(id))) {
    await Promise.all(
      games.map(async (game) => {
        const playerId = await playerIdOn(game, id, look);
        const [isListed, isPlayer] = await look.together(
          ['SISMEMBER', boardKeys.ofAccount(id), game],
          ['HEXISTS', boardKeys.players(game), playerId],
        );
        if (isListed === 1 && isPlayer === 0 && !(await isHandedOver(id, game, look)) && !(await wasTakenOff(id, game, look)))
          findings.push({
            kind: 'board_without_player',
            subject,
            text: `Its set names the board ${game}, which does not have it as a player.`,
          });
        if (isBanned && isPlayer === 1 && (await isShown(game, playerId, look)))
          findings.push({ kind: 'shown_entry', subject, text: `It is banned, but the board ${game} shows its entry.` });
      }),
    );
  }
  return findings;
}

/** The id of an account's player on a board. '' on a board without a secret: either it has no players, or `BoardCheck` reports it. */
async function playerIdOn(game: string, accountId: string, look: Look): Promise<string> {
  const secret = (await look.ask('GET', boardKeys.secret(game))) as string | null;
  return secret === null ? '' : playerIdOf(secret, accountId);
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
  const players = await Promise.all(guests.map((guest) => playerIdOn(game, guest.id, look)));
  const entries = await look.ask('HMGET', boardKeys.players(game), ...players);
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
 * Checks a board. It reads all players and then all scores, and keeps 64 bits of each member to find scores without a player. Submissions
 * go on meanwhile, so the check looks at each suspect again, for itself.
 */
export class BoardCheck {
  readonly #game: string;
  readonly #tables: Tables;
  readonly #look: Look;
  readonly #findings: Finding[] = [];
  readonly #members = new Fingerprints();
  /** Players whose entry is not among the scores, or whose account's set does not name the board. */
  readonly #suspects = new Set<string>();
  /** Members without a player. */
  readonly #strangers = new Set<string>();
  /** Players whose entry is hidden. */
  readonly #hidden = new Set<string>();
  #highestArrival = 0;

  /** @param season its board in place of that of all time */
  constructor(game: string, look: Look, season?: string) {
    this.#game = game;
    this.#tables = season === undefined ? boardTables(game) : seasonTables(game, season);
    this.#look = look;
  }

  async run(): Promise<Finding[]> {
    const secret = (await this.#look.ask('GET', boardKeys.secret(this.#game))) as string | null;
    if (secret === null) this.#find('no_board_secret', ['It has players, but not the secret of which their ids are made.']);
    await this.#readPlayers(secret);
    await this.#readScores();
    const arrivals = Number((await this.#look.ask('GET', boardKeys.arrivals(this.#game))) ?? 0);
    if (arrivals < this.#highestArrival)
      this.#find('wrong_arrivals', [`Its newest score is said to be of ${arrivals}, but it has one of ${this.#highestArrival}.`]);
    await this.#checkSuspects();
    await this.#checkStrangers();
    this.#find('hidden_entry', await hiddenWithoutBan(this.#tables.players, this.#hidden, this.#look));
    return this.#findings;
  }

  async #readPlayers(secret: string | null): Promise<void> {
    const { ofAccount } = boardKeys;
    const [unreadable, foreign]: [string[], string[]] = [[], []];
    let count = 0;
    for await (const fields of pages(this.#look, 'HSCAN', this.#tables.players)) {
      const players: { id: string; member: string; accountId: string }[] = [];
      for (const [id, text] of pairsOf(fields)) {
        const hidden = hiddenPlayerIn(id);
        if (hidden !== undefined) {
          if (this.#hidden.size < SUSPECTS) this.#hidden.add(hidden);
          continue;
        }
        count++;
        const player = parsePlayer(text);
        if (player === undefined) note(unreadable, `The entry of the player ${id} cannot be read: "${text}".`);
        else if (secret !== null && playerIdOf(secret, player.accountId) !== id)
          note(foreign, `The player ${id} is said to be the account ${player.accountId}, which has another id there.`);
        const member = memberOf(id, text);
        this.#members.add(member);
        if (player === undefined) continue;
        players.push({ id, member, accountId: player.accountId });
      }
      if (players.length === 0) continue;
      // Other clients may write in between: each suspect is looked at again.
      const isNamed = players.map(({ accountId }): Command => ['SISMEMBER', ofAccount(accountId), this.#game]);
      const commands: Command[] = [['ZMSCORE', this.#tables.scores, ...players.map(({ member }) => member)], ...isNamed];
      const [standing, ...named] = await Promise.all(commands.map((command) => this.#look.ask(...command)));
      for (const [index, { id }] of players.entries())
        if (((standing as unknown[])[index] === null || named[index] !== 1) && this.#suspects.size < SUSPECTS) this.#suspects.add(id);
    }
    this.#look.count('board players', count);
    this.#find('unreadable_entry', unreadable);
    this.#find('foreign_player', foreign);
  }

  async #readScores(): Promise<void> {
    for await (const found of pages(this.#look, 'ZSCAN', this.#tables.scores)) {
      for (const [member] of pairsOf(found)) {
        const arrival = member.length > HEAD_LENGTH ? arrivalOf(member) : NaN;
        if (arrival > this.#highestArrival) this.#highestArrival = arrival;
        if (!this.#members.has(member) && this.#strangers.size < SUSPECTS) this.#strangers.add(member);
      }
    }
  }

  async #checkSuspects(): Promise<void> {
    const [withoutScore, unnamed]: [string[], string[]] = [[], []];
    for (const id of this.#suspects) {
      const found = await this.#standingOf(id);
      if (found === undefined) continue;
      const { accountId, member, stands } = found;
      const [isThere, isNamed] = await this.#look.atomically(
        ['HEXISTS', this.#tables.players, id],
        ['SISMEMBER', boardKeys.ofAccount(accountId), this.#game],
      );
      if (isThere === 1 && isNamed !== 1)
        unnamed.push(`The account ${accountId} has an entry, but its set of boards does not name the board.`);
      if (!stands) withoutScore.push(`The account ${accountId} is a player, but its entry "${member}" is not among the scores.`);
    }
    this.#find('player_without_board', unnamed);
    this.#find('player_without_score', withoutScore);
  }

  /** A player's entry, and whether it is among the scores. A submission replaces the entry: then the new one has to be. */
  async #standingOf(id: string): Promise<{ accountId: string; member: string; stands: boolean } | undefined> {
    let known: string | undefined;
    for (;;) {
      const [text, score, hidden] = await this.#look.atomically(
        ['HGET', this.#tables.players, id],
        ['ZSCORE', this.#tables.scores, known ?? ''],
        ['HGET', this.#tables.players, hiddenField(id)],
      );
      const player = text === null ? undefined : parsePlayer(text as string);
      if (player === undefined) return undefined;
      const member = memberOf(id, text as string);
      if (member === known) return { accountId: player.accountId, member, stands: score !== null || hidden !== null };
      known = member;
    }
  }

  /** A score that stands before and after all players were read, and is none of theirs, has no player. */
  async #checkStrangers(): Promise<void> {
    if (this.#strangers.size === 0) return;
    for await (const fields of pages(this.#look, 'HSCAN', this.#tables.players))
      for (const [id, text] of pairsOf(fields)) this.#strangers.delete(memberOf(id, text));
    const members = [...this.#strangers];
    const standing = await Promise.all(members.map((member) => this.#look.ask('ZSCORE', this.#tables.scores, member)));
    this.#find(
      'score_without_player',
      members.filter((_, index) => standing[index] !== null).map((member) => `The score of the entry "${member}" has no player.`),
    );
  }

  #find(kind: string, texts: readonly string[]): void {
    const { subject } = this.#tables;
    for (const text of texts.slice(0, LISTED)) this.#findings.push({ kind, subject, text });
    if (texts.length > LISTED) this.#findings.push({ kind, subject, text: `The same holds for ${texts.length - LISTED} more.` });
  }
}

function note(texts: string[], text: string): void {
  if (texts.length < SUSPECTS) texts.push(text);
}
