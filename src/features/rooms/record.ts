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

/** Ids of the seated players, longest seated first. */
export function seatedIn(fields: RoomFields): string[] {
  const players = fields.get('players')!;
  return players === '' ? [] : players.split(' ');
}

/** The text of a player's own field: not the data, the id, or whether it is the host. */
export function playerRecord(name: string, joinedAt: string): string {
  return `"ready":false,"connected":false,"joinedAt":${JSON.stringify(joinedAt)},"name":${JSON.stringify(name)}`;
}

/** The public room as JSON text. Texts of codes, ids and games need no escapes. */
export function roomJson(fields: RoomFields): string {
  const host = fields.get('hostId');
  let players = '';
  for (const id of seatedIn(fields)) {
    const player = `{"id":"${id}",${fields.get(id)},"host":${id === host},"data":${fields.get(`${id}.data`) ?? 'null'}}`;
    players = players === '' ? player : `${players},${player}`;
  }
  const text = (name: string): string => (fields.has(name) ? `"${name}":"${fields.get(name)}",` : '');
  const time = (name: string): string => (fields.has(name) ? `"${name}":"${new Date(Number(fields.get(name))).toISOString()}",` : '');
  return (
    `{${text('code')}${text('game')}${text('phase')}"seq":${fields.get('seq')},"hostId":${host === undefined ? 'null' : `"${host}"`},` +
    `"minPlayers":${fields.get('minPlayers')},"maxPlayers":${fields.get('maxPlayers')},"locked":${fields.get('locked')},` +
    `${text('writers')}"public":${fields.get('public')},"tags":${fields.get('tags')},"players":[${players}],` +
    `${time('createdAt')}${time('updatedAt')}${time('startedAt')}${time('endedAt')}${time('expiresAt')}${text('nextCode')}` +
    `"stateSeq":${fields.get('stateSeq')},"state":${fields.get('state')}}`
  );
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
