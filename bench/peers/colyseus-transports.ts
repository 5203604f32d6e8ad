import { createServer, type Server } from 'node:http';
import { registerHooks } from 'node:module';
import type { AddressInfo } from 'node:net';
import type { Transport } from '@colyseus/core';
import { uws, type ListenSocket } from '../../src/server/uws.ts';
import { urlOf, uwsTransportPackage } from './colyseus-uws-package.ts';

/** A transport of Colyseus. `port` is valid once the transport listens. */
export interface OpenTransport {
  readonly transport: Transport;
  port(): number;
}

export type TransportName = 'ws' | 'uws';

/** Opens a transport. `uws` requires that its package has been fetched. */
export const transports: Record<TransportName, () => Promise<OpenTransport>> = { ws: wsTransport, uws: uwsTransport };

/** The exports of `uwsTransportPackage` that are used here. Its own types would need those of uWebSockets.js. */
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
 * The transport imports `uWebSockets.js`, which comes from GitHub. It gets the service's npm build instead. It also imports an
 * adapter for Express, which only Express routes need; it gets an empty module.
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
  /** The transport's own `listen` ignores the address, so other machines could connect. */
  class LoopbackTransport extends uWebSocketsTransport {
    override listen(_port?: number | string, address = '127.0.0.1', _backlog?: number, listening?: () => void): this {
      this.app.listen(address, 0, (socket) => {
        if (socket === false) throw new Error(`Colyseus cannot listen on ${address}`);
        port = uws.us_socket_local_port(socket);
        listening?.();
      });
      return this;
    }
  }
  return { transport: new LoopbackTransport(), port: () => port };
}

const BUILD = 'coinopBenchUws';
