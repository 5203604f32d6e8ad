import { createServer, type Server } from 'node:http';
import { registerHooks } from 'node:module';
import type { AddressInfo } from 'node:net';
import type { Transport } from '@colyseus/core';
import { uws } from '../../src/server/uws.ts';

/** A transport of Colyseus, and its port once it listens. */
export interface OpenTransport {
  readonly transport: Transport;
  port(): number;
}

export type TransportName = 'ws' | 'uws';

export const transports: Record<TransportName, () => Promise<OpenTransport>> = { ws: wsTransport, uws: uwsTransport };

async function wsTransport(): Promise<OpenTransport> {
  const { WebSocketTransport } = await import('@colyseus/ws-transport');
  const server: Server = createServer();
  return { transport: new WebSocketTransport({ server }), port: () => (server.address() as AddressInfo).port };
}

/**
 * The transport asks for uWebSockets.js by its name, which its package takes from GitHub: it is given the build from npm that
 * the service runs on. It also asks for an adapter to Express at once, though only routes of Express need one, of which there
 * are none.
 */
async function uwsTransport(): Promise<OpenTransport> {
  (globalThis as unknown as Record<string, unknown>)[BUILD] = uws;
  const given = new Map([
    ['uWebSockets.js', `data:text/javascript,export default globalThis.${BUILD}`],
    ['uwebsockets-express', 'data:text/javascript,export default undefined'],
  ]);
  registerHooks({
    resolve(specifier, context, next) {
      const url = given.get(specifier);
      return url === undefined ? next(specifier, context) : { url, shortCircuit: true };
    },
  });
  const { uWebSocketsTransport } = await import('@colyseus/uwebsockets-transport');
  let port = 0;
  /** Its own `listen` leaves out the address, and so would serve other machines. */
  class LoopbackTransport extends uWebSocketsTransport {
    override listen(_port: number, address = '127.0.0.1', _backlog?: number, listening?: () => void): this {
      this.app.listen(address, 0, (socket: unknown) => {
        port = uws.us_socket_local_port(socket as never);
        listening?.();
      });
      return this;
    }
  }
  return { transport: new LoopbackTransport() as unknown as Transport, port: () => port };
}

const BUILD = 'coinopBenchUws';
