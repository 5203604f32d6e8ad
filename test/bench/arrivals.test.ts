import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { Arrivals, ArrivalsOrder, Pace } from '../../bench/load/arrivals-order.ts';
import { startChild } from '../../bench/processes/child.ts';

/**
 * Sends credits to a server for a time.
 * @param answer gets the number of the request, from 0 on
 * @returns how many requests the server got, and those of each kind
 */
async function load(
  connections: number,
  pace: Pace,
  milliseconds: number,
  answer: (response: ServerResponse, number: number, server: Server) => unknown,
): Promise<{ count: number; arrivals: Arrivals; due: Float64Array; kinds: Record<string, number> }> {
  let count = 0;
  const server = createServer((request, response) => {
    request.resume();
    response.setHeader('content-type', 'application/json');
    answer(response, count++, server);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const sender = await startChild(new URL('../../bench/load/arrivals.ts', import.meta.url));
  onTestFinished(async () => {
    await sender.stop();
    server.closeAllConnections();
    server.close();
  });
  const order: ArrivalsOrder = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections,
    requests: [{ method: 'POST', path: '/credit', body: '{"coins":$coins,"key":"$key"}', isOperation: true }],
    callers: [{ installId: 'install-a' }],
    keyPrefix: '01234567-89ab-4cde-8f01-',
    from: 1000,
    // A busy machine may take longer for the last answers than a service that is measured.
    lastAnswersMs: 60_000,
  };
  await sender.ask('open', order);
  await sender.ask('start', pace);
  await delay(milliseconds);
  const arrivals = await sender.ask<Arrivals>('stop');
  const kinds = Map.groupBy(arrivals.kindOf, (kind) => arrivals.kinds[kind]!);
  return {
    ...{ count, arrivals, due: arrivals.due.toSorted() },
    kinds: Object.fromEntries([...kinds].map(([kind, all]) => [kind, all.length])),
  };
}

const ok = (response: ServerResponse): unknown => response.end('{"ok":true}');

test('requests leave at the rate, and count by status and error code', async () => {
  // As many connections as requests may wait at a time, however busy the machine is.
  const { count, arrivals, due, kinds } = await load(500, { rate: 400 }, 500, (response, number) => {
    if (number % 4 !== 3) return ok(response);
    response.statusCode = 503;
    return response.end('{"ok":false,"error":{"code":"overloaded"}}');
  });
  expect(count).toBeGreaterThan(100);
  // A sender that was held up for a second finds all connections waiting.
  const { unsent = 0, ...sent } = kinds;
  expect(sent).toEqual({ served: count - Math.floor(count / 4), overloaded: Math.floor(count / 4) });
  expect(due.at(-1)! - due[0]!).toBeCloseTo(2.5 * (count + unsent - 1), 3);
  expect(arrivals.next).toBe(1000 + count);
});

test('a request that finds all connections waiting is not sent, and the rate goes on', async () => {
  // The server answers none, and closes the connections after the load.
  const { count, kinds } = await load(
    3,
    { rate: 200 },
    400,
    (_, number, server) => number || setTimeout(() => server.closeAllConnections(), 800),
  );
  expect([count, kinds['lost']]).toEqual([3, 3]);
  // 77, unless this process is held up at the end of its time.
  expect(kinds['unsent']).toBeGreaterThan(10);
});

test('latency counts from the due time, requests of a burst are due together, and a connection that the server closes is opened again', async () => {
  const { count, arrivals, due, kinds } = await load(20, { rate: 100, burst: 10 }, 600, (response) => {
    response.setHeader('connection', 'close');
    setTimeout(() => ok(response), 50);
  });
  expect(new Set(due.slice(0, 10)).size).toBe(1);
  expect(due[10]! - due[0]!).toBeCloseTo(100, 3);
  // A request that finds all connections waiting, as on a busy machine, has no latency.
  expect(Math.min(...arrivals.latencies.filter((latency) => !Number.isNaN(latency)))).toBeGreaterThanOrEqual(49);
  // More than there are connections.
  expect(count).toBeGreaterThan(20);
  expect([kinds['served'], kinds['lost'] ?? 0]).toEqual([count, 0]);
});
