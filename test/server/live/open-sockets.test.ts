import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { forFile, signIn } from '../../harness.ts';
import { open } from '../../features/rooms/room.ts';
import { ownRedis } from '../../realtime/own.ts';
import { RawSocket } from '../../realtime/raw-socket.ts';
import { eventually, watchRoom } from '../../realtime/watcher.ts';

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

test('an upgrade to a room or pairing that does not exist is refused with the JSON error', async () => {
  for (const code of ['BBBBB', 'AEIOU', 'x', '%00', '%E2%80'])
    expect((await refusals({}, `/v1/rooms/${code}/live`))[0]).toBe(code === '%E2%80' ? 400 : 404);
  expect(await refusals({}, '/v1/rooms/BBBBB/live')).toEqual([404, 'room_not_found']);
  expect(await refusals({}, `/v1/pair/live?token=${'x'.repeat(24)}`)).toEqual([404, 'pair_not_found']);
  expect(await refusals({}, '/v1/pair/live?token=short')).toEqual([404, 'pair_not_found']);
  expect(await refusals({}, '/v1/pair/live')).toEqual([400, 'invalid_request']);
});

test('an upgrade takes a room code in lower case and with a dash', async () => {
  const raw = await RawSocket.open(service.port, `/v1/rooms/${room.code.toLowerCase().slice(0, 2)}-${room.code.slice(2)}/live`);
  expect(raw.status).toBe(101);
  await eventually(() => raw.messages.length === 1);
  expect(raw.messages[0].room.code).toBe(room.code);
  raw.destroy();
});

test('a socket beyond SOCKETS_PER_ADDRESS is refused until another closes', async () => {
  await using strict = await redis.start({ settings: { SOCKETS_PER_ADDRESS: '3' } });
  const all = await Promise.all(Array.from({ length: 10 }, () => RawSocket.open(strict.port, path)));
  const admitted = all.filter(({ status }) => status === 101);
  expect(admitted).toHaveLength(3);
  const refused = all.find(({ status }) => status !== 101)!;
  expect([refused.status, refused.body.error.code]).toEqual([429, 'rate_limited']);
  expect(refused.response.toLowerCase()).toContain('retry-after:');
  admitted[0]!.destroy();
  await eventually(async () => {
    const raw = await RawSocket.open(strict.port, path);
    if (raw.status === 101) admitted.push(raw);
    return raw.status === 101;
  });
  expect((await RawSocket.open(strict.port, path)).status).toBe(429);
  for (const raw of all.concat(admitted)) raw.destroy();
});

test('a watcher beyond WATCHERS_PER_ROOM is refused, however many come at once', async () => {
  await using strict = await redis.start({ settings: { WATCHERS_PER_ROOM: '5' } });
  const all = await Promise.all(Array.from({ length: 30 }, () => RawSocket.open(strict.port, path)));
  expect(all.filter(({ status }) => status === 101)).toHaveLength(5);
  const refused = all.find(({ status }) => status !== 101)!;
  expect([refused.status, refused.body.error.code]).toEqual([503, 'overloaded']);
  for (const raw of all) raw.destroy();
});

test('an upgrade to a wrong room code counts as a miss', async () => {
  await using limited = await redis.start({ settings: { RATE_LIMIT: 'on', RATE_LIMIT_MISSES_PER_MINUTE: '2' } });
  const statuses = [];
  for (const code of ['BBBBB', 'BBBBC', 'BBBBD']) {
    const raw = await RawSocket.open(limited.port, `/v1/rooms/${code}/live`);
    statuses.push(raw.status);
    raw.destroy();
  }
  expect(statuses).toEqual([404, 404, 429]);
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
  // Both connections are older than the drain. The first keeps the drain waiting, the second asks for a socket.
  const [slow, late] = [connect(draining.port, '127.0.0.1'), connect(draining.port, '127.0.0.1')];
  let answer = '';
  late.on('data', (chunk) => void (answer += chunk.toString()));
  for (const socket of [slow, late]) socket.write('GET /health HTTP/1.1\r\nhost: x\r\n\r\n');
  await eventually(() => answer.includes('"ok":true'));
  slow.write('POST /v1/rooms HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 30\r\n\r\n{');
  const watcher = await watchRoom(draining, watched.code);
  const drained = draining.service.drain();
  expect((await watcher.closed).code).toBe(1001);
  answer = '';
  late.write(
    `GET /v1/rooms/${watched.code}/live HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${'a'.repeat(22)}==\r\n\r\n`,
  );
  await eventually(() => answer.includes('"code"'));
  expect(answer).toMatch(/^HTTP\/1\.1 503 /);
  expect(answer).toContain('"code":"overloaded"');
  slow.write(' '.repeat(28) + '}');
  await drained;
  slow.destroy();
  late.destroy();
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
