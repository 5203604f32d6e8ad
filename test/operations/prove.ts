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

type Behind = (proxy: Proxy, instances: readonly Instance[], redisSocket: string, stand: Stand) => Promise<void>;

/** A part with a proxy in front of two services on one Redis. */
const behind =
  (name: Proxy['name'], prove: Behind): Part['prove'] =>
  async (stand) => {
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
    await prove(proxy, instances, redis.socketPath, stand).catch((error: unknown) => {
      console.log(proxy.output().split('\n').slice(-10).join('\n').replace(/^/gm, '    '));
      throw error;
    });
  };

const ofProxies: readonly [part: string, about: string, seconds: number, prove: Behind][] = [
  ['framing', 'every case of the framing table', 40, (proxy, [instance], _, { figures }) => proveFraming(proxy, instance!.url, figures)],
  [
    'live',
    'live channels, long-polls, client addresses, bounds, TLS',
    95,
    (proxy, _, __, { figures }) => proveThroughProxy(proxy, figures),
  ],
  ['rolling', 'a rolling restart under load', 45, proveRolling],
];

/** The promises of docs/operations: Prometheus, nginx and Caddy run with the sample files, beside or in front of real services. */
export const parts: readonly Part[] = [
  {
    ...{ proof: 'operations', name: 'monitoring', seconds: 60, prove: proveMonitoring },
    about: 'Prometheus scrapes a service: every query of the dashboard and of the alerts, and every command of the runbook',
  },
  ...proxyNames.flatMap((name) =>
    ofProxies.map(([part, about, seconds, prove]) => ({
      ...{ proof: 'operations', name: `${name}-${part}`, about: `${name}: ${about}`, seconds, prove: behind(name, prove) },
    })),
  ),
];
