import { pairsOf } from '../../../redis/reply-pairs.ts';
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

/** The most entries of a list that are read for a page. */
export const MOST_ROOMS_READ = 1000;

/** The bytes of summaries that may be read for each room of a page. A room with ordinary tags has fewer. The longest tags have 3 KiB. */
export const BYTES_A_ROOM = 160;

/** The most bytes of summaries in a page. */
export const MOST_PAGE_BYTES = 32 * 1024;

export interface PageQuery {
  /** The list: a game, or ALL_GAMES. */
  readonly game: string;
  /** The most rooms in the page. */
  readonly limit: number;
  /** The last entry of the page before, or '' for the first page. */
  readonly from: string;
  /** The most entries that are read for the page. */
  readonly mostRooms: number;
  /** The wanted tags, as `needles` of a TagFilter. */
  readonly needles: string;
  /** The most bytes of summaries in the page. Default: MOST_PAGE_BYTES. */
  readonly mostBytes?: number;
}

/** A page of a list. */
export interface Page {
  /** The version of the list: a text that differs after each change. */
  readonly version: string;
  /** The entry after which the next page begins, or '' if this is the last page. */
  readonly next: string;
  /** The bytes of the summaries in the page. */
  readonly bytes: number;
  /** The number of entries that the script has read but left out, because their time is over. */
  readonly lapsed: number;
  /** The time at which the first room of the page will leave the list, unless its entry is renewed. Undefined for a page without rooms. */
  readonly endsAt: number | undefined;
  readonly rooms: readonly [entry: string, summary: string][];
}

export async function readPage(query: PageQuery, scripts: ScriptRunner): Promise<Page> {
  return (await readChangedPage({ ...query, known: '' }, scripts))!;
}

/** Reads a page, unless the list has not changed. @returns undefined if the list still has the version `known` */
export async function readChangedPage(query: PageQuery & { readonly known: string }, scripts: ScriptRunner): Promise<Page | undefined> {
  const { game, mostBytes = MOST_PAGE_BYTES, ...args } = query;
  const [word, version = '', next = '', lapsed, endsAt = '', ...words] = await scripts.run(pageScript, listKeys(game), {
    ...args,
    // This is at least `mostBytes`, so that a page of few rooms with long tags can be read too.
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
