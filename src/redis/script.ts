import { readFileSync } from 'node:fs';
import { withFormats } from './format-references.ts';
import { renderScript, snakeCase, type ScriptParts, type ScriptText, type TextForm } from './script-text.ts';
import type { AnyFormat } from './text-format.ts';

/**
 * A Lua script as data: its file, its KEYS and ARGV by name, and the words of its answers.
 *
 * The file opens with a header. A script does not load if the header differs from the declaration. The file is the body of a function whose
 * parameters are the declared KEYS and ARGV: no script counts positions. Every script also sees `now`, the time at which its calls left the
 * service, in milliseconds since 1970.
 *
 * An answer is an array of strings that begins with a word. A word that stands for a refusal is the error code of `errors.ts`, which the
 * JSON replies and the tests use too. Other words (`done`, `replayed`, `taken`) stay between the script and the code that calls it.
 */
export interface Script<Key extends string, Argument extends string, Word extends string> {
  readonly name: string;
  readonly keys: readonly Key[];
  readonly args: readonly Argument[];
  /** The arguments that have the same values in all calls of a batch. Redis gets them once a batch. */
  readonly shared: readonly Argument[];
  readonly answers: readonly Word[];
  readonly prologue: Prologue | undefined;
  /**
   * The slot in which the script runs: the slot of the caller's account, or of this key. All keys of the script are in this slot, except
   * the prologue's.
   */
  readonly slotOf: Key | 'caller';
  /**
   * The key whose slot has the outbox of the script's events. Undefined: the outbox of the caller's slot, or of the script's slot if there
   * is no caller.
   */
  readonly outboxOf: Key | undefined;
  /** Whether the answer waits until the replicas have the script's writes. Applies only with REDIS_WAIT_REPLICAS. */
  readonly durable: boolean;
  /** Whether Redis tells when a key that a call has read changes later (`tracked.ts`). The script must read all of them. */
  readonly tracked: boolean;
  /**
   * The same script for a caller whose account is in another slot. `checkApart` of `accounts/caller-scripts.ts` has checked the caller
   * before, and its answers are arguments in place of the prologue's KEYS.
   */
  readonly apart: Script<Key, Argument, Word> | undefined;
  /** The same script with `unchecked` in place of its prologue. Undefined: the prologue has none. */
  unchecked(): Script<Key, Argument, Word> | undefined;
  /**
   * A set of the caller's account to which the script adds an entry at its first write: the key of the set, the argument that becomes the
   * member, and the seconds after which the set expires if no other member is added. `keptSeconds` left out: the set never expires.
   */
  readonly lists: { readonly index: Key; readonly member: Argument; readonly keptSeconds?: number } | undefined;
  readonly parts: ScriptParts;
  readonly sha: string;
  /** Lua that runs the script once for each call in KEYS and ARGV, in order, and returns the list of answers. */
  readonly text: string;
  /** The script's text for a service of this form. Each form's text is made once. */
  textIn(form: TextForm): ScriptText;
}

/**
 * Lua that runs before a script, with its own KEYS, ARGV and answers. The script sees the prologue's locals. A call of a script with a
 * prologue has a `PrologueCall` (`script-runner.ts`).
 */
export interface Prologue {
  /** The name of the prologue's file. A script with this prologue names the file in its header. */
  readonly file: string;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** Libraries whose functions Redis defines once a batch. */
  readonly libraries: readonly Library[];
  /** The Lua that runs before each call. */
  readonly lua: string;
  /** Replaces this prologue if the caller's account is in another slot than the script. The replacement has no KEYS. */
  readonly apart: Prologue | undefined;
  /** Replaces this prologue when an operator acts as the caller, so that nothing is checked. The replacement has the same KEYS and ARGV. */
  readonly unchecked: Prologue | undefined;
}

/** Lua functions that several scripts share. */
export interface Library {
  /** The name of the library's file. A script with this library names the file in its header. */
  readonly file: string;
  readonly lua: string;
  /** The formats that the library's functions, and the scripts with this library, may name in strings (`text-format.ts`). */
  readonly formats: readonly AnyFormat[];
}

interface PrologueDeclaration {
  /** The `.lua` file, with the header of a script. */
  file: URL;
  keys: readonly string[];
  args: readonly string[];
  /** The words with which the prologue itself answers, so that the script does not run. */
  answers: readonly string[];
  /** Lua functions that the prologue and its scripts use. See `ScriptDeclaration`. */
  library?: Library | readonly Library[];
  /** Another prologue, whose Lua runs before this one's. */
  after?: Prologue;
  apart?: Prologue;
  unchecked?: Prologue;
}

/** The `.lua` file: `new URL('apply.lua', import.meta.url)`. A script of up to four lines may be text in its declaration, without a header. */
type ScriptSource = { readonly file: URL } | { readonly name: string; readonly lua: string };

interface ScriptDeclaration<Key, Argument, Word> {
  keys: readonly Key[];
  /** Default: none. */
  args?: readonly Argument[];
  /**
   * Further arguments that have the same values in most calls, such as rules from the settings. Redis gets them once a batch. A call with
   * other values goes into another batch.
   */
  shared?: readonly Argument[];
  answers: readonly Word[];
  prologue?: Prologue;
  /**
   * The slot of a Redis Cluster in which the script runs: the slot of the caller's account, or of one of the script's keys. Default: the
   * caller's if the script has a prologue, else the slot of the script's first key.
   */
  slotOf?: Key | 'caller';
  /** The key whose account gets the script's events. Default: the caller's account. */
  outboxOf?: Key;
  durable?: boolean;
  tracked?: boolean;
  /**
   * False: the script uses the caller's account itself, so it has no form for a caller in another slot. The code that calls it handles that
   * case.
   */
  apart?: false;
  lists?: { index: Key; member: Argument; keptSeconds?: number };
  /** Like a library, but for functions that use the script's KEYS and ARGV, so that each call defines them. */
  prelude?: Library;
  /** Libraries whose functions use neither KEYS nor ARGV. Redis defines them once a batch instead of once a call. */
  library?: Library | readonly Library[];
  /** Formats that the script names in strings, besides the formats of its libraries. */
  formats?: readonly AnyFormat[];
  /**
   * Declares that the script writes nothing. Redis runs the script even while it refuses writes: on a replica, or when it is out of memory.
   */
  readOnly?: boolean;
}

/**
 * @param file the `.lua` file
 * @param constants the numbers, texts and lists of texts that the Lua file uses as locals, by their names in Lua
 */
export function defineLibrary(
  file: URL,
  {
    formats = [],
    constants = {},
  }: { formats?: readonly AnyFormat[]; constants?: Readonly<Record<string, number | string | readonly string[]>> } = {},
): Library {
  const values = Object.entries(constants).map(([name, value]) => {
    const text =
      typeof value === 'object' ? `{${value.map((word) => `'${word}'`).join(', ')}}` : typeof value === 'number' ? value : `'${value}'`;
    return `local ${name} = ${text}\n`;
  });
  return { file: fileOf(file), lua: values.join('') + withFormats(nameOf(file), readFileSync(file, 'utf8'), formats), formats };
}

export function definePrologue({ file, keys, args, answers, library, after, apart, unchecked }: PrologueDeclaration): Prologue {
  const lua = readFileSync(file, 'utf8');
  checkHeader(nameOf(file), lua, { KEYS: keys, ARGV: args, Answers: answers });
  const own = [library ?? []].flat();
  checkParts(nameOf(file), lua, { Library: own });
  const libraries = [...(after?.libraries ?? []), ...own];
  return {
    file: fileOf(file),
    keys: [...keys, ...(after?.keys ?? [])],
    args: [...args, ...(after?.args ?? [])],
    libraries,
    lua: `${after?.lua ?? ''}\n${withFormats(nameOf(file), lua, formatsOf(libraries))}`,
    apart,
    unchecked,
  };
}

export function defineScript<const Key extends string, const Argument extends string = never, const Word extends string = string>(
  declaration: ScriptSource & ScriptDeclaration<Key, Argument, Word>,
): Script<Key, Argument, Word> {
  const { keys, args = [], shared = [], answers, prologue, prelude, library, formats = [], readOnly, lists } = declaration;
  const { durable = false, tracked = false } = declaration;
  const slotOf = declaration.slotOf ?? (prologue === undefined ? keys[0]! : 'caller');
  const own = [library ?? []].flat();
  const isFile = 'file' in declaration;
  const { name, lua } = isFile ? { name: nameOf(declaration.file), lua: readFileSync(declaration.file, 'utf8') } : declaration;
  if (isFile) {
    checkHeader(name, lua, { KEYS: keys, ARGV: args, Shared: shared, Answers: answers });
    checkParts(name, lua, { Prologue: [prologue?.file ?? []].flat(), Prelude: [prelude ?? []].flat(), Library: own });
  }
  const partsWith = (with_: Prologue | undefined): ScriptParts => {
    // A script and its prologue may name the same library, which must be defined only once.
    const libraries = [...new Set([...(with_?.libraries ?? []), ...own])];
    const known = [...formats, ...formatsOf([...libraries, prelude ?? []].flat())];
    return {
      keys: [...keys, ...(with_?.keys ?? [])],
      args: [...args, ...(with_?.args ?? [])],
      shared,
      homeKey: slotOf === 'caller' ? undefined : keys.indexOf(slotOf),
      callerKey: with_?.keys.includes('standing') === true ? keys.length + with_.keys.indexOf('standing') : undefined,
      library: libraries.map((part) => part.lua).join('\n'),
      body: [with_?.lua ?? '', prelude?.lua ?? '', withFormats(name, lua, known)].join('\n'),
      readOnly: readOnly === true,
      durable,
    };
  };
  const parts = partsWith(prologue);
  if (parts.keys.length + parts.args.length === 0) throw new Error(`${name}.lua: its calls cannot be counted without keys and arguments`);
  const common = { name, keys, args, shared, answers, slotOf, outboxOf: declaration.outboxOf, durable, tracked, lists };
  const isApart = slotOf !== 'caller' && prologue?.apart !== undefined && declaration.apart !== false;
  const withPrologue = (with_: Prologue) =>
    scriptOf({ ...common, prologue: with_, apart: undefined, unchecked: () => undefined }, partsWith(with_));
  const apart = isApart ? withPrologue(prologue.apart) : undefined;
  let made: Script<Key, Argument, Word> | undefined;
  const unchecked = () => (made ??= prologue?.unchecked && withPrologue(prologue.unchecked));
  return scriptOf({ ...common, prologue, apart, unchecked }, parts);
}

type Described<Key extends string, Argument extends string, Word extends string> = Omit<
  Script<Key, Argument, Word>,
  'parts' | 'sha' | 'text' | 'textIn'
>;

function scriptOf<Key extends string, Argument extends string, Word extends string>(
  described: Described<Key, Argument, Word>,
  parts: ScriptParts,
): Script<Key, Argument, Word> {
  // The object of the form is the key of the cache: a runner has one form, and asks for the text with each batch.
  const texts = new WeakMap<TextForm, ScriptText>();
  const textIn = (form: TextForm): ScriptText => {
    let made = texts.get(form);
    if (made === undefined) texts.set(form, (made = renderScript(described.name, parts, form)));
    return made;
  };
  return { ...described, parts, ...textIn({}), textIn };
}

function formatsOf(libraries: readonly Library[]): AnyFormat[] {
  return libraries.flatMap(({ formats }) => formats);
}

function fileOf(file: URL): string {
  return file.pathname.split('/').at(-1)!;
}

/** The name of a script in errors and metrics: its folder and its file, `accounts/open-account`. */
function nameOf(file: URL): string {
  return file.pathname
    .split('/')
    .slice(-2)
    .join('/')
    .replace(/\.lua$/, '');
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

/** The header has a line for each file whose functions and locals the script may use: `-- Library room.lua: find_room, seat_of`. */
function checkParts(name: string, lua: string, declared: Record<string, readonly (Library | string)[]>): void {
  for (const [label, files] of Object.entries(declared)) {
    const named = [...lua.matchAll(new RegExp(`^-- ${label} ([^\\s:]+)`, 'gm'))].map(([, file]) => file).join(', ');
    const expected = files.map((part) => (typeof part === 'string' ? part : part.file)).join(', ');
    if (named !== expected)
      throw new Error(`${name}.lua: its header names the ${label.toLowerCase()} ${named || 'none'}, its declaration ${expected || 'none'}`);
  }
}
