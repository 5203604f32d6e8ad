import type { CallerScripts } from '../../accounts/caller-scripts.ts';
import type { Feed, Fetched, State } from '../../server/live/feed.ts';
import type { ScoreOrder } from '../catalogue/model.ts';
import { parseEntries, TOP_SIZE } from './model.ts';
import { topKeys, topScript } from './top.ts';

/** Watchers get the top ten at most twice a second. */
const POLLED_EVERY_MS = 500;

/** A top ten as watchers get it. Each process counts its positions for itself: the version may go back, where older data was restored. */
class BoardState implements State {
  readonly position: number;
  readonly stamp = '';
  readonly privateAt = 0;
  readonly isFinal = false;
  /** The polls see it. */
  readonly changesAt = Infinity;
  readonly version: string;
  readonly #message: string;

  constructor(position: number, version: string, figures: readonly string[]) {
    this.position = position;
    this.version = version;
    this.#message = `{"type":"board","version":${Number(version)},"top":${JSON.stringify(parseEntries(figures))}}`;
  }

  encode(): string {
    return this.#message;
  }
}

/**
 * The feed of boards. The process asks twice a second for the version of each board that somebody watches, and gets the top ten where it
 * has changed: a board may change a thousand times in between.
 */
export function boardFeed({
  scripts,
  catalogue,
}: {
  readonly scripts: CallerScripts;
  readonly catalogue: { orderOf(game: string): ScoreOrder };
}): Feed {
  async function fetchOne(game: string, state: BoardState | undefined): Promise<Fetched> {
    const args = { order: catalogue.orderOf(game), size: TOP_SIZE, known: state?.version ?? '', accountId: '' };
    const [, version = '0', ...figures] = await scripts.runWithoutAccount(topScript, topKeys(game), args);
    if (version === state?.version) return { state: 'same', relayed: 0 };
    return { state: new BoardState((state?.position ?? 0) + 1, version, figures), relayed: 0 };
  }

  return {
    polledEveryMs: POLLED_EVERY_MS,
    channel: (id) => `board ${id}`,
    take: () => undefined,
    fetch: (known) =>
      Promise.all(
        known.map(({ id, state }) => {
          const read = fetchOne(id, state as BoardState | undefined);
          // While the primary of one board is away, its watchers keep what they have.
          return state === undefined ? read : read.catch((): Fetched => ({ state: 'same', relayed: 0 }));
        }),
      ),
  };
}
