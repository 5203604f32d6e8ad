import { banEndOf, type BanEnd } from './ban-end.ts';
import { defineLibrary } from '../redis/script.ts';

/** Lua functions for every script that reads an account's standing. Its comments describe the format of the record. */
export const standingLibrary = defineLibrary(new URL('standing.lua', import.meta.url));

/** Lua functions for every script that changes it. */
export const standingChanges = defineLibrary(new URL('standing-changes.lua', import.meta.url));

/** The standing of an account. Only this file and the two libraries know how Redis keeps it. */
export interface Standing {
  /** The account was deleted. `isClosed`: all its data is erased. Otherwise it is being erased, and the record still has its guests. */
  readonly deleted: { readonly at: number; readonly isClosed: boolean } | undefined;
  /** The account is banned, or was until `until`. */
  readonly ban: Ban | undefined;
  /** The account that this one moved into. It then has no guests. */
  readonly target: string | undefined;
  /** The move of a guest that is frozen. */
  readonly moving: { readonly moveId: string; readonly target: string } | undefined;
  /** How often all sessions were ended together. */
  readonly generation: number;
  readonly guests: readonly MovedGuest[];
  /** Lines that no version of the service writes. */
  readonly unreadable: number;
}

/** Times are milliseconds since 1970. */
export interface Ban extends BanEnd {
  readonly since: number;
  readonly reason: string;
}

export interface MovedGuest {
  readonly id: string;
  /** 1 for the first guest that moved in. */
  readonly number: number;
  /** The seq of the last entry of its ledger, 0 without a ledger. */
  readonly lastSeq: number;
  /** The guest's ledger is filed with the account's ledger. */
  readonly isFiled: boolean;
}

const LINE = /^(\S+) (\d+)(=|\*\d+)$/;

const MOVING = /^~(\S+) (\S+) \S+ \S+\n/;

const DELETED = /^=(\d+)(\n|$)/;

const BAN = /^!(\d+) (\d+) (\S+)\n/;

const GENERATION = /^#(\d+)\n/;

/** @param record the record in Redis; null: the account has none */
export function parseStanding(record: string | null): Standing {
  const text = record ?? '';
  const nothing = { deleted: undefined, ban: undefined, target: undefined, moving: undefined, generation: 0, guests: [], unreadable: 0 };
  const [tombstone = '', deletedAt, end] = DELETED.exec(text) ?? [];
  const deleted = deletedAt === undefined ? undefined : { at: Number(deletedAt), isClosed: end === '' };
  if (deleted?.isClosed === true) return { ...nothing, deleted };
  const behind = text.slice(tombstone.length);
  if (behind.startsWith('>')) return { ...nothing, deleted, target: deleted === undefined ? behind.slice(1) : undefined };
  const [move = '', moveId, target] = MOVING.exec(behind) ?? [];
  const moving = moveId === undefined || deleted !== undefined ? undefined : { moveId, target: target! };
  const unfrozen = behind.slice(move.length);
  const [banned = '', until, since, reason] = BAN.exec(unfrozen) ?? [];
  const ban = until === undefined ? undefined : { ...banEndOf(until), since: Number(since), reason: reasonOf(reason!) };
  const unbanned = unfrozen.slice(banned.length);
  const [ended = '', generation = '0'] = GENERATION.exec(unbanned) ?? [];
  const found = parseGuests(unbanned.slice(ended.length));
  return { deleted, ban, target: undefined, moving, generation: Number(generation), ...found };
}

/** @param movedIn the lines of the guests, from the answer of a script */
export function parseGuests(movedIn: string): Pick<Standing, 'guests' | 'unreadable'> {
  const lines = movedIn.split('\n');
  const last = lines.pop();
  const guests = lines.flatMap((line, index) => {
    const [, id, lastSeq, mark] = LINE.exec(line) ?? [];
    return id === undefined ? [] : [{ id, number: index + 1, lastSeq: Number(lastSeq), isFiled: mark === '=' }];
  });
  return { guests, unreadable: lines.length - guests.length + (last === '' ? 0 : 1) };
}

function reasonOf(text: string): string {
  return text === '-' ? '' : Buffer.from(text, 'base64url').toString();
}

/** The current ban. The record keeps an ended ban until the next one replaces it. */
export function banAt({ ban }: Pick<Standing, 'ban'>, now: number): Ban | undefined {
  return ban === undefined || (ban.until !== undefined && ban.until <= now) ? undefined : ban;
}

/** Whether the guest moved into the account, or is about to: the account may have accepted it. */
export function leadsTo({ target, moving }: Standing, accountId: string): boolean {
  return (target ?? moving?.target) === accountId;
}
