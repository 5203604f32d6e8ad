import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { LocalCluster } from '../../src/process/local-cluster.ts';
import { PrivateRedis } from '../../src/process/private-redis.ts';
import { Cluster } from '../../src/redis/cluster-client.ts';

/** The Redis or Cluster of a service, in a run with --cluster, which compares several. */
export interface Engine {
  /** 1: one Redis, which is no Cluster. */
  readonly primaries: number;
  /** Replicas of each primary. With any, the service runs with REDIS_WAIT_REPLICAS=1. */
  readonly replicas: number;
}

export interface RunningEngine {
  /** REDIS_URL of the service. */
  readonly url: string;
  /** A connection, if the engine is one Redis. */
  readonly redis: Redis | undefined;
  readonly primaries: readonly Redis[];
  readonly cluster: Cluster | undefined;
  stop(): Promise<void>;
}

const silent = pino({ level: 'silent' });

/**
 * Starts a Redis or a Cluster. All listen on a port of 127.0.0.1 and write with the settings of the private Redis
 * (`appendfsync always`), so that the Cluster is the only difference.
 */
export function startEngine({ primaries, replicas }: Engine, folder: string): Promise<RunningEngine> {
  return primaries === 1 ? startOne(folder) : startCluster(primaries, replicas, folder);
}

async function startOne(folder: string): Promise<RunningEngine> {
  const port = await freePort();
  const server = new PrivateRedis(folder, silent, ['--bind', '127.0.0.1', '--port', String(port)]);
  await server.start();
  const redis = connectionTo({ path: server.socketPath });
  return {
    url: `redis://127.0.0.1:${port}`,
    redis,
    primaries: [redis],
    cluster: undefined,
    async stop() {
      redis.disconnect();
      await server.stop();
    },
  };
}

async function startCluster(count: number, replicas: number, folder: string): Promise<RunningEngine> {
  const nodes = count * (1 + replicas);
  const { cluster: local, ports } = await retried(async () => {
    const first = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT - 2 * nodes));
    const ports = Array.from({ length: nodes }, (_, index) => first + index);
    const places = ports.map((port) => ({ port, busPort: port + nodes }));
    const cluster = new LocalCluster(count, places, { folder, appendfsync: 'always' });
    await cluster.start();
    return { cluster, ports };
  });
  const seeds = ports.slice(0, count).map((port) => ({ host: '127.0.0.1', port }));
  const cluster = new Cluster(seeds, {}, 0, silent);
  await cluster.opened();
  const primaries = local.nodes.slice(0, count).map(({ socketPath }) => connectionTo({ path: socketPath }));
  return {
    url: `redis-cluster://${seeds.map(({ host, port }) => `${host}:${port}`).join(',')}`,
    redis: undefined,
    primaries,
    cluster,
    async stop() {
      cluster.disconnect();
      for (const primary of primaries) primary.disconnect();
      await local.stop();
    },
  };
}

/** Below the ports that Linux gives to outgoing connections. */
const FIRST_PORT = 10_000;
const LAST_PORT = 32_000;

const MOST_ATTEMPTS = 5;

/** Another program may already use one of the chosen ports. */
async function retried<Result>(start: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await start();
    } catch (error) {
      if (attempt === MOST_ATTEMPTS) throw error;
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await once(server.close(), 'close');
  return port;
}

function connectionTo(address: { path: string }): Redis {
  const redis = new Redis(address);
  redis.on('error', () => {});
  return redis;
}
