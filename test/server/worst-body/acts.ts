import { LONGEST_DATA } from '../full-room.ts';

/** Bodies of an action, given the ids of the room's players. The bodies of a row change the room in turn, so that each has work to do. */
type Row = readonly [name: string, action: string, bodies: (ids: readonly string[]) => readonly object[]];

/** Hands that fill a body of 16 KiB, for all of 64 players. */
const hands = (ids: readonly string[], letter: string): object => Object.fromEntries(ids.map((id) => [id, letter.repeat(210)]));

/** Members with one value, as many as fit a state. */
function wide(value: number): Record<string, number> {
  return Object.fromEntries(Array.from({ length: 900 }, (_, index) => [String(index).padStart(4, 'k'), value]));
}

/** A chain of objects, as deep as a body may be in the field `merge`. */
function deep(value: unknown): unknown {
  let chain = value;
  for (let level = 0; level < 29; level++) chain = { a: chain };
  return chain;
}

/** Chains side by side: 4,096 objects at most. */
function deepAndWide(value: number): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: 36 }, (_, index) => [`c${index}`, deep(value)]));
}

/** Members that no state has: a merge removes them. */
const NOTHING = Object.fromEntries(Array.from({ length: 600 }, (_, index) => [`n${index}`, null]));

const tags = (letter: string): object =>
  Object.fromEntries(Array.from({ length: 8 }, (_, tag) => [`${tag}`.padStart(32, 't'), letter + '\u0001'.repeat(63)]));

/** The most expensive bodies in a room of 64 players with full data. */
export const actInFullestRoom: readonly Row[] = [
  ['data of the last seat', 'data', () => [{ data: `1${LONGEST_DATA.slice(1)}` }, { data: `2${LONGEST_DATA.slice(1)}` }]],
  [
    'a merge into data',
    'data',
    () => [{ data: { a: LONGEST_DATA.slice(40) } }, { merge: { ...NOTHING, b: 1 } }, { merge: { ...NOTHING, b: 2 } }],
  ],
  ['a state', 'state', () => [{ state: `1${'x'.repeat(8189)}` }, { state: `2${'x'.repeat(8189)}` }]],
  [
    'a wide merge into a full state',
    'state',
    () => [{ state: wide(1) }, { merge: { ...wide(2), ...NOTHING } }, { merge: { ...wide(1), ...NOTHING } }],
  ],
  ['a deep merge into a full state', 'state', () => [{ state: deepAndWide(1) }, { merge: deepAndWide(2) }, { merge: deepAndWide(1) }]],
  [
    'private parts for all players',
    'private',
    (ids) => [{ seats: hands(ids, 'a') }, { seats: hands(ids, 'b') }, { seats: hands(ids.slice(0, 20), 'c'), merge: { ...NOTHING, b: 1 } }],
  ],
  ['all tags', 'settings', () => [{ tags: tags('a') }, { tags: tags('b') }]],
  ['a message to everybody by name', 'message', (ids) => [{ data: 'm'.repeat(1022), to: [...ids, 'server'] }]],
  [
    'an order of a ninth tab',
    'unready',
    () => [
      { order: 1, tab: 'ninth' },
      { order: 2, tab: 'tenth' },
    ],
  ],
];
