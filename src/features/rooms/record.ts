import { defineFormat, letters, rest, unquoted, whole, type Parsed } from '../../redis/text-format.ts';

/**
 * The public fields of a room in Redis: the text of each field by its name. `room.lua` lists the fields. Each process with watchers of the
 * room has a copy of the fields, and makes the room's JSON from the copy. So neither Lua nor a process parses the game's state.
 */
export type RoomFields = Map<string, string>;

/** The fields of a room from the words of a script's answer. @param words name, text, name, text … */
export function fieldsOf(words: readonly string[]): RoomFields {
  const fields: RoomFields = new Map();
  for (let index = 0; index + 1 < words.length; index += 2) fields.set(words[index]!, words[index + 1]!);
  return fields;
}

/** The fields as lines, for `create.lua`: a line with the name and a line with the text of each field. */
export function fieldLines(fields: RoomFields): string {
  return [...fields].map(([name, text]) => `${name}\n${text}\n`).join('');
}

/** The ids of the seated players, longest seated first. @param players the text of the room's field `players` */
export function seatedIn(players: string): string[] {
  return players === '' ? [] : players.split(' ');
}

/**
 * A player's record: the text of the field with the player's id. It is the inside of a JSON object. The members `id`, `data` and `host` are
 * not in it.
 */
export const playerRecord = defineFormat('seat', '"ready":<ready>,"connected":<connected>,"joinedAt":"<joinedAt>","name":<name>', {
  /** Whether the player has sent `ready`: `true` or `false`. */
  ready: letters,
  /** Whether the player has a connection on the room's channel: `true` or `false`. */
  connected: letters,
  /** The time at which the player took the seat, in ISO 8601. */
  joinedAt: unquoted,
  /** The player's name, as JSON text. */
  name: rest,
});

/** The record of a player who has just been seated. */
export function newPlayer(name: string, joinedAt: string): string {
  return playerRecord.write({ ready: 'false', connected: 'false', joinedAt, name: JSON.stringify(name) });
}

/** The names of a room's public fields without the fields of players, in the order of scripts' answers. `room.lua` describes the fields. */
export const roomFields = [
  'seq',
  'updatedAt',
  'expiresAt',
  'phase',
  'hostId',
  'players',
  'code',
  'game',
  'minPlayers',
  'maxPlayers',
  'locked',
  'seatGraceSeconds',
  'writers',
  'public',
  'tags',
  'state',
  'stateSeq',
  'privateSeq',
  'createdAt',
  'startedAt',
  'endedAt',
  'nextCode',
] as const;

/**
 * The form of each public field in a room's JSON: `text` and `time` are in quotes, and `json` is as it is. A field of a kind `…_or_null` is
 * `null` if the room lacks the field. `players` has its own form, and `privateSeq` is not in the JSON. Codes, ids and names of games need
 * no escapes.
 */
const members = {
  code: 'text',
  game: 'text',
  phase: 'text',
  seq: 'json',
  hostId: 'text_or_null',
  minPlayers: 'json',
  maxPlayers: 'json',
  locked: 'json',
  seatGraceSeconds: 'json_or_null',
  writers: 'text',
  public: 'json',
  tags: 'json',
  createdAt: 'time',
  updatedAt: 'time',
  startedAt: 'time',
  endedAt: 'time',
  expiresAt: 'time',
  nextCode: 'text',
  stateSeq: 'json',
  // `state` is the last member of the JSON, because it can be the longest text by far.
  state: 'json',
} as const satisfies Record<Exclude<(typeof roomFields)[number], 'players' | 'privateSeq'>, string>;

type Member = keyof typeof members;

const memberNames = Object.keys(members) as readonly Member[];

/** Whether the room's JSON has a member with the name of this field. */
export function isMember(name: string): name is Member {
  return Object.hasOwn(members, name);
}

/**
 * Whether the room's JSON has the member. It always has a member that may be null.
 * @param text the member's field in Redis; undefined: the room has no such field
 */
export function hasMember(name: Member, text: string | undefined): boolean {
  return text !== undefined || members[name].endsWith('_or_null');
}

/** The JSON text of a member of the room's JSON, from the text of the member's field. Undefined if the room's JSON lacks the member. */
export function memberText(name: Member, text: string | undefined): string | undefined {
  const kind = members[name];
  if (text === undefined) return kind.endsWith('_or_null') ? 'null' : undefined;
  if (kind === 'json' || kind === 'json_or_null') return text;
  return kind === 'time' ? `"${new Date(Number(text)).toISOString()}"` : `"${text}"`;
}

/**
 * The JSON text of a player in the room's JSON.
 * @param record the text of the player's field `p2` (`playerRecord`)
 * @param data the text of the player's field `p2.data`, if the player has data
 * @param host the id of the host, if the room has one
 */
export function playerJson(id: string, record: string | undefined, data: string | undefined, host: string | undefined): string {
  return `{"id":"${id}",${record},"host":${id === host},"data":${data ?? 'null'}}`;
}

/** The room as clients see it, as JSON text. */
export function roomJson(fields: RoomFields): string {
  const host = fields.get('hostId');
  let players = '';
  for (const id of seatedIn(fields.get('players')!)) {
    const player = playerJson(id, fields.get(id), fields.get(`${id}.data`), host);
    players = players === '' ? player : `${players},${player}`;
  }
  let text = `{"players":[${players}]`;
  for (const name of memberNames) {
    const member = memberText(name, fields.get(name));
    if (member !== undefined) text = `${text},"${name}":${member}`;
  }
  return `${text}}`;
}

/** Matches the name of a player's public field, and captures the player's id. */
export const OF_PLAYER = /^(p\d+)(?:\.data)?$/;

/** A lower bound of the length of the room's JSON, in characters. The bound shows that the JSON is long without making the JSON. */
export function leastLengthOf(fields: RoomFields): number {
  let length = 0;
  for (const [name, text] of fields) if (isMember(name) || OF_PLAYER.test(name)) length += text.length;
  return length;
}

/** A player's private part, which only that player sees. If a player has no private part, scripts answer ''. */
export const privatePart = defineFormat('private', '<seq> <text>', {
  /** The `seq` of the change that set the private part. */
  seq: whole,
  /** The private part, as JSON text. */
  text: rest,
});

export type Private = Parsed<typeof privatePart>;
