import { Redis } from 'ioredis';
import { uws } from '../../src/server/uws.ts';
import { ready } from '../processes/parent.ts';
import { CHANNEL, upgrade } from './uws-channel.ts';

/** A floor: uWS's own publish passes each message from Redis Pub/Sub on to the room's watchers, unchanged and unchecked. */

const subscriber = new Redis({ path: process.env['REDIS_SOCKET']! });
const app = uws.App();

app.ws<{ code: string }>('/v1/rooms/:code/live', {
  ...CHANNEL,
  upgrade: (response, request, context) => upgrade({ code: request.getParameter(0) }, response, request, context),
  open: (socket) => void socket.subscribe(socket.getUserData().code),
  message() {},
  dropped() {},
  drain() {},
  close() {},
});

subscriber.on('pmessage', (_pattern: string, channel: string, message: string) => {
  app.publish(channel.slice('room:'.length), message);
});
await subscriber.psubscribe('room:*');

app.listen('127.0.0.1', 0, 0, (listening) => {
  if (listening === false) throw new Error('cannot listen');
  ready({ port: uws.us_socket_local_port(listening) });
});
