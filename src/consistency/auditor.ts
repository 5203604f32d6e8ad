import type { Reply } from '../redis/resp.ts';

/** A command of Redis and its arguments. */
export type Command = readonly [command: string, ...words: (string | number)[]];

/** Drift: one part of the data contradicts another part. */
export interface Finding {
  /** A word for the kind of drift, such as `broken_chain`. Programs may rely on it. */
  readonly kind: string;
  /** The thing whose data is wrong: `account <id>`, `board <game>`, `queue <key>`, `key <key>`. */
  readonly subject: string;
  /** One sentence with the figures. */
  readonly text: string;
  /** Commands that put the drift right, computed from the data that the check has read. Left out: the audit cannot know the right value. */
  readonly commands?: readonly Command[];
  /**
   * Subjects of other findings. If the audit has a finding about such a subject, this finding is a consequence: the audit does not report
   * it, and counts it in the sentence of its cause.
   */
  readonly explainedBy?: readonly string[];
}

/** A type of Redis. */
export type RedisType = 'string' | 'hash' | 'list' | 'set' | 'zset';

/** A probe could not be finished: the data changed with each read, or its slot of a Cluster moved. The audit repeats the check. */
export class Unsettled extends Error {}

/** The audit cannot go on. The message is a sentence for the operator. */
export class Unfinished extends Error {}

/**
 * One probe of a thing: reads Redis for a check. The first argument of each command is a key, whose slot decides which node runs it. A key of
 * the wrong type reads as if it did not exist, and is a finding (`wrong-types.ts`).
 */
export interface Probe {
  /** The reply to one command. @throws Error that Redis replied, or that the connection was lost */
  ask(...command: Command): Promise<Reply>;
  /** Fields of a hash; null for a missing one. Checks of one key that ask for them in the same turn share one command. */
  fields(key: string, ...names: string[]): Promise<readonly (string | null)[]>;
  /**
   * Replies as of one moment: the commands run in one transaction. In a Cluster there is one transaction for each slot, and the slots are
   * read again until two rounds of replies are the same.
   * @throws Unsettled if they change with each round
   */
  atomically(...commands: Command[]): Promise<Reply[]>;
  /**
   * Replies to commands that are sent together. The first probe is cheap: other clients may write between the commands. When the check is
   * repeated, they run in one transaction.
   */
  together(...commands: Command[]): Promise<Reply[]>;
  /** Milliseconds since 1970, by the clock of the audited Redis: the machine that audits may have another. */
  now(): number;
  /** Adds to a count of the report, such as `entries`. */
  count(what: string, number: number): void;
}

/** Two machines' clocks may differ by this much. After a failover the data has times of both. */
export const CLOCKS_DIFFER_MS = 60_000;

/**
 * Keys of one form, and their check. The check returns the drift that it sees, or nothing. If it sees drift, the audit repeats it with
 * growing pauses, and reports only drift that every probe has seen: a service may write while the audit reads.
 */
export interface KeyCheck {
  /** Matches the whole key. Several checks may have the same pattern. */
  readonly pattern: RegExp;
  /** Name of these keys in the report's counts. Left out: the keys are not counted. */
  readonly counted?: string;
  /**
   * The type of such a key. If several checks have one pattern, only one of them names the type. Left out: any type, as for keys that were
   * set aside.
   */
  readonly type?: RedisType | undefined;
  /**
   * The check reads each such key by a command of its type, so that the audit need not ask for the type. For kinds of keys that are
   * numerous.
   */
  readonly readsKey?: true;
  /** `lasts`: such a key must not expire. `ends`: it must. Left out: both are right, or `check` decides. */
  readonly life?: KeyLife | undefined;
  /**
   * Left out: these keys are legitimate, and nothing about them is checked.
   * @param parts the groups of the pattern
   */
  readonly check?: (parts: readonly string[], probe: Probe) => Promise<readonly Finding[] | undefined>;
}

export type KeyLife = 'lasts' | 'ends';

/** The checks of one feature's data. */
export interface Auditor {
  readonly keys: readonly KeyCheck[];
  /** A check that runs once, before the keys are read. */
  readonly once?: (probe: Probe) => Promise<readonly Finding[] | undefined>;
  /** A check that runs once, after all keys were read. */
  readonly last?: (probe: Probe) => Promise<readonly Finding[] | undefined>;
}
