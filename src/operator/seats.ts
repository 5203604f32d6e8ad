import { codesEntered, seatsIn } from '../features/rooms/model.ts';
import type { OperatorParts } from './operation.ts';

/** Rooms that are looked at for one account, and guests of it whose rooms are. */
export const MOST_ROOMS = 50;
const MOST_GUESTS = 10;

/** The seats of an account and of the guests that moved into it. @param owners the account, then its guests */
export async function seatsOf(owners: readonly string[], parts: Pick<OperatorParts, 'scripts' | 'now'>) {
  const asked = owners.slice(0, MOST_GUESTS + 1);
  const entered = await Promise.all(asked.map((owner) => codesEntered(owner, MOST_ROOMS, parts)));
  const codes = [...new Set(entered.flat())].slice(0, MOST_ROOMS);
  const seats = await Promise.all(codes.map((code) => seatsIn(code, asked, parts)));
  return seats.flat();
}
