import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Redis } from 'ioredis';
import { WebSocketServer, type WebSocket } from 'ws';
import { ready } from '../processes/parent.ts';

/** `ws`, set up as its README advises for broadcasts: no compression, a list of clients per room, each message encoded once. */

const subscriber = new Redis({ path: process.env['REDIS_SOCKET']! });
const rooms = new Map<string, Set<WebSocket>>();
const sockets = new WebSocketServer({ noServer: true, clientTracking: false, perMessageDeflate: false, maxPayload: 16 * 1024 });

const server = createServer((_request, response) => response.writeHead(426).end());
server.on('upgrade', (request, socket, head) => {
  const code = request.url!.split('/')[3]!;
  sockets.handleUpgrade(request, socket, head, (client) => {
    let room = rooms.get(code);
    if (room === undefined) rooms.set(code, (room = new Set()));
    room.add(client);
    client.on('error', () => {});
    client.on('close', () => room.delete(client));
  });
});

subscriber.on('pmessageBuffer', (_pattern: Buffer, channel: Buffer, message: Buffer) => {
  for (const client of rooms.get(channel.toString('latin1', 'room:'.length)) ?? []) client.send(message, { binary: false });
});
await subscriber.psubscribe('room:*');

server.listen(0, '127.0.0.1', 10_000, () => ready({ port: (server.address() as AddressInfo).port }));
