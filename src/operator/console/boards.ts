import { dropArchive, listBoard, removeEntry, resetBoard } from '../boards.ts';
import type { CommandGroup } from './command.ts';
import { commandOf } from './operate.ts';
import { entriesText, minuteOfText, table } from './table.ts';

export const boards: CommandGroup = {
  name: 'boards',
  summary: 'the boards of games',
  commands: {
    list: commandOf(listBoard, {
      words: ['GAME'],
      flags: {
        from: { value: 'PLACE', summary: 'the first place. Default: 1' },
        to: { value: 'PLACE', summary: 'the last place, up to 99 behind the first. Default: 19 behind it' },
        archive: { value: 'N', summary: 'an old board in place of the present one' },
      },
      input: ({ words: [game], flags }) => ({ game, from: flags['from'], to: flags['to'], archive: flags['archive'] }),
      text({ game, count, entries, archives }) {
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
          count === 0 ? `The board of ${game} has no entries.` : `${game}: ${entriesText(count)}`,
          ...(shown.length === 0 ? [] : [table(['RANK', 'NAME', 'SCORE', 'PLAYER', 'ACCOUNT', 'AT (UTC)'], shown)]),
          ...(old.length === 0 ? [] : [table(['ARCHIVE', 'RESET (UTC)', 'ENTRIES', 'BY', 'REASON'], old)]),
        ].join('\n\n');
      },
    }),
    remove: commandOf(removeEntry, {
      words: ['GAME', 'PLAYER'],
      changes: true,
      input: ({ words: [game, player] }) => ({ game, player }),
      text: ({ game, removed: { name, score, playerId } }) => `Removed ${name} (${playerId}) with ${score} from the board of ${game}.`,
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
