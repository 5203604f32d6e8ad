import { z } from 'zod';
import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import { listSeats, PlayerId, roomKeys, roomLibrary, weeksWithSeats, type Room } from './model.ts';

interface Parts {
  readonly scripts: ScriptRunner;
  readonly now: () => number;
}

const readSeats = defineScript({
  file: new URL('read-seats.lua', import.meta.url),
  keys: ['room'],
  args: ['owners', 'now'],
  answers: ['seats', 'none'],
  library: roomLibrary,
  readOnly: true,
});

export const Seat = z
  .object({
    code: z.string(),
    game: z.string().optional(),
    phase: z.string(),
    playerId: PlayerId,
    name: z.string(),
    joinedAt: z.iso.datetime(),
  })
  .meta({
    id: 'OwnSeat',
    description: 'A seat in a room.',
    example: { code: 'BCDFG', phase: 'lobby', playerId: 'p2', name: 'Ada', joinedAt: '2026-11-22T12:00:00.000Z' },
  });

/** The seats that some accounts have in a room. None if there is no such room. */
export async function seatsIn(code: string, owners: readonly string[], { scripts, now }: Parts): Promise<z.output<typeof Seat>[]> {
  const args = { owners: owners.join(' '), now: now() };
  const [word, text = '', ...ids] = await scripts.run(readSeats, { room: roomKeys.room(code) }, args);
  if (word === 'none') return [];
  const { game, phase, players } = JSON.parse(text) as Omit<z.output<typeof Room>, 'state'>;
  return players
    .filter(({ id }) => ids.includes(id))
    .map(({ id, name, joinedAt }) => ({ code, ...(game === undefined ? {} : { game }), phase, playerId: id, name, joinedAt }));
}

/** Sets of codes that a page reads at a time. Most accounts have four, nearly all of them empty. */
const SETS_A_PAGE = 20;

/** Codes that a page reads of a set, about. */
const CODES_A_PAGE = 100;

/**
 * Some of the seats of an account and of the guests that moved into it. A seat may come twice.
 * @param owners the account, then its guests
 * @param cursor `0.0` at first: the place of a set, and the cursor in it. The answer's is undefined after the last page
 */
export async function seatsPage(
  [accountId, ...guests]: readonly [string, ...string[]],
  cursor: string,
  parts: Parts,
): Promise<{ seats: z.output<typeof Seat>[]; cursor: string | undefined }> {
  const weeks = weeksWithSeats(parts.now());
  const sets = [accountId, ...guests].flatMap((owner) => weeks.map((at) => ({ owner, seats: roomKeys.seats(owner, at) })));
  const [place, inSet] = cursor.split('.').map(Number) as [number, number];
  const looked = sets.slice(place, place + SETS_A_PAGE);
  const found = await Promise.all(
    looked.map(({ seats }, index) => parts.scripts.run(listSeats, { seats }, { cursor: index === 0 ? inSet : 0, count: CODES_A_PAGE })),
  );
  // The next page goes on in the first set with more codes, and reads the sets behind it again.
  const more = found.findIndex(([, next]) => next !== '0');
  const read = more === -1 ? found : found.slice(0, more + 1);
  const ownersOf = new Map<string, Set<string>>();
  for (const [index, [, , ...codes]] of read.entries())
    for (const code of codes) ownersOf.set(code, (ownersOf.get(code) ?? new Set([accountId])).add(looked[index]!.owner));
  const seats = await Promise.all([...ownersOf].map(([code, owners]) => seatsIn(code, [...owners], parts)));
  const nextPlace = place + SETS_A_PAGE;
  const behind = nextPlace < sets.length ? `${nextPlace}.0` : undefined;
  return { seats: seats.flat(), cursor: more === -1 ? behind : `${place + more}.${found[more]![1]}` };
}
