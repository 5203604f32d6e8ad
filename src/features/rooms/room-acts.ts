import { checksCaller, opensAccount } from '../../accounts/prologues.ts';
import { settled } from '../../accounts/standing-reader.ts';
import { invalid, rateLimited, refuse } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import { LruCache } from '../../server/lru-cache.ts';
import { Turns } from '../../server/turns.ts';
import { callerFrom, type Caller } from '../../server/identity/caller.ts';
import type { ServerKey } from '../../server/identity/server-keys.ts';
import { actionOf, checkAct, type ActBody, type ActionName } from './actions.ts';
import { openLobby, settingsOf, type LobbyServices } from './lobby.ts';
import { mergeTexts } from './merge.ts';
import { isRoomCode, roomKeys, roomLibraries, SEATS_KEPT_SECONDS, STATE_LIMIT_BYTES, tagsText, ttlMsOf, type OwnSeat } from './model.ts';
import { fieldsOf, privatePart, type RoomFields } from './record.ts';
import { budgetOf, type SeatBudgets } from './seat-budgets.ts';

/** The words with which any act in a room may be refused. */
const refusals = ['room_not_found', 'forbidden', 'not_in_room', 'not_host', 'room_ended'] as const;
const lobbyRefusals = ['kicked', 'room_started', 'room_locked', 'room_full', 'not_enough_players'] as const;

/** The error codes of acts, besides those of every request. */
export const actCodes = [...refusals, ...lobbyRefusals, 'not_writer', 'stale_state', 'invalid_request'] as const;

/** Arguments of every act: the actor, the seat, and the act's order in its tab. */
const ofAct = ['accountId', 'seatId', 'order', 'tab', 'isWhole'] as const;

const lobbyScript = defineScript({
  file: new URL('act.lua', import.meta.url),
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
  file: new URL('write.lua', import.meta.url),
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

/** An act in a room. The fields of its body have already been checked one by one. */
export interface Act {
  readonly code: string;
  readonly action: ActionName;
  readonly body: ActBody;
  /** A player, or a server that acts as the host. */
  readonly by: Caller | ServerKey;
  /** The seat for which the caller's channel was welcomed. Without it the script searches for the seat. */
  readonly seatId?: string;
  /** Whether the answer includes the whole room. */
  readonly isWhole: boolean;
  readonly address: string;
}

export interface Done {
  readonly isReplayed: boolean;
  readonly seq: number;
  readonly you: OwnSeat;
  /** Empty without `isWhole`. */
  readonly fields: RoomFields;
}

interface Written extends Done {
  /** Another process has just had to repeat a merge, because this or a third process wrote in between. */
  readonly isContended?: true;
}

export interface RoomActsOptions extends LobbyServices {
  readonly budgets: SeatBudgets;
}

/** Performs the acts of players and servers, over HTTP and over the channel. */
export class RoomActs {
  readonly #options: RoomActsOptions;
  /** Runs this process's merges of a room one after the other, so that they do not compete. */
  readonly #turns = new Turns();
  /** The state of a room after this process's last merge. */
  readonly #states = new LruCache<string, string>(STATES_REMEMBERED);

  constructor(options: RoomActsOptions) {
    this.#options = options;
  }

  /** @throws Refusal with one of `actCodes`, or for a caller who may not act */
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

  /** Updates lists after the act. An act over a channel that changes no list needs no update: the channel already shows presence. */
  #list({ action, by }: Act, { fields }: Done): void {
    if (fields.size === 0) return;
    const { roomList } = this.#options;
    const who = isKey(by) ? 'server' : 'player';
    if (!LISTED.has(action)) return roomList.touched(fields, who);
    if (action === 'settings' || fields.get('public') === 'true') roomList.changed(fields, who);
  }

  async #change(act: Act, nextCode = ''): Promise<Done> {
    const { action, body, by, code } = act;
    const { scripts, config, now } = this.#options;
    // A server takes no seat.
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
    const [word, ...words] = await (isKey(by)
      ? scripts.runWithoutAccount(lobbyScript, keys, args)
      : scripts.runAs(by, lobbyScript, keys, args));
    switch (word) {
      case 'done':
      case 'replayed':
        return doneOf(word, words);
      case 'lobby_wanted':
        if (nextCode !== '') throw new Error('act.lua answered lobby_wanted to a call with a nextCode');
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

  /** If another process writes in between, the merge is repeated from the room's new text. */
  async #write(act: Act): Promise<Done> {
    const { body, action, code } = act;
    const isOfState = action !== 'data';
    if (body.merge === undefined) {
      const written = await this.#writeText(act, '', (isOfState ? body.state : body.data) ?? '');
      if (written instanceof MergeFrom) throw new Error('write.lua answered merge_from to an act without a merge');
      return written;
    }
    return this.#turns.take(code, async () => {
      let from = (isOfState ? this.#states.get(code) : undefined) ?? NOT_KNOWN;
      let tooLongFrom: string | undefined;
      for (let tries = 0; tries < MERGE_TRIES; tries++) {
        let text = from === NOT_KNOWN ? '' : mergeTexts(from, body.merge);
        if (isOfState && Buffer.byteLength(text) > STATE_LIMIT_BYTES) {
          // Before refusing, ask the script: the room may have another state by now, or the act may already be done.
          tooLongFrom = from;
          [from, text] = [NOT_KNOWN, ''];
        }
        const written = await this.#writeText(act, from, text);
        if (written instanceof MergeFrom) {
          if (written.text === tooLongFrom)
            throw invalid('merge', `The state must be at most ${STATE_LIMIT_BYTES} bytes of JSON afterwards`);
          from = written.text;
        } else {
          // Under contention the state is not remembered: with it this process would need one round trip, and always win against others.
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
    const [word, ...words] = await (isKey(by)
      ? scripts.runWithoutAccount(writeScript, keys, args)
      : scripts.runAs(by, writeScript, keys, args));
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
    const [word, ...words] = await (isKey(by)
      ? scripts.runWithoutAccount(messageScript, keys, args)
      : scripts.runAs(by, messageScript, keys, args));
    switch (word) {
      case 'done':
      case 'replayed':
        return doneOf(word, words);
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
   * A script can neither reserve a creation nor draw random codes until one is free, as `openLobby` does. So a rematch takes three
   * steps: `act.lua` answers `lobby_wanted`, this function opens the lobby, `act.lua` links it. If two rematches race, the first link
   * stays. A lobby without a link expires by its TTL.
   * @param words of `lobby_wanted`
   * @returns the lobby's code
   */
  async #openNextLobby({ by, address }: Act, [hostId, seatedId, startWhenFull, ...words]: readonly string[]): Promise<string> {
    const fields = fieldsOf(words);
    const host = isKey(by) ? await this.#hostOf(seatedId!, address) : by;
    // A lobby counts as a creation, as any new room does. Otherwise rematches would bypass the limit on creations.
    const waitMs = (await host?.reserveCreation()) ?? 0;
    if (waitMs > 0) throw rateLimited(waitMs);
    const record = fields.get(hostId!);
    const name = record === undefined ? undefined : (JSON.parse(`{${record}}`) as { name: string }).name;
    return (await openLobby(host, name, settingsOf(fields, startWhenFull === '1'), this.#options)).get('code')!;
  }

  /**
   * The host, in whose name a server's rematch opens the lobby. The creation does not count against an address.
   * @param seatedId the account in the host's seat, which may still be a guest that has moved. '' in a room without a host
   */
  async #hostOf(seatedId: string, address: string): Promise<Caller | undefined> {
    if (seatedId === '') return undefined;
    const { accountId } = await settled(seatedId, this.#options.scripts);
    return callerFrom({ address }, accountId, undefined, undefined);
  }
}

/** The acts that may change lists. Their answers have the whole room. */
const LISTED: ReadonlySet<ActionName> = new Set(['join', 'leave', 'start', 'end', 'kick', 'lock', 'unlock', 'settings', 'rematch']);

/** A text that no room has, so that the script answers with the room's text. */
const NOT_KNOWN = '-';

/** A merge has to be repeated whenever another process writes the same room at the same time. */
const MERGE_TRIES = 20;

/** Number of rooms whose state is remembered for the next merge, with at most 8 KiB each. */
const STATES_REMEMBERED = 1000;

/** The room's text, if it is not the one from which the merge began. */
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
    // A player who joins has no seat yet that could remember an order.
    order: action === 'join' ? '' : (body.order ?? ''),
    tab: body.tab ?? '',
    isWhole: isWhole ? '1' : '',
  };
}

/** The settings that an act changes, as lines of a room's fields. */
function settingLines({ public: isPublic, tags, minPlayers, maxPlayers, writers }: ActBody): string {
  const settings = { public: isPublic, tags: tags && tagsText(tags), minPlayers, maxPlayers, writers };
  return Object.entries(settings)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}\n${value}`)
    .join('\n');
}

/** @param words after `done` or `replayed` */
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
