import { connect, type Socket } from 'node:net';
import { freshId, type TestReply, type TestService } from '../harness.ts';
import { eventually } from '../realtime/watcher.ts';

export const limited = { RATE_LIMIT: 'on' };

/** Limits on, and a rate that no test reaches. */
export const roomy = { ...limited, RATE_LIMIT_PER_SECOND: '10000', RATE_LIMIT_BURST: '10000' };

/** A connection and the text that it received. */
export interface Line {
  readonly socket: Socket;
  received: string;
  isClosed: boolean;
}

/** Connections that close at the end of their test, before its service drains: a drain waits for unfinished requests. */
export class Lines implements Disposable {
  readonly #service: { readonly port: number };
  readonly #lines: Line[] = [];

  constructor(service: { readonly port: number }) {
    this.#service = service;
  }

  /** @param from a local address: Linux routes all of 127.0.0.0/8 to the machine itself */
  async open(from = '127.0.0.1'): Promise<Line> {
    const socket = connect({ port: this.#service.port, host: '127.0.0.1', localAddress: from });
    const line: Line = { socket, received: '', isClosed: false };
    this.#lines.push(line);
    socket.on('error', () => {});
    socket.on('data', (bytes) => (line.received += bytes.toString()));
    socket.on('close', () => (line.isClosed = true));
    await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve));
    return line;
  }

  /** Sends a request with the first byte of its body. */
  async beginBody(headers = '', from?: string): Promise<Line> {
    const line = await this.open(from);
    line.socket.write(
      `POST /v1/coins/credit HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 80\r\n${headers}\r\n{`,
    );
    return line;
  }

  /** Sends a request on a separate connection, and waits until the service closes the connection. */
  async ask(from?: string): Promise<number> {
    const line = await this.open(from);
    line.socket.write('GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
    await eventually(() => line.isClosed);
    return statusOf(line);
  }

  [Symbol.dispose](): void {
    for (const { socket } of this.#lines) socket.destroy();
  }
}

/** Status of the first answer; NaN without an answer. */
export const statusOf = ({ received }: Line): number => Number(received.split(' ')[1]);

export const count = (replies: readonly { readonly status: number }[], status: number): number =>
  replies.filter((reply) => reply.status === status).length;

/** Runs a function this many times at once. */
export const all = <Item>(length: number, make: (index: number) => Promise<Item>): Promise<Item[]> =>
  Promise.all(Array.from({ length }, (_, index) => make(index)));

export const credit = (service: TestService, installId: string): Promise<TestReply> =>
  service.post('/v1/coins/credit', { installId, coins: 1, key: freshId('key') });
