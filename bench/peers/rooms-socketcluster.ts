import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { Redis } from 'ioredis';
import { ready } from '../processes/parent.ts';

/**
 * SocketCluster attached to Node's server with default settings, as its README shows. Between processes SocketCluster uses its
 * own broker. Here messages arrive over Redis, as in the other peers, and the server's exchange passes them on to the
 * subscribers.
 */

interface SocketCluster {
  attach(server: ReturnType<typeof createServer>): { exchange: { transmitPublish(channel: string, data: unknown): Promise<void> } };
}

// The package is CommonJS and has no types.
const socketCluster = createRequire(import.meta.url)('socketcluster-server') as SocketCluster;

const subscriber = new Redis({ path: process.env['REDIS_SOCKET']! });
const server = createServer();
const { exchange } = socketCluster.attach(server);

subscriber.on('pmessage', (_pattern: string, channel: string, message: string) => {
  void exchange.transmitPublish(channel.slice('room:'.length), JSON.parse(message));
});
await subscriber.psubscribe('room:*');

server.listen(0, '127.0.0.1', 10_000, () => ready({ port: (server.address() as AddressInfo).port }));
