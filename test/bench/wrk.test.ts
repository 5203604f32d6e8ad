import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { LoadOrder } from '../../bench/load/order.ts';
import { requestMaker } from '../../bench/load/requests.ts';
import { isWrkInstalled, loadByWrk } from '../../bench/load/wrk.ts';

interface Seen {
  readonly method: string;
  readonly path: string;
  readonly cookie: string;
  readonly body: string;
}

let server: Server;
let url: string;
let seen: Seen[] = [];
let status = 200;
beforeAll(async () => {
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      seen.push({ method: request.method!, path: request.url!, cookie: request.headers.cookie ?? '', body });
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());

const order = (): LoadOrder => ({
  url,
  connections: 4,
  seconds: 0.2,
  from: 1000,
  keyPrefix: '01234567-89ab-4cde-8f01-',
  callers: [
    { installId: 'install-a', cookie: 'svc_session=a' },
    { installId: 'install-b', cookie: 'svc_session=b' },
    { installId: 'install-c', cookie: 'svc_session=c' },
  ],
  requests: [
    { method: 'GET', path: '/top', share: 3 },
    { method: 'GET', path: '/balance?installId=$installId', headers: { cookie: '$cookie' } },
    { method: 'POST', path: '/credit', headers: { cookie: '$cookie' }, body: '{"coins":$coins,"key":"$key"}', isOperation: true, share: 2 },
    { method: 'POST', path: '/again', body: '{"score":$score,"key":"$key"}', isOperation: true, repeats: 7 },
  ],
});

/** Parses a request of the bench's own load generator into what the server would see. */
function seenOf(text: string): Seen {
  const [head, body] = text.split('\r\n\r\n') as [string, string];
  const [method, path] = head.split(' ') as [string, string];
  return { method, path, cookie: /\r\ncookie: (.*)/.exec(head)?.[1] ?? '', body };
}

test.skipIf(!isWrkInstalled())('wrk sends the same requests as the load generator and counts them', async () => {
  seen = [];
  const loadOrder = order();
  const startedAt = performance.now();
  const outcome = await loadByWrk(loadOrder, new AbortController().signal);
  // By its own clock, which counts whole seconds, wrk would run for six seconds.
  expect(performance.now() - startedAt).toBeLessThan(4000);
  expect(outcome.failures).toEqual({});
  expect(outcome.done).toBeGreaterThan(0);
  expect(outcome.next).toBe(loadOrder.from + outcome.sent);
  expect(seen.length).toBeGreaterThanOrEqual(outcome.done);
  // Without a response: the first request, which wrk makes but does not send, and one under way on each connection.
  expect(outcome.sent - outcome.done).toBeLessThanOrEqual(1 + loadOrder.connections);

  const maker = requestMaker(loadOrder);
  const wanted = Array.from({ length: outcome.sent }, (_, index) => maker.text(loadOrder.from + index)).map(seenOf);
  const counts = new Map<string, number>();
  for (const one of wanted) counts.set(JSON.stringify(one), (counts.get(JSON.stringify(one)) ?? 0) + 1);
  const isWanted = (one: Seen): boolean => {
    const left = counts.get(JSON.stringify(one)) ?? 0;
    counts.set(JSON.stringify(one), left - 1);
    return left > 0;
  };
  expect(seen.filter((one) => !isWanted(one))).toEqual([]);
  // Repeated operations take no effect, so only /credit counts.
  expect(outcome.operations).toBe(wanted.filter(({ path }) => path === '/credit').length);
});

test.skipIf(!isWrkInstalled())('wrk counts an error status as a failure', async () => {
  status = 429;
  const { done, failures } = await loadByWrk(order(), new AbortController().signal);
  status = 200;
  expect(done).toBe(0);
  expect(Object.keys(failures)).toEqual(['wrk: status']);
});
