import { dropArchive, listBoard, removeEntry, resetBoard } from '../boards.ts';
import { listSeasons } from '../seasons.ts';
import type { CommandGroup } from './command.ts';
import { commandOf } from './operate.ts';
import { entriesText, minuteOfText, table } from './table.ts';

const SEASON_FLAG = { value: 'ID', summary: 'a season, such as 2026-W48, or all for the board of all time' };

export const boards: CommandGroup = {
  name: 'boards',
  summary: 'the boards of games',
  commands: {
    list: commandOf(listBoard, {
      words: ['GAME'],
      flags: {
        from: { value: 'PLACE', summary: 'the first place. Default: 1' },
        to: { value: 'PLACE', summary: 'the last place, up to 99 after the first. Default: 19 after it' },
        archive: { value: 'N', summary: 'an archive instead of the current board' },
        season: SEASON_FLAG,
      },
      input: ({ words: [game], flags }) => ({
        game,
        from: flags['from'],
        to: flags['to'],
        archive: flags['archive'],
        season: flags['season'],
      }),
      text({ game, season, count, entries, archives }) {
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
      },
    }),
    seasons: commandOf(listSeasons, {
      words: ['GAME'],
      input: ({ words: [game] }) => ({ game }),
      text: ({ game, seasons }) =>
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
    }),
    remove: commandOf(removeEntry, {
      words: ['GAME', 'PLAYER'],
      flags: { season: SEASON_FLAG },
      changes: true,
      input: ({ words: [game, player], flags }) => ({ game, player, season: flags['season'] }),
      text: ({ game, removed: { name, score, playerId }, seasons = [] }) =>
        `Removed ${name} (${playerId}) with ${score} from the board of ${game}${seasons.length === 0 ? '' : `, in the seasons ${seasons.join(', ')} too`}.`,
    }),
    reset: commandOf(resetBoard, {
      words: ['GAME'],
      changes: true,
      input: ({ words: [game] }) => ({ game }),
      text: ({ game, archive, entries }) => `The board of ${game} is empty. Archive ${archive} has its ${entriesText(entries)}.`,
    }),
    drop: commandOf(dropArchive, {
      words: ['GAME', 'ARCHIVE'],
      changes: true,
      input: ({ words: [game, archive] }) => ({ game, archive: Number(archive) }),
      text: ({ game, archive }) => `Archive ${archive} of the board of ${game} is deleted.`,
    }),
  },
};
