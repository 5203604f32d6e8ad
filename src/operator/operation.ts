import { z } from 'zod';
import type { HoldingServices } from '../accounts/holdings.ts';
import { MAX_REASON_LENGTH, plainText } from '../accounts/plain-text.ts';
import type { Config } from '../config.ts';
import type { Services } from '../declare.ts';
import { refuse, Refusal, type ErrorCode } from '../errors.ts';
import { CoinKey } from '../features/coins/model.ts';
import type { EventReader } from '../features/events/event-log.ts';
import type { Hooks } from '../features/webhooks/hooks.ts';
import { redisFailure } from '../redis/script-runner.ts';
import { Parts } from '../redis/unreadable.ts';
import type { Method } from '../server/http/endpoint.ts';
import { PERSON_ID } from '../server/identity/people.ts';
import { mayAct, type Role } from '../server/identity/roles.ts';
import { refuseBeyondGame, refuseOtherGame, type Reach, type ServerKey } from '../server/identity/server-keys.ts';
import type { GrantPace } from './grant-pace.ts';
import { shownLogEntry, type ShownLogEntry } from './log-entry.ts';
import { beginChange, endChange, type Outcome } from './operator-log.ts';
import { limitsOf, withinLimits, type CountedCoins, type LimitedOperator, type Limits, type LimitServices } from './coin-limits.ts';
import { provesNoChange } from './proves-no-change.ts';
import { readRoom, unreadableRoom } from './room-facts.ts';
import type { Part } from './shown/cells.ts';
import { readableReply } from './unreadable.ts';

/**
 * A read or a change by an operator, declared as data. The tool (`terminal/`) and the endpoints below `/v1/admin` (`endpoints.ts`) run the
 * same declaration, so that both give the same answers.
 */
export interface Operation<Input extends z.ZodObject = z.ZodObject, Reply extends z.ZodObject = z.ZodObject> {
  /** The name in the tool and in the operators' log: `accounts adjust`. */
  readonly name: string;
  readonly method: Method;
  /** Braces hold fields of the input. The other fields are in the query of a GET, and in the body of a POST. */
  readonly path: string;
  /** Further fields that the tool takes as words, after those of the path. It takes the others as flags. */
  readonly words?: readonly string[];
  readonly operationId: string;
  /** The button of a change on the page. Default: the command's name. */
  readonly title?: string;
  /** The least role that may run it. */
  readonly role: Role;
  /** The lowest role for this input, if some inputs need a higher role than `role`. */
  readonly roleFor?: (input: never, config: OperatorServices['config']) => Role;
  /** The data that an operator's key for one game can reach through the operation. Undefined: such a key may not run it. */
  readonly reach?: Reach;
  readonly summary: string;
  readonly description?: string;
  readonly input: Input;
  readonly reply: Reply;
  readonly errors?: readonly ErrorCode[];
  readonly example: string;
  /** The change cannot be undone: the console asks for the key once more. */
  readonly cannotBeUndone?: boolean;
  /** The operation shows a secret, once. The console asks for the key once more, because the secret works longer than the session. */
  readonly handsOutSecret?: boolean;
  /**
   * As in an endpoint's declaration: the operation reads much data, in parts. The process stops once the operator has gone
   * (`Operator.isGone`).
   */
  readonly costly?: boolean;
  /** The longest body over HTTP, if it may be longer than for other endpoints. */
  readonly keyedBodyBytes?: number;
  /** The tool makes the change even if no service has run yet. */
  readonly needsNoService?: boolean;
  /** How the tool shows the reply. Default: by its fields. */
  readonly shown?: (reply: never) => readonly Part[];
  /**
   * Checks everything first, without changing anything.
   * @returns the remaining work
   */
  readonly prepare: (input: never, services: OperatorServices, operator: Operator) => Promise<Prepared<z.input<Reply>> | Refusal>;
}

/** Work of an operation. */
export type Prepared<Reply> = { readonly reply: Reply } | Change<Reply>;

/** A change that was checked but has not happened yet. It may also be a read of sensitive data, which the log records. */
export interface Change<Reply> {
  /** A question for people that names everything that will change. A read has none. */
  readonly question?: string;
  /** The figure of a large change, which a person has to type on the page before the change. */
  readonly typed?: TypedFigure | undefined;
  /**
   * The refusal that the change would get if it were made now. The page shows it in place of the question. Only the change itself decides.
   */
  readonly foreseen?: Refusal | undefined;
  /** The coins that the change adds or removes. They count against the limits of operators. A change without them has no bounds. */
  readonly coins?: CountedCoins<Reply>;
  /** The object of the change or read, for the log. Contains no secrets. */
  readonly what: Details;
  readonly why: string;
  /** The result, for the log. */
  readonly noted?: (reply: Reply) => Details;
  readonly act: () => Promise<Reply | Refusal>;
}

/** Details for the log. Those that are undefined are left out. */
export type Details = Readonly<Record<string, string | number | undefined>>;

export interface TypedFigure {
  /** The words after the figure: `the coins that will be deleted`. */
  readonly what: string;
  readonly figure: number;
}

/** Asks a person before a change. Throws to stop it. @param limits what the person should know of the bounds of coins, in sentences */
export type Confirm = (question: string, limits: readonly string[]) => Promise<void>;

/** The services that operations may take. `config` has only those settings that operators set for the tool too. */
export type OperatorServices = HoldingServices & {
  /** Also gives its games, and the period of a game's seasons. */
  readonly catalogue: { readonly games: readonly string[]; seasonsOf(game: string): { readonly period: string } | undefined };
  readonly config: LimitServices['config'] & Pick<Config, 'LEDGER_RETENTION_DAYS' | 'SUPPORT_ADJUST_COINS' | 'STORE' | 'OPENID_PROVIDERS'>;
  readonly keySecret: Services['keySecret'];
  readonly deletions: Pick<Services['deletions'], 'delete'>;
  readonly bans: Pick<Services['bans'], 'ban' | 'unban'>;
  readonly bookings: Pick<Services['bookings'], 'book'>;
  readonly grantPace: GrantPace;
  readonly hooks: Hooks;
  /** Undefined with EVENTS=off. */
  readonly events: Pick<EventReader, 'read' | 'readBack' | 'positionAt' | 'positionAfter' | 'end' | 'isRelayed'> | undefined;
};

/** The operator who reads or changes. */
export interface Operator {
  /** `user@host` or `<name> as user@host` for the tool, `key:<id>` for a server key, `person:<id>` for a sign-in to the console. */
  readonly by: string;
  /** The second person who has approved this change (`two-person/`). */
  readonly approvedBy?: string;
  readonly role: Role;
  /**
   * Only for requests over HTTP, and for the tool with OPERATOR_KEY. A key of one game can reach only the boards and rooms of that game.
   */
  readonly key?: ServerKey;
  /** The client has gone: a search ends. Default: it never does. */
  readonly isGone?: () => boolean;
}

/** A reply, with the entry in the operators' log if the operation is a change or a read that the log records. */
export type Performed<Reply> = Reply & { readonly logged?: z.input<typeof ShownLogEntry> };

/** Declares an operation. The shapes type the input and the reply. */
export function operation<Input extends z.ZodObject, Reply extends z.ZodObject>(
  declaration: Omit<Operation<Input, Reply>, 'prepare' | 'roleFor' | 'words' | 'shown'> & {
    readonly shown?: (reply: z.output<Reply>) => readonly Part[];
    readonly words?: readonly (keyof z.output<Input> & string)[];
    readonly roleFor?: (input: z.output<Input>, config: OperatorServices['config']) => Role;
    readonly prepare: (
      input: z.output<Input>,
      services: OperatorServices,
      operator: Operator,
    ) => Promise<Prepared<z.input<Reply>> | Refusal>;
  },
): Operation<Input, Reply> {
  return declaration as Operation<Input, Reply>;
}

/** An operation that the log always records; other operations read. */
export function isChange({ method, input }: Pick<Operation, 'method' | 'input'>): boolean {
  return method === 'POST' && 'reason' in input.shape;
}

/** The reason of an operator's change. */
export const Reason = plainText(MAX_REASON_LENGTH).meta({
  description: 'The reason, for other operators to read: 1 to 120 characters.',
  example: 'ticket 4711',
  typed: { word: 'TEXT' },
});

/** The key of a change that may take effect only once. */
export const Ticket = CoinKey.meta({
  description: 'Idempotency key of the change, such as the number of a ticket. The same key takes effect only once.',
  example: 'ticket-4711',
});

/**
 * Runs an operation. The entry is written to the operators' log before the change happens, and the outcome is added after it. So every
 * change has an entry, and so has every read that the log records. If the process dies between the two, the entry has no outcome.
 * @returns Refusal `forbidden` if the operator's role is too low, or for data beyond the game of its key; another Refusal if the operation refuses: nothing was changed
 * @throws Refusal `store_unavailable` if Redis failed before the change began: nothing was changed
 * @throws Error of Redis if it failed during the change: `redisFailure` tells whether the change may have happened
 */
export async function perform<Reply extends object>(
  declared: Performable,
  input: unknown,
  services: OperatorServices,
  operator: Operator,
  confirm?: Confirm,
): Promise<Performed<Reply> | Refusal> {
  const judged = await judge<Reply>(declared, input, services, operator);
  if (judged instanceof Refusal) return judged;
  if ('reply' in judged) return readableReply(declared.reply, judged.reply);
  const { change, limits } = judged;
  if (limits.refusal !== undefined) return limits.refusal;
  if (change.question !== undefined) await confirm?.(change.question, limits.sentences);
  const { coins, act } = change;
  const { by, approvedBy } = operator;
  const work = coins === undefined ? act : () => withinLimits(coins, limitedBy(operator), services, act);
  const { reply, logged } = await recorded(
    { action: declared.name, by, ...change, what: { ...change.what, approvedBy }, act: work },
    services,
  );
  if (reply instanceof Refusal) return reply;
  return { ...(isChange(declared) ? reply : readableReply(declared.reply, reply)), logged };
}

/** A change that an operator may make, together with the limits on coins that apply to it now. Or the reply of a read. */
export type Judged<Reply> = { readonly reply: Reply } | { readonly change: Change<Reply>; readonly limits: Limits };

/**
 * Checks everything about a change, without changing anything. If a limit on coins refuses the change, the refusal is in `limits`, because
 * a second person may approve the change.
 * @returns Refusal as `perform`
 * @throws Refusal `store_unavailable`
 */
export async function judge<Reply extends object>(
  { role, roleFor, reach, prepare }: Performable,
  input: unknown,
  services: OperatorServices,
  operator: Operator,
): Promise<Judged<Reply> | Refusal> {
  const least = roleFor?.(input as never, services.config) ?? role;
  if (!mayAct(operator.role, least)) return refuseRole(operator.role, least);
  const beyond = await beforeChange(refuseBeyond(reach, input as object, services, operator));
  if (beyond !== undefined) return beyond;
  type Prepare = (input: unknown, services: OperatorServices, operator: Operator) => Promise<Prepared<Reply> | Refusal>;
  const prepared = await beforeChange((prepare as Prepare)(input, services, operator));
  if (prepared instanceof Refusal || 'reply' in prepared) return prepared;
  const limits = prepared.coins === undefined ? UNLIMITED : await beforeChange(limitsOf(prepared.coins, limitedBy(operator), services));
  return { change: prepared, limits };
}

const UNLIMITED: Limits = { sentences: [], refusal: undefined };

export function limitedBy({ by, role, approvedBy, key }: Operator): LimitedOperator {
  const isPerson = PERSON_ID.test(by);
  return { by, role, approvedBy, isPerson, isOutside: key === undefined && !isPerson };
}

export type Performable = Pick<Operation, 'name' | 'method' | 'role' | 'roleFor' | 'reach' | 'input' | 'reply'> & {
  readonly prepare: unknown;
};

/** If the room does not exist, the operation itself refuses it. */
async function refuseBeyond(
  reach: Reach | undefined,
  input: { readonly code?: string; readonly game?: string },
  { scripts }: OperatorServices,
  { key }: Operator,
) {
  if (key?.game === undefined) return undefined;
  const refusal = refuseBeyondGame(key, { ...(reach === undefined ? {} : { reach }) }, input);
  if (refusal !== undefined || reach !== 'room') return refusal;
  const parts = new Parts();
  const found = await parts.read('room', () => readRoom(input.code ?? '', { scripts }, parts));
  // Nobody knows the game of a room that cannot be read.
  if (found === undefined) return parts.unreadable.length > 0 ? unreadableRoom() : undefined;
  return found.room.game === key.game ? undefined : refuseOtherGame(key.game, 'code');
}

export function refuseRole(role: Role, least: Role): Refusal<'forbidden'> {
  return refuse('forbidden', { message: `This needs the role ${least}, but the key has the role ${role}.`, role: least });
}

/**
 * Runs a change. Its entry in the operators' log is written before it, and the outcome after it.
 * @throws as `perform`
 */
export async function recorded<Reply>(
  {
    action,
    by,
    what,
    why,
    act,
    noted,
  }: Omit<Change<Reply>, 'question' | 'coins' | 'foreseen'> & { readonly action: string; readonly by: string },
  services: Pick<OperatorServices, 'scripts' | 'now'>,
): Promise<{ readonly reply: Reply | Refusal; readonly logged?: z.input<typeof ShownLogEntry> }> {
  const change = { action, by, what: given(what), why };
  const entry = await beforeChange(beginChange(change, services));
  // The caller gets the outcome of the change even if it cannot be written to the log.
  const end = (outcome: Outcome): Promise<void> => endChange(entry, outcome, services).catch(() => {});
  try {
    const reply = await act();
    const outcome: Outcome = reply instanceof Refusal ? refusedAs(reply) : { word: 'done', ...given(noted?.(reply) ?? {}) };
    await end(outcome);
    return { reply, logged: shownLogEntry({ number: Number(entry.number), at: entry.at, ...change, outcome }) };
  } catch (error) {
    await end(outcomeOf(error as Error));
    // If a refusal concerns the account, such as `account_banned`, scripts throw it instead of returning it.
    if (error instanceof Refusal && error.code !== 'store_unavailable' && error.code !== 'app_store_unavailable') return { reply: error };
    throw error;
  }
}

function given(details: Details): Record<string, string | number> {
  return Object.fromEntries(Object.entries(details).filter((detail): detail is [string, string | number] => detail[1] !== undefined));
}

/** For work before a change. If Redis fails in this work, it is certain that nothing was changed. */
export function beforeChange<Result>(work: Promise<Result>): Promise<Result> {
  return work.catch((error: unknown) => {
    if (redisFailure(error) === undefined) throw error;
    throw refuse('store_unavailable', { retryAfterMs: 1000 }, error);
  });
}

const refusedAs = ({ code }: Refusal): Outcome => ({ word: 'refused', code });

function outcomeOf(error: Error): Outcome {
  if (error instanceof Refusal && provesNoChange(error)) return refusedAs(error);
  return { word: provesNoChange(error) ? 'failed' : 'unknown', reason: error.message.slice(0, 200) };
}
