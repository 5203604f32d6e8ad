import { readdirSync, readFileSync } from 'node:fs';
import { mainThreadCpu } from '../measure/cpu.ts';
import type { Measured } from '../measure/measured.ts';
import type { Processes } from '../processes/processes.ts';
import type { Bench } from '../scenario.ts';

/**
 * The service of a checkout, fresh, with a Redis of its own. All that is asked of it goes through its public API: how an
 * older one keeps its data, and where its Redis listens, is its own affair. Its Redis is looked at from outside. CPU is that
 * of main threads: what V8 compiles and collects in threads beside it differs by a tenth between two processes of one code.
 */
export async function startCheckout(processes: Processes, checkout: string, before: readonly string[]): Promise<Measured> {
  const service = await processes.startService({ checkout, before });
  const redis = redisOf(service.pid!);
  return { ...service, serverCpu: async () => mainThreadCpu(service.pid!), redisCpu: async () => mainThreadCpu(redis) };
}

/** A bench whose service is this one. */
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

/** The process id of the Redis that a service started. */
function redisOf(service: number): number {
  const found = childrenOf(service).find((pid) => /redis-server|valkey-server/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8')));
  if (found === undefined) throw new Error('the service has started no Redis');
  return found;
}

function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
}
