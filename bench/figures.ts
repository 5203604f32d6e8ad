/** What one round of a scenario can find out, in units that stand in the name's row. */
export const figures = {
  serverCpu: { label: 'server CPU', unit: 'µs', digits: 1 },
  /** At half of the load that the slowest side takes: both ends sleep between requests. */
  serverCpuHalfLoad: { label: 'server CPU, half load', unit: 'µs', digits: 1 },
  /** Loaded by wrk, which is faster than any server here and sleeps whenever all has been asked. */
  serverCpuWrk: { label: 'server CPU, wrk', unit: 'µs', digits: 1 },
  redisCpu: { label: 'Redis CPU', unit: 'µs', digits: 1 },
  /** How often the server was taken off its core while it still had work (involuntary context switches). */
  preemptions: { label: 'preempted', unit: 'times', digits: 3 },
  preemptionsWrk: { label: 'preempted, wrk', unit: 'times', digits: 3 },
  /** Of the server and its Redis together. */
  cpu: { label: 'CPU, server + Redis', unit: 'µs', digits: 1 },
  perSecond: { label: 'rate', unit: '/s', digits: 0 },
  p50: { label: 'p50', unit: 'ms', digits: 2 },
  p99: { label: 'p99', unit: 'ms', digits: 2 },
  p999: { label: 'p99.9', unit: 'ms', digits: 2 },
  /** The fixed rate at which the latencies were taken. */
  atRate: { label: 'latency at', unit: '/s', digits: 0 },
  /** Server memory (RSS) that one watcher costs. */
  watcherBytes: { label: 'memory a watcher', unit: 'B', digits: 0 },
  /** Redis memory (used_memory) that one ledger entry costs. */
  entryBytes: { label: 'Redis memory an entry', unit: 'B', digits: 1 },
  /** Redis memory (used_memory) that one account without entries costs. */
  accountBytes: { label: 'Redis memory an account', unit: 'B', digits: 1 },
  /** Messages that the busiest watcher got in a second. */
  watcherMessages: { label: 'messages a watcher', unit: '/s', digits: 1 },
  /** From the last acknowledged change until a watcher has it, 99th percentile over watchers. */
  lastStateP99: { label: 'last state, p99', unit: 'ms', digits: 1 },
} as const satisfies Record<string, { label: string; unit: string; digits: number }>;

export type FigureName = keyof typeof figures;

/** What is taken per operation, and says so where it is shown. */
export const PER_OPERATION: ReadonlySet<FigureName> = new Set([
  'serverCpu',
  'serverCpuHalfLoad',
  'serverCpuWrk',
  'redisCpu',
  'preemptions',
  'preemptionsWrk',
]);

/**
 * Kinds of load that a request's CPU is taken under, because a dearer server is charged differently in each. A target for
 * the first has to hold in all that were measured.
 */
export const CPU_REGIMES = [
  { figure: 'serverCpu', name: 'saturated' },
  { figure: 'serverCpuHalfLoad', name: 'half load' },
  { figure: 'serverCpuWrk', name: 'wrk' },
] as const satisfies readonly { figure: FigureName; name: string }[];

/** What one round found. CPU is per operation: per request, per delivery, per pairing. */
export type Figures = Partial<Record<FigureName, number>>;
