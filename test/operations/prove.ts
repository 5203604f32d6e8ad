import { join } from 'node:path';
import { freePort } from '../free-port.ts';
import type { Part, Stand } from '../proofs/proof.ts';
import { startTcpRedis } from '../realtime/child.ts';
import { proveFraming } from './framing.ts';
import { proveMonitoring } from './monitoring.ts';
import { proxyNames, startProxy, type Proxy } from './proxy.ts';
import { Instance, proveRolling } from './rolling.ts';
import { proveThroughProxy } from './through-proxy.ts';

/** Both services take the same sessions. With ADMIN_API only the proxy keeps operators' paths from clients. */
const SETTINGS = { ADMIN_API: 'on', TRUSTED_PROXIES: '127.0.0.1', SESSION_KEYS: `prove:${Buffer.alloc(32, 7).toString('base64url')}` };

interface Behind {
  readonly proxy: Proxy;
  readonly instances: readonly Instance[];
  readonly redisSocket: string;
}

/** A proxy in front of two services on one Redis. */
function partOf(
  name: Proxy['name'],
  part: string,
  about: string,
  seconds: number,
  prove: (behind: Behind, stand: Stand) => Promise<void>,
): Part {
  return {
    ...{ proof: 'operations', name: `${name}-${part}`, about: `${name}: ${about}`, seconds },
    async prove(stand) {
      const { folder, closing } = stand;
      const redis = await startTcpRedis(folder);
      closing.push(redis.stop);
      const ports = [await freePort(), await freePort()] as const;
      const instances = ports.map((port) => new Instance(port, { ...SETTINGS, REDIS_URL: redis.url, DATA_DIR: join(folder, port) }));
      for (const instance of instances) {
        await instance.start();
        closing.push(() => instance.stop());
      }
      const proxy = await startProxy(name, join(folder, name), ports);
      closing.push(() => proxy.stop());
      try {
        await prove({ proxy, instances, redisSocket: redis.socketPath }, stand);
      } catch (error) {
        console.log(proxy.output().split('\n').slice(-10).join('\n').replace(/^/gm, '    '));
        throw error;
      }
    },
  };
}

/** The promises of docs/operations: Prometheus, nginx and Caddy run with the sample files, beside or in front of real services. */
export const parts: readonly Part[] = [
  {
    proof: 'operations',
    name: 'monitoring',
    about: 'Prometheus scrapes a service: every query of the dashboard and of the alerts, and every command of the runbook',
    seconds: 60,
    prove: ({ folder, figures }) => proveMonitoring(folder, figures),
  },
  ...proxyNames.flatMap((name) => [
    partOf(name, 'framing', 'every case of the framing table', 40, ({ proxy, instances }, { figures }) =>
      proveFraming(proxy, instances[0]!.url, figures),
    ),
    partOf(name, 'live', 'live channels, long-polls, client addresses, bounds, TLS', 95, ({ proxy }, { figures }) =>
      proveThroughProxy(proxy, figures),
    ),
    partOf(name, 'rolling', 'a rolling restart under load', 45, ({ proxy, instances, redisSocket }, stand) =>
      proveRolling(proxy, instances, redisSocket, stand),
    ),
  ]),
];
