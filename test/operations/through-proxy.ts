import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type IncomingHttpHeaders } from 'node:http2';
import { request, type RequestOptions } from 'node:http';
import { request as secureRequest } from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type { Figures } from '../cluster/figures.ts';
import { eventually, Watcher } from '../realtime/watcher.ts';
import { OPERATORS, type Proxy } from './proxy.ts';

interface Answer {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  // oxlint-disable-next-line no-explicit-any
  readonly body: any;
}

interface Asking {
  readonly method?: string;
  readonly body?: object | string;
  readonly headers?: Record<string, string>;
  /** The address from which the client connects. */
  readonly from?: string;
}

export function ask(url: string, path: string, { method = 'GET', body, headers, from }: Asking = {}): Promise<Answer> {
  const text = typeof body === 'object' ? JSON.stringify(body) : body;
  const options: RequestOptions = {
    method,
    agent: false,
    localAddress: from,
    headers: {
      ...(text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
      ...headers,
    },
  };
  return new Promise((resolve, reject) => {
    const send = url.startsWith('https:') ? secureRequest : request;
    // The sample's certificate is replaced by one that signs itself.
    const asked = send(url + path, { ...options, ...(url.startsWith('https:') ? { rejectUnauthorized: false } : {}) }, (response) => {
      let answer = '';
      response.on('data', (chunk: Buffer) => (answer += chunk.toString()));
      response.on('error', reject);
      response.on('end', () => {
        const isJson = response.headers['content-type']?.startsWith('application/json') === true;
        resolve({ status: response.statusCode!, headers: response.headers, body: isJson ? JSON.parse(answer) : answer });
      });
    });
    asked.on('error', reject);
    asked.end(text);
  });
}

const freshId = (): string => `operations-${randomBytes(9).toString('base64url')}`;

/** Live channels, long-polls, client addresses and bounds through the proxy. */
export async function proveThroughProxy(proxy: Proxy, figures: Figures): Promise<void> {
  await proveRequestIds(proxy, figures);
  await Promise.all([
    proveLive(proxy, figures),
    proveLongPolls(proxy, figures),
    proveAddresses(proxy, figures),
    proveBounds(proxy, figures),
    proveTls(proxy, figures),
  ]);
}

/** A request's id in its answer leads to its line in the proxy's log, and the line has no secret. */
async function proveRequestIds(proxy: Proxy, figures: Figures): Promise<void> {
  const own = freshId();
  const secret = `secret-${freshId()}`;
  const headers = { 'x-install-id': secret, authorization: `Basic ${secret}`, cookie: `a=${secret}` };
  const [given, drawn, malformed] = await Promise.all([
    ask(proxy.url, `/v1/rooms/BCDFG?note=${secret}`, { headers: { ...headers, 'x-request-id': own } }),
    ask(proxy.url, `/v1/rooms/BCDFG?note=${secret}`, { headers }),
    ask(proxy.url, `/v1/rooms/BCDFG?note=${secret}`, { headers: { ...headers, 'x-request-id': 'not well-formed' } }),
  ]);
  const ids = [given, drawn, malformed].map(({ body }) => body.requestId as string);
  await eventually(() => ids.every((id) => proxy.requestLog().includes(id)), 5000);
  figures.exactly(
    'request ids: lines of the access log that have them, of 3',
    ids.filter((id) => proxy.requestLog().includes(id)).length,
    3,
  );
  figures.exactly("request ids: the client's own is kept", Number(ids[0] === own), 1);
  figures.exactly('request ids: secrets in the access log', proxy.requestLog().split(secret).length - 1, 0);
}

async function openRoom(url: string): Promise<{ code: string; installId: string; seq: number }> {
  const installId = freshId();
  const { body } = await ask(url, '/v1/rooms', { method: 'POST', body: { installId } });
  return { code: body.room.code, installId, seq: body.room.seq };
}

const setState = ({ url }: Proxy, { code, installId }: { code: string; installId: string }, state: object): Promise<Answer> =>
  ask(url, `/v1/rooms/${code}/state`, { method: 'POST', body: { installId, state } });

/** Longer than nginx's read timeout of 60 s: only coinop's pings keep the silent channel open. */
const SILENCE_MS = 75_000;

async function proveLive(proxy: Proxy, figures: Figures): Promise<void> {
  const room = await openRoom(proxy.url);
  const watcher = await Watcher.open(proxy.url, `/v1/rooms/${room.code}/live`);
  await setState(proxy, room, { round: 1 });
  await eventually(() => watcher.last?.room?.state?.round === 1);
  const pairing = await ask(proxy.url, '/v1/pair/new', { method: 'POST', body: {} });
  const pairWatcher = await Watcher.open(proxy.url, `/v1/pair/live?token=${encodeURIComponent(pairing.body.token)}`);
  await ask(proxy.url, '/v1/pair/claim', { method: 'POST', body: { token: pairing.body.token, installId: room.installId } });
  await eventually(() => pairWatcher.last?.status === 'claimed');
  const missing = await ask(proxy.url, '/v1/rooms/BBBBB/live', {
    headers: {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': randomBytes(16).toString('base64'),
    },
  });
  figures.exactly('live: status of an upgrade to a room that is missing', missing.status, 404);
  const startedAt = performance.now();
  await Promise.race([pause(SILENCE_MS), watcher.closed]);
  figures.atLeast('live: seconds of silence that a channel survives', (performance.now() - startedAt) / 1000, SILENCE_MS / 1000);
  const sentAt = performance.now();
  await setState(proxy, room, { round: 2 });
  await eventually(() => watcher.last?.room?.state?.round === 2);
  figures.atMost('live: ms until a change arrives after the silence', performance.now() - sentAt, 1000);
  await ask(proxy.url, `/v1/rooms/${room.code}/end`, { method: 'POST', body: { installId: room.installId } });
  figures.exactly('live: code with which the channel of an ended room closes', (await watcher.closed).code, 4501);
}

/** Browsers use HTTP/2 with both proxies. They open each channel on a separate HTTP/1.1 connection. */
async function proveTls({ tlsPort }: Proxy, figures: Figures): Promise<void> {
  const origin = `https://127.0.0.1:${tlsPort}`;
  const room = await openRoom(origin);
  const session = connect(origin, { rejectUnauthorized: false });
  const stream = session.request({ ':path': `/v1/rooms/${room.code}` });
  const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders];
  figures.exactly('TLS: status of a request by HTTP/2', Number(headers[':status']), 200);
  session.destroy();
  const socket = new WebSocket(`wss://127.0.0.1:${tlsPort}/v1/rooms/${room.code}/live`, { rejectUnauthorized: false });
  const [first] = (await once(socket, 'message')) as [Buffer];
  figures.exactly('TLS: first message of a channel has the room', JSON.parse(first.toString()).room.code === room.code ? 1 : 0, 1);
  socket.terminate();
}

async function proveLongPolls(proxy: Proxy, figures: Figures): Promise<void> {
  const room = await openRoom(proxy.url);
  const path = `/v1/rooms/${room.code}?since=${room.seq}&wait=25`;
  const startedAt = performance.now();
  const { status } = await ask(proxy.url, path);
  figures.exactly('long-poll: status after the whole wait', status, 200);
  figures.atLeast('long-poll: seconds that it waited', (performance.now() - startedAt) / 1000, 24.5);
  const poll = ask(proxy.url, path);
  await pause(300);
  const changedAt = performance.now();
  await setState(proxy, room, { round: 1 });
  const news = await poll;
  figures.atMost('long-poll: ms until news arrive', performance.now() - changedAt, 1000);
  figures.exactly('long-poll: round that it brings', news.body.room.state.round, 1);
}

/** Proxy and service share a machine here, so the clients come from further loopback addresses. */
async function proveAddresses({ url, name }: Proxy, figures: Figures): Promise<void> {
  const client = '127.0.0.9';
  const seenOf = async (headers: Record<string, string>): Promise<string> => {
    const { body } = await ask(url, '/v1/pair/new', { method: 'POST', body: {}, headers, from: client });
    const scan = { token: body.token, installId: freshId(), step: 'scan' };
    return (await ask(url, '/v1/pair/claim', { method: 'POST', body: scan })).body.requester.address as string;
  };
  const forged = ['203.0.113.7', '203.0.113.7, 127.0.0.1', '127.0.0.1', '::1', 'unknown, "'];
  const seen = await Promise.all([{}, ...forged.map((value) => ({ 'x-forwarded-for': value }))].map(seenOf));
  const wrong = seen.filter((address) => address !== client);
  figures.report('addresses: those that coinop saw of a client with forged headers', wrong.length, '= 0', wrong.length === 0);
  if (wrong.length > 0) console.log(`    ${name}: ${wrong.join(', ')}`);
}

async function proveBounds({ url, tlsPort }: Proxy, figures: Figures): Promise<void> {
  const tooLarge = await ask(url, '/v1/coins/credit', { method: 'POST', body: `"${'x'.repeat(17 * 1024)}"` });
  figures.exactly('bounds: status of a body of 17 KiB', tooLarge.status, 413);
  const closed = [
    '/metrics',
    '/metrics?x=1',
    '/v1/admin',
    '/v1/admin/find',
    '/v1/%61dmin/find',
    '/v1//admin/find',
    '//v1/admin/find',
    '/console',
    '/console/',
    '/console/session',
    '/console/keys',
    '/%63onsole',
    '//console',
  ];
  const open = (await Promise.all(closed.map(async (path) => ((await ask(url, path)).status === 404 ? [] : [path])))).flat();
  figures.report(
    'bounds: spellings of /metrics, /v1/admin and /console that are not 404',
    open.length,
    `= 0 ${open.join(' ')}`,
    open.length === 0,
  );
  const host = `${OPERATORS}:${tlsPort}`;
  // 401 bad_key says that the service took the page for its own, 403 cross_site that it did not.
  const typed = { host, origin: `https://${host}`, 'x-console': 'look', authorization: `Bearer coinop_sk_12345678_${'x'.repeat(32)}` };
  const signIn = await ask(`https://127.0.0.1:${tlsPort}`, '/console/session', { method: 'POST', body: {}, headers: typed });
  figures.exactly("console: status of a made-up key, typed at the operators' name", signIn.status, 401);
  const secure = await ask(`https://127.0.0.1:${tlsPort}`, '/v1/login', { method: 'POST', body: { installId: freshId() } });
  figures.exactly('TLS: status of a login', secure.status, 200);
  const cookies = [secure.headers['set-cookie'] ?? []].flat();
  figures.exactly('TLS: cookies that are Secure', cookies.filter((cookie) => /; Secure/.test(cookie)).length, 1);
}
