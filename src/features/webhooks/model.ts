import { randomInt } from 'node:crypto';
import { z } from 'zod';
import { EVENT_TYPES, type EventRecord, type EventType } from '../events/model.ts';
import { SECRET } from './signature.ts';

/** Redis keeps all hooks in one slot: one script looks at all of them, and one removes a hook with everything of it. */
const TAG = '{webhooks}';

export const hookKeys = {
  /** A hash: a hook's id → its record. */
  hooks: TAG,
  /**
   * A hash: `cursor` (the position in the log of events up to which all events are delivered, given up, or wait in `waiting`), `turn`
   * (rises with each change of the state), `holder` and `leaseEnd` (the process that delivers, and until when, on the clock of Redis).
   */
  state: (id: string) => `${TAG}:state:${id}`,
  /** A hash: an account whose events wait for their next attempt → those events (`waiting.ts`). */
  waiting: (id: string) => `${TAG}:waiting:${id}`,
  /** A list: the last attempts that delivered, the newest first. */
  delivered: (id: string) => `${TAG}:delivered:${id}`,
  /** A list: the last attempts that failed. So many deliveries do not hide a failure. */
  failed: (id: string) => `${TAG}:failed:${id}`,
  /** A list: the events that operators want to have delivered again. */
  asked: (id: string) => `${TAG}:asked:${id}`,
};

/** Each process reads all hooks every second, and each hook that delivers holds a page of events in memory. */
export const MOST_HOOKS = 50;

/** Attempts of each kind that Redis keeps of a hook. */
export const KEPT_ATTEMPTS = 100;

/** Secrets of a hook that sign: the newest, and those that rotations left valid for a while. */
export const MOST_SECRETS = 4;

const ID_LENGTH = 8;
const ID_CHARACTERS = '0123456789abcdefghijklmnopqrstuvwxyz';

export const HOOK_ID = /^[a-z0-9]{8}$/;

export function newHookId(): string {
  return Array.from({ length: ID_LENGTH }, () => ID_CHARACTERS[randomInt(ID_CHARACTERS.length)]).join('');
}

const milliseconds = z.number().int().min(0);

/** What Redis keeps of a hook. Times are milliseconds since 1970. What a later version adds stays. */
const HookRecord = z.looseObject({
  url: z.string(),
  /** Left out: all types. A later version may know further ones: those count for nothing here. */
  types: z.array(z.string()).optional(),
  /** The newest first. They lie here in the clear, because the service signs with them. */
  secrets: z.array(z.object({ secret: z.string().regex(SECRET), until: milliseconds.optional() })).min(1),
  createdAt: milliseconds,
  /** Who ended it: an operator, or the endpoint by the status 410. Left out: it delivers. */
  disabled: z.object({ by: z.enum(['operator', 'gone']), at: milliseconds }).optional(),
});

export type HookRecord = z.output<typeof HookRecord>;

/** Undefined for a text that is no record: its hook gets nothing. */
export function parseHook(text: string): HookRecord | undefined {
  try {
    const record = HookRecord.safeParse(JSON.parse(text)).data;
    // Without a type that this version knows, the log would be asked for all types.
    return record !== undefined && typesOf(record)?.length === 0 ? undefined : record;
  } catch {
    return undefined;
  }
}

/** The secrets that sign now, the newest first. */
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

/** What webhooks take of the log of events. */
export interface EventSource {
  read(after: Position, limit: number, types?: readonly EventType[]): Promise<EventPage>;
  oldest(): Promise<Position>;
  end(): Promise<Position>;
  positionAt(time: number): Promise<Position>;
  news(after: Position, waitMs: number, signal?: AbortSignal): Promise<void>;
}
