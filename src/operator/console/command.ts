import type { CallerScripts } from '../../accounts/caller-scripts.ts';
import type { Config } from '../../config.ts';
import type { Operator, OperatorParts } from '../operation.ts';
import type { Role } from '../../server/identity/roles.ts';
import type { RedisConnections } from '../../redis/redis-connections.ts';

/** The commands of one kind of thing: `npm run admin -- <name> <command>`. A group is one file in this folder. */
export interface CommandGroup {
  readonly name: string;
  readonly summary: string;
  readonly commands: Readonly<Record<string, Command>>;
  /** What the words of its commands mean. */
  readonly note?: string;
  /** The command that runs if a line names only the group. */
  readonly usual?: string;
}

export interface Command {
  readonly summary: string;
  /** The least role that may run it, with OPERATOR_KEY. */
  readonly role: Role;
  /** What has to follow the command's name, such as `ID`. */
  readonly words?: readonly string[];
  readonly flags?: Readonly<Record<string, Flag>>;
  /** It changes data: it asks first, unless `--yes`. */
  readonly changes?: boolean;
  /** A flag with which it changes nothing. */
  readonly looksWith?: string;
  /** It may be a look that the operators' log keeps: `--by` says who looks. */
  readonly mayBeLogged?: boolean;
  /**
   * Checks words and flags, before Redis is opened.
   * @throws Failure if they do not fit
   * @returns the work
   */
  readonly plan: (input: CommandInput) => (tool: Tool) => Promise<Outcome>;
}

export interface Flag {
  /** What the value is called, such as `NAME`. A flag without one is given alone, and is `true` then. */
  readonly value?: string;
  readonly summary: string;
}

export interface CommandInput {
  /** As many as the command declares. */
  readonly words: readonly string[];
  /** Those that were given, each once. */
  readonly flags: Readonly<Record<string, string | undefined>>;
}

/** What a command works with. */
export interface Tool {
  readonly config: Config;
  readonly connections: RedisConnections;
  readonly scripts: CallerScripts;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly parts: OperatorParts;
  readonly operator: Operator;
  /**
   * To be called before a change of what a service keeps, and before saying that something is not there: it may be another Redis than
   * the service's.
   * @throws Failure for data of another version: only the start of a service upgrades it
   */
  readonly checkData: () => Promise<void>;
  /**
   * Asks before a change.
   * @param question a sentence that names all that will change
   * @param count of what cannot be undone: the number that the operator types, in place of a yes
   * @throws Failure if the operator does not agree
   */
  readonly confirm: (question: string, count?: number) => Promise<void>;
  /** Aborted when the operator stops the command. A change in steps ends after a whole step then. */
  readonly signal: AbortSignal;
}

/** What a command shows. */
export interface Outcome {
  /** For people. */
  readonly text: string;
  /** For programs, with `--json`. Times are ISO 8601. */
  readonly json: object;
  /** It was stopped in the middle: exit code 2. */
  readonly isUnfinished?: boolean;
}
