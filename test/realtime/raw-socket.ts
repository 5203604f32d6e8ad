import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { eventually, PATIENCE_MS, type Message } from './watcher.ts';

export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export interface Frame {
  readonly opcode: number;
  readonly payload: Buffer;
}

/** A WebSocket client that can send any bytes and stop reading. Libraries do not allow that. */
export class RawSocket {
  readonly frames: Frame[] = [];
  /** The answer to the upgrade with its headers, and if it was refused, with its body. */
  readonly response: string;
  readonly #socket: Socket;
  readonly #port: number;
  readonly #messages: Message[] = [];
  #parsed = 0;
  #received: Buffer;
  #isClosed = false;

  static async open(port: number, path: string, headers: Record<string, string> = {}): Promise<RawSocket> {
    const socket = connect(port, '127.0.0.1');
    const lines = Object.entries({
      host: `127.0.0.1:${port}`,
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': randomBytes(16).toString('base64'),
      ...headers,
    }).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.on('error', () => {});
    socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
    let received = Buffer.alloc(0);
    await new Promise<void>((resolve) => {
      const take = (chunk: Buffer): void => {
        received = Buffer.concat([received, chunk]);
        const headEnd = received.indexOf('\r\n\r\n');
        if (headEnd < 0) return;
        const length = Number(/content-length: (\d+)/i.exec(received.toString('latin1'))?.[1] ?? 0);
        if (received.length < headEnd + 4 + length) return;
        socket.off('data', take);
        socket.off('close', resolve);
        resolve();
      };
      socket.on('data', take);
      socket.once('close', resolve);
    });
    return new RawSocket(socket, received);
  }

  constructor(socket: Socket, received: Buffer) {
    this.#socket = socket;
    this.#port = socket.localPort!;
    const headEnd = received.indexOf('\r\n\r\n') + 4;
    const isUpgraded = received.toString('latin1').startsWith('HTTP/1.1 101');
    this.response = isUpgraded ? received.subarray(0, headEnd).toString() : received.toString();
    this.#received = isUpgraded ? received.subarray(headEnd) : Buffer.alloc(0);
    this.#parse();
    socket.on('data', (chunk) => {
      this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
      this.#parse();
    });
    socket.on('close', () => (this.#isClosed = true));
  }

  /** The local port. */
  get port(): number {
    return this.#port;
  }

  get status(): number {
    return Number(this.response.split(' ')[1]);
  }

  /** The JSON of a refused upgrade. */
  // oxlint-disable-next-line no-explicit-any
  get body(): any {
    return JSON.parse(this.response.slice(this.response.indexOf('\r\n\r\n')));
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get messages(): Message[] {
    for (; this.#parsed < this.frames.length; this.#parsed++) {
      const { opcode, payload } = this.frames[this.#parsed]!;
      if (opcode === opcodes.text) this.#messages.push(JSON.parse(payload.toString()));
    }
    return this.#messages;
  }

  /** The code of the close frame that was received, if any. */
  get closeCode(): number | undefined {
    return this.frames.find(({ opcode }) => opcode === opcodes.close)?.payload.readUInt16BE(0);
  }

  /** Resolves once the connection is closed: with the close code, or with undefined if there was no close frame. */
  async closed(patienceMs = PATIENCE_MS): Promise<number | undefined> {
    await eventually(() => this.#isClosed, patienceMs);
    return this.closeCode;
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  write(bytes: Buffer | string): void {
    this.#socket.write(bytes);
  }

  /** Like `write`. Resolves once the kernel has accepted the bytes, or the connection is closed. */
  written(bytes: Buffer): Promise<void> {
    return new Promise((resolve) => void this.#socket.write(bytes, () => resolve()));
  }

  text(message: string): void {
    this.write(frame(opcodes.text, message));
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #parse(): void {
    for (;;) {
      const bytes = this.#received;
      if (bytes.length < 2) return;
      let length = bytes[1]! & 0x7f;
      let start = 2;
      if (length === 126) {
        if (bytes.length < 4) return;
        [length, start] = [bytes.readUInt16BE(2), 4];
      } else if (length === 127) {
        if (bytes.length < 10) return;
        [length, start] = [Number(bytes.readBigUInt64BE(2)), 10];
      }
      if (bytes.length < start + length) return;
      this.frames.push({ opcode: bytes[0]! & 0x0f, payload: Buffer.from(bytes.subarray(start, start + length)) });
      this.#received = bytes.subarray(start + length);
      // RFC 6455, section 5.5.2, asks for a pong.
      if ((bytes[0]! & 0x0f) === opcodes.ping && !this.#socket.destroyed) this.write(frame(opcodes.pong, ''));
    }
  }
}

/** A frame of a client, by default unfragmented and masked. */
export function frame(opcode: number, payload: string | Buffer, { isLast = true, isMasked = true } = {}): Buffer {
  const bytes = Buffer.from(payload as string);
  const first = (isLast ? 0x80 : 0) | opcode;
  const mark = isMasked ? 0x80 : 0;
  let head: Buffer;
  if (bytes.length < 126) head = Buffer.from([first, mark | bytes.length]);
  else if (bytes.length < 65_536) head = Buffer.from([first, mark | 126, bytes.length >> 8, bytes.length & 0xff]);
  else {
    head = Buffer.alloc(10);
    head[0] = first;
    head[1] = mark | 127;
    head.writeBigUInt64BE(BigInt(bytes.length), 2);
  }
  if (!isMasked) return Buffer.concat([head, bytes]);
  const mask = randomBytes(4);
  return Buffer.concat([head, mask, bytes.map((byte, index) => byte ^ mask[index % 4]!)]);
}
