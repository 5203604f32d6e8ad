import { dropArchive, listBoard, removeEntry, resetBoard } from '../boards.ts';
import { listSeasons } from '../seasons.ts';
import { commandOf, groupOf } from './operate.ts';
import { entriesText, minuteOfText, table } from './table.ts';

export const boards = groupOf(
  { name: 'boards', summary: 'the boards of games' },
  commandOf(listBoard, ({ game, season, count, entries, archives }) => {
    const shown = entries.map(({ rank, name, score, playerId, accountId = '', at }) => [
      String(rank),
      name,
      String(score),
      playerId,
      accountId,
      minuteOfText(at),
    ]);
    const old = archives.map(({ archive, at, entries: number, by, reason, droppedAt }) => [
      String(archive),
      minuteOfText(at),
      droppedAt === undefined ? String(number) : 'deleted',
      by,
      reason,
    ]);
    return [
      count === 0
        ? `The board of ${game} has no entries${season === undefined ? '' : ` in the season ${season.id}`}.`
        : `${game}${season === undefined ? '' : `, season ${season.id} until ${minuteOfText(season.endsAt)} (UTC)`}: ${entriesText(count)}`,
      ...(shown.length === 0 ? [] : [table(['RANK', 'NAME', 'SCORE', 'PLAYER', 'ACCOUNT', 'AT (UTC)'], shown)]),
      ...(old.length === 0 ? [] : [table(['ARCHIVE', 'RESET (UTC)', 'ENTRIES', 'BY', 'REASON'], old)]),
    ].join('\n\n');
  }),
  commandOf(listSeasons, ({ game, seasons }) =>
    seasons.length === 0
      ? `The board of ${game} has no seasons.`
      : table(
          ['SEASON', 'STATE', 'ENDS (UTC)', 'PAYS (UTC)', 'ENTRIES', 'PRIZES', 'PAID', 'UNPAID', 'COINS'],
          seasons.map(({ season, state, endsAt, paysAt, entries, prizes, paid, unpaid, paidCoins }) => [
            season,
            state,
            minuteOfText(endsAt),
            minuteOfText(paysAt),
            String(entries),
            prizes.map(({ upTo, coins }) => `${upTo}:${coins}`).join(' '),
            String(paid),
            String(unpaid),
            String(paidCoins),
          ]),
        ),
  ),
  commandOf(
    removeEntry,
    ({ game, removed: { name, score, playerId }, seasons = [] }) =>
      `Removed ${name} (${playerId}) with ${score} from the board of ${game}${seasons.length === 0 ? '' : `, in the seasons ${seasons.join(', ')} too`}.`,
  ),
  commandOf(
    resetBoard,
    ({ game, archive, entries }) => `The board of ${game} is empty. Archive ${archive} has its ${entriesText(entries)}.`,
  ),
  commandOf(dropArchive, ({ game, archive }) => `Archive ${archive} of the board of ${game} is deleted.`),
);
