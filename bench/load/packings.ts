import { plainMarks, socketClusterMarks, socketIoMarks, type Marks } from './room-message.ts';

/** How a server packs messages, and what a watcher has to say until it is sent the room's. */
export interface Packing {
  readonly marks: Marks;
  /** Where its WebSockets are; left out where each channel has a path of its own. */
  readonly path?: string;
  /** Sent as soon as the socket is open. */
  readonly greeting?: string;
  /** Whether the message that lies here is a state; any other is answered. */
  isState(bytes: Buffer, start: number, end: number): boolean;
  /** What is sent in answer, if anything. */
  answer(message: string, code: string): string | undefined;
  /** Whether this is the last message before states. Left out where a socket is sent them from the start. */
  isWelcome?(message: string): boolean;
}

const plain: Packing = { marks: plainMarks, isState: () => true, answer: () => undefined };

/** Engine.IO 4 opens, Socket.IO 5 connects, the room is asked for; a ping now and then is answered. */
const socketIo: Packing = {
  marks: socketIoMarks,
  path: '/socket.io/?EIO=4&transport=websocket',
  // `42[…]`: an event.
  isState: (bytes, start) => bytes[start] === 0x34 && bytes[start + 1] === 0x32,
  answer(message, code) {
    if (message.startsWith('0')) return '40';
    if (message.startsWith('40')) return `420["watch","${code}"]`;
    return message === '2' ? '3' : undefined;
  },
  isWelcome: (message) => message.startsWith('430'),
};

/** SocketCluster's protocol 2: a handshake, then the channel is subscribed to; an empty message is a ping, and its answer. */
const socketCluster: Packing = {
  marks: socketClusterMarks,
  path: '/socketcluster/',
  greeting: '{"event":"#handshake","data":{"authToken":null},"cid":1}',
  // `{"event":…`, where answers start with `{"rid":`.
  isState: (bytes, start, end) => end - start > 2 && bytes[start + 2] === 0x65,
  answer(message, code) {
    if (message.startsWith('{"rid":1,')) return `{"event":"#subscribe","data":{"channel":"${code}"},"cid":2}`;
    return message === '' ? '' : undefined;
  },
  isWelcome: (message) => message.startsWith('{"rid":2'),
};

export const packings = { plain, 'socket.io': socketIo, socketcluster: socketCluster } as const satisfies Record<string, Packing>;
export type PackingName = keyof typeof packings;
