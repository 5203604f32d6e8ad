import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import type { Message } from './watcher.ts';

export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export interface Frame {
  readonly opcode: number;
  readonly payload: Buffer;
}

/** The WebSocket client of all tests. It can send any bytes and stop reading, which libraries do not allow. */
export class RawSocket {
  readonly frames: Frame[] = [];
  /** The answer to the upgrade with its headers, and if it was refused, with its body. */
  response = '';
  /** The local port. */
  readonly port: number;
  /** Resolves when the connection is closed. */
  readonly ended: Promise<void>;
  isClosed = false;
  readonly #socket: Socket;
  readonly #onText: ((text: Buffer) => void) | undefined;
  readonly #messages: Message[] = [];
  #parsed = 0;
  /** The beginning of a frame. */
  #rest: Buffer[] = [];
  #restBytes = 0;
  #neededBytes = 0;

  /**
   * Resolves after the answer to the upgrade.
   * @param onText gets each text, which is valid until the call returns. Without it the texts are stored.
   * @param from the client's address. Default: 127.0.0.1
   */
  static open(
    port: number,
    path: string,
    headers: Record<string, string> = {},
    onText?: (text: Buffer) => void,
    from = '127.0.0.1',
  ): Promise<RawSocket> {
    const socket = connect({ port, host: '127.0.0.1', localAddress: from, noDelay: true });
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
    return new Promise((resolve) => {
      const answered = (): void => {
        socket.off('data', take).off('close', answered);
        resolve(new RawSocket(socket, received, onText));
      };
      const take = (chunk: Buffer): void => {
        received = Buffer.concat([received, chunk]);
        const headEnd = received.indexOf('\r\n\r\n');
        if (headEnd < 0) return;
        const length = Number(/content-length: (\d+)/i.exec(received.toString('latin1'))?.[1] ?? 0);
        if (received.length >= headEnd + 4 + length) answered();
      };
      socket.on('data', take).once('close', answered);
    });
  }

  private constructor(socket: Socket, received: Buffer, onText?: (text: Buffer) => void) {
    [this.#socket, this.#onText, this.port] = [socket, onText, socket.localPort!];
    this.ended = new Promise((resolve) => {
      if (socket.closed) resolve();
      socket.once('close', resolve);
    });
    void this.ended.then(() => (this.isClosed = true));
    const isUpgraded = received.toString('latin1', 0, 12).endsWith('101');
    const end = isUpgraded ? received.indexOf('\r\n\r\n') + 4 : received.length;
    this.response = received.toString('utf8', 0, end);
    this.#take(received.subarray(end));
    socket.on('data', (chunk) => this.#take(chunk));
  }

  get status(): number {
    return Number(this.response.split(' ')[1]);
  }

  /** The JSON of a refused upgrade. */
  // oxlint-disable-next-line no-explicit-any
  get body(): any {
    return JSON.parse(this.response.slice(this.response.indexOf('\r\n\r\n')));
  }

  get messages(): Message[] {
    for (; this.#parsed < this.frames.length; this.#parsed++) {
      const { opcode, payload } = this.frames[this.#parsed]!;
      if (opcode === opcodes.text) this.#messages.push(JSON.parse(payload.toString()));
    }
    return this.#messages;
  }

  /** The code and the reason of the close frame that was received, if any. */
  get closeFrame(): { code: number; reason: string } | undefined {
    const payload = this.frames.find(({ opcode }) => opcode === opcodes.close)?.payload;
    return payload && { code: payload.readUInt16BE(0), reason: payload.toString('utf8', 2) };
  }

  get closeCode(): number | undefined {
    return this.closeFrame?.code;
  }

  /** Resolves once the connection is closed: with the close code, or with undefined if there was no close frame. */
  async closed(): Promise<number | undefined> {
    await this.ended;
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

  text(message: string | object): void {
    this.write(frame(opcodes.text, typeof message === 'string' ? message : JSON.stringify(message)));
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#rest.push(chunk);
    this.#restBytes += chunk.length;
    // A long frame is put together once, and not again with each of its chunks.
    if (this.#restBytes < this.#neededBytes) return;
    const bytes = Buffer.concat(this.#rest);
    let at = 0;
    this.#neededBytes = 0;
    while (bytes.length - at >= 2) {
      let [length, start] = [bytes[at + 1]! & 0x7f, at + 2];
      const extended = length === 126 ? 2 : length === 127 ? 8 : 0;
      if (bytes.length < start + extended) break;
      if (extended > 0) length = extended === 2 ? bytes.readUInt16BE(start) : Number(bytes.readBigUInt64BE(start));
      start += extended;
      if (bytes.length < start + length) {
        this.#neededBytes = start + length - at;
        break;
      }
      this.#frame(bytes[at]! & 0x0f, bytes.subarray(start, start + length));
      at = start + length;
    }
    this.#rest = at < bytes.length ? [bytes.subarray(at)] : [];
    this.#restBytes = bytes.length - at;
  }

  #frame(opcode: number, payload: Buffer): void {
    if (opcode === opcodes.text && this.#onText !== undefined) return this.#onText(payload);
    this.frames.push({ opcode, payload: Buffer.from(payload) });
    // RFC 6455, section 5.5.2, asks for a pong.
    if (opcode === opcodes.ping && !this.#socket.destroyed) this.write(frame(opcodes.pong, ''));
  }
}

/** A frame of a client, by default unfragmented and masked. */
export function frame(opcode: number, payload: string | Buffer, { isLast = true, isMasked = true } = {}): Buffer {
  const bytes = Buffer.from(payload as string);
  const length = bytes.length < 126 ? bytes.length : bytes.length < 65_536 ? 126 : 127;
  const head = Buffer.alloc(length === 127 ? 10 : length === 126 ? 4 : 2);
  [head[0], head[1]] = [(isLast ? 0x80 : 0) | opcode, (isMasked ? 0x80 : 0) | length];
  if (length === 126) head.writeUInt16BE(bytes.length, 2);
  if (length === 127) head.writeBigUInt64BE(BigInt(bytes.length), 2);
  if (!isMasked) return Buffer.concat([head, bytes]);
  const mask = randomBytes(4);
  return Buffer.concat([head, mask, bytes.map((byte, index) => byte ^ mask[index % 4]!)]);
}
