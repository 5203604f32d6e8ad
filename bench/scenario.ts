import type { Redis } from 'ioredis';
import type { FigureName, Figures } from './figures.ts';
import type { Child, ChildOptions } from './processes/child.ts';
import type { AroundLoad, LoadOrder, LoadOutcome } from './load/order.ts';
import type { WrkOutcome } from './load/wrk.ts';
import type { Measured } from './measure/measured.ts';

/**
 * A scenario is data: who is compared, how one round of each goes, and what is promised of the outcome. The runner
 * (run.ts) does the rest: it opens all sides, runs their rounds in alternating order until what is promised is decided, has
 * them audited and closes them.
 */
export interface Scenario {
  /** What it is called on the command line, in kebab-case. */
  readonly name: string;
  /** Several scenarios can be asked for together by their family's name. */
  readonly family?: string;
  readonly title: string;
  /** One sentence: what is done, by how many. */
  readonly summary: string;
  /** What is counted: "request", "delivery". Singular. */
  readonly operation: string;
  /** The service first, then floors, then peers; in a growth curve the sizes, smallest first. */
  readonly sides: readonly Side[];
  readonly targets: readonly Target[];
  /** Can run against a service that was started elsewhere (--url): needs nothing but its public API. */
  readonly anywhere: boolean;
  /**
   * So many rounds, however far the outcome is from being decided, because one takes long; such scenarios run first, and the
   * others share what they leave of the time. 1 is for what is counted rather than timed: it has no interval.
   */
  readonly rounds?: number;
  /** How long a round lasts at the most, where longer ones tell nothing more. */
  readonly mostSeconds?: number;
  /** How long it warms up at least; 0 where the first round counts, because a round needs no warm code and takes long. */
  readonly warmUpSeconds?: number;
}

/** One of those compared. */
export interface Side {
  /** Unique in its scenario: `coinop`, `uws`, `uws-redis`, `fastify`, `ws`, `socket.io`, `1000`. */
  readonly id: string;
  /** As tables and pictures show it. */
  readonly name: string;
  readonly kind: SideKind;
  /** Where on the x axis of a growth curve it stands. Sides with it are drawn as a curve. */
  readonly at?: number;
  /** What it needs before the first round: processes, accounts, sockets. Not measured. */
  open(bench: Bench): Promise<Contestant>;
}

/** `floor`: the least that the job can cost. `peer`: another way to do the same job. */
export type SideKind = 'service' | 'floor' | 'peer';

/** A side that is ready to run. */
export interface Contestant {
  /** One round of about `seconds`. Called once to warm up, which is thrown away, and then once a round. */
  round(seconds: number): Promise<Figures>;
  /** The same work as a round's, under loads of other kinds. One after the other, in this order, within each round. */
  readonly regimes?: readonly Regime[];
  /** What is wrong with what the rounds left behind, a sentence each. None: all is as it has to be. */
  audit?(): Promise<string[]>;
  /** How often each status and error came, where those other than 200 are reported and no failure. */
  answers?(): Readonly<Record<string, number>> | undefined;
  close?(): Promise<void>;
}

export interface Regime {
  readonly name: string;
  /** @param rate operations a second: half of what the slowest side took */
  round(seconds: number, rate: number): Promise<Figures>;
}

/**
 * `figure` of `side`, or its ratio to that of `against`, is at most `most`. One for `serverCpu` has to hold in every regime
 * that its CPU was taken in (CPU_REGIMES).
 */
export interface Target {
  /** As the table shows it: "server CPU against bare uWS". */
  readonly what: string;
  readonly figure: FigureName;
  readonly side: string;
  readonly against?: string;
  readonly most: number;
}

/** What a scenario is given to work with. All that is started through it is ended by the runner, whatever happens. */
export interface Bench {
  readonly settings: RunSettings;
  /** Aborted by Ctrl-C: waiting is to end with it. */
  readonly signal: AbortSignal;
  /**
   * The service under test, with a Redis of its own: one for the whole run, unless `fresh` or settings are given; then it
   * is the caller's own and may be stopped. At --url it is that one.
   */
  service(options?: { fresh?: boolean; settings?: Record<string, string> }): Promise<Measured>;
  /**
   * A floor or peer: a module in peers/ that serves and then calls `ready({ port })`. One for the whole run, unless `fresh`.
   * With `redis` it has a Redis of its own, of the same settings as the service's, at `process.env.REDIS_SOCKET`. With
   * `hasRoutes` it is sent some of every request there is, as the shared service is.
   */
  peer(module: URL, options?: PeerOptions): Promise<Measured>;
  /** A Redis without a server in front, of the same settings as the service's. */
  redis(): Promise<OwnRedis>;
  /** HTTP load, one order at a time, from a process of its own. */
  load(order: LoadOrder, around?: AroundLoad): Promise<LoadOutcome>;
  /** The same by wrk. Only where `hasWrk`. */
  wrk(order: LoadOrder): Promise<WrkOutcome>;
  /** wrk is installed, and there is a process to look into. */
  readonly hasWrk: boolean;
  /** Any other process, such as one that makes load or watches: not measured. */
  child(module: URL, options?: ChildOptions): Promise<Child>;
  /** Says what goes on in the progress bar. */
  doing(what: string): void;
}

export interface PeerOptions {
  readonly redis?: boolean;
  readonly fresh?: boolean;
  readonly hasRoutes?: boolean;
  readonly settings?: Record<string, string>;
}

export interface OwnRedis {
  readonly redis: Redis;
  readonly socketPath: string;
  stop(): Promise<void>;
}

export interface RunSettings {
  /** Seconds instead of minutes: smaller sizes and fewer rounds, figures that only tell whether all of it works. */
  readonly quick: boolean;
  /** Of the HTTP load. */
  readonly connections: number;
  /** Length of a round. */
  readonly seconds: number;
  /** Exactly so many. Left out: until the ratios are known well enough. */
  readonly rounds: number | undefined;
  /** What the run may take in all. */
  readonly minutes: number;
  /** A service started elsewhere. */
  readonly url: string | undefined;
}
