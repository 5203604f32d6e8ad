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
   * Commands of Redis that mend the drift, computed from the data that the check has read. Left out if the audit cannot know the right
   * value.
   */
  readonly commands?: readonly Command[];
  /**
   * Subjects of other findings that would cause this finding. If the audit has a finding with one of these subjects, it does not report
   * this finding. The audit then only counts this finding, as a consequence in the text of the other finding.
   */
  readonly explainedBy?: readonly string[];
  /** True if any other finding may be the cause, because the check has added up all data. Such a finding is reported only if it is alone. */
  readonly followsFromAny?: true;
}

/** The type of a key in Redis, as TYPE answers. */
export type RedisType = 'string' | 'hash' | 'list' | 'set' | 'zset';

/**
 * Thrown when a probe cannot be finished, because the data changed with each read, or because its slot moved to another node of the
 * Cluster. The audit repeats the check.
 */
export class Unsettled extends Error {}

/** Thrown when the audit cannot go on. The message is a sentence for the operator. */
export class Unfinished extends Error {}

/**
 * Reads Redis for one run of a check. The first argument of each command is a key, whose slot decides which node runs the command. If a key
 * has the wrong type, the probe answers as if the key did not exist; `wrong-types.ts` reports the key.
 */
export interface Probe {
  /** Gives the reply to one command. @throws Error with which Redis replied, or because the connection was lost */
  ask(...command: Command): Promise<Reply>;
  /**
   * Reads fields of a hash, and gives null for a field that does not exist. Reads of the same key in one turn of the event loop share one
   * command.
   */
  fields(key: string, ...names: string[]): Promise<readonly (string | null)[]>;
  /**
   * Gives replies that are all true at one moment: the commands run in one transaction. In a Cluster there is one transaction for each
   * slot, and the slots are read again until two rounds of replies are the same.
   * @throws Unsettled if the replies change with each round
   */
  atomically(...commands: Command[]): Promise<Reply[]>;
  /**
   * Gives the replies to commands that are sent together. In the first probe of a check other clients may write between the commands. If
   * the check is repeated, the commands run in one transaction.
   */
  together(...commands: Command[]): Promise<Reply[]>;
  /**
   * The time in milliseconds since 1970, by the clock of the audited Redis. The clock of the machine on which the audit runs may differ.
   */
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
  /** The name under which the report counts these keys. If left out, the keys are not counted. */
  readonly counted?: string | undefined;
  /**
   * The type in Redis that the keys must have. If several checks have the same pattern, only one of them names the type. If left out, any
   * type is right, as for keys that an upgrade set aside.
   */
  readonly type?: RedisType | undefined;
  /**
   * True if `check` or `texts` reads the key with a command of the key's type: the audit then need not ask Redis for the type. This is for
   * forms with very many keys.
   */
  readonly readsKey?: true;
  /** The texts that the keys may have. If left out, any text is right, or `check` decides. */
  readonly texts?: Texts | undefined;
  /** `lasts`: the keys must not expire. `ends`: the keys must expire. If left out, both are right, or `check` decides. */
  readonly life?: KeyLife | undefined;
  /**
   * Checks one key. If left out, keys of this form are right whatever they contain.
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
  /** The fields of a hash that are checked. A field that does not exist is checked as ''. If left out, all fields are checked. */
  readonly fields?: readonly string[];
  /** The name under which the report counts the texts. If left out, they are not counted. */
  readonly counted?: string;
  /** The kind of the finding. Default: `unreadable_record`. */
  readonly kind?: string;
  /**
   * Makes the subject of the finding from the groups of the pattern and the name of the text. By default, the subject is the account whose
   * id is the first group.
   */
  readonly subject?: (parts: readonly string[], name: string) => string;
  /** Commands that mend any wrong text. Left out if the right text is not known. */
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
