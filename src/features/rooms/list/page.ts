import { pairsOf } from '../../../redis/pairs.ts';
import { defineScript } from '../../../redis/script.ts';
import type { ScriptRunner } from '../../../redis/script-runner.ts';
import { listKeyNames, listKeys } from './list-model.ts';

const pageScript = defineScript({
  file: new URL('page.lua', import.meta.url),
  keys: listKeyNames,
  args: ['from', 'limit', 'mostRooms', 'mostRead', 'mostBytes', 'needles', 'known'],
  answers: ['same', 'page'],
  readOnly: true,
});

/** Most entries that are read for a page. */
export const MOST_ROOMS_READ = 1000;

/** Bytes of summaries that may be read per room: more than a room with ordinary tags has. The longest tags have 3 KiB. */
export const BYTES_A_ROOM = 160;

/** Most bytes of summaries in a page. */
export const MOST_PAGE_BYTES = 32 * 1024;

export interface PageQuery {
  /** A game, or ALL_GAMES. */
  readonly game: string;
  readonly limit: number;
  /** The entry that the page follows; '' for the first page. */
  readonly from: string;
  readonly mostRooms: number;
  /** `needles` of a TagFilter. */
  readonly needles: string;
  /** Default: MOST_PAGE_BYTES. */
  readonly mostBytes?: number;
}

/** A page of a list. */
export interface Page {
  /** Differs after each change of the list. */
  readonly version: string;
  /** The entry that the next page follows; '' on the last page. */
  readonly next: string;
  /** Bytes of the summaries in the page. */
  readonly bytes: number;
  /** Number of entries past their time among those read. */
  readonly lapsed: number;
  /** When the first of its rooms leaves the list, unless it is renewed. Undefined for a page without rooms. */
  readonly endsAt: number | undefined;
  readonly rooms: readonly [entry: string, summary: string][];
}

export async function readPage(query: PageQuery, scripts: ScriptRunner): Promise<Page> {
  return (await readChangedPage({ ...query, known: '' }, scripts))!;
}

/** @returns undefined if the list still has the known version */
export async function readChangedPage(query: PageQuery & { readonly known: string }, scripts: ScriptRunner): Promise<Page | undefined> {
  const { game, mostBytes = MOST_PAGE_BYTES, ...args } = query;
  const [word, version = '', next = '', lapsed, endsAt = '', ...words] = await scripts.run(pageScript, listKeys(game), {
    ...args,
    // A page of few rooms may have up to `mostBytes` too.
    mostRead: Math.max(BYTES_A_ROOM * args.mostRooms, mostBytes),
    mostBytes,
  });
  if (word === 'same') return undefined;
  const rooms = pairsOf(words);
  return {
    version,
    next,
    bytes: rooms.reduce((bytes, [, summary]) => bytes + Buffer.byteLength(summary), 0),
    lapsed: Number(lapsed),
    endsAt: endsAt === '' ? undefined : Number(endsAt),
    rooms,
  };
}
