import type { Client } from './client.ts';
import type { Watch } from './watch.ts';
import { watchList, type ListWatchOptions } from './watched-list.ts';
import type { Wire } from './wire.ts';

const TOP = 'GET /v1/highscores/{game}';

/** One of the ten best scores of a board. */
export type ScoreEntry = Wire[typeof TOP]['reply']['top'][number];

/** The season of a board, such as `2026-W48`, and when it ends. Undefined for a board of all time. */
export type Season = Wire[typeof TOP]['reply']['season'];

/**
 * Calls `onTop` with the ten best scores of a game, at once and after changes, at most twice a second. In a game with seasons they are those
 * of the current season, which comes with them.
 */
export function watchBoard(
  client: Client,
  game: string,
  onTop: (top: ScoreEntry[], season: Season) => void,
  options?: ListWatchOptions,
): Watch {
  return watchList(
    client,
    `/v1/highscores/${encodeURIComponent(game)}/live`,
    'top',
    (signal) => client.parts.to(TOP, { game }, {}, signal),
    onTop,
    options,
  );
}
