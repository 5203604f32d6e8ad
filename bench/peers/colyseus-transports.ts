import { createServer, type Server } from 'node:http';
import { registerHooks } from 'node:module';
import type { AddressInfo } from 'node:net';
import type { Transport } from '@colyseus/core';
import { uws, type ListenSocket } from '../../src/server/uws.ts';
import { urlOf, uwsTransportPackage } from './colyseus-uws-package.ts';

/** A transport of Colyseus, and its port once it listens. */
export interface OpenTransport {
  readonly transport: Transport;
  port(): number;
}

export type TransportName = 'ws' | 'uws';

/** Opens a transport. For `uws`, its package has been brought. */
export const transports: Record<TransportName, () => Promise<OpenTransport>> = { ws: wsTransport, uws: uwsTransport };

/** What `uwsTransportPackage` exports, as far as it is used here. Its own types ask for those of uWebSockets.js. */
interface UwsTransportModule {
  readonly uWebSocketsTransport: new () => UwsTransport;
}

interface UwsTransport extends Transport {
  readonly app: { listen(host: string, port: number, callback: (socket: ListenSocket | false) => void): unknown };
  shutdown(): void;
  simulateLatency(milliseconds: number): void;
}

async function wsTransport(): Promise<OpenTransport> {
  const { WebSocketTransport } = await import('@colyseus/ws-transport');
  const server: Server = createServer();
  return { transport: new WebSocketTransport({ server }), port: () => (server.address() as AddressInfo).port };
}

/**
 * The transport asks for uWebSockets.js by its name, and is given the build from npm that the service runs on. It also asks
 * for an adapter to Express at once, though only routes of Express need one, of which there are none.
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
  const { uWebSocketsTransport } = (await import(urlOf(uwsTransportPackage, 'build/index.mjs'))) as UwsTransportModule;
  let port = 0;
  /** Its own `listen` leaves out the address, and so would serve other machines. */
  class LoopbackTransport extends uWebSocketsTransport {
    override listen(_port?: number | string, address = '127.0.0.1', _backlog?: number, listening?: () => void): this {
      this.app.listen(address, 0, (socket) => {
        if (socket === false) throw new Error(`it cannot listen on ${address}`);
        port = uws.us_socket_local_port(socket);
        listening?.();
      });
      return this;
    }
  }
  return { transport: new LoopbackTransport(), port: () => port };
}

const BUILD = 'coinopBenchUws';
