import type { CallerScripts } from '../../accounts/caller-scripts.ts';
import type { Feed, Fetched } from '../../server/live/feed-types.ts';
import { PolledState } from '../../server/live/polled-state.ts';
import { boardArgs, parseEntries, seasonIn, TOP_SIZE } from './model.ts';
import { topKeys, topScript } from './top.ts';

/** The interval at which the process polls the watched boards, in milliseconds. So watchers get the top ten at most twice a second. */
const POLLED_EVERY_MS = 500;

/** A top ten as watchers get it. The version may be lower than that of the state before, if Redis was restored from older data. */
class BoardState extends PolledState {
  readonly version: string;

  constructor(known: BoardState | undefined, [id, endsAt, version, ...figures]: readonly string[]) {
    const message = { type: 'board', version: Number(version), top: parseEntries(figures), ...seasonIn(id!, endsAt!) };
    super(known, JSON.stringify(message));
    this.version = version!;
  }
}

/**
 * The feed of boards. Twice a second the process asks Redis for the version of each watched board, and gets the top ten if the version has
 * changed. The process does not react to each published change, because a board may change a thousand times between two polls.
 */
export function boardFeed({
  scripts,
  catalogue,
}: {
  readonly scripts: CallerScripts;
  readonly catalogue: Parameters<typeof boardArgs>[1];
}): Feed {
  async function fetchOne(game: string, state: BoardState | undefined): Promise<Fetched> {
    const args = { ...boardArgs(game, catalogue), size: TOP_SIZE, known: state?.version ?? '', accountId: '' };
    const [, ...words] = await scripts.runWithoutAccount(topScript, topKeys(game), args);
    if (words[2] === state?.version) return { state: 'same', relayed: 0 };
    return { state: new BoardState(state, words), relayed: 0 };
  }

  return {
    polledEveryMs: POLLED_EVERY_MS,
    channel: (id) => `board ${id}`,
    take: () => undefined,
    fetch: (known) =>
      Promise.all(
        known.map(({ id, state }) => {
          const read = fetchOne(id, state as BoardState | undefined);
          // If the primary of this board is down, its watchers keep the last list, and watchers of other boards still get new lists.
          return state === undefined ? read : read.catch((): Fetched => ({ state: 'same', relayed: 0 }));
        }),
      ),
  };
}
