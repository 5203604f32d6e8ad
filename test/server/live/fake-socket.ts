import { pino } from 'pino';
import type { Channel } from '../../../src/server/live/channel.ts';
import type { Feed } from '../../../src/server/live/feed-types.ts';
import { LiveSocket, type SocketData } from '../../../src/server/live/socket.ts';
import type { WebSocket } from '../../../src/server/uws.ts';
import { stateAt, topicOf } from './fake-watcher.ts';

/** Stands in for a socket of uWS whose client reads nothing until it is told to. */
export class SlowSocket {
  buffered = 1;
  readonly sent: string[] = [];
  ended: number | undefined;
  isCut = false;
  pings = 0;
  send(message: string): number {
    this.sent.push(message);
    return 1;
  }
  end(code: number): void {
    this.ended = code;
  }
  close(): void {
    this.isCut = true;
  }
  subscribe(): boolean {
    return true;
  }
  ping(): number {
    return ++this.pings;
  }
  getBufferedAmount(): number {
    return this.buffered;
  }
}

const feed: Feed = { channel: (id) => id, take: () => undefined, fetch: async () => [] };

/** A socket of a channel that passes every limit, and has got the state that stands. */
export function openSocket(parts: Pick<Channel<object>, 'receives' | 'acts' | 'received' | 'sendPrivate' | 'silent' | 'closed'>) {
  const topic = topicOf(feed, {});
  topic.advance(stateAt(1));
  const live = new LiveSocket({
    host: { services: {}, log: pino({ level: 'silent' }), find: async () => undefined, closed: () => {} },
    channel: { path: '/live', summary: '', sends: {}, errors: [], subject: () => '1', feed: () => feed, notFound: 'not_found', ...parts },
    client: {
      address: '',
      hasBearer: false,
      sessionCaller: () => undefined,
      callerOf: () => Promise.reject(new Error('nobody')),
      charge: () => 0,
      chargeAct: () => 0,
      keyOf: () => {
        throw new Error('no key');
      },
      left: () => {},
    },
    topic,
    takesPatches: false,
  });
  const socket = new SlowSocket();
  live.opened(socket as unknown as WebSocket<SocketData<object>>);
  live.name('p1');
  socket.sent.length = 0;
  return { live, socket };
}
