/** All figures that a round can measure, with label, unit and digits after the decimal point. */
export const figures = {
  serverCpu: { label: 'server CPU', unit: 'µs', digits: 1 },
  /** At half the rate of the slowest side: load generator and server both sleep between requests. */
  serverCpuHalfLoad: { label: 'server CPU, half load', unit: 'µs', digits: 1 },
  /** Loaded by wrk, which is faster than every server here and sleeps while all its requests are under way. */
  serverCpuWrk: { label: 'server CPU, wrk', unit: 'µs', digits: 1 },
  redisCpu: { label: 'Redis CPU', unit: 'µs', digits: 1 },
  /** Involuntary context switches: how often the kernel preempted the server while it still had work. */
  preemptions: { label: 'preempted', unit: 'times', digits: 3 },
  /** EVALSHA commands a second that each primary received; requests of each of them, over all primaries. */
  batchesPerPrimary: { label: 'batches a primary', unit: '/s', digits: 0 },
  requestsPerBatch: { label: 'batch size', unit: 'requests', digits: 1 },
  preemptionsWrk: { label: 'preempted, wrk', unit: 'times', digits: 3 },
  /** CPU of the server and its Redis together. */
  cpu: { label: 'CPU, server + Redis', unit: 'µs', digits: 1 },
  perSecond: { label: 'rate', unit: '/s', digits: 0 },
  p50: { label: 'p50', unit: 'ms', digits: 2 },
  p99: { label: 'p99', unit: 'ms', digits: 2 },
  p999: { label: 'p99.9', unit: 'ms', digits: 2 },
  /** The fixed rate at which the latencies were taken. */
  atRate: { label: 'arrival rate', unit: '/s', digits: 0 },
  /** Server memory (RSS) per watcher. */
  watcherBytes: { label: 'memory per watcher', unit: 'B', digits: 0 },
  /** Redis memory (used_memory) per ledger entry. */
  entryBytes: { label: 'Redis memory per entry', unit: 'B', digits: 1 },
  /** Redis memory (used_memory) per account without entries. */
  accountBytes: { label: 'Redis memory per account', unit: 'B', digits: 1 },
  /** Time of Redis's command that counts the better scores of a board, and of the one that reads its first ten entries. */
  rankCpu: { label: 'Redis, rank', unit: 'µs', digits: 1 },
  topCpu: { label: 'Redis, top ten', unit: 'µs', digits: 1 },
  aroundCpu: { label: 'Redis, ten on each side of a player', unit: 'µs', digits: 1 },
  pageCpu: { label: 'Redis, a page of 100', unit: 'µs', digits: 1 },
  /** Messages that the busiest watcher received in its busiest second. */
  watcherMessages: { label: 'messages per watcher', unit: '/s', digits: 1 },
  /** States or patches that each player received. */
  pushes: { label: 'pushes a player', unit: '/s', digits: 1 },
  /** Requests a second that were due in an open-loop load. */
  offered: { label: 'offered', unit: '/s', digits: 0 },
  /** Requests a second that were answered 200 within a second of their due time. */
  goodput: { label: 'goodput', unit: '/s', digits: 0 },
  refused: { label: 'refused', unit: '/s', digits: 0 },
  /** Requests a second that were due while all connections waited for an answer. */
  unsent: { label: 'not sent', unit: '/s', digits: 0 },
  /** How far the goodput is below the highest of all loads of the same round. */
  goodputLost: { label: 'goodput lost', unit: '%', digits: 1 },
  /** Goodput for each second of CPU that server and Redis used. Other work on the machine takes goodput, but not this. */
  goodputPerCpu: { label: 'goodput a CPU second', unit: '', digits: 0 },
  goodputPerCpuLost: { label: 'goodput a CPU second lost', unit: '%', digits: 1 },
  /** CPU of server and Redis for a refusal, as a part of that for a served request at the same rate. */
  refusalShare: { label: 'a refusal, of a served request', unit: '%', digits: 1 },
  refusalCpu: { label: 'CPU a refusal', unit: 'µs', digits: 1 },
  servedCpu: { label: 'CPU a served request, server + Redis', unit: 'µs', digits: 1 },
  /** Time until latency and errors are normal again after an overload. */
  recovery: { label: 'recovery', unit: 's', digits: 1 },
  /** Resident memory of the server at the end of the load. */
  memory: { label: 'server memory', unit: 'MiB', digits: 0 },
  memoryAfter: { label: 'server memory after it', unit: 'MiB', digits: 0 },
  /** How late the load generator sent a request, 99th percentile. Where it is high, the generator was the bottleneck. */
  sendLag: { label: 'sent late, p99', unit: 'ms', digits: 1 },
  /** Time from the last acknowledged change until a watcher has it, 99th percentile over watchers. */
  lastStateP99: { label: 'last state, p99', unit: 'ms', digits: 1 },
} as const satisfies Record<string, { label: string; unit: string; digits: number }>;

export type FigureName = keyof typeof figures;

/** Figures per operation. Their column titles name the operation: "µs/request". */
export const PER_OPERATION: ReadonlySet<FigureName> = new Set([
  'serverCpu',
  'serverCpuHalfLoad',
  'serverCpuWrk',
  'redisCpu',
  'preemptions',
  'preemptionsWrk',
]);

/**
 * The kinds of load under which the CPU per request is measured. The same work costs a different amount of CPU under each,
 * so a target for `serverCpu` has to hold under every kind that was measured.
 */
export const CPU_REGIMES = [
  { figure: 'serverCpu', name: 'saturated' },
  { figure: 'serverCpuHalfLoad', name: 'half load' },
  { figure: 'serverCpuWrk', name: 'wrk' },
] as const satisfies readonly { figure: FigureName; name: string }[];

/** The figures of one round. CPU is per operation: per request, per delivery, per pairing. */
export type Figures = Partial<Record<FigureName, number>>;
