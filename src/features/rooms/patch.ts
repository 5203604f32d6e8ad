import { memberNames, memberText, playerJson, seatedIn, type RoomFields } from './record.ts';

/** The texts that changed fields had; undefined for a field that was not there. */
export type FieldsBefore = ReadonlyMap<string, string | undefined>;

/**
 * The operations of a JSON Patch (RFC 6902: `add`, `replace`, `remove`), as JSON text, that turn the room as it was into the room as it is.
 */
export function patchOps(before: FieldsBefore, now: RoomFields): string {
  const was = (name: string): string | undefined => (before.has(name) ? before.get(name) : now.get(name));
  const ops: string[] = [];
  for (const name of memberNames) {
    if (!before.has(name)) continue;
    const [text, next] = [memberText(name, was(name)), memberText(name, now.get(name))];
    if (text === next) continue;
    if (text === undefined) ops.push(add(`/${name}`, next!));
    else if (next === undefined) ops.push(remove(`/${name}`));
    else if (name === 'state') compare(ops, '/state', JSON.parse(text), JSON.parse(next));
    else ops.push(replace(`/${name}`, next));
  }
  comparePlayers(ops, was, now);
  return `[${ops.join(',')}]`;
}

/** Players who left are removed from the last to the first; those who joined stand at the end. */
function comparePlayers(ops: string[], was: (name: string) => string | undefined, now: RoomFields): void {
  const before = seatedIn(was('players')!);
  const ids = seatedIn(now.get('players')!);
  const staying = before.filter((id) => ids.includes(id));
  for (let place = before.length - 1; place >= 0; place--) if (!staying.includes(before[place]!)) ops.push(remove(`/players/${place}`));
  const [hostBefore, host] = [was('hostId'), now.get('hostId')];
  for (const [place, id] of ids.entries()) {
    const text = playerJson(id, now.get(id), now.get(`${id}.data`), host);
    if (place >= staying.length) ops.push(add(`/players/${place}`, text));
    else {
      const textBefore = playerJson(id, was(id), was(`${id}.data`), hostBefore);
      if (text !== textBefore) compare(ops, `/players/${place}`, JSON.parse(textBefore), JSON.parse(text));
    }
  }
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

/** RFC 6901, section 3. */
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
