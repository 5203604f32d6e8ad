import type { RedisLocation } from '../redis/connect.ts';
import type { Reserved } from '../server/reservations.ts';

/** Settings that the primary sends to a new worker. */
export interface WorkerSettings {
  redis: RedisLocation;
  /** In the format of SESSION_KEYS. */
  sessionKeys: string;
  port: number;
}

/** A message between the primary and a worker. */
export type Message =
  | { kind: 'settings'; settings: WorkerSettings }
  | { kind: 'listening' }
  | { kind: 'reserve'; asked: Asked[]; settled: Settled[]; unwritten: Unwritten[] }
  | { kind: 'reserved'; answers: Answered[] }
  | { kind: 'metrics-wanted'; id: number }
  | { kind: 'metrics-ask'; id: number }
  | { kind: 'metrics-part'; id: number; part: unknown }
  | { kind: 'metrics'; id: number; text: string };

/** `entries` asks for a bundle of ledger entries. */
export type Asked = [id: number, kind: Reserved | 'entries', group: string];
/** `count`: the entries of a bundle. */
export type Answered = [id: number, waitMs: number, count?: number];
/** Ledger entries that a worker gives back. */
export type Unwritten = [group: string, count: number];
export type Settled = [kind: Reserved, group: string, isSpent: boolean];
