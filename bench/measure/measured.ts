import type { Redis } from 'ioredis';

/** A server process that is looked at from outside, and its Redis if it has one. */
export interface Measured {
  readonly url: string;
  readonly port: number;
  /** Undefined at --url, where no process can be looked into. */
  readonly pid: number | undefined;
  /** A connection to its Redis, for setting up and for looking into; undefined at --url and where there is none. */
  readonly redis: Redis | undefined;
  /** CPU time that the process has used so far, all its threads, in µs; NaN where it cannot be known. */
  serverCpu(): Promise<number>;
  /** CPU time that its Redis's main thread has used so far, in µs; NaN where it cannot be known. */
  redisCpu(): Promise<number>;
  /** Resident memory of the process, in bytes; NaN where it cannot be known. */
  residentBytes(): Promise<number>;
  /** Only what was started `fresh`; the rest ends with the run. */
  stop(): Promise<void>;
}
