import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { frame, opcodes } from './raw-socket.ts';

export interface LightEvents {
  /** @param text valid until the call returns */
  text(text: Buffer): void;
  closed(code: number): void;
}

/** A WebSocket client that stores no messages, and that can stop reading. */
export class LightSocket {
  readonly #socket: Socket;
  readonly #events: LightEvents;
  #rest: Buffer | undefined;
  #isUpgraded = false;
  #closeCode = 1006;

  /** Resolves after the upgrade. Rejects if the upgrade is refused. */
  static open(port: number, path: string, events: LightEvents): Promise<LightSocket> {
    return new Promise((opened, failed) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true });
      const light = new LightSocket(socket, events, () => opened(light), failed);
      socket.write(
        `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n` +
          `sec-websocket-version: 13\r\nsec-websocket-key: ${randomBytes(16).toString('base64')}\r\n\r\n`,
      );
    });
  }

  private constructor(socket: Socket, events: LightEvents, opened: () => void, failed: (error: Error) => void) {
    this.#socket = socket;
    this.#events = events;
    socket.on('error', () => {});
    socket.on('close', () => {
      if (this.#isUpgraded) events.closed(this.#closeCode);
      else failed(new Error('closed before it was open'));
    });
    socket.on('data', (chunk) => {
      const bytes = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]);
      this.#rest = undefined;
      if (this.#isUpgraded) return this.#parse(bytes, 0);
      const headEnd = bytes.indexOf('\r\n\r\n');
      if (headEnd < 0) return void (this.#rest = bytes);
      if (!bytes.toString('latin1', 0, 12).endsWith('101')) return void socket.destroy();
      this.#isUpgraded = true;
      opened();
      this.#parse(bytes, headEnd + 4);
    });
  }

  send(message: object): void {
    this.#socket.write(frame(opcodes.text, JSON.stringify(message)));
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #parse(bytes: Buffer, from: number): void {
    let at = from;
    while (bytes.length - at >= 4) {
      let length = bytes[at + 1]! & 0x7f;
      let start = at + 2;
      if (length === 126) [length, start] = [bytes.readUInt16BE(at + 2), at + 4];
      if (bytes.length < start + length) break;
      const opcode = bytes[at]! & 0x0f;
      if (opcode === opcodes.text) this.#events.text(bytes.subarray(start, start + length));
      else if (opcode === opcodes.close) this.#closeCode = bytes.readUInt16BE(start);
      else if (opcode === opcodes.ping) this.#socket.write(frame(opcodes.pong, ''));
      at = start + length;
    }
    if (at < bytes.length) this.#rest = bytes.subarray(at);
  }
}
