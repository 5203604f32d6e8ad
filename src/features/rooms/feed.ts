import type { ScriptRunner } from '../../redis/script-runner.ts';
import type { Feed, Relay, State } from '../../server/live/feed.ts';
import { roomKeys } from './model.ts';
import { readScript } from './read.ts';
import { fieldsOf, roomJson, seatedIn, type RoomFields } from './record.ts';

/** The feed of rooms: `settle` of `room.lua` publishes the fields that a change set, `message.lua` the messages. */
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
          return { state: word === 'same' ? word : new RoomState(fieldsOf(words), undefined), relayed: Number(relayed) };
        }),
      ),
  };
}

/** Begins the text of a message to the room's sockets. That of a change begins with a number. */
const RELAYED = 'message\n';

/** A room as it is after a change. The state after the next change has the same fields, changed. */
export class RoomState implements State {
  readonly position: number;
  readonly stamp: string;
  readonly privateAt: number;
  readonly privateOf: readonly string[] | undefined;
  readonly fields: RoomFields;

  constructor(fields: RoomFields, privateOf: readonly string[] | undefined) {
    this.fields = fields;
    this.position = Number(fields.get('seq'));
    this.stamp = fields.get('updatedAt')!;
    this.privateAt = Number(fields.get('privateSeq') ?? 0);
    this.privateOf = privateOf;
  }

  encode() {
    return {
      message: `{"type":"room","seq":${this.position},"room":${roomJson(this.fields)}}`,
      isFinal: this.fields.get('phase') === 'ended',
      changesAt: Number(this.fields.get('expiresAt')),
    };
  }
}

/** @param message lines: the change's seq, when the room was changed before it, then names and texts of fields */
function changed(message: string, known: RoomState | undefined): State | number | undefined {
  const [seq, before, ...words] = message.split('\n');
  const position = Number(seq);
  if (known === undefined || position > known.position + 1) return position;
  if (position < known.position) return undefined;
  // Another change at the known position: what was known was lost in a failover.
  if (position === known.position) return words[words.lastIndexOf('updatedAt') + 1] === known.stamp ? undefined : position;
  if (before !== known.stamp) return position;
  const { fields } = known;
  let privateOf: string[] | undefined;
  for (let index = 0; index < words.length; index += 2) {
    const name = words[index]!;
    if (name === PRIVATE_OF) privateOf = words[index + 1]!.split(' ');
    else fields.set(name, words[index + 1]!);
    if (name === 'players') forgetOthers(fields);
  }
  return new RoomState(fields, privateOf);
}

const PRIVATE_OF = 'privateOf';

/** Ids of seats are not given twice. */
function forgetOthers(fields: RoomFields): void {
  const seated = new Set(seatedIn(fields));
  for (const name of fields.keys()) {
    const [, id] = /^(p\d+)(?:\.data)?$/.exec(name) ?? [];
    if (id !== undefined && !seated.has(id)) fields.delete(name);
  }
}

/** @param text lines: number, sender, when it was sent, player ids or nothing for all, the room's expiry, the data as JSON */
function relayOf(text: string): Relay {
  const [number, from, at, to, expiresAt, data] = text.split('\n') as [string, string, string, string, string, string];
  return {
    number: Number(number),
    to: to === '' ? undefined : to.split(' '),
    message: `{"type":"message","n":${number},"from":"${from}","data":${data},"at":"${new Date(Number(at)).toISOString()}"}`,
    changesAt: Number(expiresAt),
  };
}
