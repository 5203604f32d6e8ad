import type { RedisLocation } from '../redis/connect.ts';
import type { Daily, Reserved } from '../server/reservations.ts';

/** Settings that the primary process sends to a new worker. */
export interface WorkerSettings {
  redis: RedisLocation;
  /** The session keys, in the format of SESSION_KEYS. */
  sessionKeys: string;
  port: number;
}

/** A message between the primary process and a worker. */
export type Message =
  | { kind: 'settings'; settings: WorkerSettings }
  | { kind: 'listening' }
  | { kind: 'reserve'; asked: Asked[]; settled: Settled[]; unwritten: Unwritten[] }
  | { kind: 'reserved'; answers: Answered[] }
  | { kind: 'metrics-wanted'; id: number }
  | { kind: 'metrics-ask'; id: number }
  | { kind: 'metrics-part'; id: number; part: unknown }
  | { kind: 'metrics'; id: number; text: string };

/** A request for a reservation. For a daily kind the worker asks for units of a daily budget. */
export type Asked = [id: number, kind: Reserved, group: string] | [id: number, kind: Daily, group: string, least: number, most: number];
/** The answer to a request. `waitMs` 0: it was granted. `count`: how many units of a daily budget were granted. */
export type Answered = [id: number, waitMs: number, count?: number];
/** Units of a daily budget that a worker gives back because it has not written their data. */
export type Unwritten = [kind: Daily, group: string, count: number];
export type Settled = [kind: Reserved, group: string, isSpent: boolean];
