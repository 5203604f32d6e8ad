import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type IncomingHttpHeaders } from 'node:http2';
import { setTimeout as pause } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { ask, type Answer, type Asking } from '../proofs/client.ts';
import type { Figures } from '../proofs/figures.ts';
import { within } from '../proofs/history.ts';
import { RawSocket } from '../realtime/raw-socket.ts';
import { Watcher, watchRoom } from '../realtime/watcher.ts';
import { OPERATORS, type Proxy } from './proxy.ts';

const freshId = (): string => `operations-${randomBytes(9).toString('base64url')}`;

const post = (url: string, body: object | string, more: Asking = {}): Promise<Answer> => ask(url, { method: 'POST', body, ...more });

/** Live channels, long-polls, client addresses and bounds through the proxy. */
export async function proveThroughProxy(proxy: Proxy, figures: Figures): Promise<void> {
  await proveRequestIds(proxy, figures);
  await Promise.all([proveLive, proveLongPolls, proveAddresses, proveBounds, proveTls].map((prove) => prove(proxy, figures)));
}

/** A request's id in its answer leads to its line in the proxy's log, and the line has no secret. */
async function proveRequestIds({ url, requestLog }: Proxy, figures: Figures): Promise<void> {
  const [own, secret] = [freshId(), `secret-${freshId()}`];
  const headers = { 'x-install-id': secret, authorization: `Basic ${secret}`, cookie: `a=${secret}` };
  const given: Record<string, string>[] = [{ 'x-request-id': own }, {}, { 'x-request-id': 'not well-formed' }];
  const answers = await Promise.all(given.map((more) => ask(`${url}/v1/rooms/BCDFG?note=${secret}`, { headers: { ...headers, ...more } })));
  const ids = answers.map(({ body }) => body.requestId as string);
  const logged = (): number => ids.filter((id) => requestLog().includes(id)).length;
  await within(15_000, () => logged() === ids.length);
  figures.exactly('request ids: lines of the access log that have them, of 3', logged(), 3);
  figures.exactly("request ids: the client's own is kept", Number(ids[0] === own), 1);
  figures.exactly('request ids: secrets in the access log', requestLog().split(secret).length - 1, 0);
}

interface OpenRoom {
  readonly code: string;
  readonly seq: number;
  setRound(round: number): Promise<Answer>;
}

async function openRoom(url: string): Promise<OpenRoom> {
  const installId = freshId();
  const { code, seq } = (await post(`${url}/v1/rooms`, { installId })).body.room;
  return { code, seq, setRound: (round) => post(`${url}/v1/rooms/${code}/state`, { installId, state: { round } }) };
}

/** Longer than nginx's read timeout of 60 s: only coinop's pings keep the silent channel open. */
const SILENCE_MS = 75_000;

async function proveLive(proxy: Proxy, figures: Figures): Promise<void> {
  const { url, port } = proxy;
  const { code, setRound } = await openRoom(url);
  const watcher = await watchRoom(proxy, code);
  const { token } = (await post(`${url}/v1/pair/new`, {})).body;
  const pairing = await Watcher.open(url, `/v1/pair/live?token=${encodeURIComponent(token)}`);
  await post(`${url}/v1/pair/claim`, { token, installId: freshId() });
  await pairing.until(({ status }) => status === 'claimed');
  figures.exactly('live: status of an upgrade to a room that is missing', (await RawSocket.open(port, '/v1/rooms/BBBBB/live')).status, 404);
  const startedAt = performance.now();
  await Promise.race([pause(SILENCE_MS), watcher.closed]);
  figures.atLeast('live: seconds of silence that a channel survives', (performance.now() - startedAt) / 1000, SILENCE_MS / 1000);
  const sentAt = performance.now();
  await setRound(2);
  await watcher.until(({ room }) => room?.state?.round === 2);
  figures.time('live: ms until a change arrives after the silence', performance.now() - sentAt, 1000);
  await watcher.close();
}

/** Browsers use HTTP/2 with both proxies. They open each channel on a separate HTTP/1.1 connection. */
async function proveTls({ tlsPort }: Proxy, figures: Figures): Promise<void> {
  const origin = `https://127.0.0.1:${tlsPort}`;
  const { code } = await openRoom(origin);
  const session = connect(origin, { rejectUnauthorized: false });
  const [headers] = (await once(session.request({ ':path': `/v1/rooms/${code}` }), 'response')) as [IncomingHttpHeaders];
  figures.exactly('TLS: status of a request by HTTP/2', Number(headers[':status']), 200);
  session.destroy();
  const socket = new WebSocket(`wss://127.0.0.1:${tlsPort}/v1/rooms/${code}/live`, { rejectUnauthorized: false });
  const [first] = (await once(socket, 'message')) as [Buffer];
  figures.exactly('TLS: first message of a channel has the room', Number(JSON.parse(first.toString()).room.code === code), 1);
  socket.terminate();
  const login = await post(`${origin}/v1/login`, { installId: freshId() });
  const secure = (login.headers['set-cookie'] ?? []).filter((cookie) => /; Secure/.test(cookie));
  figures.exactly('TLS: cookies of a login that are Secure', secure.length, 1);
}

async function proveLongPolls({ url }: Proxy, figures: Figures): Promise<void> {
  const { code, seq, setRound } = await openRoom(url);
  const poll = (): Promise<Answer> => ask(`${url}/v1/rooms/${code}?since=${seq}&wait=25`);
  const startedAt = performance.now();
  figures.exactly('long-poll: status after the whole wait', (await poll()).status, 200);
  figures.atLeast('long-poll: seconds that it waited', (performance.now() - startedAt) / 1000, 24.5);
  const polled = poll();
  await pause(300);
  const changedAt = performance.now();
  await setRound(1);
  const news = await polled;
  figures.time('long-poll: ms until news arrive', performance.now() - changedAt, 1000);
  figures.exactly('long-poll: round that it brings', news.body.room.state.round, 1);
}

/** Proxy and service share a machine here, so the clients come from further loopback addresses. */
async function proveAddresses({ url }: Proxy, figures: Figures): Promise<void> {
  const from = '127.0.0.9';
  const seenOf = async (headers: Record<string, string>): Promise<string> => {
    const { token } = (await post(`${url}/v1/pair/new`, {}, { headers, from })).body;
    return (await post(`${url}/v1/pair/claim`, { token, installId: freshId(), step: 'scan' })).body.requester.address as string;
  };
  const forged = ['203.0.113.7', '203.0.113.7, 127.0.0.1', '127.0.0.1', '::1', 'unknown, "'];
  const seen = await Promise.all([{}, ...forged.map((value) => ({ 'x-forwarded-for': value }))].map(seenOf));
  const wrong = seen.filter((address) => address !== from);
  figures.report('addresses: those that coinop saw of a client with forged headers', wrong.join(' ') || 'none', 'none', wrong.length === 0);
}

/** Spellings of paths that only operators may reach. */
const CLOSED =
  '/metrics /metrics?x=1 /v1/admin /v1/admin/find /v1/%61dmin/find /v1//admin/find //v1/admin/find ' +
  '/console /console/ /console/session /console/keys /%63onsole //console';

async function proveBounds({ url, tlsPort }: Proxy, figures: Figures): Promise<void> {
  const tooLarge = await post(`${url}/v1/coins/credit`, `"${'x'.repeat(17 * 1024)}"`);
  figures.exactly('bounds: status of a body of 17 KiB', tooLarge.status, 413);
  const open: string[] = [];
  for (const path of CLOSED.split(' ')) if ((await ask(url + path)).status !== 404) open.push(path);
  figures.report('bounds: paths of operators that are not 404', open.join(' ') || 'none', 'none', open.length === 0);
  const host = `${OPERATORS}:${tlsPort}`;
  // 401 bad_key says that the service took the page for its own, 403 cross_site that it did not.
  const headers = { host, origin: `https://${host}`, 'x-console': 'look', authorization: `Bearer coinop_sk_12345678_${'x'.repeat(32)}` };
  const signIn = await post(`https://127.0.0.1:${tlsPort}/console/session`, {}, { headers });
  figures.exactly("console: status of a made-up key, typed at the operators' name", signIn.status, 401);
}
