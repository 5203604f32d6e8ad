import { createEndpoint, createRouter, defineServer, matchMaker, type RegisteredHandler } from '@colyseus/core';
import { RedisPresence } from '@colyseus/redis-presence';
import { ready } from '../processes/parent.ts';
import { transports, type TransportName } from './colyseus-transports.ts';

/** A seat in a room. Options go to the room's `onJoin`. */
type WantedSeat = string | { readonly code: string };

/** Reserves a seat for each room in the body. One request for many seats is faster when thousands of clients join. */
const seats = createEndpoint('/seats', { method: 'POST' }, async ({ body }) => {
  const reserved = [];
  for (const seat of body as WantedSeat[]) {
    const { code, ...options } = typeof seat === 'string' ? { code: seat } : seat;
    reserved.push(await matchMaker.joinById(code, options));
  }
  return reserved;
});

/** Starts a Colyseus server with these rooms on the transport that the environment names. Only this process reserves seats. */
export async function listen(rooms: Record<string, RegisteredHandler>): Promise<void> {
  const { REDIS_SOCKET, TRANSPORT = 'ws' } = process.env;
  const { transport, port } = await transports[TRANSPORT as TransportName]();
  const server = defineServer({
    transport,
    presence: new RedisPresence({ path: REDIS_SOCKET! }),
    rooms,
    routes: createRouter({ seats }),
    greet: false,
    gracefullyShutdown: false,
  });
  await server.listen(0, '127.0.0.1', 10_000);
  ready({ port: port() });
}
