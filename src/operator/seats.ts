import { codesEntered } from '../features/rooms/model.ts';
import { readRoom } from './room-facts.ts';
import type { OperatorParts } from './operation.ts';

/** Rooms that are looked at for one account, and guests of it whose rooms are. */
export const MOST_ROOMS = 50;
const MOST_GUESTS = 10;

/** The rooms in which an account has a seat, or one of the guests that moved into it. @param owners the account, then its guests */
export async function roomsOf(owners: readonly string[], parts: Pick<OperatorParts, 'scripts' | 'now'>) {
  const asked = owners.slice(0, MOST_GUESTS + 1);
  const entered = await Promise.all(asked.map((owner) => codesEntered(owner, MOST_ROOMS, parts)));
  const codes = [...new Set(entered.flat())].slice(0, MOST_ROOMS);
  const found = await Promise.all(
    codes.map(async (code) => {
      const room = await readRoom(code, parts);
      const seat = room?.seats.find(({ accountId }) => asked.includes(accountId));
      if (room === undefined || seat === undefined) return [];
      return [{ code, game: room.room.game, phase: room.room.phase as string, playerId: seat.playerId }];
    }),
  );
  return found.flat();
}
