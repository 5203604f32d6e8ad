import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import type { LoadOrder } from '../../bench/load/order.ts';
import { requestMaker } from '../../bench/load/requests.ts';
import { isWrkInstalled, loadByWrk } from '../../bench/load/wrk.ts';

/** A request as the server sees it: method, path, cookie and body. */
let seen: string[] = [];
let status = 200;
const server = createServer(async (request, response) => {
  const chunks = await request.toArray().catch(() => undefined);
  // wrk ended meanwhile.
  if (chunks === undefined) return;
  const body = Buffer.concat(chunks).toString();
  seen.push([request.method, request.url, request.headers.cookie ?? '', body].join(' '));
  response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
afterAll(() => server.close());

const order: LoadOrder = {
  url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  connections: 4,
  seconds: 0.2,
  from: 1000,
  keyPrefix: '01234567-89ab-4cde-8f01-',
  callers: ['a', 'b', 'c'].map((name) => ({ installId: `install-${name}`, cookie: `svc_session=${name}` })),
  requests: [
    { method: 'GET', path: '/top', share: 3 },
    { method: 'GET', path: '/balance?installId=$installId', headers: { cookie: '$cookie' } },
    { method: 'POST', path: '/credit', headers: { cookie: '$cookie' }, body: '{"coins":$coins,"key":"$key"}', isOperation: true, share: 2 },
    { method: 'POST', path: '/again', body: '{"score":$score,"key":"$key"}', isOperation: true, repeats: 7 },
  ],
};

/** Parses a request of the bench's own load generator into what the server would see. */
function seenOf(text: string): string {
  const [head, body] = text.split('\r\n\r\n') as [string, string];
  const [method, path] = head.split(' ');
  return [method, path, /\r\ncookie: (.*)/.exec(head)?.[1] ?? '', body].join(' ');
}

test.skipIf(!isWrkInstalled())('wrk sends the same requests as the load generator, and counts them and its failures', async () => {
  const outcome = await loadByWrk(order, new AbortController().signal);
  expect(outcome.failures).toEqual({});
  expect(outcome.done).toBeGreaterThan(0);
  expect(outcome.next).toBe(order.from + outcome.sent);
  expect(seen.length).toBeGreaterThanOrEqual(outcome.done);
  // Without a response: the first request, which wrk makes but does not send, and one under way on each connection.
  expect(outcome.sent - outcome.done).toBeLessThanOrEqual(1 + order.connections);

  const maker = requestMaker(order);
  const wanted = Array.from({ length: outcome.sent }, (_, index) => seenOf(maker.text(order.from + index)));
  const left = Map.groupBy(wanted, (one) => one);
  expect(seen.filter((one) => left.get(one)?.pop() === undefined)).toEqual([]);
  // Repeated operations take no effect, so only /credit counts.
  expect(outcome.operations).toBe(wanted.filter((one) => one.startsWith('POST /credit')).length);

  [seen, status] = [[], 429];
  const { done, failures } = await loadByWrk(order, new AbortController().signal);
  expect([done, Object.keys(failures)]).toEqual([0, ['wrk: status']]);
});
