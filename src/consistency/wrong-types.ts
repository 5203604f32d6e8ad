import type { RedisClock } from '../redis/redis-clock.ts';
import type { Reply } from '../redis/resp.ts';
import { Unsettled, type Command, type Finding, type Probe, type RedisType } from './auditor.ts';
import type { Tally } from './counts.ts';
import type { AuditReader } from './scan.ts';

/** For each command: the type of the key that it reads, and Redis's reply if the key does not exist. */
const READS: Readonly<Record<string, readonly [type: RedisType, missing: (words: Command) => Reply]>> = {
  GET: ['string', () => null],
  HEXISTS: ['hash', () => 0],
  HGET: ['hash', () => null],
  HGETALL: ['hash', () => []],
  HKEYS: ['hash', () => []],
  HLEN: ['hash', () => 0],
  HMGET: ['hash', nulls],
  HSCAN: ['hash', nothing],
  LINDEX: ['list', () => null],
  LLEN: ['list', () => 0],
  LRANGE: ['list', () => []],
  SISMEMBER: ['set', () => 0],
  SSCAN: ['set', nothing],
  ZCARD: ['zset', () => 0],
  ZMSCORE: ['zset', nulls],
  ZRANGE: ['zset', () => []],
  ZRANGEBYSCORE: ['zset', () => []],
  ZREVRANGE: ['zset', () => []],
  ZSCAN: ['zset', nothing],
  ZSCORE: ['zset', () => null],
};

function nothing(): Reply {
  return ['0', []];
}

function nulls([_command, _key, ...words]: Command): Reply {
  return words.map(() => null);
}

export interface TypedKey {
  readonly key: string;
  readonly type: RedisType;
}

interface Gathered {
  readonly key: string;
  readonly names: string[];
  readonly values: Promise<(string | null)[]>;
}

/**
 * Runs a check once, and finds keys of the wrong type. The check gets replies as if such a key did not exist, so that it can go on with the
 * other keys.
 */
export class TypedProbe implements Probe {
  readonly #reader: AuditReader;
  readonly #clock: RedisClock;
  readonly #tally: Tally | undefined;
  /** The fields of one key that the checks read in this turn of the event loop. */
  #gathered: Gathered | undefined;
  #wrong: Map<string, Finding> | undefined;
  #ownWrong: string | undefined;

  /**
   * @param tally given to the first probe of a check only. The first probe adds to the counts of the report, and runs the commands of
   * `together` without a transaction
   */
  constructor(reader: AuditReader, clock: RedisClock, tally: Tally | undefined) {
    this.#reader = reader;
    this.#clock = clock;
    this.#tally = tally;
  }

  now(): number {
    return this.#clock.now();
  }

  ask(...command: Command): Promise<Reply> {
    return this.#reader.ask(command).catch(async (error: unknown) => {
      if (!isWrongType(error) || !(await this.#isWrong(command))) throw error;
      return READS[command[0]]![1](command);
    });
  }

  async fields(key: string, ...names: string[]): Promise<(string | null)[]> {
    if (this.#gathered?.key !== key) this.#gathered = this.#gather(key);
    const gathered = this.#gathered;
    const begin = gathered.names.push(...names) - names.length;
    return (await gathered.values).slice(begin, begin + names.length);
  }

  #gather(key: string): Gathered {
    const names: string[] = [];
    const values = Promise.resolve().then(() => {
      this.#gathered = undefined;
      return this.ask('HMGET', key, ...names) as Promise<(string | null)[]>;
    });
    return { key, names, values };
  }

  async atomically(...commands: Command[]): Promise<Reply[]> {
    try {
      return await this.#reader.atomically(commands);
    } catch (error) {
      if (!isWrongType(error)) throw error;
    }
    const areWrong = await Promise.all(commands.map((command) => this.#isWrong(command)));
    // Now every key has the type that its command reads, so a type has changed since the transaction.
    if (!areWrong.includes(true)) throw new Unsettled('The type of a key changed');
    const right = commands.filter((_, index) => !areWrong[index]);
    const replies = right.length === 0 ? [] : await this.atomically(...right);
    return commands.map((command, index) => (areWrong[index] ? READS[command[0]]![1](command) : replies.shift()!));
  }

  together(...commands: Command[]): Promise<Reply[]> {
    return this.#tally === undefined ? this.atomically(...commands) : Promise.all(commands.map((command) => this.ask(...command)));
  }

  count(what: string, number: number): void {
    this.#tally?.count(what, number);
  }

  /**
   * The findings of the check, and a finding for each key of the wrong type. A finding of the check that names such a key is a consequence
   * of the wrong type.
   */
  found(findings: readonly Finding[]): readonly Finding[] {
    if (this.#wrong === undefined) return findings;
    const wrong = [...this.#wrong.entries()].map(([key, finding]) => ({
      isNamedIn: key === this.#ownWrong ? () => true : namer(key),
      finding,
    }));
    const rest = findings.map((finding): Finding => {
      const { subject, text, explainedBy = [] } = finding;
      const names = [subject, text, ...explainedBy].join(' ');
      const about = wrong.filter(({ isNamedIn }) => isNamedIn(names)).map((wrongKey) => wrongKey.finding.subject);
      return about.length === 0 ? finding : { ...finding, explainedBy: [...explainedBy, ...about] };
    });
    return [...this.#wrong.values(), ...rest];
  }

  async #isWrong([name, key]: Command): Promise<boolean> {
    const [type] = READS[name] ?? [];
    if (type === undefined) return false;
    return this.#noteType({ key: String(key), type });
  }

  /** Checks the type of the key to which the checks belong. If the type is wrong, all findings of the probe follow from the wrong type. */
  async checkType(typed: TypedKey): Promise<void> {
    if (await this.#noteType(typed)) this.#ownWrong = typed.key;
  }

  /** Makes a finding for a key whose type differs from the declared type. @returns whether the type differs */
  async #noteType({ key, type }: TypedKey): Promise<boolean> {
    const found = (await this.#reader.ask(['TYPE', key])) as string;
    if (found === type || found === 'none') return false;
    const text = `The key's type in Redis is ${found}, but coinop writes it as a ${type}.`;
    (this.#wrong ??= new Map()).set(key, { kind: 'wrong_type', subject: `key ${key}`, text });
    return true;
  }
}

function isWrongType(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('WRONGTYPE');
}

/**
 * Makes a function that tests whether a text names the object to which a key belongs: `abc` for `{purchase:abc}`, `purchases:due` for
 * `{purchases:due:7}`.
 */
function namer(key: string): (text: string) => boolean {
  const [, tag = key] = /\{([^}]+)\}/.exec(key) ?? [];
  const thing = tag.replace(/:\d+$/, '');
  const names = [key, thing, thing.slice(thing.indexOf(':') + 1)];
  return (text) => names.some((name) => isWordOf(name, text));
}

function isWordOf(name: string, text: string): boolean {
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1))
    if (!/[\w-]/.test((text[at - 1] ?? ' ') + (text[at + name.length] ?? ' '))) return true;
  return false;
}
