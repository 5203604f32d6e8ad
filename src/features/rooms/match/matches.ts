import { checkCaller } from '../../../accounts/account.ts';
import { randomInt } from 'node:crypto';
import type { Logger } from 'pino';
import type { z } from 'zod';
import { opensAccount } from '../../../accounts/prologues.ts';
import { refuse } from '../../../errors.ts';
import { defineScript } from '../../../redis/script.ts';
import { redisFailure } from '../../../redis/script-runner.ts';
import type { Metrics } from '../../../server/metrics.ts';
import type { Caller } from '../../../server/identity/caller.ts';
import { askedKey, listEntry, listLibrary, writtenKeyNames, writtenKeys } from '../list/list-model.ts';
import type { ListWriter } from '../list/list-writer.ts';
import { newRoomFields, type NewRoomServices, type NewRoomSettings } from '../new-room.ts';
import { CODE_COUNT, codeOf, roomKeys, roomLibraries, SEATS_KEPT_SECONDS, type Tags, tagsText, ttlMsOf, type OwnSeat } from '../model.ts';
import { fieldLines, fieldsOf, newPlayer, privatePart, type RoomFields } from '../record.ts';

const reserveScript = defineScript({
  file: new URL('reserve.lua', import.meta.url),
  keys: [...writtenKeyNames, 'asked'],
  args: ['game', 'accountId', 'tags', 'maxPlayers', 'newMaxPlayers', 'newCode', 'avoided', 'isNew'],
  answers: ['reserved', 'asked'],
  library: listLibrary,
});

const endReservationsScript = defineScript({
  file: new URL('end-reservations.lua', import.meta.url),
  keys: writtenKeyNames,
  args: ['entry', 'accounts', 'line', 'outcome'],
  answers: ['done'],
  library: listLibrary,
});

const takeSeatScript = defineScript({
  file: new URL('take-seat.lua', import.meta.url),
  keys: ['room', 'seats'],
  args: ['code', 'accountId', 'createdAt', 'may', 'fields', 'name', 'nowText', 'ttlMs'],
  shared: ['seatsKeptSeconds'],
  answers: [
    'created',
    'joined',
    'seated',
    'room_not_found',
    'other',
    'not_in_room',
    'kicked',
    'room_ended',
    'room_started',
    'room_locked',
    'room_full',
  ],
  prologue: opensAccount,
  slotOf: 'room',
  lists: { index: 'seats', member: 'code', keptSeconds: SEATS_KEPT_SECONDS },
  library: roomLibraries,
  durable: true,
});

/** The most rooms that a match tries. */
const MOST_TRIES = 6;

/** A match tries existing rooms at most this many times. Each further try is in a new room. */
const TRIES_IN_ROOMS = 4;

/** The number of seats of a new room if the caller asks for any number. */
const DEFAULT_MAX_PLAYERS = 8;

/** The `seatGraceSeconds` of a room that a match made, until the room starts or a player sets another value. */
const GRACE_SECONDS = 10;

/** What a player asks for in a quick match. */
export interface Wanted extends Omit<NewRoomSettings, 'public' | 'maxPlayers'> {
  readonly game: string;
  readonly name: string | undefined;
  /** The number of seats. If undefined, any number is fine, and a new room gets DEFAULT_MAX_PLAYERS or `minPlayers` seats. */
  readonly maxPlayers: number | undefined;
}

export interface Matched {
  readonly fields: RoomFields;
  readonly you: OwnSeat;
  readonly created: boolean;
}

export interface MatchesOptions extends NewRoomServices {
  readonly listWriter: ListWriter;
  readonly log: Logger;
  readonly metrics: Pick<Metrics, 'countBy'>;
}

/**
 * A reserved seat of a room that does not exist yet, by the list. The room has to be created with the number of seats and the tags of the
 * reservation. The settings of the present call do not count, because they may differ. The caller may have reserved the seat in an earlier
 * call, and other callers may have reserved seats of the same room.
 */
interface ReservedNew {
  readonly entry: string;
  readonly may: 'create';
  readonly maxPlayers: number;
  readonly tags: z.output<typeof Tags>;
}

/**
 * A reserved seat, and what the caller may do in the room. `see`: only read the seat. The caller's earlier reservation has ended, so the
 * caller already has or had a seat in the room.
 */
type Reserved = ReservedNew | { readonly entry: string; readonly may: 'join' | 'see' };

/** The outcome of one try: the caller has a seat, or the room refused the caller. */
type Outcome = { readonly matched: Matched } | { readonly refused: true };

/** A room that refused the caller. */
interface Refused {
  readonly entry: string;
  /** The `seq` of a room that is not open any more. With this seq the service writes into the list that the room is closed. */
  readonly closedAt?: string;
  /** `true` if the room does not exist. */
  readonly isGone?: boolean;
}

/**
 * Finds seats for players who ask for a match.
 *
 * The list of a game and its rooms are in different slots, so a match takes three steps. `reserve.lua` reserves a seat in the list: in the
 * oldest room that fits, or in a new room under a random code. `take-seat.lua` takes the seat in the room's slot, and creates the room if
 * it does not exist. So no caller waits for another caller's process: if the process that reserved the first seat of a new room dies, the
 * next caller creates the room. `end-reservations.lua` ends the reservation and writes the room's new summary into the list. If this step
 * fails, the reservation lapses after 5 s. Only `take-seat.lua` gives or refuses a seat. If it refuses because the list was out of date,
 * the next try is in another room.
 */
export class Matches {
  readonly #options: MatchesOptions;
  readonly #counts = { created: 0, joined: 0, seated: 0, retried: 0, failed: 0 };

  constructor(options: MatchesOptions) {
    this.#options = options;
    options.metrics.countBy({
      name: 'coinop_room_matches_total',
      help: 'Quick matches: created (the caller created a room), joined (took a seat in a room), seated (asked again, and has the seat already), failed. Also retried: tries in which a room refused the caller.',
      label: 'outcome',
      counts: () => Object.entries(this.#counts),
    });
  }

  /** Finds a seat for the caller. @throws Refusal for a caller who may not act; `overloaded` if all tries failed */
  async match(caller: Caller, wanted: Wanted): Promise<Matched> {
    const avoided: string[] = [];
    try {
      // The caller is checked before the first step, because a caller who may not act must not reserve a seat. `reserve.lua` cannot check
      // the caller: the account is in another slot than the list.
      await this.#options.scripts.runAs(caller, checkCaller, {}, {});
      for (let tries = 0; tries < MOST_TRIES; tries++) {
        const reserved = await this.#reserve(caller, wanted, avoided, tries >= TRIES_IN_ROOMS);
        const outcome = await this.#seat(caller, wanted, reserved, tries + 1 < MOST_TRIES);
        if ('matched' in outcome) return outcome.matched;
        avoided.push(reserved.entry);
        this.#counts.retried++;
      }
      throw refuse('overloaded', { retryAfterMs: 1000 });
    } catch (error) {
      this.#counts.failed++;
      throw error;
    }
  }

  async #reserve({ accountId }: Caller, wanted: Wanted, avoided: readonly string[], isNew: boolean): Promise<Reserved> {
    const { game, tags, maxPlayers } = wanted;
    const [word, entry = '', newSeats, newTags = ''] = await this.#options.scripts.run(
      reserveScript,
      { ...writtenKeys(game), asked: askedKey(game, accountId) },
      {
        game,
        accountId,
        tags: tagsText(tags),
        maxPlayers: maxPlayers ?? '',
        newMaxPlayers: maxPlayers ?? Math.max(DEFAULT_MAX_PLAYERS, wanted.minPlayers),
        newCode: codeOf(randomInt(CODE_COUNT)),
        avoided: avoided.join(' '),
        isNew: isNew ? '1' : '',
      },
    );
    if (word === 'asked') return { entry, may: 'see' };
    if (newSeats === '') return { entry, may: 'join' };
    return { entry, may: 'create', maxPlayers: Number(newSeats), tags: JSON.parse(newTags) as z.output<typeof Tags> };
  }

  /** Takes the reserved seat. @param hasTries whether further tries are left, in other rooms, if the primary of this room is down */
  async #seat(caller: Caller, wanted: Wanted, reserved: Reserved, hasTries: boolean): Promise<Outcome> {
    const { scripts, config, now } = this.#options;
    const { entry, may } = reserved;
    const { code, createdAt } = listEntry.parse(entry)!;
    const { accountId } = caller;
    const nowText = new Date(now()).toISOString();
    const keys = { room: roomKeys.room(code), seats: roomKeys.seats(accountId, now()) };
    const args = {
      ...{ code, accountId, createdAt, may, nowText, ttlMs: ttlMsOf(config), seatsKeptSeconds: SEATS_KEPT_SECONDS },
      name: wanted.name === undefined ? '' : JSON.stringify(wanted.name),
      fields: reserved.may === 'create' ? this.#fieldsOf(wanted, reserved, nowText) : '',
    };
    if (may === 'create') this.#options.roomIndex.add(code, wanted.game);
    try {
      const [word, ...words] = await scripts.runAs(caller, takeSeatScript, keys, args);
      switch (word) {
        case 'created':
        case 'joined':
        case 'seated':
          return { matched: this.#matched({ game: wanted.game, accountId, entry, may }, word, words) };
        case 'room_not_found':
        case 'other':
          return this.#refused(wanted.game, accountId, { entry, isGone: true });
        case 'kicked':
        case 'not_in_room':
          return this.#refused(wanted.game, accountId, { entry });
        default:
          return this.#refused(wanted.game, accountId, { entry, closedAt: words[0]! });
      }
    } catch (error) {
      const outcome = redisFailure(error);
      // It is not known whether the script has taken the seat, so the reservation is not ended here. It lapses by itself.
      if (outcome === 'unknown') throw error;
      const refused = this.#refused(wanted.game, accountId, { entry });
      if (outcome === 'not_applied' && hasTries) return refused;
      throw error;
    }
  }

  #matched(
    { game, accountId, entry, may }: { game: string; accountId: string; entry: string; may: Reserved['may'] },
    word: 'created' | 'joined' | 'seated',
    [fact, ...words]: readonly string[],
  ): Matched {
    const [, playerId, isHost, own, ...rest] = words;
    const fields = fieldsOf(rest);
    this.#counts[word]++;
    // `seated`: the caller already had the seat, from a call of a process that died or from another tab. In the case `seated` only the
    // caller's own reservation ends. After `created` and `joined` the reservations of all accounts with seats in the room end (`fact`).
    const accounts = word === 'seated' ? accountId : fact!;
    if (may === 'see') this.#options.listWriter.touched(fields);
    else this.#settle(game, { entry, accounts, line: this.#options.listWriter.matched(fields), outcome: '' });
    return {
      fields,
      you: { playerId: playerId!, host: isHost === '1', private: privatePart.parse(own!) },
      created: word === 'created' || (word === 'seated' && fact === '1'),
    };
  }

  #refused(game: string, accountId: string, { entry, closedAt, isGone }: Refused): Outcome {
    const line = closedAt === undefined ? '' : `${entry} ${closedAt} 0 \n`;
    this.#settle(game, { entry, accounts: accountId, line, outcome: isGone === true ? 'gone' : '' });
    return { refused: true };
  }

  /**
   * Runs `end-reservations.lua`. The client gets its answer before this script has run. If it fails, the reservation lapses, and the next
   * write or renewal of the room corrects the list.
   */
  #settle(game: string, args: { entry: string; accounts: string; line: string; outcome: '' | 'gone' }): void {
    const { scripts, log } = this.#options;
    scripts.run(endReservationsScript, writtenKeys(game), args).catch((error: unknown) => {
      log.debug({ reason: (error as Error).message }, 'could not settle a match');
    });
  }

  /** The fields of a new room as lines, for `take-seat.lua`. */
  #fieldsOf(wanted: Wanted, { entry, maxPlayers, tags }: ReservedNew, joinedAt: string): string {
    const { name, seatGraceSeconds = GRACE_SECONDS } = wanted;
    const { code, createdAt } = listEntry.parse(entry)!;
    const minPlayers = Math.min(wanted.minPlayers, maxPlayers);
    const of = { code, host: newPlayer(name ?? 'Player 1', joinedAt), at: createdAt, ttlMs: ttlMsOf(this.#options.config) };
    const fields = newRoomFields(of, { ...wanted, tags, minPlayers, maxPlayers, public: true, seatGraceSeconds }).set('byMatch', '1');
    return fieldLines(wanted.seatGraceSeconds === undefined ? fields.set('graceOfMatch', '1') : fields);
  }
}
