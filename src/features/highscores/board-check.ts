import { standingIn } from '../../accounts/account-auditor.ts';
import { standingKey } from '../../accounts/account-keys.ts';
import { standingFormats } from '../../accounts/standing.ts';
import { DELETIONS_DUE } from '../../accounts/tombstones.ts';
import { Fingerprints } from '../../consistency/fingerprints.ts';
import { pages } from '../../consistency/scan-pages.ts';
import type { Command, Finding, Probe } from '../../consistency/auditor.ts';
import { pairsOf } from '../../redis/reply-pairs.ts';
import { arrivalOf, entryIn, HEAD_LENGTH, hiddenField, hiddenPlayerIn, memberOf, playerEntry, playerIdOf } from './entry-format.ts';
import { hiddenWithoutBan } from './hidden-entries.ts';
import { boardKeys, seasonKeys } from './model.ts';

/** The most players with a foreign id that the audit reports for a board. */
const LISTED = 5;

/** The most players and the most scores that a check of one board keeps in memory, to check or report them at the end. */
const SUSPECTS = 10_000;

/** The Redis keys of a board or of a season, and the name of the board in findings. */
interface Tables {
  readonly subject: string;
  readonly scores: string;
  readonly players: string;
}

export const boardTables = (game: string): Tables => ({
  subject: `board ${game}`,
  scores: boardKeys.scores(game),
  players: boardKeys.players(game),
});

export const seasonTables = (game: string, season: string): Tables => ({
  subject: `season ${season} of board ${game}`,
  scores: seasonKeys.scores(game, season),
  players: seasonKeys.players(game, season),
});

/**
 * The finding about a player whose record names an account that has another player id on the board. All checks make the same finding for a
 * player, so that the audit reports it once.
 * @param id the player id under which the record is
 * @param owner the account to which the player id belongs. Undefined: the caller does not know, because no account can be computed from an
 * id
 */
export function foreignPlayer({ subject, players }: Tables, id: string, record: string, owner?: string): Finding {
  const { accountId = '' } = playerEntry.parse(record) ?? {};
  const commands: Command[] = owner === undefined ? [] : [['HSET', players, id, owner + record.slice(accountId.length)]];
  const text = `The record of the player ${id} names the account ${accountId}, which has another player id on this board.`;
  return { kind: 'foreign_player', subject, text, commands };
}

export async function checkHasPlayers({ subject, scores, players }: Tables, probe: Probe): Promise<Finding[]> {
  const [isThere, count] = (await probe.together(['EXISTS', players], ['ZCARD', scores])) as number[];
  if (isThere === 1 || count === 0) return [];
  return [{ kind: 'score_without_player', subject, text: `The board has ${count} scores and no players.` }];
}

/**
 * Checks a board. Reads all players and then all scores, and keeps 64 bits of each member in memory to find scores without a player.
 * Clients submit scores at the same time, so the check reads the data of each suspect again before it reports the suspect.
 */
export class BoardCheck {
  readonly #game: string;
  readonly #tables: Tables;
  readonly #probe: Probe;
  readonly #findings: Finding[] = [];
  readonly #members = new Fingerprints();
  /** The ids of players whose entry is not among the scores, or whose account's set of boards does not name this board. */
  readonly #suspects = new Set<string>();
  /** The members of the sorted set of scores that belong to no player. */
  readonly #strangers = new Set<string>();
  /** The ids of players whose entry is hidden. */
  readonly #hidden = new Set<string>();
  #highestArrival = 0;

  /** @param season the season whose board is checked. Left out: the board of all time */
  constructor(game: string, probe: Probe, season?: string) {
    this.#game = game;
    this.#tables = season === undefined ? boardTables(game) : seasonTables(game, season);
    this.#probe = probe;
  }

  async run(): Promise<Finding[]> {
    const secret = (await this.#probe.ask('GET', boardKeys.secret(this.#game))) as string | null;
    // The secret and the counter of arrivals belong to the board of all time, but its seasons use them too.
    const isOfBoard = { subject: `board ${this.#game}` };
    if ((secret ?? '') === '')
      this.#findings.push({
        kind: 'no_board_secret',
        ...isOfBoard,
        text: 'The board has players, but not the secret from which their ids are made.',
      });
    await this.#readPlayers(secret === '' ? null : secret);
    await this.#readScores();
    const arrivals = Number((await this.#probe.ask('GET', boardKeys.arrivals(this.#game))) ?? 0);
    // `!(… >= …)` and not `<`, so that a counter that is no number is a finding too.
    if (!(arrivals >= this.#highestArrival)) {
      const text = "The board's counter of arrivals is lost, or below its newest score.";
      const commands: Command[] = [['SET', boardKeys.arrivals(this.#game), this.#highestArrival]];
      this.#findings.push({ kind: 'wrong_arrivals', ...isOfBoard, text, commands });
    }
    await this.#checkSuspects();
    await this.#checkStrangers();
    for (const finding of await hiddenWithoutBan(this.#tables.players, this.#hidden, this.#probe))
      this.#findings.push({ kind: 'hidden_entry', subject: this.#tables.subject, ...finding });
    return this.#findings;
  }

  async #readPlayers(secret: string | null): Promise<void> {
    const { ofAccount } = boardKeys;
    const [unreadable, foreign]: [string[], { id: string; text: string; player: { readonly accountId: string }; ownId: string }[]] = [
      [],
      [],
    ];
    let [count, foreigners] = [0, 0];
    for await (const fields of pages(this.#probe, 'HSCAN', this.#tables.players)) {
      const players: { id: string; member: string; accountId: string }[] = [];
      for (const [id, text] of pairsOf(fields)) {
        const hidden = hiddenPlayerIn(id);
        if (hidden !== undefined) {
          if (this.#hidden.size < SUSPECTS) this.#hidden.add(hidden);
          continue;
        }
        count++;
        const player = playerEntry.parse(text);
        if (player === undefined) note(unreadable, `The entry of the player ${id} cannot be read: "${text}".`);
        const ownId = player === undefined || secret === null ? id : playerIdOf(secret, player.accountId);
        const isForeign = player !== undefined && ownId !== id;
        if (isForeign && foreigners++ < LISTED) foreign.push({ id, text, player, ownId });
        const member = memberOf(id, text);
        this.#members.add(member);
        if (player === undefined || isForeign) continue;
        players.push({ id, member, accountId: player.accountId });
      }
      if (players.length === 0) continue;
      // Clients may submit scores between these commands, so a player that seems wrong is only a suspect, and is checked again.
      const isNamed = players.map(({ accountId }): Command => ['SISMEMBER', ofAccount(accountId), this.#game]);
      const commands: Command[] = [['ZMSCORE', this.#tables.scores, ...players.map(({ member }) => member)], ...isNamed];
      const [standing, ...named] = await Promise.all(commands.map((command) => this.#probe.ask(...command)));
      for (const [index, { id }] of players.entries())
        if (((standing as unknown[])[index] === null || named[index] !== 1) && this.#suspects.size < SUSPECTS) this.#suspects.add(id);
    }
    this.#probe.count('board players', count);
    this.#find('unreadable_entry', unreadable);
    const areOfOtherSecret = await Promise.all(foreign.map(({ player, ownId }) => this.#isOfOtherSecret(player.accountId, ownId)));
    if (areOfOtherSecret.includes(true)) {
      const text = "The board's secret is not the secret from which ids of its players were made.";
      this.#findings.push({ kind: 'wrong_board_secret', subject: `board ${this.#game}`, text });
    } else this.#findings.push(...foreign.map(({ id, text }) => foreignPlayer(this.#tables, id, text)));
  }

  /** Whether an account has an entry on this board, but not under the player id that the board's present secret gives the account. */
  async #isOfOtherSecret(accountId: string, ownId: string): Promise<boolean> {
    const [isNamed, hasOwn] = await this.#probe.together(
      ['SISMEMBER', boardKeys.ofAccount(accountId), this.#game],
      ['HEXISTS', this.#tables.players, ownId],
    );
    return isNamed === 1 && hasOwn === 0;
  }

  async #readScores(): Promise<void> {
    const beyond: string[] = [];
    for await (const found of pages(this.#probe, 'ZSCAN', this.#tables.scores)) {
      for (const [member, score] of pairsOf(found)) {
        if (!(Math.abs(Number(score)) <= Number.MAX_SAFE_INTEGER)) note(beyond, `The score of the entry "${member}" is ${score}.`);
        const arrival = member.length > HEAD_LENGTH ? arrivalOf(member) : NaN;
        if (arrival > this.#highestArrival) this.#highestArrival = arrival;
        if (!this.#members.has(member) && this.#strangers.size < SUSPECTS) this.#strangers.add(member);
      }
    }
    this.#find('wrong_score', beyond);
  }

  /** The commands let the service erase the account once more, with this board named in the account's set. */
  #ofDeleted(accountId: string, at: number): Finding {
    const text = `The account was deleted and is erased, but ${this.#tables.subject} still has an entry of it.`;
    const commands: Command[] = [
      ['SADD', boardKeys.ofAccount(accountId), this.#game],
      ['SET', standingKey(accountId), standingFormats.tombstone.write({ at, behind: '' })],
      ['ZADD', DELETIONS_DUE, 0, accountId],
    ];
    return { kind: 'deleted_account_on_board', subject: `account ${accountId}`, text, commands };
  }

  async #checkSuspects(): Promise<void> {
    const withoutScore: string[] = [];
    for (const id of this.#suspects) {
      const found = await this.#standingOf(id);
      if (found === undefined) continue;
      const { accountId, member, stands } = found;
      const [isThere, isNamed] = await this.#probe.atomically(
        ['HEXISTS', this.#tables.players, id],
        ['SISMEMBER', boardKeys.ofAccount(accountId), this.#game],
      );
      if (isThere === 1 && isNamed !== 1) {
        const { deleted } = await standingIn(accountId, this.#probe);
        if (deleted?.isClosed === true) {
          this.#findings.push(this.#ofDeleted(accountId, deleted.at));
          continue;
        }
        const text = "The account's set of boards does not name boards on which it has entries.";
        const commands: Command[] = [['SADD', boardKeys.ofAccount(accountId), this.#game]];
        this.#findings.push({ kind: 'player_without_board', subject: `account ${accountId}`, text, commands });
      }
      if (stands) continue;
      const strangeMember = [...this.#strangers].find((stranger) => entryIn(stranger).playerId === id);
      if (strangeMember === undefined)
        withoutScore.push(`The account ${accountId} is a player, but its entry "${member}" is not among the scores.`);
      else this.#findDiffering(id, accountId, member, strangeMember);
    }
    this.#find('player_without_score', withoutScore);
  }

  /** Reports an entry whose name or place differs between the sorted set of scores and the hash of players. */
  #findDiffering(id: string, accountId: string, member: string, strangeMember: string): void {
    this.#strangers.delete(strangeMember);
    const place = strangeMember.slice(0, HEAD_LENGTH - id.length);
    const commands: Command[] = [
      ['HSET', this.#tables.players, id, playerEntry.write({ accountId, place, name: strangeMember.slice(HEAD_LENGTH) })],
    ];
    const text = `The entry of the account ${accountId} is "${member}" among the players, but "${strangeMember}" among the scores.`;
    this.#findings.push({ kind: 'entry_differs', subject: this.#tables.subject, text, commands });
  }

  /**
   * Reads a player's entry, and whether it is among the scores or hidden (`stands`). If a submission replaces the entry between two reads,
   * the new entry is read.
   */
  async #standingOf(id: string): Promise<{ accountId: string; member: string; stands: boolean } | undefined> {
    let known: string | undefined;
    for (;;) {
      const [text, score, hidden] = await this.#probe.atomically(
        ['HGET', this.#tables.players, id],
        ['ZSCORE', this.#tables.scores, known ?? ''],
        ['HGET', this.#tables.players, hiddenField(id)],
      );
      const player = text === null ? undefined : playerEntry.parse(text as string);
      if (player === undefined) return undefined;
      const member = memberOf(id, text as string);
      if (member === known) return { accountId: player.accountId, member, stands: score !== null || hidden !== null };
      known = member;
    }
  }

  /**
   * Reports scores without a player. A score is reported only if it existed before and after all players were read, and belongs to none of
   * them.
   */
  async #checkStrangers(): Promise<void> {
    if (this.#strangers.size === 0) return;
    for await (const fields of pages(this.#probe, 'HSCAN', this.#tables.players))
      for (const [id, text] of pairsOf(fields)) this.#strangers.delete(memberOf(id, text));
    const members = [...this.#strangers];
    const standing = await Promise.all(members.map((member) => this.#probe.ask('ZSCORE', this.#tables.scores, member)));
    this.#find(
      'score_without_player',
      members.filter((_, index) => standing[index] !== null).map((member) => `The score of the entry "${member}" has no player.`),
    );
  }

  #find(kind: string, texts: readonly string[]): void {
    const [text] = texts;
    const more = texts.length > 1 ? ` The same holds for ${texts.length - 1} more.` : '';
    if (text !== undefined) this.#findings.push({ kind, subject: this.#tables.subject, text: text + more });
  }
}

function note(texts: string[], text: string): void {
  if (texts.length < SUSPECTS) texts.push(text);
}
