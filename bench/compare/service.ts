import { readdirSync, readFileSync } from 'node:fs';
import { mainThreadCpu } from '../measure/cpu.ts';
import type { Measured } from '../measure/measured.ts';
import type { Processes } from '../processes/processes.ts';
import type { Bench } from '../scenario.ts';

/**
 * Starts the service of a checkout with its own private Redis. The bench uses its public API alone, because an older commit
 * may keep its data and its Redis socket elsewhere. Only main threads count as CPU: the cost of V8's compiler and garbage
 * collector threads differs by a tenth between two processes of the same code.
 */
export async function startCheckout(processes: Processes, checkout: string, commandPrefix: readonly string[]): Promise<Measured> {
  const service = await processes.startService({ checkout, commandPrefix });
  const redis = redisOf(service.pid!);
  return { ...service, serverCpu: async () => mainThreadCpu(service.pid!), redisCpu: async () => mainThreadCpu(redis) };
}

/** A bench whose `service()` is the given one. */
export function benchOf(processes: Processes, service: Measured): Bench {
  return {
    settings: processes.settings,
    signal: processes.signal,
    hasWrk: false,
    service: async () => service,
    peer: processes.peer.bind(processes),
    redis: processes.redis.bind(processes),
    load: (order, around) => processes.load({ ...order, keepsConnections: true }, around),
    wrk: processes.wrk.bind(processes),
    child: processes.child.bind(processes),
    doing: processes.doing.bind(processes),
  };
}

/** The process id of the private Redis of a service. */
function redisOf(service: number): number {
  const found = childrenOf(service).find((pid) => /redis-server|valkey-server/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8')));
  if (found === undefined) throw new Error('the service has no private Redis');
  return found;
}

function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
}
