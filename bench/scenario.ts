import type { Redis } from 'ioredis';
import type { FigureName, Figures } from './figures.ts';
import type { Child, ChildOptions } from './processes/child.ts';
import type { Engine } from './processes/engines.ts';
import type { AroundLoad, LoadOrder, LoadOutcome } from './load/order.ts';
import type { WrkOutcome } from './load/wrk.ts';
import type { Measured } from './measure/measured.ts';

/**
 * A scenario is data: the sides to compare, how one round of each runs, and the targets. The runner (run.ts) opens all sides,
 * runs their rounds in alternating order until the targets are decided, audits and closes the sides.
 */
export interface Scenario {
  /** The name on the command line, in kebab-case. */
  readonly name: string;
  /** A name on the command line for several related scenarios. */
  readonly family?: string;
  readonly title: string;
  /** One sentence: the load and its size. */
  readonly summary: string;
  /** The unit of "per operation", in the singular: "request", "delivery". */
  readonly operation: string;
  /** The service first, then floors, then peers. In a growth curve: the sizes, smallest first. */
  readonly sides: readonly Side[];
  readonly targets: readonly Target[];
  /** Uses the service's public API alone, so it can run with --url. */
  readonly anywhere: boolean;
  /**
   * A fixed number of rounds, for scenarios whose rounds take long. These run first, and the other scenarios share the time
   * that is left. 1 is for figures that are counted rather than timed; they have no interval.
   */
  readonly rounds?: number;
  /** Ratios of Redis's CPU are shown too, not only where a target names them. */
  readonly comparesRedis?: boolean;
  /** Upper bound of a round, for scenarios in which a longer round would not be more precise. */
  readonly mostSeconds?: number;
  /** The scenario has its own time limit, and runs only if it or its family is named. A run of all scenarios has no time for it. */
  readonly apart?: { readonly minutes: number };
  /** Length of the warm-up (default 1). 0 when the first round counts: such a round takes long and needs no compiled code. */
  readonly warmUpSeconds?: number;
}

/** The service, a floor, a peer, or one size of a growth curve. */
export interface Side {
  /** Unique in its scenario: `coinop`, `uws`, `uws-redis`, `fastify`, `ws`, `socket.io`, `1000`. */
  readonly id: string;
  /** The name in tables and pictures. */
  readonly name: string;
  readonly kind: SideKind;
  /** Position on the x axis of a growth curve. Sides that have it are drawn as a curve. */
  readonly at?: number;
  /** It needs a package that `npm ci` does not install. A quick run leaves it out, so that it works without npm's registry. */
  readonly isFetched?: boolean;
  /** Starts and prepares all that a round needs: processes, accounts, sockets. Not measured. */
  open(bench: Bench): Promise<Contestant>;
}

/** `floor`: a minimal server that does only the unavoidable part of the job. `peer`: another framework doing the same job. */
export type SideKind = 'service' | 'floor' | 'peer';

/** An opened side. */
export interface Contestant {
  /** Runs one round of about `seconds`. The first call is the warm-up, whose figures are dropped. */
  round(seconds: number): Promise<Figures>;
  /** The same work under other kinds of load, run in this order within each round. */
  readonly regimes?: readonly Regime[];
  /** Checks what the rounds left behind. @returns a sentence for each error */
  audit?(): Promise<string[]>;
  /** Counts of each status and error, when other statuses than 200 are reported and do not fail the scenario (--url). */
  answers?(): Readonly<Record<string, number>> | undefined;
  close?(): Promise<void>;
}

export interface Regime {
  readonly name: string;
  /** @param rate operations a second: half the rate of the slowest side */
  round(seconds: number, rate: number): Promise<Figures>;
}

/**
 * An upper bound, `most`, for `figure` of `side`, or with `against` for its ratio to the figure of that side. A ratio of
 * `serverCpu` has to hold under every kind of load that was measured (CPU_REGIMES).
 */
export interface Target {
  /** The name in tables: "server CPU against bare uWS". */
  readonly what: string;
  readonly figure: FigureName;
  readonly side: string;
  readonly against?: string;
  readonly most: number;
}

/** The tools of a scenario. The runner ends every process that a scenario starts through them. */
export interface Bench {
  readonly settings: RunSettings;
  /** Aborted by Ctrl-C. Every wait has to end with it. */
  readonly signal: AbortSignal;
  /**
   * The service under test with its own Redis, shared by the whole run. With `fresh` or `settings` it is a new one that the
   * caller may stop. With --url it is the service at that address. With `engine` it keeps its data there; without `fresh` all
   * sides of the run with the same engine share it.
   */
  service(options?: ServiceNeeds): Promise<Measured>;
  /**
   * A floor or peer: a module in peers/ that listens and then calls `ready({ port })`. Shared by the whole run unless `fresh`.
   * With `redis` it has its own Redis, with the same settings as the service's, at `process.env.REDIS_SOCKET`. With
   * `hasRoutes` it is warmed up with every kind of request, as the shared service is.
   */
  peer(module: URL, options?: PeerOptions): Promise<Measured>;
  /** A Redis without a server, with the same settings as the service's. */
  redis(): Promise<OwnRedis>;
  /** Sends HTTP load from a separate process, one order at a time. */
  load(order: LoadOrder, around?: AroundLoad): Promise<LoadOutcome>;
  /** Sends the same load with wrk. Requires `hasWrk`. */
  wrk(order: LoadOrder): Promise<WrkOutcome>;
  /** wrk is installed and the run is without --url, so that the server's CPU can be read. */
  readonly hasWrk: boolean;
  /** Starts a process that is not measured, such as a load generator or watchers. */
  child(module: URL, options?: ChildOptions): Promise<Child>;
  /** Shows the current step in the progress bar. */
  doing(what: string): void;
}

export interface ServiceNeeds {
  readonly fresh?: boolean;
  readonly settings?: Record<string, string>;
  readonly engine?: Engine | undefined;
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
  /** Smaller sizes and fewer rounds, to test the bench in seconds instead of minutes. The figures are no measurement. */
  readonly quick: boolean;
  /** Connections of the HTTP load. */
  readonly connections: number;
  /** Length of a round. */
  readonly seconds: number;
  /** A fixed number of rounds. Undefined: until the ratios are known well enough. */
  readonly rounds: number | undefined;
  /** Time limit of the run. */
  readonly minutes: number;
  /** The scenarios of scenarios/cluster.ts: the service on a Cluster against the service on one Redis. */
  readonly cluster?: boolean;
  /** The address of a running service to measure instead of starting one. */
  readonly url: string | undefined;
}
