import { createRequire } from 'node:module';

/**
 * The part of the API of uWebSockets.js that the service uses, written by hand because the npm packages have no types. Builds 20.51.4 and
 * 20.69.0 both have this whole part.
 */

export interface HttpRequest {
  getMethod(): string;
  getUrl(): string;
  getQuery(): string;
  getParameter(index: number): string;
  forEach(callback: (name: string, value: string) => void): void;
}

export interface HttpResponse {
  writeStatus(status: string): HttpResponse;
  writeHeader(name: string, value: string): HttpResponse;
  end(body?: string | Uint8Array, closeConnection?: boolean): HttpResponse;
  /** Sends as many bytes as the socket takes. @returns whether it took all of them, and whether the response is complete */
  tryEnd(rest: string | Uint8Array, totalBytes: number): [ok: boolean, done: boolean];
  /**
   * Calls back when the socket can take more data, with the number of body bytes sent so far. The callback returns whether it has written
   * all remaining bytes.
   */
  onWritable(callback: (offset: number) => boolean): HttpResponse;
  endWithoutBody(): HttpResponse;
  close(): HttpResponse;
  cork(callback: () => void): HttpResponse;
  onAborted(callback: () => void): HttpResponse;
  onData(callback: (chunk: ArrayBuffer, isLast: boolean) => void): HttpResponse;
  getRemoteAddress(): ArrayBuffer;
}

/** uWS's data about an upgrade request, to be passed on to `upgrade`. */
export type UpgradeContext = object;

export interface UpgradeResponse extends HttpResponse {
  upgrade<Data>(data: Data, key: string, protocol: string, extensions: string, context: UpgradeContext): void;
}

export interface WebSocket<Data> {
  getUserData(): Data;
  /** @returns 1: sent, 0: buffered, 2: dropped because too many bytes wait */
  send(message: string, isBinary?: boolean): number;
  end(code: number, reason?: string): void;
  close(): void;
  ping(): number;
  getBufferedAmount(): number;
  subscribe(topic: string): boolean;
  unsubscribe(topic: string): boolean;
  /** Runs the callback, and sends all data that the callback writes in one write. */
  cork(callback: () => void): void;
}

export interface WebSocketBehavior<Data> {
  /** The most bytes of a message. If a message is larger, uWS cuts the connection without a close frame. */
  maxPayloadLength: number;
  /** Seconds without any data, pongs included, after which uWS closes the connection: 8 to 960, or 0 for never. */
  idleTimeout: number;
  sendPingsAutomatically: boolean;
  /** The most bytes that wait in a socket. If more bytes wait, uWS drops messages and calls `dropped`. */
  maxBackpressure: number;
  closeOnBackpressureLimit: boolean;
  upgrade(response: UpgradeResponse, request: HttpRequest, context: UpgradeContext): void;
  open(socket: WebSocket<Data>): void;
  message(socket: WebSocket<Data>, message: ArrayBuffer, isBinary: boolean): void;
  dropped(socket: WebSocket<Data>, message: ArrayBuffer, isBinary: boolean): void;
  drain(socket: WebSocket<Data>): void;
  /** Called after uWS answered the ping. */
  ping?(socket: WebSocket<Data>, message: ArrayBuffer): void;
  pong?(socket: WebSocket<Data>, message: ArrayBuffer): void;
  close(socket: WebSocket<Data>, code: number, reason: ArrayBuffer): void;
}

export type ListenSocket = object;

export interface TemplatedApp {
  get(pattern: string, handler: RouteHandler): TemplatedApp;
  post(pattern: string, handler: RouteHandler): TemplatedApp;
  head(pattern: string, handler: RouteHandler): TemplatedApp;
  any(pattern: string, handler: RouteHandler): TemplatedApp;
  ws<Data>(pattern: string, behavior: WebSocketBehavior<Data>): TemplatedApp;
  publish(topic: string, message: string, isBinary?: boolean): boolean;
  /**
   * Calls back when a connection opens (change 1), and when an HTTP connection closes (change -1). The callback may close a connection that
   * opens. A connection that has closed no longer has an address. When a connection that became a WebSocket closes, there is no call.
   */
  filter(callback: (response: HttpResponse, change: 1 | -1) => void): TemplatedApp;
  listen(host: string, port: number, options: number, callback: (socket: ListenSocket | false) => void): TemplatedApp;
  close(): TemplatedApp;
}

export type RouteHandler = (response: HttpResponse, request: HttpRequest) => void;

interface UWebSockets {
  App(): TemplatedApp;
  /** `silent` keeps uWS from adding the header `uWebSockets: 20` to responses. */
  _cfg(option: 'silent'): void;
  us_listen_socket_close(socket: ListenSocket): void;
  us_socket_local_port(socket: ListenSocket): number;
  LIBUS_LISTEN_EXCLUSIVE_PORT: number;
}

/**
 * The npm packages of the official builds by the major version of Node, the newest build first. Build 20.69.0 needs glibc 2.38, 20.51.4
 * needs 2.35. Set-up chooses its Node by the same versions of glibc (`scripts/node.mjs`).
 */
const builds: Record<string, readonly string[]> = {
  22: ['uWebSockets.js', 'uWebSockets.js-glibc-2.35'],
  24: ['uWebSockets.js-node-24'],
};

/**
 * The most bytes of request line and headers. Beyond that uWS answers 431. The default of 4 KiB is less than browsers send to a site with
 * many cookies. uWS reads the limit only from the environment, when the library loads.
 */
const MAX_HEADERS_BYTES = 16 * 1024;

function load(): { library: UWebSockets; version: string } {
  process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = String(MAX_HEADERS_BYTES);
  const require = createRequire(import.meta.url);
  const failures: string[] = [];
  const line = process.versions.node.split('.')[0]!;
  for (const build of builds[line] ?? []) {
    try {
      const library = require(build) as UWebSockets;
      return { library, version: (require(`${build}/package.json`) as { version: string }).version };
    } catch (error) {
      failures.push(`${build}: ${(error as Error).message.split('\n')[0]}`);
    }
  }
  throw new Error(
    `No build of uWebSockets.js loads under Node ${process.versions.node} here. Needed is Linux on x64 with ` +
      `Node 24 and glibc 2.38 or newer, or with Node 22 and glibc 2.35 or newer.\n${failures.join('\n')}`,
  );
}

const { library, version } = load();

export const uws = library;

/** The version of the build that was loaded, such as `20.69.0`. */
export const uwsVersion = version;

// Leaves out uWS's header, which would reveal the software and its version to attackers (RFC 9110, section 17.12).
uws._cfg('silent');
