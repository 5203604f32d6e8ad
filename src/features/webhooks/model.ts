import { randomInt } from 'node:crypto';
import { z } from 'zod';
import { EVENT_TYPES, type EventRecord, type EventType } from '../events/model.ts';
import { SECRET } from './signature.ts';

/** All hooks are in one slot, so that one script can read all of them, and one can remove a hook with all its keys. */
const TAG = '{webhooks}';

export const hookKeys = {
  /** A hash: a hook's id → its record. */
  hooks: TAG,
  /**
   * A hash: `cursor` (the position in the log of events up to which all events are delivered, given up, or wait in `waiting`), `turn`
   * (rises with each change of the state), `holder` and `leaseEnd` (the process that delivers, and until when, on the clock of Redis).
   */
  state: (id: string) => `${TAG}:state:${id}`,
  /** A hash: an account whose events wait for their next attempt → those events (`backlog.ts`). */
  waiting: (id: string) => `${TAG}:waiting:${id}`,
  /** A list: the last successful attempts, newest first. */
  delivered: (id: string) => `${TAG}:delivered:${id}`,
  /** A list: the last failed attempts, newest first. Separate, so that many successes do not hide a failure. */
  failed: (id: string) => `${TAG}:failed:${id}`,
  /** A list: the events that operators want to deliver again. */
  asked: (id: string) => `${TAG}:asked:${id}`,
};

/** A bound, because each process reads all hooks every second, and each delivered hook holds a page of events in memory. */
export const MOST_HOOKS = 50;

/** Most attempts of each kind that Redis keeps of a hook. */
export const KEPT_ATTEMPTS = 100;

/** Most secrets of a hook that sign: the newest, and older ones that a rotation keeps valid for a while. */
export const MOST_SECRETS = 4;

const ID_LENGTH = 8;
const ID_CHARACTERS = '0123456789abcdefghijklmnopqrstuvwxyz';

export const HOOK_ID = /^[a-z0-9]{8}$/;

export function newHookId(): string {
  return Array.from({ length: ID_LENGTH }, () => ID_CHARACTERS[randomInt(ID_CHARACTERS.length)]).join('');
}

const milliseconds = z.number().int().min(0);

/** A hook's record in Redis. Times are milliseconds since 1970. Fields that a later version adds are kept. */
const HookRecord = z.looseObject({
  url: z.string(),
  /** Left out: all types. Types of a later version are ignored. */
  types: z.array(z.string()).optional(),
  /** Newest first. In clear text, because the service signs with them. */
  secrets: z.array(z.object({ secret: z.string().regex(SECRET), until: milliseconds.optional() })).min(1),
  createdAt: milliseconds,
  /** The cause: an operator disabled it, or its endpoint answered 410. Left out: it is enabled. */
  disabled: z.object({ by: z.enum(['operator', 'gone']), at: milliseconds }).optional(),
});

export type HookRecord = z.output<typeof HookRecord>;

/** Undefined for a text that is not a record: its hook gets no events. */
export function parseHook(text: string): HookRecord | undefined {
  try {
    const record = HookRecord.safeParse(JSON.parse(text)).data;
    // If this version knew none of its types, reading the log without types would give all events.
    return record !== undefined && typesOf(record)?.length === 0 ? undefined : record;
  } catch {
    return undefined;
  }
}

/** The secrets that sign now, newest first. */
export function secretsOf({ secrets }: Pick<HookRecord, 'secrets'>, now: number): string[] {
  return secrets.filter(({ until = Infinity }) => now < until).map(({ secret }) => secret);
}

/** The types that this version knows. Undefined: all. */
export function typesOf({ types }: Pick<HookRecord, 'types'>): EventType[] | undefined {
  return types && EVENT_TYPES.filter((type) => types.includes(type));
}

/** One attempt to deliver an event. */
export interface Attempted {
  /** The id of the event. */
  readonly event: string;
  readonly type: string;
  /** Where the event lies in the log. */
  readonly position: number;
  /** When the attempt began, in milliseconds since 1970. */
  readonly at: number;
  /** 1 for the first. */
  readonly attempt: number;
  readonly outcome: 'delivered' | 'failed' | 'given_up';
  readonly status?: number;
  /** Why there is no status: a word of `sender.ts`, or `expired` for an event that the log dropped before it was delivered. */
  readonly error?: string;
  readonly durationMs: number;
}

/** A place in the log of events (`features/events/log.ts`). */
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
