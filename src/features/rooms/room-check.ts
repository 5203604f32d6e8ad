import type { Finding, Probe } from '../../consistency/auditor.ts';
import { Room, roomKeys } from './model.ts';
import { fieldsOf, roomJson, seatedIn, type RoomFields } from './record.ts';

/** Checks the fields of a room against the description in `room.lua`. A finding has ids and names of fields, but never data of players. */
export async function checkRoom(code: string, probe: Probe): Promise<Finding[]> {
  const key = roomKeys.room(code);
  const [words, ttlMs] = await probe.together(['HGETALL', key], ['PTTL', key]);
  const fields = fieldsOf(words as string[]);
  // No finding, because the room has expired since its key was read, or because an older version of the service wrote the room as a single
  // field `doc`.
  if (fields.size === 0 || fields.has('doc')) return [];
  const problems = [...lifeProblems(fields, Number(ttlMs)), ...countProblems(fields), ...seatProblems(fields), ...textProblems(fields)];
  if (problems.length === 0) problems.push(...memberProblems(fields));
  return problems.length === 0 ? [] : [{ kind: 'broken_room', subject: `room ${code}`, text: problems.join(' ') }];
}

function* lifeProblems(fields: RoomFields, ttlMs: number): Generator<string> {
  const missing = NEEDED.filter((name) => !fields.has(name));
  if (missing.length > 0) yield `The room lacks the fields ${missing.join(', ')}.`;
  if (ttlMs === -1) yield "The room's key never expires.";
}

const NEEDED = ['seq', 'updatedAt', 'expiresAt', 'createdAt', 'code', 'phase', 'players', 'minPlayers', 'maxPlayers', 'stateSeq'];

function* countProblems(fields: RoomFields): Generator<string> {
  const seq = Number(fields.get('seq'));
  for (const name of ['stateSeq', 'privateSeq']) {
    const at = fields.get(name);
    if (at !== undefined && !(Number(at) >= 1 && Number(at) <= seq)) yield `The room's ${name} is ${at}, and its seq ${seq}.`;
  }
  const seated = seatedIn(fields.get('players') ?? '').length;
  if (seated > Number(fields.get('maxPlayers'))) yield `The room has ${seated} players and seats for ${fields.get('maxPlayers')}.`;
}

function* seatProblems(fields: RoomFields): Generator<string> {
  const seated = seatedIn(fields.get('players') ?? '');
  const given = Number(fields.get('given'));
  const ids = new Set(seated);
  if (ids.size < seated.length) yield 'A player is seated twice.';
  for (const id of ids) {
    const lacking = [id, `${id}:account`].filter((name) => !fields.has(name));
    if (lacking.length > 0) yield `The room's seated player ${id} lacks the fields ${lacking.join(', ')}.`;
    if (!(Number(id.slice(1)) <= given)) yield `The room seats ${id}, and ${fields.get('given') ?? 'no'} seats were given out.`;
  }
  const host = fields.get('hostId');
  // After all players have left, `hostId` still has the last host.
  if (host !== undefined && ids.size > 0 && !ids.has(host)) yield `The room's host is ${host}, who has no seat.`;
  const left = new Set([...fields.keys()].flatMap((name) => OF_SEAT.exec(name)?.[1] ?? []).filter((id) => !ids.has(id)));
  if (left.size > 0) yield `The room holds fields of ${[...left].join(', ')}, who have no seat.`;
}

const OF_SEAT = /^(p\d+)(?:[.:]\w+)?$/;

function* textProblems(fields: RoomFields): Generator<string> {
  for (const [name, text] of fields) {
    const json = JSON_FIELDS.find(([pattern]) => pattern.test(name))?.[1](text);
    if (json !== undefined && !isJson(json)) yield `The room's field ${name} is no JSON.`;
  }
}

/** Members of the room as clients see it that have another shape than declared, such as an impossible time. */
function* memberProblems(fields: RoomFields): Generator<string> {
  let room: unknown;
  try {
    room = JSON.parse(roomJson(fields));
  } catch {
    yield 'The room cannot be shown to its players: a field is no JSON, or no time.';
    return;
  }
  const { error } = Room.safeParse(room);
  if (error !== undefined) yield `The room has members that cannot be right: ${error.issues.map(({ path }) => path.join('.')).join(', ')}.`;
}

/** Patterns of the names of fields with JSON. For each pattern, a function makes the JSON from the field's text. */
const JSON_FIELDS: readonly [RegExp, (text: string) => string][] = [
  [/^(?:state|tags|p\d+\.data)$/, (text) => text],
  [/^p\d+$/, (text) => `{${text}}`],
  [/^p\d+:private$/, (text) => text.slice(text.indexOf(' ') + 1)],
];

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
