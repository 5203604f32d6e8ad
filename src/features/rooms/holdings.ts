import { z } from 'zod';
import type { Holding, HoldingServices } from '../../accounts/holdings.ts';
import type { Parts } from '../../redis/unreadable.ts';
import { isSetsCursor } from '../../redis/set-pages.ts';
import { isRoomCode, roomKeys, Seat, weeksWithSeats } from './model.ts';
import { codesEntered, leaveRooms, seatsIn, seatsPage } from './account-seats.ts';

/** An operator sees seats of the account in at most this many rooms. */
const MOST_ROOMS = 50;

/** An operator sees the seats of at most this many guests of the account. */
const MOST_GUESTS = 10;

/** The account's seats in rooms. For each week a set has the codes of the rooms in which the account took a seat. */
export const seatHolding = {
  name: 'seats',
  keys: [
    {
      name: /seats:\d+/,
      type: 'set',
      life: 'ends',
      // A room of the set may have expired, and the account may have left it.
      texts: { what: 'set of rooms', isRight: isRoomCode },
      namesAt: (now) => weeksWithSeats(now).map((week) => roomKeys.seats('', week).slice('{}:'.length)),
      // The guest's set stays with the guest, because the seats in the rooms still name the guest.
      whenMoved: 'stays',
      whenDeleted: 'goes_last',
    },
  ],
  erase: ({ accountId, owners }, services) => leaveRooms(accountId, owners, services),
  exported: {
    shape: { seats: z.array(Seat).optional().meta({ description: 'Seats in rooms. A seat may come twice.' }) },
    pages: {
      letter: 'r',
      firstPlace: '0.0',
      isPlace: isSetsCursor,
      async read({ owners }, place, services) {
        const { seats, cursor, reads } = await seatsPage(owners, place, services);
        return { lists: { seats }, next: cursor, reads };
      },
    },
  },
  shown: {
    shape: {
      rooms: z
        .array(Seat)
        .meta({ description: `Its seats in about ${MOST_ROOMS} rooms at most, the last that it entered within two weeks.` }),
    },
    show: async ({ owners }, services, parts) => ({ rooms: await seatsOf(owners, services, parts) }),
  },
} satisfies Holding;

/** Reads the seats of an account for an operator. @param owners the account id, then the ids of its guests */
async function seatsOf(owners: readonly string[], services: HoldingServices, parts: Parts): Promise<z.output<typeof Seat>[]> {
  const asked = owners.slice(0, MOST_GUESTS + 1);
  const entered = await parts.readEach(
    asked,
    (owner) => `rooms of ${owner}`,
    (owner) => codesEntered(owner, MOST_ROOMS, services),
  );
  const codes = [...new Set(entered.flat())].slice(0, MOST_ROOMS);
  const seats = await parts.readEach(
    codes,
    (code) => `room ${code}`,
    (code) => seatsIn(code, asked, services),
  );
  return seats.flat();
}
