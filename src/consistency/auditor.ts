import type { Reply } from '../redis/resp.ts';

/** A command of Redis and its arguments. */
export type Command = readonly [command: string, ...words: (string | number)[]];

/** A finding of the audit: one part of the data contradicts another part (drift). */
export interface Finding {
  /** The kind of drift, such as `broken_chain`. Programs may rely on this text. */
  readonly kind: string;
  /** Names whose data is wrong: `account <id>`, `board <game>`, `queue <key>`, `key <key>`. */
  readonly subject: string;
  /** One sentence that says what is wrong, with the figures. */
  readonly text: string;
  /**
   * Commands of Redis that mend the drift, computed from the data that the check has read. Left out: the audit cannot know the right value.
   */
  readonly commands?: readonly Command[];
  /**
   * Subjects of other findings that would cause this finding. If the audit has a finding with one of these subjects, it does not report
   * this finding, but adds it to the number of consequences in the text of the cause.
   */
  readonly explainedBy?: readonly string[];
}

/** The type of a key in Redis, as TYPE answers. */
export type RedisType = 'string' | 'hash' | 'list' | 'set' | 'zset';

/** Thrown when a probe cannot be finished: the data changed with each read, or its slot of a Cluster moved. The audit repeats the check. */
export class Unsettled extends Error {}

/** Thrown when the audit cannot go on. The message is a sentence for the operator. */
export class Unfinished extends Error {}

/**
 * Reads Redis for one run of a check. The first argument of each command is a key, whose slot decides which node runs the command. A key of
 * the wrong type reads as if it did not exist, and is a finding (`wrong-types.ts`).
 */
export interface Probe {
  /** Gives the reply to one command. @throws Error with which Redis replied, or because the connection was lost */
  ask(...command: Command): Promise<Reply>;
  /**
   * Reads fields of a hash; null for a field that does not exist. Reads of the same key in one turn of the event loop share one command.
   */
  fields(key: string, ...names: string[]): Promise<readonly (string | null)[]>;
  /**
   * Gives replies as of one moment: the commands run in one transaction. In a Cluster there is one transaction for each slot, and the slots
   * are read again until two rounds of replies are the same.
   * @throws Unsettled if the replies change with each round
   */
  atomically(...commands: Command[]): Promise<Reply[]>;
  /**
   * Gives the replies to commands that are sent together. In the first probe of a check other clients may write between the commands. If
   * the check is repeated, the commands run in one transaction.
   */
  together(...commands: Command[]): Promise<Reply[]>;
  /** The time in milliseconds since 1970, by the clock of the audited Redis. The clock of the machine that audits may differ. */
  now(): number;
  /** Adds to one of the counts of the report, such as `entries`. */
  count(what: string, number: number): void;
}

/** How far the clocks of two machines may differ, in milliseconds. After a failover the data has times of both machines. */
export const CLOCKS_DIFFER_MS = 60_000;

/**
 * Keys of one form, and the check of a key of this form. The check returns the drift that it finds. If a check finds drift, the audit
 * repeats it with growing pauses, and reports only drift that every run of the check has found: a service may write while the audit reads.
 */
export interface KeyCheck {
  /** The pattern of the whole key. Several checks may have the same pattern. */
  readonly pattern: RegExp;
  /** The name under which the report counts these keys. Left out: the keys are not counted. */
  readonly counted?: string | undefined;
  /**
   * The type in Redis that the keys must have. If several checks have the same pattern, only one of them names the type. Left out: any type
   * is right, as for keys that were set aside.
   */
  readonly type?: RedisType | undefined;
  /**
   * True: `check` or `texts` reads the key by a command of its type, so the audit need not read the type. For forms with very many keys.
   */
  readonly readsKey?: true;
  /** The texts that the keys may have. Left out: any, or `check` decides. */
  readonly texts?: Texts | undefined;
  /** `lasts`: the keys must not expire. `ends`: the keys must expire. Left out: both are right, or `check` decides. */
  readonly life?: KeyLife | undefined;
  /**
   * Checks one key. Left out: keys of this form are right whatever they contain.
   * @param parts the groups of the pattern in the name of the key
   */
  readonly check?: (parts: readonly string[], probe: Probe) => Promise<readonly Finding[] | undefined>;
}

/** The texts that a key may have: the value of a string, the values of a hash, the elements of a list, the members of a set. */
export interface Texts {
  /** The content of the key, for findings: `list of sessions`. */
  readonly what: string;
  /** @param name the field of a hash, or the member of a set */
  readonly isRight: (text: string, name: string) => boolean;
  /** The fields of a hash that are checked; '' for a field that does not exist. Left out: all. */
  readonly fields?: readonly string[];
  /** The name under which the report counts the texts. Left out: they are not counted. */
  readonly counted?: string;
  /** The kind of the finding. Default: `unreadable_record`. */
  readonly kind?: string;
  /** The subject of the finding, from the groups of the pattern and the name of a text. Default: the account whose id is the first group. */
  readonly subject?: (parts: readonly string[], name: string) => string;
  /** Commands that mend any wrong text. Left out: the right text is not known. */
  readonly mend?: (key: string, now: number) => readonly Command[];
}

export type KeyLife = 'lasts' | 'ends';

/** The checks of the data of one feature. */
export interface Auditor {
  readonly keys: readonly KeyCheck[];
  /** A check that runs once, before the keys are read. */
  readonly once?: (probe: Probe) => Promise<readonly Finding[] | undefined>;
  /** A check that runs once, after all keys were read. */
  readonly last?: (probe: Probe) => Promise<readonly Finding[] | undefined>;
}
