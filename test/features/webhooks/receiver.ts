import { randomUUID } from 'node:crypto';
import { createServer as createHttp, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo } from 'node:net';
import { selfSignedCertificate } from '../../self-signed.ts';

/** A request to a receiver. */
export interface Received {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** `performance.now()` */
  readonly at: number;
}

export interface Receiver extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  readonly path: string;
  readonly received: Received[];
  /** Connections that clients opened. */
  readonly connections: () => number;
  /** Undefined without TLS. */
  readonly ca: string | undefined;
  /** Handles each request from now on. */
  answer: (request: Received, response: ServerResponse, raw: IncomingMessage) => void;
}

/**
 * A server on 127.0.0.1 that receives webhooks. It answers 204 unless the test says otherwise. Its path is its own: the service of another
 * file may still deliver to a port that a receiver of that file had.
 */
export async function startReceiver({ tls = false } = {}): Promise<Receiver> {
  const path = `/${randomUUID()}`;
  const received: Received[] = [];
  let connections = 0;
  const listener: RequestListener = (raw, response) => {
    if (raw.url !== path) return void response.writeHead(404).end();
    const chunks: Buffer[] = [];
    raw.on('data', (chunk: Buffer) => void chunks.push(chunk));
    raw.on('end', () => {
      const request = { headers: raw.headers as Record<string, string>, body: Buffer.concat(chunks).toString(), at: performance.now() };
      received.push(request);
      receiver.answer(request, response, raw);
    });
  };
  const certificate = tls ? selfSignedCertificate() : undefined;
  const server = certificate === undefined ? createHttp(listener) : createHttps(certificate, listener);
  server.on('connection', () => void connections++);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const listening = (server.address() as AddressInfo).port;
  const receiver: Receiver = {
    port: listening,
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${listening}${path}`,
    path,
    received,
    connections: () => connections,
    ca: certificate?.cert,
    answer: (_, response) => void response.writeHead(204).end(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}
