import type { RedisLocation } from '../redis/connect.ts';
import type { Reserved } from '../server/reservations.ts';

/** Settings that the primary sends to a new worker. */
export interface WorkerSettings {
  redis: RedisLocation;
  /** In the format of SESSION_KEYS. */
  sessionKeys: string;
  port: number;
}

/** Between the primary and a worker. */
export type Message =
  | { kind: 'settings'; settings: WorkerSettings }
  | { kind: 'listening' }
  | { kind: 'reserve'; asked: Asked[]; settled: Settled[] }
  | { kind: 'reserved'; answers: Answered[] }
  | { kind: 'metrics-wanted'; id: number }
  | { kind: 'metrics-ask'; id: number }
  | { kind: 'metrics-part'; id: number; part: unknown }
  | { kind: 'metrics'; id: number; text: string };

export type Asked = [id: number, kind: Reserved, group: string];
export type Answered = [id: number, waitMs: number];
export type Settled = [kind: Reserved, group: string, isSpent: boolean];
