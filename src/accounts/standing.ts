import { banEndOf, type BanEnd } from './ban-end.ts';
import { defineLibrary } from '../redis/script.ts';
import { defineFormat, mark, optional, rest, someDigits, whole, word } from '../redis/text-format.ts';

/**
 * The formats of the parts of an account's standing in Redis. Most accounts have no record. The record of an account that moved has the
 * format `moved`. Any other record has the parts that the account needs, in this order: `tombstone`, `frozen`, `ban`, `generation`, and a
 * `guest` for each guest that moved in. The other parts begin with characters with which no account id begins.
 */
export const standingFormats = {
  moved: defineFormat('moved', '><target>', { target: rest }),
  /** The account was deleted. While the account is being erased, its old record follows. */
  tombstone: defineFormat('tombstone', '=<at>[\n<behind>]', { at: whole, behind: optional(rest) }),
  /** The account is a guest that moves into the account `target`. Nothing may write to the guest until the move is done or taken back. */
  frozen: defineFormat('frozen', '~<moveId> <target> <store> <day>\n<behind>', {
    moveId: word,
    target: word,
    store: word,
    day: word,
    behind: rest,
  }),
  /** The account is banned until `endsAt` (0: for ever), in milliseconds since 1970. The reason is base64url, or `-`. */
  ban: defineFormat('ban', '!<endsAt> <since> <reason>\n<behind>', { endsAt: whole, since: whole, reason: word, behind: rest }),
  /** How many times all sessions of the account were ended together. Sessions of earlier generations have ended. */
  generation: defineFormat('generation', '#<generation>\n<behind>', { generation: whole, behind: rest }),
  /**
   * A guest that moved in, and the seq of the last entry of its ledger. `=`: the ledger is filed with the account's ledger. `*2`: the
   * ledger is not filed with the account's ledger, and the guest is the second that moved in.
   */
  guest: defineFormat('guest', '<id> <lastSeq><mark><number>\n', { id: word, lastSeq: whole, mark, number: someDigits }),
};

/** Lua functions for every script that reads whether an account is open, moved, banned or deleted. */
export const standingLibrary = defineLibrary(new URL('standing.lua', import.meta.url), { formats: Object.values(standingFormats) });

/** Lua functions for every script that moves, bans or deletes an account, or ends its sessions. */
export const standingChanges = defineLibrary(new URL('standing-changes.lua', import.meta.url), { formats: Object.values(standingFormats) });

/** The standing of an account, as `parseStanding` reads it. Only this file and its two Lua libraries know the format in Redis. */
export interface Standing {
  /**
   * The account was deleted. `isClosed`: all its data is erased. While `isClosed` is false, the data is being erased, and the record still
   * has the account's guests.
   */
  readonly deleted: { readonly at: number; readonly isClosed: boolean } | undefined;
  /** The account is banned, or was banned until the ban ended (`banAt`). */
  readonly ban: Ban | undefined;
  /** The account that this account moved into. An account that moved has no guests. */
  readonly target: string | undefined;
  /** The move that this account has begun as a guest, and that is not done yet. */
  readonly moving: { readonly moveId: string; readonly target: string } | undefined;
  /** How many times all sessions of the account were ended together. */
  readonly generation: number;
  readonly guests: readonly MovedGuest[];
  /** Number of lines in the record whose format no version of the service writes. */
  readonly unreadable: number;
}

/** A ban of an account. Times are milliseconds since 1970. */
export interface Ban extends BanEnd {
  readonly since: number;
  readonly reason: string;
}

export interface MovedGuest {
  readonly id: string;
  /** The place in the order of moves: 1 for the first guest that moved in. */
  readonly number: number;
  /** The seq of the last entry of the guest's ledger, 0 without a ledger. */
  readonly lastSeq: number;
  /** Whether the guest's ledger is filed with the account's ledger. */
  readonly isFiled: boolean;
}

/** @param record the text in Redis; null: the account has no record */
export function parseStanding(record: string | null): Standing {
  const nothing = { deleted: undefined, ban: undefined, target: undefined, moving: undefined, generation: 0, guests: [], unreadable: 0 };
  let behind = record ?? '';
  const { moved, tombstone, frozen, ban, generation } = standingFormats;
  /** Parses a part at the beginning of `behind`, and shortens `behind` to the text after the part. */
  const take = <Part extends { readonly behind: string | undefined }>(format: { parse: (text: string) => Part | undefined }) => {
    const part = format.parse(behind);
    if (part !== undefined) behind = part.behind ?? '';
    return part;
  };
  const erased = take(tombstone);
  const deleted = erased && { at: erased.at, isClosed: erased.behind === undefined };
  const target = moved.parse(behind)?.target;
  if (deleted?.isClosed === true || target !== undefined)
    return { ...nothing, deleted, target: deleted === undefined ? target : undefined };
  const move = take(frozen);
  const moving = move && deleted === undefined ? { moveId: move.moveId, target: move.target } : undefined;
  const banned = take(ban);
  const found = banned && { ...banEndOf(String(banned.endsAt)), since: banned.since, reason: reasonOf(banned.reason) };
  const ended = take(generation)?.generation ?? 0;
  return { deleted, ban: found, target: undefined, moving, generation: ended, ...parseGuests(behind) };
}

/** @param movedIn the lines of the guests, as a script answers them */
export function parseGuests(movedIn: string): Pick<Standing, 'guests' | 'unreadable'> {
  const lines = movedIn.split('\n');
  const last = lines.pop();
  const guests = lines.flatMap((line, index) => {
    const guest = standingFormats.guest.parse(`${line}\n`);
    if (guest === undefined || (guest.mark === '=') !== (guest.number === '')) return [];
    return [{ id: guest.id, number: index + 1, lastSeq: guest.lastSeq, isFiled: guest.mark === '=' }];
  });
  return { guests, unreadable: lines.length - guests.length + (last === '' ? 0 : 1) };
}

function reasonOf(text: string): string {
  return text === '-' ? '' : Buffer.from(text, 'base64url').toString();
}

/** The ban that applies at the time `now`. The record keeps an ended ban until a later ban replaces it. */
export function banAt({ ban }: Pick<Standing, 'ban'>, now: number): Ban | undefined {
  return ban === undefined || (ban.until !== undefined && ban.until <= now) ? undefined : ban;
}

/** Whether the guest moved into the account, or is moving: the account may have accepted the guest already. */
export function leadsTo({ target, moving }: Standing, accountId: string): boolean {
  return (target ?? moving?.target) === accountId;
}
