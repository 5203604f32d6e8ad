/** The parts of a script that decide whether it emits. */
interface Parts {
  readonly library: string;
  readonly body: string;
  readonly readOnly: boolean;
}

interface Form {
  readonly outbox?: boolean;
  readonly cluster?: boolean;
}

/**
 * The outboxes: lists of what scripts say has happened, for a relay that carries it on. A script that calls `emit` writes its word in the
 * same EVALSHA as its change, so that Redis has both or neither.
 *
 * An element is the text of one batch: `<microseconds since 1970, by Redis's clock>`, and a line for each call of `emit`. One command writes
 * what a whole batch emits: a RPUSH for each call would cost a credit a quarter more of Redis's time.
 *
 * One Redis has one outbox. A Cluster has one a slot, under a tag of that slot: what concerns one account stays in one list and moves with
 * the slot.
 */
export const OUTBOX = 'outbox';

/** Whether calls of the script may emit. It is asked for each batch of a Cluster: the calls bring the tags of their slots then. */
export function mayEmit({ library, body, readOnly }: Parts): boolean {
  return !readOnly && /\bemit\(/.test(library + body);
}

/**
 * Lua functions for scripts that emit: `emit(line)`, and `emits`, which is false where the service keeps no outboxes. A script asks `emits`
 * before it makes a line.
 */
export function outboxFunctions(parts: Parts, { outbox, cluster }: Form): string {
  if (!/\bemit\(|\bemits\b/.test(parts.library + parts.body)) return '';
  if (outbox !== true || parts.readOnly) return 'local emits = false\nlocal function emit() end';
  if (cluster !== true) return 'local emits, emitted = true, {}\nlocal function emit(line) emitted[#emitted + 1] = line end';
  return `local emits, emitted, outbox_tag = true, {}
local function emit(line)
  local of_tag = emitted[outbox_tag]
  if of_tag then of_tag[#of_tag + 1] = line else emitted[outbox_tag] = {line} end
end`;
}

/** Lua at the end of a batch: writes what its calls have emitted. */
export function writeOutboxes(parts: Parts, { outbox, cluster }: Form): string {
  if (outbox !== true || !mayEmit(parts)) return '';
  const write = (tag: string, lines: string): string => `
    local time = redis.call('TIME')
    redis.call('RPUSH', ${tag}'${OUTBOX}', time[1] .. string.format('%06d', time[2]) .. '\\n' .. table.concat(${lines}, '\\n'))`;
  return cluster === true
    ? `for tag, lines in pairs(emitted) do${write('tag .. ', 'lines')}\nend`
    : `if emitted[1] then${write('', 'emitted')}\nend`;
}
