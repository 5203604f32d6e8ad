import type { CallerScripts } from '../../accounts/caller-scripts.ts';
import type { Config } from '../../config.ts';
import type { Operator, OperatorServices } from '../operation.ts';
import type { Role } from '../../server/identity/roles.ts';
import type { RedisConnections } from '../../redis/redis-connections.ts';

/** A group of commands: `npm run admin -- <name> <command>`. Each file in this folder has one group. */
export interface CommandGroup {
  readonly name: string;
  readonly summary: string;
  readonly commands: Readonly<Record<string, Command>>;
  /** Explains the words of its commands. */
  readonly note?: string;
  /** The command that runs if the command line names only the group. */
  readonly usual?: string;
}

export interface Command {
  readonly summary: string;
  /** The lowest role that may run the command, with OPERATOR_KEY. */
  readonly role: Role;
  /** Words that have to follow the command's name, such as `ID`. */
  readonly words?: readonly string[];
  readonly flags?: Readonly<Record<string, Flag>>;
  /** The command changes data, and asks before it does so, unless `--yes` is given. */
  readonly changes?: boolean;
  /** A flag with which the command changes nothing. */
  readonly readsWith?: string;
  /** The operators' log may record the read, so `--by` names the operator. */
  readonly mayBeLogged?: boolean;
  /**
   * Checks words and flags before Redis is opened.
   * @throws Failure if they do not fit
   * @returns the work
   */
  readonly plan: (input: CommandInput) => (tool: Tool) => Promise<Outcome>;
}

export interface Flag {
  /** The placeholder of the value, such as `NAME`. Undefined: the flag takes no value, and is `true` if given. */
  readonly value?: string;
  readonly summary: string;
  readonly isNeeded?: boolean;
}

export interface CommandInput {
  /** As many as the command declares. */
  readonly words: readonly string[];
  /** The given flags. Each may be given once. */
  readonly flags: Readonly<Record<string, string | undefined>>;
}

/** The environment of a command. */
export interface Tool {
  readonly config: Config;
  readonly connections: RedisConnections;
  readonly scripts: CallerScripts;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly services: OperatorServices;
  readonly operator: Operator;
  /**
   * Must be called before a change of a service's data, and before the report that something does not exist. The tool may be connected to
   * another Redis than the service.
   * @throws Failure for data of another version: only the start of a service upgrades it
   */
  readonly checkData: () => Promise<void>;
  /**
   * Asks before a change.
   * @param question a sentence that names everything that will change
   * @param count for changes that cannot be undone: the number that the operator has to type in place of a yes
   * @throws Failure if the operator does not agree
   */
  readonly confirm: (question: string, count?: number) => Promise<void>;
  /** Aborted when the operator stops the command. A change that has several steps then ends after its present step. */
  readonly signal: AbortSignal;
}

/** The output of a command. */
export interface Outcome {
  /** For people. */
  readonly text: string;
  /** For programs, with `--json`. Times are ISO 8601. */
  readonly json: object;
  /** The error for a command that was stopped in the middle: exit code 2. */
  readonly isUnfinished?: boolean;
}
