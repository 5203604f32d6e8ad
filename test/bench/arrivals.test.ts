import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import type { Arrivals, ArrivalsOrder, Pace } from '../../bench/load/arrivals-order.ts';
import { startChild, type Child } from '../../bench/processes/child.ts';

let server: Server | undefined;
let child: Child | undefined;
afterEach(async () => {
  await child?.stop();
  server?.closeAllConnections();
  server?.close();
});

/** Starts a server and a sender with open connections to it. */
async function sending(connections: number, answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<Child> {
  const listening = (server = createServer(answer));
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  const started = (child = await startChild(new URL('../../bench/load/arrivals.ts', import.meta.url)));
  const order: ArrivalsOrder = {
    url: `http://127.0.0.1:${(listening.address() as AddressInfo).port}`,
    connections,
    requests: [{ method: 'POST', path: '/credit', body: '{"coins":$coins,"key":"$key"}', isOperation: true }],
    callers: [{ installId: 'install-a' }],
    keyPrefix: '01234567-89ab-4cde-8f01-',
    from: 1000,
  };
  await started.ask('open', order);
  return started;
}

async function load(sender: Child, pace: Pace, seconds: number): Promise<Arrivals> {
  await sender.ask('start', pace);
  await delay(seconds * 1000);
  return sender.ask<Arrivals>('stop');
}

function counts({ kindOf, kinds }: Arrivals): Record<string, number> {
  const found: Record<string, number> = {};
  for (const kind of kindOf) found[kinds[kind]!] = (found[kinds[kind]!] ?? 0) + 1;
  return found;
}

const ok = (response: ServerResponse): void => void response.setHeader('content-type', 'application/json').end('{"ok":true}');

test('requests leave at the rate, and count by status and error code', async () => {
  let count = 0;
  // As many connections as requests may wait at a time, however busy the machine is.
  const sender = await sending(500, (request, response) => {
    request.resume();
    if (count++ % 4 !== 3) return ok(response);
    response.statusCode = 503;
    response.end('{"ok":false,"error":{"code":"overloaded"}}');
  });
  const arrivals = await load(sender, { rate: 400 }, 0.5);
  const { served = 0, overloaded = 0, ...others } = counts(arrivals);
  expect(others).toEqual({});
  expect(served + overloaded).toBe(count);
  expect(overloaded).toBe(Math.floor(count / 4));
  // The parent's clock ends the load, so the number is not exact.
  expect(count).toBeGreaterThanOrEqual(190);
  expect(count).toBeLessThanOrEqual(500);
  const due = arrivals.due.sort();
  expect(due[1]! - due[0]!).toBeCloseTo(2.5, 3);
  expect(arrivals.next).toBe(1000 + count);
});

test('a request that finds all connections waiting is not sent, and the rate goes on', async () => {
  let count = 0;
  const sender = await sending(3, (request) => {
    request.resume();
    count++;
  });
  const ended = load(sender, { rate: 200 }, 0.4);
  await delay(500);
  server!.closeAllConnections();
  const { lost, unsent = 0 } = counts(await ended);
  expect(count).toBe(3);
  expect(lost).toBe(3);
  expect(unsent).toBeGreaterThanOrEqual(70);
});

test('latency counts from the due time, and requests of a burst are due together', async () => {
  const sender = await sending(20, (request, response) => {
    request.resume();
    setTimeout(() => ok(response), 50);
  });
  const arrivals = await load(sender, { rate: 100, burst: 10 }, 0.25);
  const due = arrivals.due.sort();
  expect(new Set(due.slice(0, 10)).size).toBe(1);
  expect(due[10]! - due[0]!).toBeCloseTo(100, 3);
  expect(Math.min(...arrivals.latencies)).toBeGreaterThanOrEqual(49);
});

test('a connection that the server closes after its answer is opened again', async () => {
  let count = 0;
  const sender = await sending(1, (request, response) => {
    request.resume();
    count++;
    response.setHeader('connection', 'close');
    ok(response);
  });
  const arrivals = await load(sender, { rate: 50 }, 0.5);
  const { served, lost = 0 } = counts(arrivals);
  expect(count).toBeGreaterThan(5);
  expect(served).toBe(count);
  expect(lost).toBe(0);
});
