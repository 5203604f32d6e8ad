import { Socket } from 'node:net';
import { AbstractConnector } from 'ioredis';
import type { Redis, RedisOptions } from 'ioredis';

/** Size of the buffer of one socket, in bytes: the most bytes that one read takes. Node's own buffers have the same size. */
const BUFFER_BYTES = 65_536;

/**
 * A socket that reads into one buffer. An ordinary socket of Node allocates 64 KB for each read. That costs 4 % of a credit on one Redis,
 * and 8 % on a Cluster of three primaries, whose answers arrive in more pieces.
 */
export class BufferedSocket extends Socket {
  /** Receives each piece of data instead of the `data` listeners. The memory of the piece is reused after the call. */
  receive: ((piece: Buffer) => void) | undefined;

  static make(): BufferedSocket {
    const socket: BufferedSocket = new BufferedSocket({
      onread: {
        buffer: Buffer.allocUnsafeSlow(BUFFER_BYTES),
        callback(length, buffer) {
          const piece = Buffer.from(buffer.buffer, buffer.byteOffset, length);
          if (socket.receive !== undefined) socket.receive(piece);
          // Until its handshake is done, ioredis listens to `data` and may keep the piece, so the listeners get a copy.
          else socket.emit('data', Buffer.from(piece));
          return true;
        },
      },
    });
    return socket;
  }
}

/**
 * Makes ioredis connect with a BufferedSocket. Do not use this with TLS, because only plain sockets of Node can read into a given buffer.
 */
export class BufferedConnector extends AbstractConnector {
  readonly #options: RedisOptions;

  constructor(options: unknown) {
    const given = options as RedisOptions;
    super(given.disconnectTimeout ?? DISCONNECT_MS);
    this.#options = given;
  }

  connect(): Promise<Redis['stream']> {
    const { path, host, port, family } = this.#options;
    this.connecting = true;
    return new Promise((resolve, reject) => {
      // As in the connector of ioredis, the promise resolves only in the next tick, because the caller must have received the promise
      // before.
      process.nextTick(() => {
        if (!this.connecting) return reject(new Error('Connection is closed.'));
        const socket = BufferedSocket.make();
        socket.once('error', (error) => (this.firstError = error));
        if (path == null) socket.connect({ port: port!, host, family });
        else socket.connect({ path });
        this.stream = socket;
        resolve(socket);
      });
    });
  }
}

/** Milliseconds after which a connection that has not ended is destroyed. The value is the default of ioredis. */
const DISCONNECT_MS = 2000;
