import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';

/** Offset of the digits of `seq` in every message of a room's channel: `{"type":"room","seq":1,…` */
const SEQ_AT = '{"type":"room","seq":'.length;

/** A watcher that only counts messages and reads `seq`, so that a thousand watchers take little CPU time from the service. */
export class Tally {
  messages = 0;
  seq = 0;
  /** Messages whose `seq` did not rise. */
  faults = 0;
  /** The code of the close frame, or 1006 if there was none. */
  closeCode: number | undefined;
  closedAt: number | undefined;
  readonly #socket: Socket;
  #rest: Buffer | undefined;
  #awaited: { seq: number; done: (at: number) => void } | undefined;
  #isUpgraded = false;

  static open(port: number, code: string): Promise<Tally> {
    return new Promise((resolve, reject) => {
      const tally = new Tally(connect(port, '127.0.0.1'), () => resolve(tally), reject);
      tally.#socket.write(
        `GET /v1/rooms/${code}/live HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n` +
          `sec-websocket-version: 13\r\nsec-websocket-key: ${randomBytes(16).toString('base64')}\r\n\r\n`,
      );
    });
  }

  private constructor(socket: Socket, opened: () => void, failed: (error: Error) => void) {
    this.#socket = socket;
    socket.on('error', () => {});
    socket.on('close', () => {
      this.closeCode ??= 1006;
      this.closedAt = performance.now();
      failed(new Error('closed before it was open'));
    });
    socket.on('data', (chunk) => {
      const bytes = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]);
      if (this.#isUpgraded) return this.#parse(bytes, 0);
      const headEnd = bytes.indexOf('\r\n\r\n');
      if (headEnd < 0) return void (this.#rest = bytes);
      if (!bytes.toString('latin1', 0, 12).endsWith('101')) return failed(new Error(bytes.toString()));
      this.#isUpgraded = true;
      opened();
      this.#parse(bytes, headEnd + 4);
    });
  }

  /** Resolves with the time at which a state with this `seq` or a later one had arrived. */
  reached(seq: number): Promise<number> {
    if (this.seq >= seq) return Promise.resolve(performance.now());
    return new Promise((done) => (this.#awaited = { seq, done }));
  }

  /** Sends an unsolicited pong: a sign of life even while the watcher does not read. */
  pong(): void {
    this.#socket.write(Buffer.from([0x8a, 0x80, 0, 0, 0, 0]));
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
      if (opcode === 1) this.#take(bytes, start + SEQ_AT);
      else if (opcode === 8) this.closeCode = bytes.readUInt16BE(start);
      else if (opcode === 9) this.pong();
      at = start + length;
    }
    this.#rest = at < bytes.length ? bytes.subarray(at) : undefined;
  }

  #take(bytes: Buffer, at: number): void {
    let seq = 0;
    for (let place = at; bytes[place]! >= 48 && bytes[place]! <= 57; place++) seq = seq * 10 + bytes[place]! - 48;
    this.messages++;
    if (seq <= this.seq) this.faults++;
    this.seq = seq;
    if (this.#awaited === undefined || seq < this.#awaited.seq) return;
    this.#awaited.done(performance.now());
    this.#awaited = undefined;
  }
}
