import { playerEntry } from '../features/highscores/entry-format.ts';
import { boardKeys } from '../features/highscores/model.ts';
import { folded } from '../features/names/folded.ts';
import { pairsOf } from '../redis/reply-pairs.ts';
import { readPart } from '../redis/reads.ts';
import { Parts } from '../redis/unreadable.ts';
import type { OperatorServices } from './operation.ts';

/** The number of players that one script reads, in 0.2 ms of Redis and 0.6 ms of this process. */
const AT_ONCE = 200;

/**
 * The most parts that one search reads. They take 10 ms of Redis and 30 ms of this process, with other work in between. An empty board is
 * one part.
 */
const MOST_PARTS = 50;

/** The search stops once it has found this many players. */
const ENOUGH = 20;

/** The most players that a search shows. The account of each is read. */
const MOST_SHOWN = 50;

export interface NamedPlayer {
  readonly game: string;
  readonly playerId: string;
  readonly accountId: string;
  readonly name: string;
}

/** The place at which a search continues: a game, and the cursor of its board. */
export const PLAYERS_CURSOR = /^([a-z0-9][a-z0-9_-]{0,63})@(\d{1,20})$/;

/**
 * Finds players whose name contains a text: first equal names, then names that begin with the text, then the others. Differences in case,
 * accents and look-alike letters do not matter. Names have no index, so a search reads boards in parts.
 * @param cursor '' at first
 * @param isGone nobody waits for the answer any more: the search ends
 * @param parts notes damaged boards, which are left out
 * @returns `next`: the cursor of the next search; undefined: all boards were read
 */
export async function playersNamed(
  text: string,
  games: readonly string[],
  cursor: string,
  { scripts }: OperatorServices,
  isGone: () => boolean = () => false,
  parts = new Parts(),
): Promise<{ readonly players: readonly NamedPlayer[]; readonly next: string | undefined }> {
  const wanted = plain(text);
  if (wanted === '') return { players: [], next: undefined };
  const [, from = '', place = '0'] = PLAYERS_CURSOR.exec(cursor) ?? [];
  // Most names contain any given letter. So a single letter finds only players with exactly this name.
  const farthest = [...wanted].length === 1 ? 0 : 2;
  const found: (NamedPlayer & { readonly distance: number })[] = [];
  const order = games.toSorted();
  let index = from === '' ? 0 : order.findIndex((game) => game >= from);
  let at = order[index] === from ? place : '0';
  for (let reads = 0; index >= 0 && index < order.length; reads++) {
    const game = order[index]!;
    if (reads === MOST_PARTS || found.length >= ENOUGH || isGone()) return { players: nearest(found), next: `${game}@${at}` };
    const part = await parts.read(nameOfPlayers(game), () => readPart(scripts, boardKeys.players(game), at, AT_ONCE));
    const isHash = part === undefined || part.kind === 'hash' || part.kind === 'none';
    if (!isHash) parts.note(nameOfPlayers(game));
    const { cursor: next, words } = part !== undefined && isHash ? part : { cursor: '0', words: [] };
    for (const [playerId, entry] of pairsOf(words)) {
      const player = playerEntry.parse(entry);
      if (player === undefined) continue;
      const distance = distanceOf(plain(player.name), wanted);
      if (distance !== undefined && distance <= farthest)
        found.push({ game, playerId, accountId: player.accountId, name: player.name, distance });
    }
    at = next;
    if (next === '0') index++;
  }
  return { players: nearest(found), next: undefined };
}

export const nameOfPlayers = (game: string): string => `players of ${game}`;

const plain = (name: string): string => folded(name, false).replaceAll('\0', '');

/** 0: the name equals the text. 1: begins with it. 2: contains it. Undefined: none of these. */
function distanceOf(name: string, wanted: string): number | undefined {
  const place = name.indexOf(wanted);
  if (place > 0) return 2;
  return place < 0 ? undefined : name === wanted ? 0 : 1;
}

function nearest(found: readonly (NamedPlayer & { readonly distance: number })[]): NamedPlayer[] {
  return found.toSorted((one, other) => one.distance - other.distance).slice(0, MOST_SHOWN);
}
