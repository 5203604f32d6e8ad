import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

/** The load that sends its requests over a connection. */
export interface ConnectionUser {
  /** Called when a response is complete. */
  answered(connection: Connection, status: number): void;
  /** Called when the server closed the connection. */
  lost(connection: Connection): void;
}

/**
 * A keep-alive HTTP/1.1 connection with one request at a time. It parses only the status and the end of a response, and so
 * costs a fraction of Node's HTTP client: the load generator shares the machine with the server that it measures.
 */
export class Connection {
  readonly #url: URL;
  #user: ConnectionUser;
  #socket!: Socket;
  #pending: Buffer | undefined;
  #closing = false;
  /** Number, start time and state of the current request. The connection's user sets them. */
  number = -1;
  since = 0;
  isBusy = false;

  constructor(url: URL, user: ConnectionUser) {
    this.#url = url;
    this.#user = user;
  }

  get localPort(): number | undefined {
    return this.#socket.localPort;
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed;
  }

  /** Passes an idle connection on to the next load. */
  handTo(user: ConnectionUser): void {
    this.#user = user;
  }

  open(): Promise<void> {
    const { hostname, port, protocol } = this.#url;
    const host = hostname.replace(/^\[|\]$/g, '');
    const isTls = protocol === 'https:';
    const socket = isTls
      ? connectTls({ host, port: Number(port) || 443, servername: host })
      : connectTcp({ host, port: Number(port) || 80 });
    this.#socket = socket;
    socket.setNoDelay(true);
    return new Promise((resolve, reject) => {
      socket.once(isTls ? 'secureConnect' : 'connect', () => {
        socket.on('data', (chunk) => this.#take(chunk));
        socket.once('close', () => {
          this.#pending = undefined;
          if (!this.#closing && socket === this.#socket) this.#user.lost(this);
        });
        resolve();
      });
      socket.on('error', reject);
    });
  }

  send(text: string): void {
    this.#socket.write(text, 'latin1');
  }

  close(): void {
    this.#closing = true;
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    const bytes = this.#pending === undefined ? chunk : Buffer.concat([this.#pending, chunk]);
    const headEnd = bytes.indexOf('\r\n\r\n');
    if (headEnd === -1 || !isWhole(bytes, headEnd)) {
      this.#pending = bytes;
      return;
    }
    this.#pending = undefined;
    this.#user.answered(this, 100 * bytes[9]! + 10 * bytes[10]! + bytes[11]! - 111 * ZERO);
  }
}

const ZERO = 0x30;

function isWhole(bytes: Buffer, headEnd: number): boolean {
  const head = bytes.toString('latin1', 0, headEnd);
  const length = /\ncontent-length: *(\d+)/i.exec(head);
  if (length !== null) return bytes.length >= headEnd + 4 + Number(length[1]);
  if (/\ntransfer-encoding: *chunked/i.test(head)) return bytes.subarray(-7).toString('latin1').endsWith('\r\n0\r\n\r\n');
  return true;
}
