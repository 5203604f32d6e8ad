import { readFileSync } from 'node:fs';
import { createHash } from 'node:crypto';

/**
 * A Lua script as data: its file, its KEYS and ARGV by name, and its answers as words.
 *
 * The file opens with a header. A script does not load if the header differs from the declaration. The file is the body of a
 * function whose parameters are the declared KEYS and ARGV: no script counts positions. Every script also sees `now`, the time at
 * which its calls left the service, in milliseconds since 1970.
 *
 * An answer is an array of strings that begins with a word. A word that refuses is the error code of `errors.ts`, which the JSON
 * replies and the tests use too. Other words (`done`, `replayed`, `taken`) stay between the script and its handler.
 */
export interface Script<Key extends string, Argument extends string, Word extends string> {
  readonly name: string;
  readonly keys: readonly Key[];
  readonly args: readonly Argument[];
  /** Those arguments that Redis gets once for all calls of a command. */
  readonly shared: readonly Argument[];
  readonly answers: readonly Word[];
  readonly prologue: Prologue | undefined;
  readonly sha: string;
  /** Lua that runs the script once for each call in KEYS and ARGV, in order, and returns the list of answers. */
  readonly text: string;
}

/**
 * Lua that runs before a script's own, with KEYS, ARGV and answers of its own. The script sees the prologue's locals. A call
 * of such a script brings a `PrologueCall` (`script-runner.ts`).
 */
export interface Prologue {
  /** The file's name. A script with this prologue names it in its header. */
  readonly file: string;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** Functions that are defined once a batch. */
  readonly library: string;
  /** Runs before each call. */
  readonly lua: string;
}

interface PrologueDeclaration {
  /** The `.lua` file, with the header of a script. */
  file: URL;
  keys: readonly string[];
  args: readonly string[];
  /** The words with which the prologue answers in place of the script. */
  answers: readonly string[];
  /** A file with Lua functions for the prologue and its scripts, as in `ScriptDeclaration`. */
  library?: URL;
  /** A prologue that runs before this one. */
  after?: Prologue;
}

interface ScriptDeclaration<Key, Argument, Word> {
  /** The `.lua` file: `new URL('apply.lua', import.meta.url)`. */
  file: URL;
  keys: readonly Key[];
  args: readonly Argument[];
  /**
   * Further arguments that are the same for most calls, such as rules of the settings. Redis gets them once a batch. Calls with
   * other values go into another batch.
   */
  shared?: readonly Argument[];
  answers: readonly Word[];
  prologue?: Prologue;
  /** A file with Lua functions that several scripts share. They may use the script's KEYS and ARGV. */
  prelude?: URL;
  /** The same for functions that use neither KEYS nor ARGV. Redis defines them once a batch instead of once a call. */
  library?: URL;
  /** Redis runs the script where it refuses writes: on a replica, or when it is out of memory. */
  readOnly?: boolean;
}

export function definePrologue({ file, keys, args, answers, library, after }: PrologueDeclaration): Prologue {
  const lua = readFileSync(file, 'utf8');
  checkHeader(nameOf(file), lua, { KEYS: keys, ARGV: args, Answers: answers });
  checkParts(nameOf(file), lua, { Library: fileOf(library) });
  return {
    file: fileOf(file)!,
    keys: [...keys, ...(after?.keys ?? [])],
    args: [...args, ...(after?.args ?? [])],
    library: `${after?.library ?? ''}\n${textOf(library)}`,
    lua: `${after?.lua ?? ''}\n${lua}`,
  };
}

export function defineScript<const Key extends string, const Argument extends string, const Word extends string>(
  declaration: ScriptDeclaration<Key, Argument, Word>,
): Script<Key, Argument, Word> {
  const { file, keys, args, shared = [], answers, prologue, prelude, library, readOnly } = declaration;
  const lua = readFileSync(file, 'utf8');
  const name = nameOf(file);
  checkHeader(name, lua, { KEYS: keys, ARGV: args, Shared: shared, Answers: answers });
  checkParts(name, lua, { Prologue: prologue?.file, Prelude: fileOf(prelude), Library: fileOf(library) });

  const allKeys = [...keys, ...(prologue?.keys ?? [])];
  const allArgs = [...args, ...(prologue?.args ?? [])];
  if (allKeys.length + allArgs.length === 0) throw new Error(`${name}.lua: its calls cannot be counted without keys and arguments`);
  const text = [
    `#!lua${readOnly === true ? ' flags=no-writes' : ''}`,
    `local ${['now', ...shared.map(snakeCase)].join(', ')} = unpack(ARGV, 1, ${1 + shared.length})`,
    prologue?.library ?? '',
    textOf(library),
    `local function run(${[...allKeys, ...allArgs].map(snakeCase).join(', ')})`,
    prologue?.lua ?? '',
    textOf(prelude),
    lua,
    'end',
    forEachCall(allKeys.length, allArgs.length, 1 + shared.length),
  ].join('\n');
  return { name, keys, args, shared, answers, prologue, text, sha: createHash('sha1').update(text).digest('hex') };
}

function textOf(file: URL | undefined): string {
  return file === undefined ? '' : readFileSync(file, 'utf8');
}

function fileOf(file: URL | undefined): string | undefined {
  return file?.pathname.split('/').at(-1);
}

/** `accounts/open-account` */
function nameOf(file: URL): string {
  return file.pathname
    .split('/')
    .slice(-2)
    .join('/')
    .replace(/\.lua$/, '');
}

/**
 * Lua that runs the script for each call. A call that fails answers with its error, and the other calls run: in a batch, a
 * call behaves as it would alone.
 */
function forEachCall(keyCount: number, argCount: number, sharedCount: number): string {
  const calls = keyCount > 0 ? `#KEYS / ${keyCount}` : `(#ARGV - ${sharedCount}) / ${argCount}`;
  const words = (table: string, offset: string, count: number) =>
    Array.from({ length: count }, (_, index) => `${table}[${offset} + ${index + 1}]`);
  return `
local answers = {}
for call = 0, ${calls} - 1 do
  local key, arg = call * ${keyCount}, ${sharedCount} + call * ${argCount}
  local is_done, answer = pcall(${['run', ...words('KEYS', 'key', keyCount), ...words('ARGV', 'arg', argCount)].join(', ')})
  if not is_done and type(answer) == 'string' then
    -- An error of Redis begins with its code; an error of Lua has none.
    if not string.match(answer, '^%u+ ') then answer = 'ERR ' .. answer end
    answer = {err = answer}
  end
  answers[call + 1] = answer or false -- nil would end the list
end
return answers`;
}

/** `dailyCap` is `daily_cap` in Lua. */
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

/** The header names the files whose functions and locals the script may use: `-- Prelude doc.lua: read_room, seat_of`. */
function checkParts(name: string, lua: string, declared: Record<string, string | undefined>): void {
  for (const [label, file] of Object.entries(declared)) {
    const named = new RegExp(`^-- ${label} ([^\\s:]+)`, 'm').exec(lua)?.[1];
    if (named !== file) throw new Error(`${name}.lua: its header names the ${label.toLowerCase()} ${named}, its declaration ${file}`);
  }
}
