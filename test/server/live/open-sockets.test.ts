import { expect, test } from 'vitest';
import { forFile, signIn } from '../../harness.ts';
import { open } from '../../features/rooms/room.ts';
import { ownRedis } from '../../realtime/own.ts';
import { RawSocket } from '../../realtime/raw-socket.ts';
import { eventually, watchRoom } from '../../realtime/watcher.ts';
import { Lines, statusOf } from '../connection-lines.ts';

const redis = await forFile(ownRedis());
// On a loopback address the service would let pages of this machine in.
const service = await forFile(redis.start({ settings: { HOST: '0.0.0.0' } }));
const room = await open(service, { maxPlayers: 64 });
const path = `/v1/rooms/${room.code}/live`;

const refusals = async (headers: Record<string, string>, at = path): Promise<[number, string]> => {
  const raw = await RawSocket.open(service.port, at, headers);
  raw.destroy();
  expect(raw.response.toLowerCase()).toContain('content-type: application/json');
  expect(raw.body).toEqual({ ok: false, error: expect.objectContaining({ message: expect.any(String) }), requestId: expect.any(String) });
  return [raw.status, raw.body.error.code];
};

test('an upgrade from a foreign origin is refused, with a cookie and without', async () => {
  const cookie = await signIn(service, room.host);
  for (const origin of [
    'https://evil.example',
    'null',
    `http://127.0.0.1:${service.port}.evil.example`,
    `http://127.0.0.1:${service.port + 1}`,
  ]) {
    expect(await refusals({ origin })).toEqual([403, 'cross_site']);
    expect(await refusals({ origin, cookie })).toEqual([403, 'cross_site']);
  }
  const own = await RawSocket.open(service.port, path, { origin: `http://127.0.0.1:${service.port}` });
  expect(own.status).toBe(101);
  own.destroy();
});

test.each<[at: string, status: number, code: string]>([
  ...['BBBBB', 'AEIOU', 'x', '%00'].map((code): [string, number, string] => [`rooms/${code}/live`, 404, 'room_not_found']),
  ['rooms/%E2%80/live', 400, 'invalid_request'],
  [`pair/live?token=${'x'.repeat(24)}`, 404, 'pair_not_found'],
  ['pair/live?token=short', 404, 'pair_not_found'],
  ['pair/live', 400, 'invalid_request'],
])('an upgrade of /v1/%s is answered %i %s', async (at, ...answer) => {
  expect(await refusals({}, `/v1/${at}`)).toEqual(answer);
});

test('channels beyond CHANNELS_PER_SECOND wait, then are refused with a time each, which a page learns from a read', async () => {
  await using slow = await redis.start({ settings: { CHANNELS_PER_SECOND: '1' } });
  const all = await Promise.all(Array.from({ length: 20 }, () => RawSocket.open(slow.port, path)));
  const opened = all.filter((raw) => raw.status === 101);
  const refused = all.filter((raw) => raw.status !== 101);
  expect(opened.length).toBeGreaterThan(1);
  expect(refused.map(({ status, body }) => [status, body.error.code])).toEqual(refused.map(() => [503, 'overloaded']));
  const times = refused.map(({ body }) => body.error.retryAfterMs as number).toSorted((one, other) => one - other);
  expect(times.length).toBeGreaterThan(1);
  // Each waits a second longer than the one before, less the time that passed between the two refusals.
  expect(times.at(-1)! - times[0]!).toBeGreaterThan(500 * (times.length - 1));
  const read = () => slow.get(`/v1/rooms/${room.code}`);
  expect((await read()).body.error).toMatchObject({ code: 'overloaded', retryAfterMs: expect.any(Number) });
  await eventually(async () => (await read()).status === 200);
  for (const raw of all) raw.destroy();
});

test('an upgrade takes a room code in lower case and with a dash', async () => {
  const raw = await RawSocket.open(service.port, `/v1/rooms/${room.code.toLowerCase().slice(0, 2)}-${room.code.slice(2)}/live`);
  await eventually(() => raw.messages[0]?.room.code === room.code);
  raw.destroy();
});

test.each([
  ['SOCKETS_PER_ADDRESS', '3', 429, 'rate_limited'],
  ['WATCHERS_PER_ROOM', '5', 503, 'overloaded'],
])('a socket beyond %s is refused until another closes, however many come at once', async (setting, most, status, code) => {
  await using strict = await redis.start({ settings: { [setting]: most } });
  const all = await Promise.all(Array.from({ length: 30 }, () => RawSocket.open(strict.port, path)));
  const admitted = all.filter((raw) => raw.status === 101);
  expect(admitted).toHaveLength(Number(most));
  const refused = all.find((raw) => raw.status !== 101)!;
  expect([refused.status, refused.body.error.code]).toEqual([status, code]);
  expect(refused.response.toLowerCase()).toContain('retry-after:');
  admitted[0]!.destroy();
  await eventually(async () => {
    const raw = await RawSocket.open(strict.port, path);
    all.push(raw);
    return raw.status === 101;
  });
  expect((await RawSocket.open(strict.port, path)).status).toBe(status);
  for (const raw of all) raw.destroy();
});

test('a process unsubscribes from a channel whose clients go away at once', async () => {
  const quiet = await open(service);
  const subscribers = async (): Promise<unknown> => (await service.service.redis.pubsub('NUMSUB', `0:{room:${quiet.code}}`))[1];
  const staying = await watchRoom(service, quiet.code);
  await Promise.all(Array.from({ length: 30 }, async () => (await RawSocket.open(service.port, `/v1/rooms/${quiet.code}/live`)).destroy()));
  expect(await subscribers()).toBe(1);
  await staying.close();
  await eventually(async () => (await subscribers()) === 0);
});

test('an upgrade that comes during a drain is refused as overloaded, and the drain ends', async () => {
  const draining = await redis.start();
  const watched = await open(draining);
  using lines = new Lines(draining);
  // Both connections are older than the drain. The first keeps the drain waiting, the second asks for a socket.
  const [slow, late] = [await lines.open(), await lines.open()];
  for (const line of [slow, late]) line.socket.write('GET /health HTTP/1.1\r\nhost: x\r\n\r\n');
  await eventually(() => late.received.includes('"ok":true'));
  slow.socket.write('POST /v1/rooms HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 30\r\n\r\n{');
  const watcher = await watchRoom(draining, watched.code);
  const drained = draining.service.drain();
  expect((await watcher.closed).code).toBe(1001);
  late.received = '';
  const upgrade = `connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${'a'.repeat(22)}==`;
  late.socket.write(`GET /v1/rooms/${watched.code}/live HTTP/1.1\r\nhost: x\r\n${upgrade}\r\n\r\n`);
  await eventually(() => late.received.includes('"code":"overloaded"'));
  expect(statusOf(late)).toBe(503);
  slow.socket.write(' '.repeat(28) + '}');
  await drained;
});

// An upgrade inside a cork once closed one socket in ten.
test('an upgrade leaves its socket open: each of 100 gets its first state and the next', async () => {
  const rooms = await Promise.all(Array.from({ length: 5 }, () => open(service)));
  const raws: RawSocket[] = [];
  for (let round = 0; round < 20; round++)
    raws.push(...(await Promise.all(rooms.map(({ code }) => RawSocket.open(service.port, `/v1/rooms/${code}/live`)))));
  await eventually(() => raws.every(({ messages }) => messages.length === 1));
  await Promise.all(rooms.map(({ host, act }) => act('lock', host)));
  await eventually(() => raws.every(({ messages, isClosed }) => messages.length === 2 && !isClosed));
  for (const raw of raws) raw.destroy();
});
