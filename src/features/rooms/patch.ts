import { hasMember, isMember, memberText, playerJson, seatedIn, type RoomFields } from './record.ts';

/** The texts that the changed fields of a room had before the change, by the name of the field. Undefined if the field did not exist. */
export type FieldsBefore = ReadonlyMap<string, string | undefined>;

/**
 * If a changed JSON text has at most this many characters, it is replaced as a whole, because it would cost more to compare its members
 * than that saves.
 */
const REPLACED_WHOLE = 128;

/**
 * The operations of a JSON Patch (RFC 6902: `add`, `replace`, `remove`) that turn a room's JSON before the changes into its present JSON,
 * as JSON text.
 * @param before the changed fields, with their texts before the changes
 * @param now the room's present fields
 */
export function patchOps(before: FieldsBefore, now: RoomFields): string {
  const ops: string[] = [];
  for (const [name, textBefore] of before) {
    const text = now.get(name);
    if (!isMember(name) || text === textBefore) continue;
    const path = `/${name}`;
    if (!hasMember(name, text)) ops.push(remove(path));
    else if (!hasMember(name, textBefore)) ops.push(add(path, memberText(name, text)!));
    else if (name === 'state') compareTexts(ops, path, textBefore!, text!);
    else ops.push(replace(path, memberText(name, text)!));
  }
  comparePlayers(ops, before, now);
  return `[${ops.join(',')}]`;
}

/**
 * Adds the operations for the list of players. Players who left are removed, from the last to the first. New players are at the end of the
 * list.
 */
function comparePlayers(ops: string[], before: FieldsBefore, now: RoomFields): void {
  const was = (name: string): string | undefined => (before.has(name) ? before.get(name) : now.get(name));
  const ids = seatedIn(now.get('players')!);
  let staying = ids;
  if (before.has('players')) {
    const seated = seatedIn(before.get('players')!);
    // A failover may bring back a player who had left, and not at the end. So all players from the first new player on are removed and
    // added again.
    const added = ids.findIndex((id) => !seated.includes(id));
    staying = added === -1 ? ids : ids.slice(0, added);
    for (let place = seated.length - 1; place >= 0; place--) if (!staying.includes(seated[place]!)) ops.push(remove(`/players/${place}`));
  }
  const [hostBefore, host] = [was('hostId'), now.get('hostId')];
  for (const [place, id] of ids.entries()) {
    const path = `/players/${place}`;
    const dataName = `${id}.data`;
    const [record, data] = [now.get(id), now.get(dataName)];
    if (place >= staying.length) {
      ops.push(add(path, playerJson(id, record, data, host)));
      continue;
    }
    if (before.has(id)) compare(ops, path, JSON.parse(`{${before.get(id)}}`), JSON.parse(`{${record}}`));
    if ((id === host) !== (id === hostBefore)) ops.push(replace(`${path}/host`, `${id === host}`));
    if (before.has(dataName)) compareTexts(ops, `${path}/data`, before.get(dataName) ?? 'null', data ?? 'null');
  }
}

function compareTexts(ops: string[], path: string, before: string, now: string): void {
  if (before === now) return;
  if (now.length <= REPLACED_WHOLE) ops.push(replace(path, now));
  else compare(ops, path, JSON.parse(before), JSON.parse(now));
}

function compare(ops: string[], path: string, before: unknown, now: unknown): void {
  if (before === now) return;
  if (isObject(before) && isObject(now)) return compareMembers(ops, path, before, now);
  if (!Array.isArray(before) || !Array.isArray(now)) return void ops.push(replace(path, JSON.stringify(now)));
  const common = Math.min(before.length, now.length);
  for (let place = 0; place < common; place++) compare(ops, `${path}/${place}`, before[place], now[place]);
  for (let place = before.length - 1; place >= common; place--) ops.push(remove(`${path}/${place}`));
  for (let place = common; place < now.length; place++) ops.push(add(`${path}/${place}`, JSON.stringify(now[place])));
}

function compareMembers(ops: string[], path: string, before: JsonObject, now: JsonObject): void {
  for (const name of Object.keys(before)) if (!Object.hasOwn(now, name)) ops.push(remove(`${path}/${pointerPart(name)}`));
  for (const name of Object.keys(now)) {
    const part = `${path}/${pointerPart(name)}`;
    if (Object.hasOwn(before, name)) compare(ops, part, before[name], now[name]);
    else ops.push(add(part, JSON.stringify(now[name])));
  }
}

type JsonObject = Record<string, unknown>;

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The name of a member as a part of a JSON Pointer (RFC 6901, section 3). */
function pointerPart(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

function add(path: string, value: string): string {
  return `{"op":"add","path":${JSON.stringify(path)},"value":${value}}`;
}

function replace(path: string, value: string): string {
  return `{"op":"replace","path":${JSON.stringify(path)},"value":${value}}`;
}

function remove(path: string): string {
  return `{"op":"remove","path":${JSON.stringify(path)}}`;
}
