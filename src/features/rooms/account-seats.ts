import type { z } from 'zod';
import type { Config } from '../../config.ts';
import { partsOf, read, readPart } from '../../redis/reads.ts';
import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import { pageOfSets } from '../../redis/set-pages.ts';
import { roomKeys, roomLibrary, ttlMsOf, weeksInPlace, weeksWithSeats, type Player, type Seat } from './model.ts';
import { fieldsOf } from './record.ts';

const vacateSeats = defineScript({
  file: new URL('free-deleted-seats.lua', import.meta.url),
  keys: ['room'],
  args: ['owners', 'ttlMs'],
  answers: ['vacated', 'none'],
  library: roomLibrary,
});

const renameSeatsIn = defineScript({
  file: new URL('rename-seats.lua', import.meta.url),
  keys: ['room'],
  args: ['owners', 'name', 'ttlMs'],
  answers: ['renamed', 'none'],
  library: roomLibrary,
});

interface SeatServices {
  readonly scripts: ScriptRunner;
  readonly now: () => number;
}

/** About the number of room codes that one script reads. */
const CODES_A_PAGE = 100;

/**
 * Frees the seats of a deleted account in all rooms that the account's sets of seats name. The sets stay, so that the call may be repeated.
 * @param owners the account and, for a guest, also the account that the guest moved into: the guest's seat may name that account now
 */
export async function leaveRooms(
  accountId: string,
  owners: readonly string[],
  { scripts, now, config }: SeatServices & { readonly config: Pick<Config, 'ROOM_TTL_SECONDS'> },
): Promise<void> {
  for (const at of weeksWithSeats(now())) {
    for await (const { words: codes } of partsOf(scripts, roomKeys.seats(accountId, at), CODES_A_PAGE)) {
      const args = { owners: owners.join(' '), ttlMs: ttlMsOf(config) };
      // The rooms are changed one after the other, because a full room takes Redis half a millisecond, and a deletion frees the seats of
      // twenty guests at the same time.
      for (const code of codes) await scripts.run(vacateSeats, { room: roomKeys.room(code) }, args);
    }
  }
}

/**
 * An account's seats are renamed in at most this many rooms. If the account entered more rooms in two weeks, it keeps its old name in the
 * other rooms.
 */
const MOST_RENAMED = 200;

/**
 * Changes the player's name on the seats of some accounts, in up to MOST_RENAMED rooms of each account's sets of seats.
 * @param owners the ids of the accounts: an account and its guests
 * @returns the number of rooms with a new name
 */
export async function renameSeats(
  owners: readonly string[],
  name: string,
  services: SeatServices & { readonly config: Pick<Config, 'ROOM_TTL_SECONDS'> },
): Promise<number> {
  const { scripts, config } = services;
  const args = { owners: owners.join(' '), name: JSON.stringify(name), ttlMs: ttlMsOf(config) };
  let renamed = 0;
  for (const owner of owners)
    for (const code of await codesEntered(owner, MOST_RENAMED, services)) {
      const [word] = await scripts.run(renameSeatsIn, { room: roomKeys.room(code) }, args);
      if (word === 'renamed') renamed++;
    }
  return renamed;
}

/** The codes of up to `most` rooms in which an account took a seat in the last weeks. The account may have left some of these rooms. */
export async function codesEntered(accountId: string, most: number, { scripts, now }: SeatServices): Promise<string[]> {
  const codes = new Set<string>();
  for (const at of weeksWithSeats(now()).toReversed()) {
    for await (const { words } of partsOf(scripts, roomKeys.seats(accountId, at), CODES_A_PAGE)) {
      for (const code of words) codes.add(code);
      if (codes.size >= most) break;
    }
  }
  return [...codes].slice(0, most);
}

const readSeats = defineScript({
  file: new URL('read-seats.lua', import.meta.url),
  keys: ['room'],
  args: ['owners'],
  answers: ['seats', 'none'],
  library: roomLibrary,
  readOnly: true,
});

/** The seats of some accounts in a room. If the room does not exist, there are none. @param owners the ids of the accounts */
export async function seatsIn(code: string, owners: readonly string[], { scripts }: SeatServices): Promise<z.output<typeof Seat>[]> {
  const [, game = '', phase = '', ...words] = await scripts.run(readSeats, { room: roomKeys.room(code) }, { owners: owners.join(' ') });
  return [...fieldsOf(words)].map(([playerId, record]) => {
    const { name, joinedAt } = JSON.parse(`{${record}}`) as Pick<z.output<typeof Player>, 'name' | 'joinedAt'>;
    return { code, ...(game === '' ? {} : { game }), phase, playerId, name, joinedAt };
  });
}

/**
 * The read of a room counts as this many reads of an export, because a room of 64 players costs Redis twice as much as a board or a
 * purchase.
 */
const READS_A_ROOM = 2;

/** The number of rooms that one call of `seatsPage` reads. */
const ROOMS_A_CALL = 5;

/**
 * Reads some of the seats of an account and of the guests that moved into the account. Two pages may have the same seat.
 * @param owners the account, then its guests
 * @param cursor of the page, from the answer for the page before; `0.0` for the first page (`pageOfSets`)
 * @returns `reads`: the cost of the call, as a number of reads of one board or purchase
 */
export async function seatsPage(
  owners: readonly [accountId: string, ...guests: string[]],
  cursor: string,
  services: SeatServices,
): Promise<{ seats: z.output<typeof Seat>[]; cursor: string | undefined; reads: number }> {
  const { scripts, now } = services;
  const weeks = weeksInPlace(now());
  const sets = {
    length: owners.length * weeks.length,
    at: (place: number) => {
      const owner = owners[Math.floor(place / weeks.length)]!;
      return { owner, seats: roomKeys.seats(owner, weeks[place % weeks.length]!) };
    },
  };
  const page = await pageOfSets(sets, cursor, ROOMS_A_CALL, {
    size: async ({ seats }) => Number((await read(scripts, 'SCARD', seats))[0]),
    async part({ seats }, scan, count) {
      const { cursor: after, words } = await readPart(scripts, seats, scan, count);
      return { cursor: after, members: words };
    },
  });
  // If a guest took a seat in the room, the room is searched for seats of the guest and of the account, because the guest's seat may name
  // the account now.
  const ownersOf = new Map<string, Set<string>>();
  for (const [{ owner }, codes] of page.found)
    for (const code of codes) ownersOf.set(code, (ownersOf.get(code) ?? new Set([owners[0]])).add(owner));
  const found = await Promise.all([...ownersOf].map(([code, accountIds]) => seatsIn(code, [...accountIds], services)));
  return { seats: found.flat(), cursor: page.cursor, reads: page.reads + READS_A_ROOM * found.length };
}
