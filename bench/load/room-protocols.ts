import { plainOffsets, socketClusterOffsets, socketIoOffsets, type Offsets } from './room-message.ts';

/** A server's protocol on the WebSocket: how it packs messages, and the handshake until it sends a room's states. */
export interface Packing {
  readonly offsets: Offsets;
  /** Path of the server's WebSocket. Left out when each channel has its own path. */
  readonly path?: string;
  /** The first message of the watcher, sent when the socket is open. */
  readonly greeting?: string;
  /** Whether the message between `start` and `end` is a state. All other messages go to `answer`. */
  isState(bytes: Buffer, start: number, end: number): boolean;
  /** The watcher's reply to a message that is not a state, or undefined for none. */
  answer(message: string, code: string): string | undefined;
  /** Whether this message ends the handshake. Left out when the server sends states without a handshake. */
  isWelcome?(message: string): boolean;
  /** Whether a state is a patch of the one before. */
  isPatch?(bytes: Buffer, start: number): boolean;
  /** Gets each state, whose bytes the next one overwrites. */
  keep?(bytes: Buffer, start: number, end: number): void;
}

const plain: Packing = { offsets: plainOffsets, isState: () => true, answer: () => undefined };

/** Engine.IO protocol 4 and Socket.IO protocol 5: open, connect, then the `watch` event. `2` is a ping, `3` its pong. */
const socketIo: Packing = {
  offsets: socketIoOffsets,
  path: '/socket.io/?EIO=4&transport=websocket',
  // An event starts with `42`.
  isState: (bytes, start) => bytes[start] === 0x34 && bytes[start + 1] === 0x32,
  answer(message, code) {
    if (message.startsWith('0')) return '40';
    if (message.startsWith('40')) return `420["watch","${code}"]`;
    return message === '2' ? '3' : undefined;
  },
  isWelcome: (message) => message.startsWith('430'),
};

/** SocketCluster protocol 2: a handshake, then a subscription to the channel. An empty message is a ping and also its pong. */
const socketCluster: Packing = {
  offsets: socketClusterOffsets,
  path: '/socketcluster/',
  greeting: '{"event":"#handshake","data":{"authToken":null},"cid":1}',
  // Events start with `{"event":`, responses with `{"rid":`.
  isState: (bytes, start, end) => end - start > 2 && bytes[start + 2] === 0x65,
  answer(message, code) {
    if (message.startsWith('{"rid":1,')) return `{"event":"#subscribe","data":{"channel":"${code}"},"cid":2}`;
    return message === '' ? '' : undefined;
  },
  isWelcome: (message) => message.startsWith('{"rid":2'),
};

export const packings = { plain, 'socket.io': socketIo, socketcluster: socketCluster } as const satisfies Record<string, Packing>;
export type PackingName = keyof typeof packings;
