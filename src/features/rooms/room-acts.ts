import { checksCaller, opensAccount } from '../../accounts/prologues.ts';
import { settled } from '../../accounts/standing-reader.ts';
import { invalid, rateLimited, refuse } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import { LruCache } from '../../server/lru-cache.ts';
import { KeyedMutex } from '../../server/keyed-mutex.ts';
import { callerFrom, type Caller } from '../../server/identity/caller.ts';
import type { Presence } from './presence.ts';
import type { ServerKey } from '../../server/identity/server-keys.ts';
import { actionOf, checkAct, type ActBody, type ActionName } from './actions.ts';
import { openRoom, settingsOf, type NewRoomServices } from './new-room.ts';
import { mergeTexts } from './merge.ts';
import { isRoomCode, roomKeys, roomLibraries, SEATS_KEPT_SECONDS, STATE_LIMIT_BYTES, tagsText, ttlMsOf, type OwnSeat } from './model.ts';
import { fieldsOf, privatePart, seatedIn, type RoomFields } from './record.ts';
import { budgetOf, type SeatBudgets } from './seat-budgets.ts';

/** The error codes with which each of the scripts of acts may refuse. */
const refusals = ['room_not_found', 'forbidden', 'not_in_room', 'not_host', 'room_ended'] as const;

/** Further error codes of `room-action.lua`. */
const lobbyRefusals = ['kicked', 'room_started', 'room_locked', 'room_full', 'not_enough_players'] as const;

/** The error codes that acts may get, except for the codes that any request may get. */
export const actCodes = [...refusals, ...lobbyRefusals, 'not_writer', 'stale_state', 'invalid_request'] as const;

/**
 * The arguments that the scripts of all acts have: the actor, the seat, the order of the act in its tab, and whether the answer should have
 * the whole room.
 */
const ofAct = ['accountId', 'seatId', 'order', 'tab', 'isWhole'] as const;

const lobbyScript = defineScript({
  file: new URL('room-action.lua', import.meta.url),
  keys: ['room', 'seats'],
  args: ['action', 'code', ...ofAct, 'name', 'playerId', 'nextCode', 'settings', 'nowText', 'ttlMs'],
  shared: ['keyGame', 'seatsKeptSeconds'],
  answers: [
    'done',
    'replayed',
    'lobby_wanted',
    'wrong_settings',
    'room_not_found',
    'forbidden',
    'not_in_room',
    'not_host',
    ...lobbyRefusals.slice(0, 1),
    'room_ended',
    ...lobbyRefusals.slice(1),
    'invalid_request',
  ],
  prologue: opensAccount,
  slotOf: 'room',
  lists: { index: 'seats', member: 'code', keptSeconds: SEATS_KEPT_SECONDS },
  library: roomLibraries,
  durable: true,
});

const writeScript = defineScript({
  file: new URL('write-game-data.lua', import.meta.url),
  keys: ['room'],
  args: ['action', ...ofAct, 'from', 'text', 'ifStateSeq', 'private', 'ttlMs'],
  shared: ['keyGame'],
  answers: [
    'done',
    'replayed',
    'contended',
    'merge_from',
    'too_long',
    'unknown_seat',
    'stale_state',
    'room_not_found',
    'forbidden',
    'not_in_room',
    'not_host',
    'not_writer',
    'room_ended',
  ],
  prologue: checksCaller,
  slotOf: 'room',
  library: roomLibraries,
  durable: true,
});

const messageScript = defineScript({
  file: new URL('message.lua', import.meta.url),
  keys: ['room'],
  args: [...ofAct, 'to', 'data', 'ttlMs'],
  shared: ['keyGame'],
  answers: ['done', 'replayed', 'unknown_seat', 'room_not_found', 'forbidden', 'not_in_room', 'room_ended'],
  prologue: checksCaller,
  slotOf: 'room',
  library: roomLibraries,
  durable: true,
});

/** An act in a room. Each field of its body, taken alone, has already been checked. */
export interface Act {
  readonly code: string;
  readonly action: ActionName;
  readonly body: ActBody;
  /** The actor: a player, or a server that acts as the host. */
  readonly by: Caller | ServerKey;
  /** The player id of the seat for which the caller's channel was welcomed. If undefined, the script searches for the caller's seat. */
  readonly seatId?: string;
  /** Whether the result should have all public fields of the room. */
  readonly isWhole: boolean;
  readonly address: string;
}

/** The result of an act. */
export interface Done {
  /** Whether the tab had already done an act with this order, so that nothing changed. */
  readonly isReplayed: boolean;
  /** The room's `seq` after the act. */
  readonly seq: number;
  readonly you: OwnSeat;
  /** The room's public fields after the act. Empty if the act did not ask for the whole room. */
  readonly fields: RoomFields;
  /** The receivers of a message who miss it, because they have no welcomed channel. */
  readonly away?: readonly string[];
}

interface Written extends Done {
  /** True if within the last second a merge in this room had to be repeated, because another process had written in between. */
  readonly isContended?: true;
}

export interface RoomActsOptions extends NewRoomServices {
  readonly budgets: SeatBudgets;
  readonly presence: Pick<Presence, 'checkSoon'>;
}

/** Performs the acts of players and servers, over HTTP and over the channel. */
export class RoomActs {
  readonly #options: RoomActsOptions;
  /** Runs the merges of this process in a room one after the other, so that they do not compete. */
  readonly #turns = new KeyedMutex();
  /** By room code: the JSON text of the state after the last merge by this process. */
  readonly #states = new LruCache<string, string>(STATES_REMEMBERED);

  constructor(options: RoomActsOptions) {
    this.#options = options;
  }

  /** Performs an act. @throws Refusal with one of `actCodes`, or for a caller who may not act */
  async perform(act: Act): Promise<Done> {
    const { action, body, by, code } = act;
    if (isKey(by) && actionOf(action).isOfPlayers === true)
      throw refuse('forbidden', { message: 'A server key has no seat in a room: it acts as the host.', field: 'action' });
    if (!isRoomCode(code)) throw refuse('room_not_found');
    const wrong = checkAct(action, body);
    if (wrong !== undefined) throw wrong;
    const done = await this.#do(act);
    this.#list(act, done);
    return done;
  }

  #do(act: Act): Promise<Done> {
    const { action } = act;
    if (action === 'message') return this.#send(act);
    return action === 'state' || action === 'data' || action === 'private' ? this.#write(act) : this.#change(act);
  }

  /**
   * Writes the room into lists after an act that may change them. Other acts over HTTP are written too, as a sign that somebody is present.
   * An act over a channel needs no such sign, because the player's socket is one. The answer to an act over a channel has no fields, unless
   * the act may change a list.
   */
  #list({ action }: Act, { fields }: Done): void {
    if (fields.size === 0) return;
    const { listWriter } = this.#options;
    if (!LISTED.has(action)) return listWriter.touched(fields);
    if (action === 'settings' || fields.get('public') === 'true') listWriter.changed(fields);
  }

  /** Performs an act of `room-action.lua`. @param nextCode for a rematch, the code of the next lobby once it is open */
  async #change(act: Act, nextCode = ''): Promise<Done> {
    const { action, body, by, code } = act;
    const { scripts, config, now, presence } = this.#options;
    // A player may already have been away for longer than the new grace, so the room must be in the queue before it gets the new grace.
    if (typeof body.seatGraceSeconds === 'number') await presence.checkSoon(code);
    // A server takes no seat, so its act does not need the key of a set of seats.
    const keys = { room: roomKeys.room(code), seats: isKey(by) ? '' : roomKeys.seats(by.accountId, now()) };
    const args = {
      ...argsOf(act),
      ...(LISTED.has(action) ? { isWhole: '1' } : {}),
      action,
      code,
      seatsKeptSeconds: SEATS_KEPT_SECONDS,
      name: body.name === undefined ? '' : JSON.stringify(body.name),
      playerId: body.playerId ?? '',
      nextCode,
      settings: settingLines(body),
      nowText: new Date(now()).toISOString(),
      ttlMs: ttlMsOf(config),
    };
    const [word, ...words] = await scripts.runWithOrWithout(isKey(by) ? undefined : by, lobbyScript, keys, args);
    switch (word) {
      case 'done':
      case 'replayed':
        return doneOf(word, words);
      case 'lobby_wanted':
        if (nextCode !== '') throw new Error('room-action.lua answered lobby_wanted to a call with a nextCode');
        return this.#change(act, await this.#openNextLobby(act, words));
      case 'wrong_settings':
        throw invalid(
          words[0]!,
          words[0] === 'minPlayers'
            ? 'Must not be above maxPlayers'
            : 'Must not be below the players with seats, nor leave them less data than they have',
        );
      case 'invalid_request':
        throw invalid('playerId', action === 'kick' && !isKey(by) ? 'Must be another player in the room' : 'Must be a player in the room');
      case 'forbidden':
        throw ofOtherGame(by);
      default:
        throw refuse(word);
    }
  }

  /**
   * Writes the game's data. If another process writes between the read and the write of a merge, the merge is repeated with the new text.
   */
  async #write(act: Act): Promise<Done> {
    const { body, action, code } = act;
    const isOfState = action !== 'data';
    if (body.merge === undefined) {
      const written = await this.#writeText(act, '', (isOfState ? body.state : body.data) ?? '');
      if (written instanceof MergeFrom) throw new Error('write-game-data.lua answered merge_from to an act without a merge');
      return written;
    }
    return this.#turns.take(code, async () => {
      let from = (isOfState ? this.#states.get(code) : undefined) ?? NOT_KNOWN;
      let tooLongFrom: string | undefined;
      for (let tries = 0; tries < MERGE_TRIES; tries++) {
        let text = from === NOT_KNOWN ? '' : mergeTexts(from, body.merge);
        if (isOfState && Buffer.byteLength(text) > STATE_LIMIT_BYTES) {
          // Before the act is refused, the present state is read with the script, because the state may be shorter now, or the tab may have
          // done this act before.
          tooLongFrom = from;
          [from, text] = [NOT_KNOWN, ''];
        }
        const written = await this.#writeText(act, from, text);
        if (written instanceof MergeFrom) {
          if (written.text === tooLongFrom)
            throw invalid('merge', `The state must be at most ${STATE_LIMIT_BYTES} bytes of JSON afterwards`);
          from = written.text;
        } else {
          // While several processes merge into the room, none of them may remember the state. A process that did would merge in one round
          // trip and the others in two, so it would always win.
          if (isOfState && !written.isReplayed) this.#states.set(code, written.isContended === true ? NOT_KNOWN : text);
          return written;
        }
      }
      throw refuse('overloaded', { retryAfterMs: 100 });
    });
  }

  async #writeText(act: Act, from: string, text: string): Promise<Written | MergeFrom> {
    const { action, body, by, code } = act;
    const { scripts, config } = this.#options;
    const keys = { room: roomKeys.room(code) };
    const hands = Object.entries(body.seats ?? {}).map(([id, hand]) => `${id}\n${hand}\n`);
    const args = {
      ...argsOf(act),
      action,
      from,
      text,
      ifStateSeq: (action === 'data' ? undefined : body.ifStateSeq) ?? '',
      private: action === 'private' ? hands.join('') : '',
      ttlMs: ttlMsOf(config),
    };
    const [word, ...words] = await scripts.runWithOrWithout(isKey(by) ? undefined : by, writeScript, keys, args);
    switch (word) {
      case 'contended':
        return { ...doneOf('done', words), isContended: true };
      case 'done':
      case 'replayed':
        return doneOf(word, words);
      case 'merge_from':
        return new MergeFrom(words[0]!);
      case 'too_long':
        throw invalid(body.merge === undefined ? 'data' : 'merge', `The data must be at most ${words[0]} bytes of JSON in this room`);
      case 'unknown_seat':
        throw invalid(`seats.${words[0]}`, 'Must be a player in the room');
      case 'stale_state': {
        const [stateSeq, state = ''] = words;
        throw refuse(word, { stateSeq: Number(stateSeq), state: JSON.parse(state) as unknown });
      }
      case 'forbidden':
        throw ofOtherGame(by);
      default:
        throw refuse(word);
    }
  }

  async #send(act: Act): Promise<Done> {
    const { body, by, code } = act;
    const { scripts, config, budgets } = this.#options;
    const waitMs = isKey(by) ? 0 : budgets.chargeMessage(budgetOf(code, by.accountId));
    if (waitMs > 0) throw rateLimited(waitMs, 'Too many messages from this seat.');
    const keys = { room: roomKeys.room(code) };
    const args = { ...argsOf(act), to: (body.to ?? []).join(' '), data: body.data!, ttlMs: ttlMsOf(config) };
    const [word, ...words] = await scripts.runWithOrWithout(isKey(by) ? undefined : by, messageScript, keys, args);
    switch (word) {
      case 'done':
      case 'replayed': {
        const [away] = words.splice(4, 1);
        return { ...doneOf(word, words), away: seatedIn(away!) };
      }
      case 'unknown_seat':
        throw invalid('to', 'Must be players in the room, or server');
      case 'forbidden':
        throw ofOtherGame(by);
      default:
        throw refuse(word);
    }
  }

  /**
   * Opens the lobby of a rematch.
   *
   * A script cannot count the new room within the limit of its client address, and it cannot draw random codes until a code is free. So a
   * rematch takes three steps: `room-action.lua` answers `lobby_wanted`, this function opens the lobby, and `room-action.lua` writes the
   * lobby's code into the room as `nextCode`. If two rematches run at the same time, the code that is written first stays. If a lobby's
   * code is not written into a room, the lobby expires.
   * @param words the figures of the answer `lobby_wanted`
   * @returns the lobby's code
   */
  async #openNextLobby(
    { by, address }: Act,
    [hostId, seatedId, startWhenFull, graceOfMatch, ...words]: readonly string[],
  ): Promise<string> {
    const fields = fieldsOf(words);
    const host = isKey(by) ? await this.#hostOf(seatedId!, address) : by;
    // The lobby counts within the limit of rooms and accounts that a client address may create, as any new room does. Otherwise clients
    // could bypass this limit with rematches.
    const waitMs = (await host?.reserveCreation()) ?? 0;
    if (waitMs > 0) throw rateLimited(waitMs);
    const record = fields.get(hostId!);
    const name = record === undefined ? undefined : (JSON.parse(`{${record}}`) as { name: string }).name;
    const settings = settingsOf(fields, { startWhenFull: startWhenFull === '1', isGraceOfMatch: graceOfMatch === '1' });
    return (await openRoom(host, name, settings, this.#options)).get('code')!;
  }

  /**
   * The host, as the caller for whom a server's rematch opens the lobby. This new room does not count within the limit of a client address.
   * @param seatedId the account in the host's seat, which may be a guest that has moved since. '' in a room without a host
   */
  async #hostOf(seatedId: string, address: string): Promise<Caller | undefined> {
    if (seatedId === '') return undefined;
    const { accountId } = await settled(seatedId, this.#options.scripts);
    return callerFrom({ address }, accountId, undefined, undefined);
  }
}

/**
 * The actions that may change a list of rooms. The scripts of these actions always answer with the whole room, so that the room's summary
 * can be written.
 */
const LISTED: ReadonlySet<ActionName> = new Set(['join', 'leave', 'start', 'end', 'kick', 'lock', 'unlock', 'settings', 'rematch']);

/**
 * `write-game-data.lua` gets the text from which a merge began. The script gets this word instead if the process does not know the room's
 * text. No room has this text, so the script answers with the room's present text.
 */
const NOT_KNOWN = '-';

/** The most tries of a merge. A merge has to be repeated whenever another process writes the same room at the same time. */
const MERGE_TRIES = 20;

/** The number of rooms whose state a process remembers for the next merge. A state has at most 8 KiB. */
const STATES_REMEMBERED = 1000;

/**
 * The room's present text, with which a merge has to be repeated, because another process has replaced the text from which the merge began.
 */
class MergeFrom {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

function argsOf({ action, body, by, seatId = '', isWhole }: Act) {
  return {
    accountId: isKey(by) ? '' : by.accountId,
    keyGame: isKey(by) ? (by.game ?? '*') : '',
    seatId,
    // A `join` has no order, because the seat remembers the orders of its tabs, and a player who joins has no seat yet.
    order: action === 'join' ? '' : (body.order ?? ''),
    tab: body.tab ?? '',
    isWhole: isWhole ? '1' : '',
  };
}

/** The settings that an act changes, as lines for `room-action.lua`: a line with the name and a line with the value of each setting. */
function settingLines({ public: isPublic, tags, minPlayers, maxPlayers, writers, seatGraceSeconds }: ActBody): string {
  const settings = { public: isPublic, tags: tags && tagsText(tags), minPlayers, maxPlayers, writers, seatGraceSeconds };
  return Object.entries(settings)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}\n${value}`)
    .join('\n');
}

/** Makes the result of an act from a script's answer. @param words the words of the answer after `done` or `replayed` */
function doneOf(word: 'done' | 'replayed', [seq, playerId, isHost, own, ...fields]: readonly string[]): Done {
  return {
    isReplayed: word === 'replayed',
    seq: Number(seq),
    you: { playerId: playerId!, host: isHost === '1', private: privatePart.parse(own!) },
    fields: fieldsOf(fields),
  };
}

function isKey(by: Caller | ServerKey): by is ServerKey {
  return 'scopes' in by;
}

function ofOtherGame(by: Caller | ServerKey) {
  return refuse('forbidden', { message: `This server key is for the game ${isKey(by) ? by.game : ''}.`, field: 'code' });
}
