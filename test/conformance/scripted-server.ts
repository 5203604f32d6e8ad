import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import type { Answer } from './case.ts';

export interface Seen {
  readonly line: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** The virtual time at which it came. */
  readonly at: number;
  isClaimed: boolean;
  /** The name that its step gave it. */
  as?: string | undefined;
  response: ServerResponse;
  /** Counts the request as ended, once. */
  end: () => void;
}

export interface SeenSocket {
  readonly path: string;
  readonly at: number;
  isClaimed: boolean;
  as?: string | undefined;
  readonly stream: Duplex;
  accept: () => Promise<void>;
  refuse: (answer: Answer) => void;
  /** Leaves the upgrade without an answer, until the client gives it up. */
  hold: () => void;
  socket?: WebSocket;
  /** The frames that came, and that no step has claimed. */
  readonly frames: { text: string; at: number }[];
  sent: number;
  received: number;
  endedAt?: number;
}

/** How much the server has seen and done since the client's process began: the client's own counts become the same. */
export interface Counts {
  requests: number;
  ended: number;
  sockets: number;
  socketsEnded: number;
  /** Accepted, and not ended. */
  socketsOpen: number;
  framesToClient: number;
  framesFromClient: number;
}

/**
 * A real server that answers only what the steps of a case say. It records requests, sockets and frames. Each request has its own
 * connection, so a broken connection harms no other request.
 */
export class ScriptedServer {
  requests: Seen[] = [];
  sockets: SeenSocket[] = [];
  #ended = 0;
  #now: () => number;
  #connections = new Set<Socket>();
  readonly #sockets = new WebSocketServer({ noServer: true });
  readonly #server = createServer((request, response) => void this.#take(request, response));

  constructor(now: () => number) {
    this.#now = now;
    this.#server.on('upgrade', (request, stream, head) => this.#upgrade(request, stream, head));
    this.#server.on('connection', (connection) => {
      this.#connections.add(connection);
      connection.setNoDelay(true);
      connection.once('close', () => this.#connections.delete(connection));
    });
    // A slow machine must not change what the client sees.
    Object.assign(this.#server, { keepAliveTimeout: 0, headersTimeout: 0, requestTimeout: 0 });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Forgets everything, because the process of the client has ended or begins another case. */
  reset(): void {
    for (const connection of this.#connections) connection.destroy();
    this.requests = [];
    this.sockets = [];
    this.#ended = 0;
  }

  async close(): Promise<void> {
    this.reset();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get counts(): Counts {
    const live = this.sockets.filter(({ endedAt }) => endedAt === undefined);
    const sum = (part: 'sent' | 'received'): number => live.reduce((total, each) => total + each[part], 0);
    return {
      requests: this.requests.length,
      ended: this.#ended,
      sockets: this.sockets.length,
      socketsEnded: this.sockets.length - live.length,
      socketsOpen: live.filter(({ socket }) => socket !== undefined).length,
      framesToClient: sum('sent'),
      framesFromClient: sum('received'),
    };
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    try {
      for await (const chunk of request) body += chunk;
    } catch {
      return;
    }
    const { requests } = this;
    let isOver = false;
    const end = (): void => {
      if (requests === this.requests && !isOver) this.#ended++;
      isOver = true;
    };
    requests.push({
      line: `${request.method} ${request.url}`,
      headers: request.headers,
      body,
      at: this.#now(),
      isClaimed: false,
      response,
      end,
    });
    response.once('close', end);
  }

  #upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    const seen: SeenSocket = {
      ...{ path: request.url!, at: this.#now(), isClaimed: false, stream, frames: [], sent: 0, received: 0 },
      accept: () =>
        new Promise((resolve) =>
          this.#sockets.handleUpgrade(request, stream as Socket, head, (socket) => {
            seen.socket = socket;
            socket.on('message', (data) => {
              seen.received++;
              seen.frames.push({ text: String(data), at: this.#now() });
            });
            // Bytes that are no frame end the connection, as a step may want.
            socket.on('error', () => {});
            resolve();
          }),
        ),
      hold: () => void stream.resume().once('end', () => stream.destroy()),
      refuse: ([status, body, headers = {}]) => {
        const text = textOf(body);
        const lines = Object.entries({ ...JSON_ANSWER, ...headers, 'content-length': Buffer.byteLength(text) });
        // The connection itself closes only once the client has read the answer.
        seen.endedAt = this.#now();
        stream.end(`HTTP/1.1 ${status} Refused\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${text}`);
      },
    };
    stream.on('error', () => {});
    stream.once('close', () => (seen.endedAt ??= this.#now()));
    this.sockets.push(seen);
  }
}

const JSON_ANSWER = { 'content-type': 'application/json', connection: 'close' };
const textOf = (body: Answer[1]): string => (typeof body === 'string' ? body : JSON.stringify(body));

export function answer({ response }: Seen, [status, body, headers = {}]: Answer): void {
  const text = textOf(body);
  response.writeHead(status, { ...JSON_ANSWER, 'content-length': Buffer.byteLength(text), ...headers });
  response.end(text);
}

export function answerRaw({ response, end }: Seen, bytes: string): void {
  // The connection itself closes only once the client has read the bytes.
  end();
  response.socket!.end(bytes);
}

/** Breaks the connection of a request. */
export function cut({ response }: Seen, where: 'before' | 'headers' | 'body'): void {
  const { socket } = response;
  const parts = { before: '', headers: 'HTTP/1.1 200 OK\r\ncontent-ty', body: 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"ok":true,' };
  if (parts[where]) socket!.write(parts[where], () => socket!.destroy());
  else socket!.destroy();
}
