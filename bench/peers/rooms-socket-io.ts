import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdapter } from '@socket.io/redis-adapter';
import { Redis } from 'ioredis';
import { Server } from 'socket.io';
import { ready } from '../processes/parent.ts';

/**
 * Socket.IO with its Redis adapter, tuned as its documentation says (socket.io/docs/v4/performance-tuning and /memory-usage):
 * WebSocket only, no compression, no reference to the first HTTP request of each client. Another process of the same
 * application emits the messages that arrive over Redis.
 */

const publisher = new Redis({ path: process.env['REDIS_SOCKET']! });
const server = createServer();
const io = new Server(server, {
  adapter: createAdapter(publisher, publisher.duplicate()),
  transports: ['websocket'],
  perMessageDeflate: false,
  httpCompression: false,
  serveClient: false,
  connectTimeout: 60_000,
});
io.engine.on('connection', (socket: { request: unknown }) => (socket.request = null));
io.on('connection', (socket) => {
  socket.on('watch', async (code: string, done: () => void) => {
    await socket.join(code);
    done();
  });
});

server.listen(0, '127.0.0.1', 10_000, () => ready({ port: (server.address() as AddressInfo).port }));
