/**
 * A room as Redis keeps it, without what is not public: names and texts of the fields that `room.lua` lists. Every process that watches a
 * room has its fields, and makes the room's JSON of them: neither Lua nor a process parses the game's state.
 */
export type RoomFields = Map<string, string>;

/** @param words name, text, name, text … */
export function fieldsOf(words: readonly string[]): RoomFields {
  const fields: RoomFields = new Map();
  for (let index = 0; index + 1 < words.length; index += 2) fields.set(words[index]!, words[index + 1]!);
  return fields;
}

/** The fields as lines of name and text, as `create.lua` takes them. */
export function fieldLines(fields: RoomFields): string {
  return [...fields].map(([name, text]) => `${name}\n${text}\n`).join('');
}

/** Ids of the seated players, longest seated first. @param players the field of this name */
export function seatedIn(players: string): string[] {
  return players === '' ? [] : players.split(' ');
}

/** The text of a player's own field: not the data, the id, or whether it is the host. */
export function playerRecord(name: string, joinedAt: string): string {
  return `"ready":false,"connected":false,"joinedAt":${JSON.stringify(joinedAt)},"name":${JSON.stringify(name)}`;
}

/** How a room's JSON shows a field, apart from its players. Texts of codes, ids and games need no escapes. */
const members = {
  code: 'text',
  game: 'text',
  phase: 'text',
  seq: 'json',
  hostId: 'text_or_null',
  minPlayers: 'json',
  maxPlayers: 'json',
  locked: 'json',
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
  // The last one: the state is the longest text.
  state: 'json',
} as const;

type Member = keyof typeof members;

const memberNames = Object.keys(members) as readonly Member[];

/** Whether a field stands in the room's JSON under its own name. */
export function isMember(name: string): name is Member {
  return Object.hasOwn(members, name);
}

/** Whether the room's JSON has a member, of its field's text. */
export function hasMember(name: Member, text: string | undefined): boolean {
  return text !== undefined || members[name] === 'text_or_null';
}

/** The JSON of a member of a room, of its field's text. Undefined where the room has no such member. */
export function memberText(name: Member, text: string | undefined): string | undefined {
  const kind = members[name];
  if (text === undefined) return kind === 'text_or_null' ? 'null' : undefined;
  if (kind === 'json') return text;
  return kind === 'time' ? `"${new Date(Number(text)).toISOString()}"` : `"${text}"`;
}

/** @param host id of the host, if the room has one */
export function playerJson(id: string, record: string | undefined, data: string | undefined, host: string | undefined): string {
  return `{"id":"${id}",${record},"host":${id === host},"data":${data ?? 'null'}}`;
}

/** The public room as JSON text. */
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

/** The name of a field of a player. It names the player's id. */
export const OF_PLAYER = /^(p\d+)(?:\.data)?$/;

/** No more characters than the room's JSON has. To count them costs less than to make the JSON. */
export function leastLengthOf(fields: RoomFields): number {
  let length = 0;
  for (const [name, text] of fields) if (isMember(name) || OF_PLAYER.test(name)) length += text.length;
  return length;
}

/** A player's own part in an answer or a message: what only that player sees. */
export interface Private {
  /** The change of the room that set it. */
  readonly seq: number;
  readonly text: string;
}

/** @param field '<seq> <JSON>', or '' for a player who has none */
export function privateOf(field: string): Private | undefined {
  if (field === '') return undefined;
  const end = field.indexOf(' ');
  return { seq: Number(field.slice(0, end)), text: field.slice(end + 1) };
}
