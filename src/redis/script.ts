import { readFileSync } from 'node:fs';
import { createHash } from 'node:crypto';

/**
 * A Lua script as data: its file, its KEYS and ARGV by name, and its answers as words.
 *
 * The file opens with a header (`-- KEYS …`, `-- ARGV …`, `-- Answers …`) that says the same; a script whose header and
 * declaration differ does not load, so the header cannot rot. The file is the body of a function whose parameters name
 * KEYS and ARGV, in the declared order, so that no script counts positions by hand.
 *
 * An answer is an array of strings, a word first. The word is the one in `errors.ts`, in the JSON and in the tests.
 */
export interface Script<Key extends string, Argument extends string, Word extends string> {
  readonly name: string;
  readonly keys: readonly Key[];
  readonly args: readonly Argument[];
  readonly answers: readonly Word[];
  readonly caller: 'reads' | 'writes' | undefined;
  readonly sha: string;
  /** Lua that runs it for as many calls as KEYS and ARGV hold, one after the other, and answers with the list of their answers. */
  readonly text: string;
}

interface ScriptDeclaration<Key, Argument, Word> {
  /** The `.lua` file: `new URL('apply.lua', import.meta.url)`. */
  file: URL;
  keys: readonly Key[];
  args: readonly Argument[];
  answers: readonly Word[];
  /**
   * What the script does for its caller besides its own work:
   * `reads` refuses a session that ended, and an account that moved into another; `writes` also opens the caller's
   * account at its first write. Both have the locals `moved_in` and `generation`.
   */
  caller?: 'reads' | 'writes';
  /** Lua that stands before the script's own: functions that several scripts share. */
  prelude?: URL;
  /** The same, of functions that need nothing of the call: made once for all calls that leave together. */
  library?: URL;
  /** Runs where writes are refused: on a replica, or out of memory. */
  readOnly?: boolean;
}

/**
 * Reads the account's record (`moves`) and the session's own mark (`signed_out`). Most accounts have no record and most
 * sessions no mark; for them the check costs one command.
 *
 * The record of an account that moved is ">account id". Any other record begins with the line "#<generation>" where all
 * sessions were ended at once, which is the generation that sessions stand from since then. A line "<account id> <ledger
 * entries>" follows for each guest that moved in: these lines become `moved_in`; what
 * follows the figure in a line is the ledger's (`store/move.lua`). A session's id, at the end of
 * `signed_out`, begins with "<generation>.". A session of an older version has an id without one: it belongs to generation
 * 0, but to none where guests moved in, because in that version a guest's installId made such sessions after the move.
 */
const CALLER_CHECK = `
local moved_in, generation = '', '0'
if moves ~= '' and redis.call('EXISTS', moves, signed_out) > 0 then
  if signed_out ~= '' and redis.call('EXISTS', signed_out) == 1 then return {'session_ended'} end
  local record = redis.call('GET', moves) or ''
  if string.sub(record, 1, 1) == '>' then return {'sign_in_required'} end
  generation, moved_in = string.match(record, '^#(%d+)\\n(.*)$')
  if not generation then generation, moved_in = '0', record end
  local of_session = string.match(signed_out, ':out:(%d+)%.') or (moved_in == '' and '0')
  if signed_out ~= '' and of_session ~= generation then return {'session_ended'} end
end`;

/**
 * `open_account()` before the first write: creates the caller's account if there is none, or answers false where its
 * address has created too many. `answer(word, …)` marks the word with a plus after a creation, for it counts against that address.
 */
const OPEN_ACCOUNT = `
local account_created = false
local function open_account()
  if redis.call('EXISTS', account) == 1 then return true end
  if creation_barred ~= '' then return false end
  redis.call('HSET', account, 'createdAt', now)
  account_created = true
  return true
end
local function answer(...)
  local words = {...}
  if account_created then words[1] = '+' .. words[1] end
  return words
end`;

export function defineScript<const Key extends string, const Argument extends string, const Word extends string>(
  declaration: ScriptDeclaration<Key, Argument, Word>,
): Script<Key, Argument, Word> {
  const { file, keys, args, answers, caller, prelude, library, readOnly } = declaration;
  const lua = readFileSync(file, 'utf8');
  const name = file.pathname
    .split('/')
    .slice(-2)
    .join('/')
    .replace(/\.lua$/, '');
  checkHeader(name, lua, { KEYS: keys, ARGV: args, Answers: answers });

  const allKeys = caller === undefined ? keys : [...keys, ...(caller === 'writes' ? ['account'] : []), 'moves', 'signed_out'];
  const allArgs = caller === 'writes' ? [...args, 'now', 'creation_barred'] : args;
  if (allKeys.length + allArgs.length === 0) throw new Error(`${name}.lua: its calls cannot be counted without keys and arguments`);
  const text = [
    `#!lua${readOnly === true ? ' flags=no-writes' : ''}`,
    library === undefined ? '' : readFileSync(library, 'utf8'),
    `local function run(${[...allKeys, ...allArgs].map(snakeCase).join(', ')})`,
    caller === undefined ? '' : CALLER_CHECK,
    caller === 'writes' ? OPEN_ACCOUNT : '',
    prelude === undefined ? '' : readFileSync(prelude, 'utf8'),
    lua,
    'end',
    forEachCall(allKeys.length, allArgs.length),
  ].join('\n');
  return { name, keys, args, answers, caller, text, sha: createHash('sha1').update(text).digest('hex') };
}

/**
 * Calls `run` for each call in turn. One that fails answers with its error, as it would have by itself, and the others are
 * done all the same.
 */
function forEachCall(keyCount: number, argCount: number): string {
  const calls = keyCount > 0 ? `#KEYS / ${keyCount}` : `#ARGV / ${argCount}`;
  const words = (table: string, offset: string, count: number) =>
    Array.from({ length: count }, (_, index) => `${table}[${offset} + ${index + 1}]`);
  return `
local answers = {}
for call = 0, ${calls} - 1 do
  local key, arg = call * ${keyCount}, call * ${argCount}
  local is_done, answer = pcall(${['run', ...words('KEYS', 'key', keyCount), ...words('ARGV', 'arg', argCount)].join(', ')})
  if not is_done and type(answer) == 'string' then
    -- Redis's own errors begin with their code.
    if not string.match(answer, '^%u+ ') then answer = 'ERR ' .. answer end
    answer = {err = answer}
  end
  answers[call + 1] = answer or false -- nil would end the list
end
return answers`;
}

/** Lua reads `dailyCap` as `daily_cap`. */
function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function checkHeader(name: string, lua: string, declared: Record<string, readonly string[]>): void {
  for (const [label, words] of Object.entries(declared)) {
    const line = new RegExp(`^-- ${label}:? *(.*)$`, 'm').exec(lua)?.[1] ?? '';
    const header = line
      .replace(/\([^)]*\)/g, ' ')
      .split(/[\s,]+/)
      .filter((word) => word !== '' && word !== '-');
    const expected = label === 'Answers' ? words : words.map(snakeCase);
    if (header.join(' ') !== expected.join(' ')) {
      throw new Error(`${name}.lua: its header says ${label} "${header.join(' ')}", its declaration "${expected.join(' ')}"`);
    }
  }
}
