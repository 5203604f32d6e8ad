/** What one round of a scenario can find out, in units that stand in the name's row. */
export const figures = {
  serverCpu: { label: 'server CPU', unit: 'µs', digits: 1 },
  redisCpu: { label: 'Redis CPU', unit: 'µs', digits: 1 },
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

/** What one round found. CPU is per operation: per request, per delivery, per pairing. */
export type Figures = Partial<Record<FigureName, number>>;
