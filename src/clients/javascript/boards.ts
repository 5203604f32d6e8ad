import type { Client } from './client.ts';
import type { Watch } from './watch.ts';
import { watchList, type ListWatchOptions } from './watched-list.ts';
import type { Wire } from './wire.ts';

const TOP = 'GET /v1/highscores/{game}';

/** One of the ten best scores of a board. */
export type ScoreEntry = Wire[typeof TOP]['reply']['top'][number];

/** Calls `onTop` with the ten best scores of a game, at once and after changes, at most twice a second. */
export function watchBoard(client: Client, game: string, onTop: (top: ScoreEntry[]) => void, options?: ListWatchOptions): Watch {
  return watchList(
    client,
    `/v1/highscores/${encodeURIComponent(game)}/live`,
    'top',
    (signal) => client.parts.to(TOP, { game }, {}, signal),
    onTop,
    options,
  );
}
