import { dropArchive, listBoard, removeEntry, resetBoard } from '../boards.ts';
import { listSeasons } from '../seasons.ts';
import { entriesText } from '../shown/cells.ts';
import { archivesOf, entries as boardEntries, seasonsOf } from '../shown/shown-boards.ts';
import { commandOf, groupOf } from './operate.ts';
import { listed, minuteOfText, paragraphs, titled } from './table.ts';

export const boards = groupOf(
  { name: 'boards', summary: 'the boards of games' },
  commandOf(listBoard, ({ game, season, count, entries, archives }) =>
    paragraphs(
      count === 0
        ? `The board of ${game} has no entries${season === undefined ? '' : ` in the season ${season.id}`}.`
        : `${game}${season === undefined ? '' : `, season ${season.id} until ${minuteOfText(season.endsAt)} (UTC)`}: ${entriesText(count)}`,
      titled(boardEntries, entries),
      titled(archivesOf(game), archives),
    ),
  ),
  commandOf(listSeasons, ({ game, seasons }) => listed(seasonsOf(game), seasons)),
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
