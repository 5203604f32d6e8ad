import { randomBytes } from 'node:crypto';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { monotonicMs } from '../measure/clock.ts';
import type { Packing } from './room-protocols.ts';
import { patchIn } from './room-copy.ts';
import { seqIn, stampIn } from './room-message.ts';
import type { Tally, Watching } from './watching.ts';

/**
 * All watchers of a process read into this buffer, which saves memory and time. Each read is parsed before the next one, and
 * only the rest of an incomplete frame is copied.
 */
const shared = Buffer.allocUnsafe(256 * 1024);

/** A minimal WebSocket client (RFC 6455) that counts states and reads `seq` and the stamp of each. */
export class Watcher implements Watching {
  readonly opened: Promise<void>;
  messages = 0;
  seq = 0;
  at = 0;
  stampMs = Number.NaN;
  faults = 0;
  isClosed = false;
  readonly #socket: Socket;
  readonly #packing: Packing;
  readonly #tally: Tally;
  readonly #code: string;
  #rest: Buffer | undefined;
  #isUpgraded = false;
  #settle: { open: () => void; fail: (error: Error) => void } | undefined;

  /** @param path path of a channel, such as `/v1/rooms/{code}/live`. With `packing.path` only the code in it is used. */
  constructor(url: URL, path: string, packing: Packing, tally: Tally) {
    this.#packing = packing;
    this.#tally = tally;
    this.#code = path.split('/')[3] ?? '';
    this.opened = new Promise((open, fail) => (this.#settle = { open, fail }));
    this.#socket = this.#connect(url);
    this.#socket.on('error', (error) => this.#failed(error));
    this.#socket.on('close', () => {
      this.isClosed = true;
      this.#failed(new Error('the server closed the socket before it was open'));
    });
    this.#socket.write(
      `GET ${packing.path ?? path} HTTP/1.1\r\nhost: ${url.host}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n` +
        `sec-websocket-version: 13\r\nsec-websocket-key: ${randomBytes(16).toString('base64')}\r\n\r\n`,
    );
  }

  get localPort(): number | undefined {
    return this.#socket.localPort;
  }

  close(): void {
    this.#socket.destroy();
  }

  #connect({ protocol, hostname, port }: URL): Socket {
    const host = hostname.replace(/^\[|\]$/g, '');
    if (protocol === 'https:') {
      return connectTls({ host, port: Number(port) || 443, servername: host }).on('data', (chunk) => this.#read(chunk));
    }
    const callback = (length: number): boolean => {
      this.#read(shared.subarray(0, length));
      return true;
    };
    return connectTcp({ host, port: Number(port) || 80, noDelay: true, onread: { buffer: shared, callback } });
  }

  #failed(error: Error): void {
    this.#settle?.fail(error);
    this.#settle = undefined;
  }

  #read(chunk: Buffer): void {
    const bytes = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#rest = undefined;
    const from = this.#isUpgraded ? 0 : this.#readHead(bytes);
    const rest = from < 0 ? bytes : this.#readFrames(bytes, from);
    // The shared buffer is overwritten by the next read.
    if (rest.length > 0) this.#rest = Buffer.from(rest);
  }

  /** @returns the position of the first frame, or −1 while the response head is incomplete */
  #readHead(bytes: Buffer): number {
    const end = bytes.indexOf('\r\n\r\n');
    if (end < 0) return -1;
    if (!bytes.subarray(0, 12).equals(SWITCHING)) {
      this.#failed(
        new Error(bytes.toString('latin1', 9, 12) === '429' ? TOO_MANY_SOCKETS : `the upgrade was refused: ${firstLines(bytes)}`),
      );
      this.close();
      return bytes.length;
    }
    this.#isUpgraded = true;
    const { greeting, isWelcome } = this.#packing;
    if (greeting !== undefined) this.#write(TEXT, greeting);
    if (isWelcome === undefined) this.#settle?.open();
    return end + 4;
  }

  /** @returns the bytes of an incomplete last frame */
  #readFrames(bytes: Buffer, from: number): Buffer {
    const now = monotonicMs();
    let at = from;
    while (bytes.length - at >= 2) {
      let length = bytes[at + 1]! & 0x7f;
      let start = at + 2;
      if (length === 126) {
        if (bytes.length < at + 4) break;
        [length, start] = [bytes.readUInt16BE(at + 2), at + 4];
      } else if (length === 127) {
        if (bytes.length < at + 10) break;
        [length, start] = [Number(bytes.readBigUInt64BE(at + 2)), at + 10];
      }
      const end = start + length;
      if (bytes.length < end) break;
      const opcode = bytes[at]! & 0x0f;
      if (opcode === TEXT) this.#take(bytes, start, end, now);
      else if (opcode === PING) this.#write(PONG, bytes.subarray(start, end));
      at = end;
    }
    return bytes.subarray(at);
  }

  #take(bytes: Buffer, start: number, end: number, now: number): void {
    const { offsets } = this.#packing;
    if (!this.#packing.isState(bytes, start, end)) return this.#heard(bytes.toString('utf8', start, end));
    const patch = this.#packing.isPatch?.(bytes, start) === true ? patchIn(bytes, start, end) : undefined;
    const seq = patch?.seq ?? seqIn(bytes, start, offsets);
    this.messages++;
    if ((seq <= this.seq && seq > 0) || (patch !== undefined && patch.from !== this.seq)) this.faults++;
    this.seq = seq;
    this.at = now;
    this.stampMs = patch?.stampMs ?? stampIn(bytes, end, offsets);
    this.#packing.keep?.(bytes, start, end);
    this.#tally.arrived(this, now);
  }

  send(message: string): void {
    this.#write(TEXT, message);
  }

  #heard(message: string): void {
    const answer = this.#packing.answer(message, this.#code);
    if (answer !== undefined) this.#write(TEXT, answer);
    if (this.#packing.isWelcome?.(message) === true) this.#settle?.open();
  }

  /** A client must mask its frames. The mask is zero, because masks only protect proxies, and the bench uses none. */
  #write(opcode: number, payload: string | Buffer): void {
    const length = Buffer.byteLength(payload);
    const head = length < 126 ? 2 : 4;
    const frame = Buffer.alloc(head + 4 + length);
    frame[0] = 0x80 | opcode;
    if (length < 126) frame[1] = 0x80 | length;
    else {
      frame[1] = 0x80 | 126;
      frame.writeUInt16BE(length, 2);
    }
    if (typeof payload === 'string') frame.write(payload, head + 4);
    else payload.copy(frame, head + 4);
    this.#socket.write(frame);
  }
}

const TOO_MANY_SOCKETS =
  'the service limits WebSockets per address: start it with RATE_LIMIT=off SOCKETS_PER_ADDRESS=100000 to load-test it';

function firstLines(bytes: Buffer): string {
  return bytes.toString('utf8', 0, 600).replaceAll('\r\n', ' ');
}

const SWITCHING = Buffer.from('HTTP/1.1 101');
const TEXT = 1;
const PING = 9;
const PONG = 10;
