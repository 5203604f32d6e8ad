import { createHash } from 'node:crypto';
import { base64url, defineFormat, filled, visible } from '../../redis/text-format.ts';

/** The formats of the texts in which Redis keeps a board's entries. `board.lua` describes the keys. */

/** The 64 characters that are the digits of player ids. */
const DIGITS = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz';

const PLAYER_ID_LENGTH = 10;

/** The number of characters of a place. Entries with equal scores are ordered by their places (`placeText`). */
export const PLACE_LENGTH = 7;

/** A member of the sorted set of a board's scores. */
export const boardMember = defineFormat('member', '<place><playerId><name>', {
  /** The text by which equal scores are ordered, made from the time at which the score arrived (`placeText`). */
  place: visible(PLACE_LENGTH),
  playerId: base64url(PLAYER_ID_LENGTH),
  name: filled,
});

/** A value of the hash `players` of a board. The field is the player's id. */
export const playerEntry = defineFormat('player', '<accountId><place><name>', {
  accountId: base64url(22),
  place: visible(PLACE_LENGTH),
  name: filled,
});

/**
 * The first digit of a place and the base of its number. The digits are the 94 visible characters of ASCII, so that the bytes of places
 * sort in the order of their numbers.
 */
const [FIRST_DIGIT, PLACE_BASE] = ['!'.charCodeAt(0), 94];
const HIGHEST_PLACE = PLACE_BASE ** PLACE_LENGTH - 1;

export const PLAYER_ID = /^[\w-]{10}$/;

/** The number of characters of a member's head. The head is the member without the name: the place and the player id. */
export const HEAD_LENGTH = boardMember.placeOf('playerId')[1]!;
export const HEAD_PATTERN = '[!-~]{7}[\\w-]{10}';

/**
 * The member of a player in the sorted set of scores.
 * @param text the player's value in the hash `players`, which may be damaged
 */
export function memberOf(playerId: string, text: string): string {
  return text.slice(...playerEntry.placeOf('place')) + playerId + text.slice(...playerEntry.placeOf('name'));
}

/** The field of the hash `players` that has the score of a player's entry while the entry is hidden. */
export function hiddenField(playerId: string): string {
  return `!${playerId}`;
}

/** The player id in a field of the hash `players` that `hiddenField` made. Undefined for the field of an entry. */
export function hiddenPlayerIn(field: string): string | undefined {
  return field.startsWith('!') ? field.slice(1) : undefined;
}

/** The place of an entry. @param arrival when the score arrived, in tenths of a millisecond since 1970 */
export function placeText(arrival: number, isAscending: boolean): string {
  let [rest, text] = [isAscending ? arrival : HIGHEST_PLACE - arrival, ''];
  for (let index = 0; index < PLACE_LENGTH; index++) {
    text = String.fromCharCode(FIRST_DIGIT + (rest % PLACE_BASE)) + text;
    rest = Math.floor(rest / PLACE_BASE);
  }
  return text;
}

/**
 * The time at which the score of a member arrived, in tenths of a millisecond since 1970. A board whose order was changed has places for
 * both orders. A place for the descending order is in the upper half of the range, and a place for the ascending order is in the lower half
 * until the year 2072, so the place itself shows for which order it was made.
 */
export function arrivalOf(member: string): number {
  let place = 0;
  for (let index = 0; index < PLACE_LENGTH; index++) {
    place = place * PLACE_BASE + member.charCodeAt(index) - FIRST_DIGIT;
  }
  return place > HIGHEST_PLACE / 2 ? HIGHEST_PLACE - place : place;
}

/**
 * Parses a member of the sorted set of scores. A damaged time is read as 1970 and is no error, so that a list with a damaged entry can
 * still be read.
 */
export function entryIn(member: string): { playerId: string; name: string; at: string } {
  if (OLD_MEMBER.test(member)) return oldEntryIn(member);
  const at = new Date(Math.max(0, Math.floor(arrivalOf(member) / 10))).toISOString();
  return { playerId: member.slice(PLACE_LENGTH, HEAD_LENGTH), name: member.slice(HEAD_LENGTH), at };
}

/**
 * Matches a member in the layout of version 3 of the data, '<arrival 12><at 9><player id 12><name>'. Such members exist until the upgrade.
 * The arrival is a number that counts up from 1, or down from 999999999999. Fewer than one member in 10^11 of the present layout matches.
 */
const OLD_MEMBER = /^(?:0000|9999)\d{8}/;

function oldEntryIn(member: string): ReturnType<typeof entryIn> {
  const at = new Date(parseInt(member.slice(12, 21), 36) || 0).toISOString();
  return { playerId: member.slice(21, 33), name: member.slice(33), at };
}

/** The player id of an account on a board, made from the account's id and the board's secret. */
export function playerIdOf(secret: string, accountId: string): string {
  const hash = createHash('sha1')
    .update(secret + accountId)
    .digest();
  return digitsOf(hash.readUInt32BE(0)) + digitsOf(hash.readUInt32BE(4));
}

/** Writes the lowest 30 bits of a number as five digits of a player id, the lowest digit first. */
function digitsOf(number: number): string {
  return Array.from({ length: PLAYER_ID_LENGTH / 2 }, (_, index) => DIGITS[Math.floor(number / 64 ** index) % 64]!).join('');
}
