import { readFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { rateLimited } from '../errors.ts';

/**
 * A Lua script as data: its file, its KEYS and ARGV by name, and its answers as words.
 *
 * The file opens with a header (`-- KEYS …`, `-- ARGV …`, `-- Answers …`) that says the same; a script whose header and
 * declaration differ does not load, so the header cannot rot. The locals that name KEYS and ARGV are written by
 * `source()`, in the declared order, so that no script counts positions by hand.
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
   * `reads` refuses a session that was signed out, and an account that moved into another; `writes` also opens the
   * caller's account at its first write. Both have the local `moved_in`.
   */
  caller?: 'reads' | 'writes';
  /** Lua that stands before the script's own: functions that several scripts share. */
  prelude?: URL;
  /** Runs where writes are refused: on a replica, or out of memory. */
  readOnly?: boolean;
}

/** The caller as a script sees it: whose account, under which session, and whether one may be created. */
export interface ScriptCaller {
  readonly accountKey: string;
  readonly movesKey: string;
  readonly signedOutKey: string | undefined;
  /** Milliseconds until this address may create another account: 0 where it may now. */
  readonly creationWaitMs: number;
  /** Told when the script created the caller's account. */
  accountCreated(): void;
}

/** The session was signed out. Caught by the pipeline, which asks again as if there had been no session. */
export class SessionEnded extends Error {}

/** The caller's account moved into another. Caught by the pipeline, which asks again for that one. */
export class AccountMoved extends Error {
  readonly movesKey: string;
  /** The account's id. */
  readonly target: string;

  constructor(movesKey: string, target: string) {
    super('the account moved into another');
    this.movesKey = movesKey;
    this.target = target;
  }
}

/**
 * Who has neither signed out nor moved pays one command for being asked. `moves` of an account that moved holds
 * ">account id"; of one that others moved into, a line "<account id> <ledger entries>" each, which becomes `moved_in`.
 */
const CALLER_CHECK = `
local moved_in = ''
if moves and redis.call('EXISTS', moves, signed_out or moves) > 0 then
  if signed_out and redis.call('EXISTS', signed_out) == 1 then return {'session_ended'} end
  local note = redis.call('GET', moves)
  if note and string.sub(note, 1, 1) == '>' then return {'account_moved', string.sub(note, 2)} end
  moved_in = note or ''
end`;

/**
 * `open_account()` before the first write: creates the caller's account if there is none, or answers false where its
 * address has created too many. `answer(word, …)` marks the word with a plus after a creation, for it counts against that address.
 */
const OPEN_ACCOUNT = `
local account_created = false
local function open_account()
  if redis.call('EXISTS', account) == 1 then return true end
  if creation_barred then return false end
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
  const { file, keys, args, answers, caller, prelude, readOnly } = declaration;
  const lua = readFileSync(file, 'utf8');
  const name = file.pathname
    .split('/')
    .slice(-2)
    .join('/')
    .replace(/\.lua$/, '');
  checkHeader(name, lua, { KEYS: keys, ARGV: args, Answers: answers });

  const allKeys = caller === undefined ? keys : [...keys, ...(caller === 'writes' ? ['account'] : []), 'moves', 'signed_out'];
  const allArgs = caller === 'writes' ? [...args, 'now', 'creation_barred'] : args;
  const text = [
    `#!lua${readOnly === true ? ' flags=no-writes' : ''}`,
    locals(allKeys, 'KEYS'),
    locals(allArgs, 'ARGV'),
    caller === undefined ? '' : CALLER_CHECK,
    caller === 'writes' ? OPEN_ACCOUNT : '',
    prelude === undefined ? '' : readFileSync(prelude, 'utf8'),
    lua,
  ].join('\n');
  return { name, keys, args, answers, caller, text, sha: createHash('sha1').update(text).digest('hex') };
}

function locals(names: readonly string[], table: string): string {
  if (names.length === 0) return '';
  return `local ${names.map(snakeCase).join(', ')} = ${names.map((_, index) => `${table}[${index + 1}]`).join(', ')}`;
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

type AnyScript = Script<string, string, string>;

/** What sends a command and resolves with its reply: a ScriptLink, or ioredis. */
export interface ScriptConnection {
  call(command: string, words: (string | number)[]): Promise<unknown>;
}

/** Runs scripts: one round trip each, by hash, loaded again where Redis forgot them. */
export class Scripts {
  readonly #connection: ScriptConnection;
  readonly #now: () => number;
  readonly #observe: (script: string, milliseconds: number) => void;

  constructor(connection: ScriptConnection, options: { now: () => number; observe?: (script: string, milliseconds: number) => void }) {
    this.#connection = connection;
    this.#now = options.now;
    this.#observe = options.observe ?? (() => {});
  }

  /** A script that knows no caller. */
  run<Key extends string, Argument extends string, Word extends string>(
    script: Script<Key, Argument, Word>,
    keys: Record<Key, string>,
    args: Record<Argument, string | number>,
  ): Promise<Answer<Word>> {
    const words: (string | number)[] = [script.sha, script.keys.length];
    for (const name of script.keys) words.push(keys[name]);
    for (const name of script.args) words.push(args[name]);
    return this.#call(script, words) as Promise<Answer<Word>>;
  }

  /**
   * A script that acts for a caller.
   * @throws SessionEnded where the caller's session was signed out; then nothing was done
   * @throws AccountMoved where the caller's account moved into another; then nothing was done
   * @throws Refusal `rate_limited` where it would have created one account too many from this address
   */
  async runAs<Key extends string, Argument extends string, Word extends string>(
    caller: ScriptCaller,
    script: Script<Key, Argument, Word>,
    keys: Record<Key, string>,
    args: Record<Argument, string | number>,
  ): Promise<Answer<Word>> {
    const { signedOutKey } = caller;
    const words: (string | number)[] = [script.sha, 0];
    for (const name of script.keys) words.push(keys[name]);
    if (script.caller === 'writes') words.push(caller.accountKey);
    words.push(caller.movesKey);
    if (signedOutKey !== undefined) words.push(signedOutKey);
    words[1] = words.length - 2;
    for (const name of script.args) words.push(args[name]);
    if (script.caller === 'writes') {
      words.push(this.#now());
      if (caller.creationWaitMs > 0) words.push('1');
    }
    const answer = await this.#call(script, words);
    const word = answer[0];
    if (word === 'session_ended') throw new SessionEnded();
    if (word === 'account_moved') throw new AccountMoved(caller.movesKey, answer[1]!);
    if (word === 'rate_limited') throw rateLimited(caller.creationWaitMs || 1000);
    if (word?.startsWith('+') === true) {
      answer[0] = word.slice(1);
      caller.accountCreated();
    }
    return answer as Answer<Word>;
  }

  /** Resolves when Redis has done, and told everybody of, all that it had answered before this call. */
  async barrier(): Promise<void> {
    await this.#connection.call('PING', []);
  }

  /** @param words of EVALSHA: hash, number of keys, keys, arguments */
  async #call(script: AnyScript, words: (string | number)[]): Promise<string[]> {
    const startedAt = performance.now();
    try {
      return (await this.#connection.call('EVALSHA', words)) as string[];
    } catch (error) {
      // NOSCRIPT says that nothing ran: a restart, a failover or SCRIPT FLUSH emptied the cache. EVAL fills it again.
      if (error instanceof Error && error.message.startsWith('NOSCRIPT')) {
        return (await this.#connection.call('EVAL', [script.text, ...words.slice(1)]).catch(withoutCommand)) as string[];
      }
      return withoutCommand(error);
    } finally {
      this.#observe(script.name, performance.now() - startedAt);
    }
  }
}

/** Throws the error on without the command that ioredis hangs on it: its arguments are secrets, and belong in no log. */
function withoutCommand(error: unknown): never {
  if (error instanceof Error) delete (error as { command?: unknown }).command;
  throw error;
}

/** A word, then the figures that belong to it. */
export type Answer<Word extends string> = [word: Word, ...figures: string[]];

/** Refusals that Redis gives before a script's first write: nothing happened. */
const REFUSED_BEFORE_RUNNING = /^(OOM|READONLY|LOADING|MASTERDOWN|NOREPLICAS|MISCONF|BUSY|NOAUTH|NOPERM|Stream isn't writeable)/;

/** What ioredis and the socket say where the link broke with a command under way. */
const LINK_LOST = /^(Connection is closed|Socket timeout|Command timed out|(connect|read|write) E[A-Z]+|This socket has been ended)/;

/** Whether this error means that Redis is away, and if so whether the command may nevertheless have taken effect. */
export function storeFailure(error: unknown): 'not_applied' | 'unknown' | undefined {
  if (!(error instanceof Error)) return undefined;
  if (REFUSED_BEFORE_RUNNING.test(error.message)) return 'not_applied';
  return error.name === 'MaxRetriesPerRequestError' || LINK_LOST.test(error.message) ? 'unknown' : undefined;
}
