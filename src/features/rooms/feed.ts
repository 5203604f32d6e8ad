import type { ScriptRunner } from '../../redis/script-runner.ts';
import type { Feed, Relay, State } from '../../server/live/feed-types.ts';
import { roomKeys } from './model.ts';
import { readScript } from './read.ts';
import { patchOps } from './patch.ts';
import { fieldsOf, leastLengthOf, OF_PLAYER, roomJson, seatedIn, type RoomFields } from './record.ts';

/** The feed of rooms. `settle` of `room.lua` publishes the fields that a change set, and `message.lua` publishes messages of players. */
export function roomFeed(scripts: ScriptRunner): Feed {
  return {
    channel: roomKeys.room,
    take: (message, known) => (message.startsWith(RELAYED) ? relayOf(message.slice(RELAYED.length)) : changed(message, known as RoomState)),
    fetch: (known) =>
      Promise.all(
        known.map(async ({ id, state }) => {
          const args = { known: state === undefined ? '' : `${state.position} ${state.stamp}` };
          const [word, relayed, ...words] = await scripts.run(readScript, { room: roomKeys.room(id) }, args);
          if (word === 'room_not_found') return undefined;
          if (word === 'same') return { state: word, relayed: Number(relayed) };
          const found = new RoomState(fieldsOf(words));
          // If the time of creation differs, the watched room has expired, and a new room has the same code. The watchers must not see the
          // new room.
          if (state !== undefined && found.fields.get('createdAt') !== (state as RoomState).fields.get('createdAt')) return undefined;
          return { state: found, relayed: Number(relayed) };
        }),
      ),
  };
}

/**
 * The first line of a published text if the text is a message to the room's sockets. The published text of a change begins with a number
 * instead.
 */
const RELAYED = 'message\n';

/** The last state that was pushed to the watchers. */
interface Pushed {
  /** The `seq` of the pushed state. */
  position: number;
  /** The fields that have changed since the push, with their texts at the time of the push. Undefined: the field did not exist. */
  readonly before: Map<string, string | undefined>;
}

/** The state of a room after a change. The state after the next change shares this object's map of fields, and changes it. */
export class RoomState implements State {
  readonly position: number;
  readonly stamp: string;
  readonly privateAt: number;
  readonly privateOf: readonly string[] | undefined;
  readonly fields: RoomFields;
  #pushed: Pushed;

  constructor(fields: RoomFields, privateOf?: readonly string[], pushed?: Pushed) {
    this.fields = fields;
    this.position = Number(fields.get('seq'));
    this.stamp = fields.get('updatedAt')!;
    this.privateAt = Number(fields.get('privateSeq') ?? 0);
    this.privateOf = privateOf;
    this.#pushed = pushed ?? { position: this.position, before: new Map() };
  }

  get isFinal(): boolean {
    return this.fields.get('phase') === 'ended';
  }

  get changesAt(): number {
    return Number(this.fields.get('expiresAt'));
  }

  encode(): string {
    return `{"type":"room","seq":${this.position},"room":${roomJson(this.fields)}}`;
  }

  get leastLength(): number {
    return leastLengthOf(this.fields);
  }

  encodePatch(): string {
    const { position, before } = this.#pushed;
    return `{"type":"patch","seq":${this.position},"from":${position},"ops":${patchOps(before, this.fields)}}`;
  }

  pushed(): void {
    this.#pushed.position = this.position;
    this.#pushed.before.clear();
  }

  follow(known: State): void {
    const { fields } = known as RoomState;
    this.#pushed = (known as RoomState).#pushed;
    for (const name of new Set([...fields.keys(), ...this.fields.keys()]))
      if (fields.get(name) !== this.fields.get(name)) this.#note(name, fields.get(name));
  }

  #note(name: string, text: string | undefined): void {
    const { before } = this.#pushed;
    if (!before.has(name)) before.set(name, text);
  }

  /** The state after the next change. @param words name, text, name, text … of the fields that the change set */
  changed(words: readonly string[]): RoomState {
    const { fields } = this;
    let privateOf: string[] = [];
    for (let index = 0; index < words.length; index += 2) {
      const [name, text] = [words[index]!, words[index + 1]!];
      if (name === PRIVATE_OF) privateOf = text.split(' ');
      else {
        this.#note(name, fields.get(name));
        fields.set(name, text);
      }
      if (name === 'players') this.#forgetOthers();
    }
    return new RoomState(fields, privateOf, this.#pushed);
  }

  /** Drops the fields of players who left. A room never gives a player id twice, so these fields do not come back. */
  #forgetOthers(): void {
    const seated = new Set(seatedIn(this.fields.get('players')!));
    for (const [name, text] of this.fields) {
      const [, id] = OF_PLAYER.exec(name) ?? [];
      if (id === undefined || seated.has(id)) continue;
      this.#note(name, text);
      this.fields.delete(name);
    }
  }
}

/** The name of a published line that is not a field. The text of such a line has the ids of the players whose private parts changed. */
const PRIVATE_OF = 'privateOf';

/**
 * The state after a published change.
 * @param message lines: the seq of the change, the time of the change before it, then names and texts of fields
 * @returns the `seq` of the change if the known state is not the state before the change: the room has to be read. Undefined: the known
 * state already has the change
 */
function changed(message: string, known: RoomState | undefined): State | number | undefined {
  const [seq, before, ...words] = message.split('\n');
  const position = Number(seq);
  if (known === undefined || position > known.position + 1) return position;
  if (position < known.position) return undefined;
  // If two different changes have the same seq, a failover of Redis has lost the change that this process knows.
  if (position === known.position) return words[words.lastIndexOf('updatedAt') + 1] === known.stamp ? undefined : position;
  if (before !== known.stamp) return position;
  return known.changed(words);
}

/**
 * Makes a published message into the message that the room's sockets get.
 * @param text lines: the message's number, the sender, the time, the player ids that get the message (empty: all players), the time at
 * which the room expires, the data as JSON
 */
function relayOf(text: string): Relay {
  const [number, from, at, to, expiresAt, data] = text.split('\n') as [string, string, string, string, string, string];
  return {
    number: Number(number),
    to: to === '' ? undefined : to.split(' '),
    message: `{"type":"message","n":${number},"from":"${from}","data":${data},"at":"${new Date(Number(at)).toISOString()}"}`,
    changesAt: Number(expiresAt),
  };
}
