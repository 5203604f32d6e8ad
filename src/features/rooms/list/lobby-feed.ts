import type { ScriptRunner } from '../../../redis/script-runner.ts';
import type { Feed, Fetched } from '../../../server/live/feed-types.ts';
import { PolledState } from '../../../server/live/polled-state.ts';
import { listedJson, tagsOf, type TagFilter } from './list-model.ts';
import { BYTES_A_ROOM, MOST_ROOMS_READ, MOST_PAGE_BYTES, readChangedPage, type Page } from './page.ts';
import type { ListWriter } from './list-writer.ts';

/** The interval at which the process polls the watched lists, in milliseconds. So watchers get the list at most twice a second. */
const POLLED_EVERY_MS = 500;

/** The most rooms in a list that watchers get. */
export const LIVE_ROOMS = 50;

/** How long a process keeps the snapshot of a list that nobody watches any more, in milliseconds. */
const UNUSED_KEPT_MS = 5 * POLLED_EVERY_MS;

export interface LobbyFeedOptions {
  readonly scripts: ScriptRunner;
  readonly listWriter: Pick<ListWriter, 'sweep'>;
  readonly now: () => number;
}

/** The id of the query of a lobby channel: a game, or ALL_GAMES, and the wanted tags. Channels with the same id get the same messages. */
export function lobbyIdOf(game: string, { wanted }: TagFilter): string {
  return `${game} ${JSON.stringify(wanted)}`;
}

interface Query {
  readonly game: string;
  readonly wanted: TagFilter['wanted'];
}

function queryOf(id: string): Query {
  const end = id.indexOf(' ');
  return { game: id.slice(0, end), wanted: JSON.parse(id.slice(end + 1)) as TagFilter['wanted'] };
}

/**
 * The newest rooms of a list, from which all queries of the game are answered. The snapshot has an index by tag, so that a query need not
 * search all rooms. This matters because one client address may watch 200 different queries.
 */
class Snapshot {
  readonly page: Page;
  /** The most entries that could be read for the page. */
  readonly mostRooms: number;
  /** The index: for each tag, as `name=value`, the positions in the page of the rooms that have it. Made for the first query with tags. */
  #places: Map<string, Set<number>> | undefined;
  /** The JSON texts of rooms that a query has found, by position in the page. Queries for other tags may find the same rooms. */
  readonly #texts: string[] = [];

  constructor(page: Page, mostRooms: number) {
    this.page = page;
    this.mostRooms = mostRooms;
  }

  /** The message with the rooms that have all wanted tags, as JSON text. */
  find(wanted: Query['wanted']): string {
    const { rooms } = this.page;
    const texts: string[] = [];
    let bytes = 0;
    for (const place of wanted.length === 0 ? rooms.keys() : this.#placesOf(wanted)) {
      if (texts.length === LIVE_ROOMS || bytes >= MOST_PAGE_BYTES) break;
      const [entry, summary] = rooms[place]!;
      bytes += Buffer.byteLength(summary);
      texts.push((this.#texts[place] ??= listedJson(entry, summary)));
    }
    return `{"type":"rooms","rooms":[${texts.join(',')}]}`;
  }

  *#placesOf(wanted: Query['wanted']): Generator<number> {
    const index = (this.#places ??= this.#indexed());
    const sets = wanted.map(([name, text]) => index.get(`${name}=${text}`) ?? NOWHERE);
    const [fewest, ...others] = sets.toSorted((one, other) => one.size - other.size);
    for (const place of fewest!) if (others.every((set) => set.has(place))) yield place;
  }

  #indexed(): Map<string, Set<number>> {
    const places = new Map<string, Set<number>>();
    for (const [place, [, summary]] of this.page.rooms.entries()) {
      for (const [name, value] of Object.entries(tagsOf(summary))) {
        const key = `${name}=${value}`;
        const found = places.get(key);
        if (found === undefined) places.set(key, new Set([place]));
        else found.add(place);
      }
    }
    return places;
  }
}

const NOWHERE: ReadonlySet<number> = new Set();

/** The result of a query, as its watchers get it. */
class LobbyState extends PolledState {
  /** The last snapshot in which the query had this result. */
  snapshot: Snapshot;

  constructor(known: LobbyState | undefined, message: string, snapshot: Snapshot) {
    super(known, message);
    this.snapshot = snapshot;
  }
}

/**
 * The feed of lists of rooms. Changes are not published, because rooms come and go faster than people read a list. Twice a second the
 * process asks Redis for the versions of all watched lists in one command, and reads each changed list once for all queries of its game. If
 * an entry is not renewed, it leaves the list at a known time, without a change of the version, so the process reads the list again at that
 * time.
 */
export function lobbyFeed({ scripts, listWriter, now }: LobbyFeedOptions): Feed {
  const snapshots = new Map<string, { snapshot: Snapshot; usedAt: number }>();

  async function snapshotOf(game: string, hasTags: boolean): Promise<Snapshot> {
    const mostRooms = hasTags ? MOST_ROOMS_READ : LIVE_ROOMS;
    const known = snapshots.get(game)?.snapshot;
    const isOld = known === undefined || known.mostRooms < mostRooms || (known.page.endsAt ?? Infinity) <= now();
    const mostBytes = hasTags ? BYTES_A_ROOM * MOST_ROOMS_READ : MOST_PAGE_BYTES;
    const asked = { game, limit: mostRooms, from: '', mostRooms, needles: '', mostBytes, known: isOld ? '' : known.page.version };
    const page = await readChangedPage(asked, scripts);
    if (page !== undefined && page.lapsed > 0) listWriter.sweep(game);
    const snapshot = page === undefined ? known! : new Snapshot(page, mostRooms);
    snapshots.set(game, { snapshot, usedAt: performance.now() });
    return snapshot;
  }

  return {
    polledEveryMs: POLLED_EVERY_MS,
    channel: (id) => `lobby ${id}`,
    take: () => undefined,
    async fetch(known) {
      const queries = known.map(({ id, state }) => ({ ...queryOf(id), state: state as LobbyState | undefined }));
      const byGame = Map.groupBy(queries, ({ game }) => game);
      const unusedAt = performance.now() - UNUSED_KEPT_MS;
      for (const [game, { usedAt }] of snapshots) if (usedAt < unusedAt) snapshots.delete(game);
      const reads = [...byGame].map(async ([game, ofGame]) => {
        const read = snapshotOf(
          game,
          ofGame.some(({ wanted }) => wanted.length > 0),
        );
        // While the primary of a list is down, the watchers of the list keep the last result.
        const snapshot = await (ofGame.every(({ state }) => state !== undefined) ? read.catch(() => undefined) : read);
        return [game, snapshot] as const;
      });
      const found = new Map(await Promise.all(reads));
      return queries.map(({ game, wanted, state }) => fetchedOf(found.get(game), wanted, state));
    },
  };
}

function fetchedOf(snapshot: Snapshot | undefined, wanted: Query['wanted'], state: LobbyState | undefined): Fetched {
  if (state !== undefined && (snapshot === undefined || snapshot === state.snapshot)) return { state: 'same', relayed: 0 };
  const message = snapshot!.find(wanted);
  if (state !== undefined && message === state.message) {
    state.snapshot = snapshot!;
    return { state: 'same', relayed: 0 };
  }
  return { state: new LobbyState(state, message, snapshot!), relayed: 0 };
}
