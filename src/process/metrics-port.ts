import { createServer, type AddressInfo, type Socket } from 'node:net';
import type { Logger } from 'pino';
import { SettingError } from '../config.ts';
import { addressGroup, canonicalAddress } from '../server/address.ts';
import { oneAtATime } from '../server/shared-call.ts';
import { FOREIGN_HOST, type ServedHosts } from '../server/identity/served-hosts.ts';
import { RateLimit } from '../server/rate-limit.ts';

/**
 * The port METRICS_PORT serves only `/metrics`, and clients need not be able to reach it. With several workers, their parent process opens
 * the port.
 */
export interface MetricsPort {
  readonly port: number;
  close(): void;
}

/** The highest number of open connections: more than scrapers need. */
const MOST_CONNECTIONS = 64;

/**
 * Requests a second of one address. At once it may send twice as many. Scrapers send far fewer. This many requests take only some 2 % of a
 * core.
 */
const REQUESTS_PER_SECOND = 250;

/**
 * Opens METRICS_PORT.
 * @param port 0 lets the system pick a port
 * @param text gives the metrics in the Prometheus text format; undefined while the service starts
 * @param hosts the values of the Host header that are answered; undefined: all
 * @throws SettingError if the port is taken or the machine does not have the address
 */
export function openMetricsPort(
  { METRICS_HOST: host, METRICS_PORT: port }: { METRICS_HOST: string; METRICS_PORT: number },
  text: () => Promise<string | undefined>,
  log: Logger,
  hosts?: ServedHosts,
): Promise<MetricsPort> {
  const textOfAll = oneAtATime(text);
  const connections = new Connections();
  const requests = new RateLimit(REQUESTS_PER_SECOND, 1000, 2 * REQUESTS_PER_SECOND);
  const server = createServer((socket) => {
    connections.opened(socket);
    // Node shortens IPv6 addresses, but `addressGroup` needs the long form.
    const group = addressGroup(canonicalAddress(socket.remoteAddress ?? '') ?? '');
    socket.on('error', () => socket.destroy());
    socket.setTimeout(SILENCE_MS, () => socket.destroy());
    readHeads(socket, (head) => {
      if (requests.take(group, performance.now()) > 0) return void socket.destroy();
      connections.used(socket);
      return answer(socket, head, textOfAll, log, hosts);
    });
  });
  return new Promise((resolve, reject) => {
    // The listener for errors stays after the start, because an error without a listener would end the process.
    server.on('error', (error) => {
      if (server.listening) return log.warn({ reason: error.message }, 'METRICS_PORT could not accept a connection');
      reject(new SettingError(`METRICS_PORT: cannot listen on ${host}:${port}: the port is taken, or the address is not this machine's`));
    });
    server.listen({ host, port, exclusive: true }, () => {
      const { port: opened } = server.address() as AddressInfo;
      log.info({ url: `http://${host.includes(':') ? `[${host}]` : host}:${opened}/metrics` }, 'metrics have a port of their own');
      resolve({
        port: opened,
        close() {
          server.close();
          connections.close();
        },
      });
    });
  });
}

/**
 * The open connections, the one that was not used for the longest time first. If there are more than MOST_CONNECTIONS, that connection is
 * closed. So a peer that keeps silent connections open, or reads no answers, cannot keep a scraper out. Node's `maxConnections` would
 * refuse the new connection, which may be the scraper's.
 */
class Connections {
  readonly #open = new Set<Socket>();

  opened(socket: Socket): void {
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
    const [eldest] = this.#open;
    if (this.#open.size <= MOST_CONNECTIONS) return;
    this.#open.delete(eldest!);
    eldest!.destroy();
  }

  used(socket: Socket): void {
    if (this.#open.delete(socket)) this.#open.add(socket);
  }

  close(): void {
    for (const socket of this.#open) socket.destroy();
  }
}

/**
 * Milliseconds of silence after which a connection is closed. By default Prometheus scrapes once a minute, and it is often set to every 15
 * s.
 */
const SILENCE_MS = 120_000;

/** The most bytes of a request line with its headers. Scrapers send some 300 bytes. */
const MOST_HEAD_BYTES = 8192;

/** The end of a head. If bytes follow before the answer, they are a body or another request, which scrapers do not send. */
const HEAD_END = '\r\n\r\n';

/**
 * Passes the head of each request to `answered`, and reads the next request once the promise that `answered` returned has resolved. A
 * connection that sends more than a head at a time is closed.
 *
 * Node's HTTP server would parse all 64 KiB that it has read, even after it has closed the connection at the first request. These are 1,800
 * requests, or 10,000 chunks of a body. Sixty such connections delayed all other clients by 4 s.
 */
function readHeads(socket: Socket, answered: (head: string) => Promise<void> | void): void {
  let head = '';
  socket.on('data', (bytes: Buffer) => {
    if (socket.destroyed) return;
    if (head.length + bytes.length > MOST_HEAD_BYTES) return void socket.destroy();
    head += bytes.toString('latin1');
    const end = head.indexOf(HEAD_END);
    if (end < 0) return;
    const whole = head;
    head = '';
    socket.pause();
    if (end + HEAD_END.length === whole.length) void Promise.resolve(answered(whole)).then(() => socket.resume());
    else socket.destroy();
  });
}

const REQUEST_LINE = /^([A-Z]+) (\/[^ ?]*)(?:\?[^ ]*)? HTTP\/1\.([01])\r\n/;

/**
 * Matches a header after which the connection closes: the client asks to close it, or announces a body, which is not read. The pattern must
 * not match across lines: in 8 KiB of lines that end without a carriage return, a search to the end of the head took 5 ms.
 */
const ENDS_CONNECTION = /^(?:connection:[^\r\n]*close|content-length:|transfer-encoding:)/im;

/**
 * The Host headers of a head. An old scraper sends no such header, a browser sends one. Like `ENDS_CONNECTION`, the pattern does not match
 * across lines.
 */
const hostsIn = (head: string): string[] => [...head.matchAll(/^host:([^\r\n]*)/gim)].map(([, host = '']) => host.trim());

/** Answers a request. Resolves when the client has read the answer, or has closed the connection. */
async function answer(
  socket: Socket,
  head: string,
  text: () => Promise<string | undefined>,
  log: Logger,
  hosts: ServedHosts | undefined,
): Promise<void> {
  const [, method, path, minor] = REQUEST_LINE.exec(head) ?? [];
  const goesOn = minor === '1' && (method === 'GET' || method === 'HEAD') && !ENDS_CONNECTION.test(head);
  const send = (status: string, body: string, type = 'text/plain; charset=utf-8', header = ''): Promise<void> => {
    const lines = `content-type: ${type}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${header}connection: ${goesOn ? 'keep-alive' : 'close'}`;
    const bytes = `HTTP/1.1 ${status}\r\ndate: ${new Date().toUTCString()}\r\n${lines}${HEAD_END}${method === 'HEAD' ? '' : body}`;
    return new Promise((resolve) => {
      if (goesOn) socket.write(bytes, () => resolve());
      else socket.end(bytes, () => resolve());
    });
  };
  if (method === undefined) return send('400 Bad Request', 'This is no request.\n');
  if (hosts !== undefined && !hostsIn(head).every((host) => hosts.serves(host))) return send('403 Forbidden', `${FOREIGN_HOST}\n`);
  if (path !== '/metrics') return send('404 Not Found', 'Only /metrics is here.\n');
  if (method !== 'GET' && method !== 'HEAD') return send('405 Method Not Allowed', 'Only GET.\n', undefined, 'allow: GET, HEAD\r\n');
  const found = await text().catch((error: Error) => error);
  if (found instanceof Error) log.error({ err: found }, 'the metrics could not be made');
  if (found instanceof Error || found === undefined)
    return send('503 Service Unavailable', found === undefined ? 'The service is starting.\n' : 'The metrics could not be made.\n');
  return send('200 OK', found, 'text/plain; version=0.0.4; charset=utf-8');
}
