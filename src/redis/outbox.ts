/** The fields of a script that show whether the script emits events. */
interface EmittingScript {
  readonly library: string;
  readonly body: string;
  readonly readOnly: boolean;
}

interface Form {
  readonly outbox?: boolean;
  readonly cluster?: boolean;
}

/**
 * The Redis key of the outbox: a list of events that scripts emit. A relay moves the events from there into the log. A script writes its
 * event in the same EVALSHA as its change, so Redis has both or neither.
 *
 * An element of the list is the text of one batch: `<microseconds since 1970, by Redis's clock>`, and a line for each call of `emit`. One
 * RPUSH writes the events of a whole batch. With an RPUSH for each call, a credit would cost Redis a quarter more.
 *
 * A single Redis has one outbox. A Cluster has an outbox for each slot. Its key is a hash tag of the slot and then this name, so that the
 * events of an account stay in one list and move with the slot.
 */
export const OUTBOX = 'outbox';

/**
 * Whether calls of the script may emit events. If they may, each call on a Cluster has the tag of its outbox's slot as a further argument.
 */
export function mayEmit({ library, body, readOnly }: EmittingScript): boolean {
  return !readOnly && /\bemit\(/.test(library + body);
}

/**
 * Lua functions for scripts that emit events: `emit(line)`, and `emits`, which is false if the service keeps no outboxes. A script checks
 * `emits` before it makes a line.
 */
export function outboxFunctions(script: EmittingScript, { outbox, cluster }: Form): string {
  if (!/\bemit\(|\bemits\b/.test(script.library + script.body)) return '';
  if (outbox !== true || script.readOnly) return 'local emits = false\nlocal function emit() end';
  if (cluster !== true) return 'local emits, emitted = true, {}\nlocal function emit(line) emitted[#emitted + 1] = line end';
  return `local emits, emitted, outbox_tag = true, {}
local function emit(line)
  local of_tag = emitted[outbox_tag]
  if of_tag then of_tag[#of_tag + 1] = line else emitted[outbox_tag] = {line} end
end`;
}

/** Lua at the end of a batch: writes the events of its calls to the outbox. */
export function writeOutboxes(script: EmittingScript, { outbox, cluster }: Form): string {
  if (outbox !== true || !mayEmit(script)) return '';
  const write = (tag: string, lines: string): string => `
    local time = redis.call('TIME')
    redis.call('RPUSH', ${tag}'${OUTBOX}', time[1] .. string.format('%06d', time[2]) .. '\\n' .. table.concat(${lines}, '\\n'))`;
  return cluster === true
    ? `for tag, lines in pairs(emitted) do${write('tag .. ', 'lines')}\nend`
    : `if emitted[1] then${write('', 'emitted')}\nend`;
}
