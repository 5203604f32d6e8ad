import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { Redis } from 'ioredis';
import { ready } from '../processes/parent.ts';

/**
 * SocketCluster as its README has it, attached to Node's server with the settings it comes with. It relays between processes
 * by a broker of its own; here as in the other peers Redis brings what another process published, and the server's exchange
 * passes it on to whoever is subscribed.
 */

interface SocketCluster {
  attach(server: ReturnType<typeof createServer>): { exchange: { transmitPublish(channel: string, data: unknown): Promise<void> } };
}

// It is CommonJS, and has no types.
const socketCluster = createRequire(import.meta.url)('socketcluster-server') as SocketCluster;

const subscriber = new Redis({ path: process.env['REDIS_SOCKET']! });
const server = createServer();
const { exchange } = socketCluster.attach(server);

subscriber.on('pmessage', (_pattern: string, channel: string, message: string) => {
  void exchange.transmitPublish(channel.slice('room:'.length), JSON.parse(message));
});
await subscriber.psubscribe('room:*');

server.listen(0, '127.0.0.1', 10_000, () => ready({ port: (server.address() as AddressInfo).port }));
