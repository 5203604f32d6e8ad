import { createHash } from 'node:crypto';

/** The texts of a board's entries, as `board.lua` makes them. */

/** Of base 64, in the order of their bytes: so texts of one length are in the order of their numbers. */
const DIGITS = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz';

const HIGHEST_PLACE = Number.MAX_SAFE_INTEGER;
const PLACE_LENGTH = 9;
const PLAYER_ID_LENGTH = 12;
const ACCOUNT_ID_LENGTH = 22;

/** The member of an entry in the sorted set: its place and the id of its player. */
export const MEMBER_LENGTH = PLACE_LENGTH + PLAYER_ID_LENGTH;

/** What `players` holds of an entry. */
export interface PlayerRecord {
  readonly accountId: string;
  readonly place: string;
}

/** Undefined for a text that no version of the service writes. */
export function parsePlayer(text: string): PlayerRecord | undefined {
  const [, accountId, place] = /^([\w-]{22})([\w-]{9})./su.exec(text) ?? [];
  return accountId === undefined ? undefined : { accountId, place: place! };
}

/** The place in the text of a player, also of one that cannot be read. */
export function placeIn(text: string): string {
  return text.slice(ACCOUNT_ID_LENGTH, ACCOUNT_ID_LENGTH + PLACE_LENGTH);
}

export function playerText(accountId: string, place: string, name: string): string {
  return accountId + place + name;
}

/** @param microseconds since 1970 */
export function placeText(microseconds: number, isAscending: boolean): string {
  let [rest, text] = [isAscending ? microseconds : HIGHEST_PLACE - microseconds, ''];
  for (let index = 0; index < PLACE_LENGTH; index++) {
    text = DIGITS[rest % 64]! + text;
    rest = Math.floor(rest / 64);
  }
  return text;
}

/**
 * When the score of a member arrived, in microseconds since 1970; NaN if it cannot be read. A board whose order changed has places of both
 * kinds: those of a descending board lie in the upper half, where no time lies before the year 2112.
 */
export function arrivalOf(member: string): number {
  let place = 0;
  for (let index = 0; index < PLACE_LENGTH; index++) {
    const digit = DIGITS.indexOf(member[index]!);
    place = digit === -1 ? NaN : place * 64 + digit;
  }
  return place > HIGHEST_PLACE / 2 ? HIGHEST_PLACE - place : place;
}

/**
 * What a member of the sorted set tells of its entry. An entry whose time cannot be read is shown with the year 1970, so that one damaged
 * entry does not hide the others.
 */
export function entryIn(member: string, name: string): { playerId: string; name: string; at: string } {
  if (member.length > MEMBER_LENGTH) return oldEntryIn(member);
  const at = new Date(Math.floor(arrivalOf(member) / 1000) || 0).toISOString();
  return { playerId: playerIdIn(member), name, at };
}

/** Of data of version 3, until it is upgraded: '<arrival 12><at 9><player id 12><name>'. */
function oldEntryIn(member: string): ReturnType<typeof entryIn> {
  const at = new Date(parseInt(member.slice(12, 21), 36) || 0).toISOString();
  return { playerId: member.slice(21, 33), name: member.slice(33), at };
}

export function playerIdIn(member: string): string {
  return member.slice(PLACE_LENGTH, MEMBER_LENGTH);
}

/** The id of an account's player on a board, of which and of the board's secret it is made. */
export function playerIdOf(secret: string, accountId: string): string {
  const hash = createHash('sha1')
    .update(secret + accountId)
    .digest('hex');
  let id = '';
  for (let at = 0; id.length < PLAYER_ID_LENGTH; at += 3) {
    const number = parseInt(hash.slice(at, at + 3), 16);
    id += DIGITS[number >> 6]! + DIGITS[number & 63]!;
  }
  return id;
}
