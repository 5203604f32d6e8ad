import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { monotonicMs } from '../measure/clock.ts';
import { ready } from '../processes/parent.ts';

/** A receiver of webhooks, in a process of its own. It answers at once, and notes when each change of coins arrived. */

/** Coins of a change → when its request arrived, on the clock of `monotonicMs`. */
let arrived: [coins: number, atMs: number][] = [];

const server = createServer((request, response) => {
  const atMs = monotonicMs();
  void textOf(request).then((text) => {
    response.writeHead(204).end();
    const { data } = JSON.parse(text) as { data: { coins: number } };
    arrived.push([data.coins, atMs]);
  });
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');

ready(
  { port: (server.address() as AddressInfo).port },
  {
    /** The changes that arrived since the last question. */
    arrived: () => arrived.splice(0),
  },
);

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  request.setEncoding('utf8');
  for await (const chunk of request) text += chunk as string;
  return text;
}
