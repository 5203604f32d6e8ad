import { createHash } from 'node:crypto';
import { channelFunctions } from './channels.ts';
import { counterFunctions, mayCount, writeCounters } from './counters.ts';
import { mayEmit, outboxFunctions, writeOutboxes } from './outbox.ts';

/** The parts from which the Lua text of a script is made. `keys` and `args` include the KEYS and ARGV of the script's prologue. */
export interface ScriptParts {
  readonly keys: readonly string[];
  readonly args: readonly string[];
  readonly shared: readonly string[];
  /** The index in `keys` of the key in whose slot the script runs. Undefined: the script runs in the slot of its caller's account. */
  readonly homeKey: number | undefined;
  /** The index in `keys` of a key of the caller's account. Undefined: the script has no such key. */
  readonly callerKey: number | undefined;
  /** Lua functions that Redis defines once a batch. */
  readonly library: string;
  /** Lua that runs in each call: the prologue, the prelude, the script. */
  readonly body: string;
  readonly readOnly: boolean;
  readonly durable: boolean;
}

export interface TextForm {
  /**
   * For a Cluster. Keys come as ARGV, so that a batch may contain keys of many slots. Each call first checks that the node serves its
   * slots. A single Redis has a form of its own, because the Cluster's form costs more even with one primary: a credit takes 1.11 times the
   * CPU of this process, and 1.16 times that of Redis (docs/bench.md).
   */
  cluster?: boolean;
  /** The number of Redis's database, with which the names of its channels begin. Default: 0. */
  database?: number;
  /** A batch first checks that Redis has the data with the known id, and not an older state of the data (`data-guard.ts`). */
  checksData?: boolean;
  /**
   * A batch of a script that waits for replicas begins with a write. So WAIT also waits for all earlier writes that the batch's answers
   * show.
   */
  waits?: boolean;
  /** Scripts emit events to outboxes (`outbox.ts`). Default: scripts emit no events. */
  outbox?: boolean;
  /** For tests: a call fails if it touches a key whose hash tag is neither its own nor its caller's. */
  checksTags?: boolean;
  /** For tests: milliseconds by which TIME in scripts is ahead of Redis's clock. */
  timeAheadMs?: number;
}

export interface ScriptText {
  readonly text: string;
  readonly sha: string;
  /** Whether calls of the script may write events to an outbox. */
  readonly emits: boolean;
  /** Whether each call has the tag of its outbox as an additional last argument. */
  readonly bringsTag: boolean;
}

/** The error code of a call in a slot that the node does not serve, or that is moving. The call did nothing. */
export const ELSEWHERE = 'ELSEWHERE';

/** The error code of a batch that found other data in Redis than the process knows. No call of the batch did anything. */
export const OTHER_DATA = 'OTHERDATA';

/**
 * The text of a script: Lua that runs the script once for each call, in order, and returns the list of answers. A script sees the declared
 * names, the functions of channels.ts and outbox.ts, and two more locals:
 * - `now`: when the batch left the service, in milliseconds since 1970.
 * - `place`: the prefix of keys of which each slot of a Cluster has a copy. '' on a single Redis.
 */
export function renderScript(name: string, parts: ScriptParts, form: TextForm): ScriptText {
  const { keys, args, shared, library, body, readOnly } = parts;
  const isCluster = form.cluster === true;
  // A durable batch makes a write that the replicas have to confirm.
  const writes = !readOnly || (form.waits === true && parts.durable);
  const flags = [...(writes ? [] : ['no-writes']), ...(isCluster ? ['allow-cross-slot-keys'] : [])];
  const sharedArgs = [
    'now',
    ...(isCluster ? ['place'] : []),
    ...(form.checksData === true ? ['data_id', 'least_heartbeat'] : []),
    ...shared.map(snakeCase),
  ];
  const text = [
    `#!lua${flags.length === 0 ? '' : ` flags=${flags.join(',')}`}`,
    ...(form.timeAheadMs === undefined ? [] : [timeShift(form.timeAheadMs)]),
    ...(form.checksTags === true ? [TAG_RECORDER] : []),
    `local ${sharedArgs.join(', ')} = unpack(ARGV, 1, ${sharedArgs.length})`,
    isCluster ? '' : `local place = ''`,
    channelFunctions(library + body, form),
    outboxFunctions(parts, form),
    counterFunctions(parts),
    library,
    `local function run(${[...keys, ...args].map(snakeCase).join(', ')})`,
    body,
    'end',
    forEachCall(name, parts, sharedArgs.length, form),
    writeOutboxes(parts, form),
    writeCounters(parts, form),
    'return answers',
  ].join('\n');
  const emits = form.outbox === true && mayEmit(parts);
  return { text, sha: createHash('sha1').update(text).digest('hex'), emits, bringsTag: emits && isCluster };
}

/**
 * Lua that runs the script for each call. A call that fails answers with its error, and the other calls still run. So in a batch a call
 * behaves as it would alone.
 *
 * While a slot of a Cluster moves, a script could find one of its keys on this node and miss another. So each call first reads a key of the
 * slot that never exists. A node refuses the read if the slot belongs to another node, or is moving from or to this node.
 */
function forEachCall(name: string, parts: ScriptParts, fixed: number, form: TextForm): string {
  const { keys, args, homeKey, callerKey } = parts;
  const [k, a] = [keys.length, args.length];
  const isCluster = form.cluster === true;
  // On a Cluster the tag of the call's outbox follows the other arguments of each call.
  const bringsTag = isCluster && form.outbox === true && mayEmit(parts);
  const argCount = a + (bringsTag ? 1 : 0);
  const calls = isCluster ? `(#ARGV - ${fixed}) / ${k + argCount}` : k > 0 ? `#KEYS / ${k}` : `(#ARGV - ${fixed}) / ${a}`;
  const begins = isCluster ? `${fixed} + call * ${k}, ${fixed} + calls * ${k} + call * ${argCount}` : `call * ${k}, ${fixed} + call * ${a}`;
  const keyTable = isCluster ? 'ARGV' : 'KEYS';
  const words = (table: string, offset: string, count: number) =>
    Array.from({ length: count }, (_, index) => `${table}[${offset} + ${index + 1}]`);
  const ofSlots = [homeKey, callerKey].filter((index) => index !== undefined).map((index) => `${keyTable}[key + ${index + 1}]`);
  if (isCluster && ofSlots.length === 0) throw new Error(`${name}.lua has no key that tells its slot`);
  return `
local answers = {}
local calls = ${calls}
${isCluster ? IS_HERE : ''}
${begin(parts, form)}
for call = 0, calls - 1 do
  local key, arg = ${begins}
  ${isCluster ? `if is_place_here and ${ofSlots.map((of) => `is_here(${of})`).join(' and ')} then` : 'do'}
    ${form.checksTags === true ? 'touched = {}' : ''}
    ${bringsTag ? `outbox_tag = ARGV[arg + ${argCount}]` : ''}
    local is_done, answer = pcall(${['run', ...words(keyTable, 'key', k), ...words('ARGV', 'arg', a)].join(', ')})
    if not is_done and type(answer) == 'string' then
      -- An error of Redis begins with its code; an error of Lua has none.
      if not string.match(answer, '^%u+ ') then answer = 'ERR ' .. answer end
      answer = {err = answer}
    end
    ${form.checksTags === true ? `answer = check_tags(answer, '${name}', ${ofSlots.length === 0 ? 'nil' : ofSlots.join(', ')})` : ''}
    answers[call + 1] = answer or false -- false, because nil would end the list
  ${isCluster ? `else answers[call + 1] = {err = '${ELSEWHERE}'} end` : 'end'}
end`;
}

/**
 * Lua at the beginning of a batch. The check of the data ends the batch if Redis has other data than the process knows (`data-id.ts`).
 * Since the last check Redis may have been emptied, replaced or rolled back, and no call may see or change wrong data. A durable batch then
 * makes a write, so that WAIT waits even if all calls are replays. On a Cluster the slot of `place` may be moving. In that case no call
 * runs.
 */
function begin(parts: ScriptParts, { cluster, waits, checksData }: TextForm): string {
  const { library, body, durable } = parts;
  const writes = waits === true && durable;
  const mark = `redis.call('SET', place .. 'replication:mark', now)`;
  if (cluster !== true) return [checksData === true ? CHECK_DATA : '', writes ? mark : ''].join('\n');
  return [
    `local is_place_here = ${!writes && (mayCount(parts) || /\bplace\b/.test(library + body)) ? 'is_here(place)' : 'true'}`,
    checksData === true ? CHECK_DATA_OF_SLOT : '',
    writes ? `is_place_here = is_place_here and pcall(function() return ${mark} end)` : '',
  ].join('\n');
}

/**
 * Lua that tells whether Redis refused the read of the data id. A value of another type, which another client wrote, counts as other data.
 */
const IS_REFUSED = `type(data) == 'table' and not string.find(data.err, 'WRONGTYPE', 1, true)`;
const IS_OTHER = `type(data) ~= 'string' or string.sub(data, 1, 22) ~= data_id`;
const END = `return redis.error_reply('${OTHER_DATA} This Redis has other data than the service knows')`;

/**
 * Lua for a single Redis: compares the heartbeat as well. A Cluster cannot compare it here, because the heartbeat is in another slot than
 * `place`.
 */
const CHECK_DATA = `local data = redis.pcall('GET', 'data:id')
if ${IS_REFUSED} then return data end
if ${IS_OTHER} or string.sub(data, 24, 38) < least_heartbeat then ${END} end`;

/** Lua for a Cluster. While the slot of `place` moves, Redis may refuse the read. In that case no call runs. */
const CHECK_DATA_OF_SLOT = `if is_place_here then
  local data = redis.pcall('GET', place .. 'data:id')
  if ${IS_REFUSED} then is_place_here = false
  elseif ${IS_OTHER} then ${END} end
end`;

/**
 * Lua that tells whether this node serves the slot of a key. If a key has no hash tag, its probe key has the whole key as its tag, so that
 * both are in the same slot.
 */
const IS_HERE = `local function is_here(key)
  if key == '' then return true end
  return pcall(redis.call, 'EXISTS', string.find(key, '{', 1, true) and key .. '?' or '{' .. key .. '}?')
end`;

const timeShift = (aheadMs: number): string => `
local redis_on_time = redis
local redis = setmetatable({
  call = function(command, ...)
    local reply = redis_on_time.call(command, ...)
    if command ~= 'TIME' then return reply end
    local micros = reply[1] * 1000000 + reply[2] + ${aheadMs * 1000}
    return {string.format('%.0f', math.floor(micros / 1000000)), string.format('%.0f', micros % 1000000)}
  end,
}, {__index = redis_on_time})`;

/** Lua that records the hash tags of all keys that a call touches, including keys that the script itself makes. */
const TAG_RECORDER = `
local touched = {}
local redis_of_all, many_keys = redis, {EXISTS = true, DEL = true, UNLINK = true, MGET = true, RENAME = true, LMOVE = true, SMOVE = true}
local keyless = {PUBSUB = true, TIME = true, PUBLISH = true, SCAN = true}
local function tag_of(key) return string.match(key, '{([^}]+)}') or key end
local function note(command, ...)
  command = string.upper(command)
  if keyless[command] then return end
  for index, key in ipairs({...}) do
    if index == 1 or many_keys[command] then touched[tag_of(key)] = key end
  end
end
local redis = setmetatable({
  call = function(...) note(...) return redis_of_all.call(...) end,
  pcall = function(...) note(...) return redis_of_all.pcall(...) end,
}, {__index = redis_of_all})
local data_marks = {['data:version'] = true, ['ledger:secret'] = true, ['data:id'] = true, ['replication:mark'] = true}
local function check_tags(answer, name, ...)
  local declared = {}
  for _, key in ipairs({...}) do declared[tag_of(key)] = true end
  for tag, key in pairs(touched) do
    if not declared[tag] and not data_marks[string.match(key, '[^}]*$')] then
      return {err = 'ERR ' .. name .. '.lua touches ' .. key .. ', which lies in another slot than its own'}
    end
  end
  return answer
end`;

/** Turns a TypeScript name into a Lua name: `dailyCap` into `daily_cap`. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
