import { connect, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { freshId, type TestReply } from '../harness.ts';
import { open } from '../features/rooms/room.ts';
import { twoProcesses } from './own.ts';
import { eventually } from './watcher.ts';

const { redis, here, there } = await twoProcesses();

/** Waits until so many processes have subscribed to the channel. */
const subscribed = (channel: string, count: number): Promise<void> =>
  eventually(async () => Number((await here.service.redis.pubsub('NUMSUB', `0:${channel}`))[1]) === count);

const roomPath = (code: string, query: string): string => `/v1/rooms/${code}?${query}`;
const pairPath = (token: string, query: string): string => `/v1/pair/status?token=${token}&${query}`;

/** Sends requests, and does not wait for their answers. */
function ask(port: number, path: string, count: number): Socket[] {
  return Array.from({ length: count }, () => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
    onTestFinished(() => void socket.destroy());
    return socket;
  });
}

/** Awaits answers that come without a change, and those of polls that wait. @returns whether the former came first */
async function comesBefore(answer: Promise<TestReply>, waiting: Promise<TestReply>): Promise<TestReply> {
  expect(await Promise.race([answer, waiting])).toBe(await answer);
  return answer;
}

describe('rooms', () => {
  test('a change of the room answers the polls on every process', async () => {
    const room = await open(here);
    const waiting = [here, there].map((service) => service.get(roomPath(room.code, 'since=1&wait=20')));
    await subscribed(`{room:${room.code}}`, 2);
    await room.act('lock', room.host);
    for (const { body } of await Promise.all(waiting)) expect([body.room.seq, body.room.locked]).toEqual([2, true]);
  });

  test('a poll without a change is answered with the present room after the wait, though its since is in the future', async () => {
    const room = await open(here);
    for (const since of [1, 999_999]) {
      const startedAt = performance.now();
      expect((await here.get(roomPath(room.code, `since=${since}&wait=1`))).body.room.seq).toBe(1);
      expect(performance.now() - startedAt).toBeGreaterThanOrEqual(990);
    }
  });

  test('a poll of an older seq, without a wait, or without a since is answered at once', async () => {
    const room = await open(here);
    await room.act('lock', room.host);
    const waiting = here.get(roomPath(room.code, 'since=2&wait=20'));
    for (const query of ['since=1&wait=20', 'since=0&wait=25', 'since=2&wait=0', 'since=2', 'wait=20']) {
      const { status, body } = await comesBefore(here.get(roomPath(room.code, query)), waiting);
      expect([query, status, body.room.seq]).toEqual([query, 200, 2]);
    }
    const unknown = await comesBefore(here.get('/v1/rooms/BBBBB?since=1&wait=20'), waiting);
    expect([unknown.status, unknown.body.error.code]).toEqual([404, 'room_not_found']);
    await room.act('unlock', room.host);
    expect((await waiting).body.room.seq).toBe(3);
  });

  test.each([
    ['since=1&wait=26', 'wait'],
    ['since=1&wait=1e1', 'wait'],
    ['since=x&wait=1', 'since'],
    ['since=1234567890123456&wait=1', 'since'],
  ])('a poll with %s is refused', async (query, field) => {
    const { status, body } = await here.get(roomPath((await open(here)).code, query));
    expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', field]);
  });

  test('a poll of a room that expires is answered 404 when it does', async () => {
    await using brief = await redis.start({ settings: { ROOM_TTL_SECONDS: '100' } });
    const room = await open(brief);
    brief.advance(99_000);
    const startedAt = performance.now();
    const { status, body } = await brief.get(roomPath(room.code, 'since=1&wait=25'));
    expect([status, body.error.code, performance.now() - startedAt < 24_000]).toEqual([404, 'room_not_found', true]);
  });

  test('a change between two polls reaches the next poll', async () => {
    const room = await open(here);
    for (let seq = 1; seq <= 30; seq++) {
      const polled = there.get(roomPath(room.code, `since=${seq}&wait=10`));
      await room.act('state', room.host, { state: seq });
      expect((await polled).body.room.seq).toBe(seq + 1);
    }
  });

  test('a process unsubscribes from a room when the clients of all its polls have gone, whenever they go', async () => {
    const { code } = await open(here);
    const sockets = ask(here.port, roomPath(code, 'since=1&wait=25'), 20);
    await subscribed(`{room:${code}}`, 1);
    for (const socket of sockets) socket.destroy();
    await subscribed(`{room:${code}}`, 0);
    // These clients disconnect before Redis has answered.
    for (const [times, socket] of ask(here.port, roomPath(code, 'since=1&wait=25'), 50).entries()) {
      if (socket.connecting) await new Promise((resolve) => socket.once('connect', resolve));
      if (times % 2 === 0) await new Promise((resolve) => setImmediate(resolve));
      socket.destroy();
    }
    await subscribed(`{room:${code}}`, 0);
  });

  test('waiting polls take no place among the requests in flight', async () => {
    await using small = await redis.start({ settings: { MAX_IN_FLIGHT: '5' } });
    const room = await open(small);
    const sockets = ask(small.port, roomPath(room.code, 'since=1&wait=25'), 50);
    let answers = '';
    for (const socket of sockets) socket.on('data', (chunk) => void (answers += chunk.toString()));
    await subscribed(`{room:${room.code}}`, 1);
    for (let index = 0; index < 20; index++) expect((await small.get(`/v1/rooms/${room.code}`)).status).toBe(200);
    expect((await small.get('/metrics')).body).toMatch(/^coinop_http_requests_in_flight [0-5]$/m);
    await room.act('lock', room.host);
    await eventually(() => (answers.match(/HTTP\/1\.1 200 /g) ?? []).length === sockets.length);
  });
});

describe('pairings', () => {
  test('a poll is answered when the pairing is claimed, on every process, and only its own browser gets the cookie', async () => {
    const { body, cookies } = await here.post('/v1/pair/new');
    const path = pairPath(body.token, 'wait=20');
    const polls = [there.get(path, { cookies }), here.get(path)];
    await subscribed(`{pair:${body.token}}`, 2);
    await here.post('/v1/pair/claim', { token: body.token, installId: freshId() });
    const [browser, stranger] = (await Promise.all(polls)) as [TestReply, TestReply];
    expect([browser.body.status, stranger.body.status]).toEqual(['claimed', 'claimed']);
    expect([browser.cookies.length, stranger.cookies.length]).toEqual([1, 0]);
  });

  test('a poll without a change is answered with the present status after the wait, and one that is behind at once', async () => {
    const { token } = (await here.post('/v1/pair/new')).body;
    for (const query of ['wait=1', 'wait=1&since=pending']) expect((await here.get(pairPath(token, query))).body.status).toBe('pending');
    await here.post('/v1/pair/claim', { token, installId: freshId(), step: 'scan' });
    const waiting = here.get(pairPath(token, 'wait=1&since=scanned'));
    expect((await comesBefore(here.get(pairPath(token, 'wait=20&since=pending')), waiting)).body.status).toBe('scanned');
  });

  test('a poll is answered when the pairing expires, and later polls of the final status at once', async () => {
    await using brief = await redis.start();
    const { token } = (await brief.post('/v1/pair/new')).body;
    brief.advance(179_000);
    for (let times = 0; times < 2; times++) expect((await brief.get(pairPath(token, 'wait=20'))).body.status).toBe('expired');
    expect((await brief.get(pairPath('x'.repeat(24), 'wait=20'))).status).toBe(404);
  });
});

test('a drain answers every poll with the present state', async () => {
  const service = await redis.start();
  const room = await open(service);
  const { token } = (await service.post('/v1/pair/new')).body;
  const polls = [service.get(roomPath(room.code, 'since=1&wait=25')), service.get(pairPath(token, 'wait=25'))];
  await subscribed(`{room:${room.code}}`, 1);
  await subscribed(`{pair:${token}}`, 1);
  await service.service.drain();
  const [shown, status] = (await Promise.all(polls)) as [TestReply, TestReply];
  expect([shown.status, shown.body.room.seq, status.body.status]).toEqual([200, 1, 'pending']);
});
