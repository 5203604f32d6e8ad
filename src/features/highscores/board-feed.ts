import type { CallerScripts } from '../../accounts/caller-scripts.ts';
import type { Feed, Fetched } from '../../server/live/feed.ts';
import { PolledState } from '../../server/live/polled-state.ts';
import type { ScoreOrder } from '../catalogue/model.ts';
import { parseEntries, TOP_SIZE } from './model.ts';
import { topKeys, topScript } from './top.ts';

/** Watchers get the top ten at most twice a second. */
const POLLED_EVERY_MS = 500;

/** A top ten as watchers get it. Its version may go back, where older data was restored. */
class BoardState extends PolledState {
  readonly version: string;

  constructor(known: BoardState | undefined, version: string, figures: readonly string[]) {
    super(known, `{"type":"board","version":${Number(version)},"top":${JSON.stringify(parseEntries(figures))}}`);
    this.version = version;
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
    return { state: new BoardState(state, version, figures), relayed: 0 };
  }

  return {
    polledEveryMs: POLLED_EVERY_MS,
    channel: (id) => `board ${id}`,
    take: () => undefined,
    fetch: (known) =>
      Promise.all(
        known.map(({ id, state }) => {
          const read = fetchOne(id, state as BoardState | undefined);
          // The primary of this board may be away: its watchers keep what they have, and the watchers of other boards get theirs.
          return state === undefined ? read : read.catch((): Fetched => ({ state: 'same', relayed: 0 }));
        }),
      ),
  };
}
