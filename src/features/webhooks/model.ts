import { randomInt } from 'node:crypto';
import { z } from 'zod';
import { EVENT_TYPES, type EventRecord, type EventType } from '../events/model.ts';
import { SECRET } from './signature.ts';

/** The hash tag of all hooks. All these keys share a slot, so that one script can read all hooks, or remove a hook with all its keys. */
const TAG = '{webhooks}';

export const hookKeys = {
  /** A hash: the id of a hook → the record of the hook (`HookRecord`). */
  hooks: TAG,
  /**
   * The state of a hook: a hash. `cursor`: the position in the log up to which all events are delivered, given up, or kept in `waiting`.
   * `turn`: a number that rises with each change of the state. The hash also has the lease of the process that delivers
   * (`redis/lease.lua`).
   */
  state: (id: string) => `${TAG}:state:${id}`,
  /**
   * A hash: for each account whose events wait for their next attempt, the positions of these events and the time of the attempt
   * (`backlog.ts`).
   */
  waiting: (id: string) => `${TAG}:waiting:${id}`,
  /** A list: the last successful attempts of a hook, newest first. */
  delivered: (id: string) => `${TAG}:delivered:${id}`,
  /**
   * A list: the last failed attempts of a hook, newest first. Failures have a list of their own, so that many successful attempts do not
   * push a failure out.
   */
  failed: (id: string) => `${TAG}:failed:${id}`,
  /** A list: the events that operators have asked to deliver to the hook again. */
  asked: (id: string) => `${TAG}:asked:${id}`,
};

/**
 * The most hooks. There is a bound because each process reads all hooks every second, and the process that delivers a hook keeps a page of
 * its events in memory.
 */
export const MOST_HOOKS = 50;

/** The most successful attempts, and the most failed attempts, that Redis keeps of a hook. */
export const KEPT_ATTEMPTS = 100;

/**
 * The most secrets of a hook with which the service signs: the newest, and older secrets that stay valid for some time after a rotation.
 */
export const MOST_SECRETS = 4;

const ID_LENGTH = 8;
const ID_CHARACTERS = '0123456789abcdefghijklmnopqrstuvwxyz';

export const HOOK_ID = /^[a-z0-9]{8}$/;

export function newHookId(): string {
  return Array.from({ length: ID_LENGTH }, () => ID_CHARACTERS[randomInt(ID_CHARACTERS.length)]).join('');
}

const milliseconds = z.number().int().min(0);

/** The record of a hook in Redis. Times are milliseconds since 1970. Fields that a later version adds are kept. */
const HookRecord = z.looseObject({
  url: z.string(),
  /** The types of events that the hook gets. If left out, it gets all types. Types of a later version are ignored. */
  types: z.array(z.string()).optional(),
  /**
   * The secrets with which the service signs, newest first, each until its time `until`. The secrets are in clear text, because the service
   * signs with them.
   */
  secrets: z.array(z.object({ secret: z.string().regex(SECRET), until: milliseconds.optional() })).min(1),
  createdAt: milliseconds,
  /** Who disabled the hook, and the time: an operator, or the endpoint with an answer 410 (`gone`). Left out if the hook is enabled. */
  disabled: z.object({ by: z.enum(['operator', 'gone']), at: milliseconds }).optional(),
});

export type HookRecord = z.output<typeof HookRecord>;

/** Parses the record of a hook. Undefined if the text is not a record. Such a hook gets no events. */
export function parseHook(text: string): HookRecord | undefined {
  try {
    const record = HookRecord.safeParse(JSON.parse(text)).data;
    // If this version knows none of the hook's types, the list of types would be empty, and a read of the log without types would give all
    // events.
    return record !== undefined && typesOf(record)?.length === 0 ? undefined : record;
  } catch {
    return undefined;
  }
}

/** The secrets with which the service signs at the time `now`, newest first. */
export function secretsOf({ secrets }: Pick<HookRecord, 'secrets'>, now: number): string[] {
  return secrets.filter(({ until = Infinity }) => now < until).map(({ secret }) => secret);
}

/** The types of the hook that this version knows. Undefined: all types. */
export function typesOf({ types }: Pick<HookRecord, 'types'>): EventType[] | undefined {
  return types && EVENT_TYPES.filter((type) => types.includes(type));
}

/** An attempt to deliver an event. */
export interface Attempted {
  /** The id of the event. */
  readonly event: string;
  readonly type: string;
  /** The position of the event in the log. */
  readonly position: number;
  /** The time at which the attempt began, in milliseconds since 1970. */
  readonly at: number;
  /** The number of the attempt, 1 for the first. */
  readonly attempt: number;
  readonly outcome: 'delivered' | 'failed' | 'given_up';
  readonly status?: number;
  /** The reason why there is no status: a word of `sender.ts`, or `expired` if the log dropped the event before it was delivered. */
  readonly error?: string;
  /** The first characters of the answer, unless it is a success. */
  readonly answer?: string;
  /** The time at which the next attempt begins, in milliseconds since 1970. Undefined if there is none. */
  readonly nextAt?: number;
  readonly durationMs: number;
}

/** The text that stands for all events if an operator has asked to repeat all failed deliveries now. */
export const ALL_FAILED = '*';

/** A position in the log of events (`features/events/event-log.ts`). */
export type Position = number;

export interface EventPage {
  readonly events: readonly EventRecord[];
  readonly positions: readonly Position[];
  readonly next: Position;
  readonly isEnd: boolean;
}

/** The methods of the log of events that webhooks need. */
export interface EventSource {
  read(after: Position, limit: number, types?: readonly EventType[]): Promise<EventPage>;
  oldest(): Promise<Position>;
  end(): Promise<Position>;
  positionAt(time: number): Promise<Position>;
  news(after: Position, waitMs: number, signal?: AbortSignal): Promise<void>;
}
