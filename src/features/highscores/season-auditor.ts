import type { Auditor, Command, Finding, Probe } from '../../consistency/auditor.ts';
import { dueAnywhereCommands, dueAtOf, notQueued, queueCheck, type Queued } from '../../consistency/queue-check.ts';
import { pages } from '../../consistency/scan-pages.ts';
import { timeText } from '../../consistency/time-text.ts';
import { pairsOf } from '../../redis/reply-pairs.ts';
import { seasonPrize } from '../catalogue/model.ts';
import { seasonPayout } from '../coins/model.ts';
import { BoardCheck, checkHasPlayers, seasonTables } from './board-check.ts';
import { memberOf, playerEntry } from './entry-format.ts';
import { seasonKeys, SEASONS_DUE, seasonThreshold } from './model.ts';

/**
 * The audit reports a season only if the queue still has it this long after it was due, in milliseconds, because the clocks of processes
 * and of Redis may differ by a minute.
 */
const LATE_MS = 60_000;

/** The most payouts that a finding about a season names. */
const LISTED = 5;

/** The formats of the fields of a season that list prizes. */
const prizesIn = { prizes: seasonPrize, thresholds: seasonThreshold };

function arePrizes(text: string, field: keyof typeof prizesIn): boolean {
  return text === '' || text.split(' ').every((prize) => prizesIn[field].parse(prize) !== undefined);
}

/**
 * Checks that the boards of seasons are right, that the queue has each unpaid season, and that the payouts of a closed season match its
 * final board.
 */
export const seasonAuditor: Auditor = {
  keys: [
    queueCheck(SEASONS_DUE, wrongOf),
    { pattern: /^\{board:(.*)\}:seasons$/, type: 'zset', life: 'lasts', check: ([game], probe) => checkSeasons(game!, probe) },
    { pattern: /^\{board:(.*)\}:closed$/, life: 'lasts', type: 'string' },
    {
      pattern: /^\{board:(.*)\}:season:([\dW-]+)$/,
      counted: 'seasons',
      type: 'hash',
      life: 'lasts',
      texts: {
        what: 'rules',
        isRight: (text, name) => arePrizes(text, name as keyof typeof prizesIn),
        fields: Object.keys(prizesIn),
        kind: 'unreadable_season',
        subject: ([game, season]) => subjectOf(game!, season!),
      },
      check: ([game, season], probe) => checkSeason(game!, season!, probe),
    },
    {
      pattern: /^\{board:(.*)\}:season:([\dW-]+):players$/,
      type: 'hash',
      life: 'lasts',
      check: ([game, season], probe) => new BoardCheck(game!, probe, season).run(),
    },
    {
      pattern: /^\{board:(.*)\}:season:([\dW-]+):scores$/,
      type: 'zset',
      life: 'lasts',
      check: ([game, season], probe) => checkHasPlayers(seasonTables(game!, season!), probe),
    },
    {
      pattern: /^\{board:(.*)\}:season:([\dW-]+):payouts$/,
      type: 'hash',
      life: 'lasts',
      check: ([game, season], probe) => checkPayouts(game!, season!, probe),
    },
    { pattern: /^\{board:(.*)\}:season:([\dW-]+):unpaid$/, life: 'lasts', type: 'list' },
  ],
};

const subjectOf = (game: string, season: string): string => seasonTables(game, season).subject;

/**
 * Says what is wrong with a member of the queue of seasons. A season is put into the queue before its first score. A
 * season that still has no score a minute after it was due should no longer be in the queue.
 */
async function wrongOf({ key, entry, member }: Queued, probe: Probe): Promise<string | undefined> {
  const [game = '', season = ''] = member.split(' ');
  const [dueAt, isThere] = await probe.together(['ZSCORE', key, entry], ['EXISTS', seasonKeys.season(game, season)]);
  if (dueAt === null || isThere === 1 || Number(dueAt) > probe.now() - LATE_MS) return undefined;
  const subject = subjectOf(game, season);
  // If the board lists the season, `checkSeasons` reports it.
  if ((await probe.ask('ZSCORE', seasonKeys.seasons(game), season)) !== null) return undefined;
  return `The queue has an entry for the ${subject}, which has no score.`;
}

async function checkSeasons(game: string, probe: Probe): Promise<Finding[]> {
  const findings: Finding[] = [];
  for await (const found of pages(probe, 'ZSCAN', seasonKeys.seasons(game)))
    for (const [season] of pairsOf(found)) {
      const [isListed, isThere] = await probe.together(
        ['ZSCORE', seasonKeys.seasons(game), season],
        ['EXISTS', seasonKeys.season(game, season)],
      );
      if (isListed !== null && isThere === 0)
        findings.push({ kind: 'season_without_rules', subject: subjectOf(game, season), text: 'The board lists it, but it has no rules.' });
    }
  return findings;
}

async function checkSeason(game: string, season: string, probe: Probe): Promise<Finding[]> {
  const subject = subjectOf(game, season);
  const find = (kind: string, text: string, commands: readonly Command[] = []): Finding[] => [{ kind, subject, text, commands }];
  const [fields, listedEnd, closed, hasPayouts] = await probe.together(
    ['HMGET', seasonKeys.season(game, season), 'state', 'endsAt', 'payAfterMs', 'order', 'thresholds', 'paid'],
    ['ZSCORE', seasonKeys.seasons(game), season],
    ['GET', seasonKeys.closed(game)],
    ['EXISTS', seasonKeys.payouts(game, season)],
  );
  const [state, endsAt, payAfterMs, order, thresholds, paid] = fields as (string | null)[];
  if (state === null || state === undefined) return [];
  const isReadable = /^(open|paying|paid)$/.test(state) && /^(asc|desc)$/.test(order ?? '') && /^\d+$/.test(`${endsAt}${payAfterMs}`);
  if (isReadable && listedEnd === null) {
    const text = "The board's list of seasons lacks seasons whose rules exist.";
    const commands: Command[] = [['ZADD', seasonKeys.seasons(game), endsAt!, season]];
    return [{ kind: 'season_not_listed', subject: `board ${game}`, text, commands }];
  }
  if (!isReadable || Number(listedEnd) !== Number(endsAt))
    return find(
      'unreadable_season',
      `The season's rules say "${[state, endsAt, payAfterMs, order].join(' ')}", but the board lists its end as ${listedEnd}.`,
    );
  if (state !== 'open' && !(Number(closed) >= Number(endsAt)) && (await isNewestClosed(game, endsAt!, probe))) {
    const text = `The season is ${state}, but the board is closed only until ${closed ?? 'never'}: scores may still reach the season.`;
    return find('season_not_closed', text, [['SET', seasonKeys.closed(game), endsAt!]]);
  }
  if (state === 'open' && (thresholds ?? null) !== null)
    return find(
      'unreadable_season',
      `The season is open, but already has thresholds of prizes, which a season gets only when it is closed.`,
    );
  if (Number(paid ?? 0) > 0 && hasPayouts === 0)
    return find('wrong_payout', `The season's payouts are lost, although its record says that ${paid} were paid.`);
  if (state === 'paid') return [];
  const member = `${game} ${season}`;
  const dueAt = dueAtOf(await probe.together(...dueAnywhereCommands(SEASONS_DUE, member)));
  if (dueAt !== undefined && dueAt <= Number(endsAt) + Number(payAfterMs) + LATE_MS) return [];
  if (dueAt !== undefined && state === 'paying') return [];
  const how = dueAt === undefined ? `${SEASONS_DUE} does not hold it` : `${SEASONS_DUE} holds it for ${timeText(dueAt)}`;
  return notQueued({ queue: SEASONS_DUE, member, subject, text: `The season is ${state}, but ${how}: nobody pays its prizes.` }, probe);
}

/**
 * Whether no later season of the game is closed. If scores can still reach several closed seasons, the audit reports only the newest,
 * because the command for it closes the board for the others too.
 */
async function isNewestClosed(game: string, endsAt: string, probe: Probe): Promise<boolean> {
  const later = (await probe.ask('ZRANGEBYSCORE', seasonKeys.seasons(game), `(${endsAt}`, '+inf')) as string[];
  const states = await probe.together(...later.map((season): Command => ['HGET', seasonKeys.season(game, season), 'state']));
  return states.every((state) => state === null || state === 'open');
}

/** Checks that the payouts of a closed season are readable, that their sum is right, and that they match the season's final board. */
async function checkPayouts(game: string, season: string, probe: Probe): Promise<Finding[]> {
  const subject = subjectOf(game, season);
  const fields = (await probe.ask('HMGET', seasonKeys.season(game, season), ...FACTS)) as (string | null)[];
  const [state, isNoted, thresholds, order, paid, paidCoins] = fields;
  if (state === null) return [{ kind: 'orphan_payouts', subject, text: 'The season has payouts, but no rules.', explainedBy: [subject] }];
  const winners = new Map<string, { accountId: string; coins: number; isPaid: boolean }>();
  const texts: string[] = [];
  let sum = { count: 0, coins: 0 };
  for await (const found of pages(probe, 'HSCAN', seasonKeys.payouts(game, season)))
    for (const [playerId, text] of pairsOf(found)) {
      const payout = seasonPayout.parse(text);
      const isReadable = payout !== undefined && /^([\w-]{22}|-)$/.test(payout.accountId) && OUTCOMES.includes(payout.outcome);
      if (!isReadable) texts.push(`The payout of the player ${playerId} is "${text.slice(0, 60)}".`);
      else if (!winners.has(playerId)) {
        const { accountId, coins, outcome } = payout;
        if (outcome === 'paid') sum = { count: sum.count + 1, coins: sum.coins + coins };
        winners.set(playerId, { accountId, coins, isPaid: outcome === 'paid' });
      }
    }
  probe.count('prizes', sum.count);
  const paidNow = (await probe.ask('HMGET', seasonKeys.season(game, season), 'paid', 'paidCoins')) as (string | null)[];
  // If the record's figures have changed since the check began, a payment is in progress, and a difference is no finding.
  if (paidNow.join() === [paid, paidCoins].join() && (Number(paid) !== sum.count || Number(paidCoins) !== sum.coins))
    texts.push(
      `By its payouts, ${sum.count} players got ${sum.coins} coins, but its record says ${paid ?? 0} players and ${paidCoins ?? 0} coins.`,
    );
  if (isNoted !== null && arePrizes(thresholds ?? '', 'thresholds'))
    texts.push(...(await againstBoard({ game, season, thresholds: thresholds ?? '', order: order ?? '' }, winners, probe)));
  if (texts.length === 0) return [];
  const more = texts.length > LISTED ? [`The same holds for ${texts.length - LISTED} more.`] : [];
  // The finding has no commands, because it is not known whether the payouts or the season's rules are wrong.
  return [{ kind: 'wrong_payout', subject, text: [...texts.slice(0, LISTED), ...more].join(' ') }];
}

const OUTCOMES: readonly (string | undefined)[] = ['paid', 'deleted', 'banned', 'balance_limit', undefined];

const FACTS = ['state', 'isNoted', 'thresholds', 'order', 'paid', 'paidCoins'] as const;

/**
 * Checks that each winner on a season's final board has a payout, which is not higher than the prize of the score. A lower payout is no
 * finding, because the entry may have come from a guest that moved after the season was closed. A winner whose entry has left the board
 * keeps the payout.
 */
async function againstBoard(
  { game, season, thresholds, order }: { game: string; season: string; thresholds: string; order: string },
  winners: ReadonlyMap<string, { readonly accountId: string; readonly coins: number }>,
  probe: Probe,
): Promise<string[]> {
  const texts: string[] = [];
  for await (const found of pages(probe, 'HSCAN', seasonKeys.players(game, season))) {
    const players = pairsOf(found);
    if (players.length === 0) continue;
    const members = players.map(([playerId, text]) => memberOf(playerId, text));
    const standing = (await probe.ask('ZMSCORE', seasonKeys.scores(game, season), ...members)) as (string | null)[];
    for (const [index, [playerId, text]] of players.entries()) {
      const score = standing[index];
      const player = playerEntry.parse(text);
      if (score === null || score === undefined || player === undefined) continue;
      const wins = prizeOf(thresholds, order === 'asc', Number(score));
      const payout = winners.get(playerId);
      if (wins > 0 && payout === undefined)
        texts.push(`The player ${playerId} won ${wins} coins with the score ${score}, but has no payout.`);
      else if (payout !== undefined && payout.coins > wins)
        texts.push(`The player ${playerId} has a payout of ${payout.coins} coins, but won ${wins} with the score ${score}.`);
    }
  }
  return texts;
}

/** The coins that a score wins, by the same rule as in `prize_of` of season.lua. */
function prizeOf(thresholds: string, isAscending: boolean, score: number): number {
  const won = thresholds
    .split(' ')
    .flatMap((text) => seasonThreshold.parse(text) ?? [])
    .find(({ least }) => least === '*' || (isAscending ? score <= Number(least) : score >= Number(least)));
  return won?.coins ?? 0;
}
