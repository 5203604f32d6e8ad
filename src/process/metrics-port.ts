import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Logger } from 'pino';
import { SettingError } from '../config.ts';
import { addressGroup } from '../server/address.ts';
import { oneAtATime } from '../server/one-at-a-time.ts';
import { RateLimit } from '../server/rate-limit.ts';

/** METRICS_PORT: serves `/metrics` and nothing else, apart from the port that clients reach. Of several workers the primary has it. */
export interface MetricsPort {
  readonly port: number;
  close(): void;
}

/** More connections than any number of scrapers needs. */
const MOST_CONNECTIONS = 64;

/** Requests a second of one address, with twice as many at once: far more than scrapers send, and some 2 % of a core. */
const REQUESTS_PER_SECOND = 250;

/**
 * @param port 0 lets the system pick a port
 * @param text the metrics in the Prometheus text format
 * @throws SettingError if the port is taken or the machine does not have the address
 */
export function openMetricsPort(
  { METRICS_HOST: host, METRICS_PORT: port }: { METRICS_HOST: string; METRICS_PORT: number },
  text: () => Promise<string>,
  log: Logger,
): Promise<MetricsPort> {
  const textOfAll = oneAtATime(text);
  const connections = new Connections();
  const requests = new RateLimit(REQUESTS_PER_SECOND, 1000, 2 * REQUESTS_PER_SECOND);
  const server = createServer((request, response) => {
    const { socket } = request;
    // No scraper sends a request before the last one was answered. Node calls this for all that it has read of a connection.
    if (connections.isBusy(socket) || requests.take(addressGroup(socket.remoteAddress ?? ''), performance.now()) > 0)
      return void socket.destroy();
    connections.used(socket);
    response.once('close', () => connections.answered(socket));
    void answer(request, response, textOfAll, log);
  });
  server.on('connection', (socket: Socket) => connections.opened(socket));
  return new Promise((resolve, reject) => {
    // Stays for good: after the start an error without a listener would end the process.
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
          server.closeAllConnections();
        },
      });
    });
  });
}

/**
 * The open connections, the least recently used one first. Past the bound it is closed: so a peer that holds connections and is silent,
 * or reads no answers, takes the port from no scraper. With `maxConnections` of Node the scraper would be the one to go.
 */
class Connections {
  readonly #open = new Set<Socket>();
  readonly #busy = new WeakSet<Socket>();

  /** Whether a request of the connection is still unanswered. */
  isBusy(socket: Socket): boolean {
    return this.#busy.has(socket);
  }

  answered(socket: Socket): void {
    this.#busy.delete(socket);
  }

  opened(socket: Socket): void {
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
    const [eldest] = this.#open;
    if (this.#open.size <= MOST_CONNECTIONS) return;
    this.#open.delete(eldest!);
    eldest!.destroy();
  }

  used(socket: Socket): void {
    this.#busy.add(socket);
    if (this.#open.delete(socket)) this.#open.add(socket);
  }
}

async function answer(request: IncomingMessage, response: ServerResponse, text: () => Promise<string>, log: Logger): Promise<void> {
  const send = (status: number, body: string, headers: Record<string, string> = {}): void => {
    const type = status === 200 ? 'text/plain; version=0.0.4; charset=utf-8' : 'text/plain; charset=utf-8';
    response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body), ...headers });
    response.end(request.method === 'HEAD' ? undefined : body);
  };
  if (request.url?.split('?')[0] !== '/metrics') return send(404, 'Only /metrics is here.\n');
  if (request.method !== 'GET' && request.method !== 'HEAD') return send(405, 'Only GET.\n', { allow: 'GET, HEAD' });
  try {
    send(200, await text());
  } catch (error) {
    log.error({ err: error }, 'the metrics could not be made');
    if (!response.headersSent) send(503, 'The metrics could not be made.\n');
  }
}
