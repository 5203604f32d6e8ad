import type { z } from 'zod';
import type { Config } from '../../config.ts';
import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import { pageOfSets } from '../../redis/set-pages.ts';
import { roomKeys, roomLibrary, ttlMsOf, weeksInPlace, weeksWithSeats, type Player, type Seat } from './model.ts';
import { fieldsOf } from './record.ts';

const listSeats = defineScript({
  file: new URL('list-seats.lua', import.meta.url),
  keys: ['seats'],
  args: ['cursor', 'count'],
  answers: ['codes'],
  readOnly: true,
});

/** Counts the rooms in which an account has taken a seat. Answers count(number). */
const countSeats = defineScript({
  name: 'rooms/count-seats',
  lua: `return {'count', string.format('%d', redis.call('SCARD', seats))}`,
  keys: ['seats'],
  args: [],
  answers: ['count'],
  readOnly: true,
});

const vacateSeats = defineScript({
  file: new URL('vacate-seats.lua', import.meta.url),
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

/** About as many codes as one call of `list-seats.lua` reads. */
const CODES_A_PAGE = 100;

/**
 * Frees the seats of a deleted account in all rooms that its sets name. The sets stay, so that the call may be repeated.
 * @param owners the account and, for a guest, the account that it moved into: the guest's seat may belong to that account now
 */
export async function leaveRooms(
  accountId: string,
  owners: readonly string[],
  { scripts, now, config }: SeatServices & { readonly config: Pick<Config, 'ROOM_TTL_SECONDS'> },
): Promise<void> {
  for (const at of weeksWithSeats(now())) {
    let cursor = '0';
    do {
      const [, next, ...codes] = await scripts.run(listSeats, { seats: roomKeys.seats(accountId, at) }, { cursor, count: CODES_A_PAGE });
      const args = { owners: owners.join(' '), ttlMs: ttlMsOf(config) };
      // One after the other: a full room takes half a millisecond of Redis, and a deletion does this for twenty guests at the same time.
      for (const code of codes) await scripts.run(vacateSeats, { room: roomKeys.room(code) }, args);
      cursor = next!;
    } while (cursor !== '0');
  }
}

/** Most rooms in which seats are renamed. An account that entered more rooms in two weeks keeps its old name in the others. */
const MOST_RENAMED = 200;

/** Changes the name on the seats of given accounts, in all rooms that their sets name. @returns the number of rooms */
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

/** About `most` codes of rooms in which an account took a seat in the last weeks. It may have left some of them. */
export async function codesEntered(accountId: string, most: number, { scripts, now }: SeatServices): Promise<string[]> {
  const codes = new Set<string>();
  for (const at of weeksWithSeats(now()).toReversed()) {
    let cursor = '0';
    do {
      const [, next, ...found] = await scripts.run(listSeats, { seats: roomKeys.seats(accountId, at) }, { cursor, count: CODES_A_PAGE });
      for (const code of found) codes.add(code);
      cursor = next!;
    } while (cursor !== '0' && codes.size < most);
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

/** The seats of given accounts in a room. None if the room does not exist. */
export async function seatsIn(code: string, owners: readonly string[], { scripts }: SeatServices): Promise<z.output<typeof Seat>[]> {
  const [, game = '', phase = '', ...words] = await scripts.run(readSeats, { room: roomKeys.room(code) }, { owners: owners.join(' ') });
  return [...fieldsOf(words)].map(([playerId, record]) => {
    const { name, joinedAt } = JSON.parse(`{${record}}`) as Pick<z.output<typeof Player>, 'name' | 'joinedAt'>;
    return { code, ...(game === '' ? {} : { game }), phase, playerId, name, joinedAt };
  });
}

/** A room of 64 players costs Redis twice as much as a board or a purchase. */
const READS_A_ROOM = 2;

/** Rooms that one call of `seatsPage` reads. */
const ROOMS_A_CALL = 5;

/**
 * Some of the seats of an account and of the guests that moved into it. A seat may come twice.
 * @param owners the account, then its guests
 * @param cursor of `pageOfSets`
 * @returns `reads`: the cost, in reads of one board or purchase
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
    size: async ({ seats }) => Number((await scripts.run(countSeats, { seats }, {}))[1]),
    async part({ seats }, scan, count) {
      const [, after, ...members] = await scripts.run(listSeats, { seats }, { cursor: scan, count });
      return { cursor: after!, members };
    },
  });
  // A guest's seat may belong to the account now.
  const ownersOf = new Map<string, Set<string>>();
  for (const [{ owner }, codes] of page.found)
    for (const code of codes) ownersOf.set(code, (ownersOf.get(code) ?? new Set([owners[0]])).add(owner));
  const found = await Promise.all([...ownersOf].map(([code, accountIds]) => seatsIn(code, [...accountIds], services)));
  return { seats: found.flat(), cursor: page.cursor, reads: page.reads + READS_A_ROOM * found.length };
}
