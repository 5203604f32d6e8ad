import { connect, type Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { freshId, type TestReply } from '../harness.ts';
import { open } from '../features/rooms/room.ts';
import { twoProcesses } from './own.ts';
import { eventually, watchRoom } from './watcher.ts';

const { redis, here, there } = await twoProcesses();

const subscribers = async (channel: string): Promise<number> => Number((await here.service.redis.pubsub('NUMSUB', `0:${channel}`))[1]);
const timed = async (reply: Promise<TestReply>): Promise<[reply: TestReply, seconds: number]> => {
  const startedAt = performance.now();
  return [await reply, (performance.now() - startedAt) / 1000];
};
/** Sends a request, and does not wait for its answer. */
const ask = (port: number, path: string): Socket => {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
  return socket;
};

describe('rooms', () => {
  test('a poll is answered at once when the room changes, on every process', async () => {
    const room = await open(here);
    const waiting = [here, there].map((service) => timed(service.get(`/v1/rooms/${room.code}?since=1&wait=20`)));
    await eventually(async () => (await subscribers(`{room:${room.code}}`)) === 2);
    await room.act('lock', room.host);
    for (const [{ body }, seconds] of await Promise.all(waiting)) {
      expect([body.room.seq, body.room.locked]).toEqual([2, true]);
      expect(seconds).toBeLessThan(2);
    }
    await eventually(async () => (await subscribers(`{room:${room.code}}`)) === 0);
  });

  test('a poll without a change is answered with the present room after the wait, though its since is in the future', async () => {
    const room = await open(here);
    const [[{ body }, seconds], [future]] = await Promise.all([
      timed(here.get(`/v1/rooms/${room.code}?since=1&wait=1`)),
      timed(here.get(`/v1/rooms/${room.code}?since=999999&wait=1`)),
    ]);
    expect([body.room.seq, future.body.room.seq]).toEqual([1, 1]);
    expect(seconds).toBeGreaterThanOrEqual(0.99);
    expect(seconds).toBeLessThan(2);
  });

  test('a poll of an older seq, without a wait, or without a since is answered at once', async () => {
    const room = await open(here);
    await room.act('lock', room.host);
    for (const query of ['since=1&wait=20', 'since=0&wait=25', 'since=2&wait=0', 'since=2', 'wait=20', 'since=2&wait=']) {
      const [{ status, body }, seconds] = await timed(here.get(`/v1/rooms/${room.code}?${query}`));
      expect([query, status, body.room?.seq ?? body.error.code]).toEqual([
        query,
        ...(query.endsWith('wait=') ? [400, 'invalid_request'] : [200, 2]),
      ]);
      expect(seconds).toBeLessThan(1);
    }
  });

  test.each([
    'since=1&wait=26',
    'since=1&wait=-1',
    'since=1&wait=1.5',
    'since=1&wait=1e1',
    'since=1&wait=x',
    'since=-1&wait=1',
    'since=x&wait=1',
    'since=1234567890123456&wait=1',
  ])('a poll with %s is refused', async (query) => {
    const room = await open(here);
    const { status, body } = await here.get(`/v1/rooms/${room.code}?${query}`);
    expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', query.startsWith('since=1&') ? 'wait' : 'since']);
  });

  test('a poll of an unknown room is answered 404 at once, a poll of a room that expires when it does', async () => {
    await using brief = await redis.start({ settings: { ROOM_TTL_SECONDS: '100' } });
    const [unknown, seconds] = await timed(brief.get('/v1/rooms/BBBBB?since=1&wait=20'));
    expect([unknown.status, seconds < 1]).toEqual([404, true]);
    const room = await open(brief);
    brief.advance(99_000);
    const [gone, waited] = await timed(brief.get(`/v1/rooms/${room.code}?since=1&wait=20`));
    expect([gone.status, gone.body.error.code]).toEqual([404, 'room_not_found']);
    expect(waited).toBeLessThan(10);
  });

  test('a change between two polls reaches the next poll', async () => {
    const room = await open(here);
    for (let seq = 1; seq <= 30; seq++) {
      const polled = there.get(`/v1/rooms/${room.code}?since=${seq}&wait=10`);
      await room.act('state', room.host, { state: seq });
      const { body } = await polled;
      expect(body.room.seq).toBe(seq + 1);
    }
  });

  test('a poll and a watcher of one room both get a change', async () => {
    const room = await open(here);
    const watcher = await watchRoom(here, room.code);
    const polled = here.get(`/v1/rooms/${room.code}?since=1&wait=20`);
    await room.act('lock', room.host);
    expect((await polled).body.room.seq).toBe(2);
    await watcher.reaches(2);
    await room.act('unlock', room.host);
    await watcher.reaches(3);
    await watcher.close();
  });

  test('a process unsubscribes from a room when the clients of all its polls have gone, whenever they go', async () => {
    const room = await open(here);
    const channel = `{room:${room.code}}`;
    const sockets = Array.from({ length: 20 }, () => ask(here.port, `/v1/rooms/${room.code}?since=1&wait=25`));
    await eventually(async () => (await subscribers(channel)) === 1);
    for (const socket of sockets) socket.destroy();
    await eventually(async () => (await subscribers(channel)) === 0, 5000);
    // These clients disconnect before Redis has answered.
    for (let times = 0; times < 50; times++) {
      const socket = ask(here.port, `/v1/rooms/${room.code}?since=1&wait=25`);
      await new Promise((resolve) => socket.once('connect', resolve));
      if (times % 2 === 0) await new Promise((resolve) => setImmediate(resolve));
      socket.destroy();
    }
    await eventually(async () => (await subscribers(channel)) === 0, 5000);
  });

  test('200 waiting polls take no place among the requests in flight', async () => {
    await using small = await redis.start({ settings: { MAX_IN_FLIGHT: '5' } });
    const room = await open(small);
    const sockets = Array.from({ length: 200 }, () => ask(small.port, `/v1/rooms/${room.code}?since=1&wait=25`));
    let answers = '';
    for (const socket of sockets) socket.on('data', (chunk) => void (answers += chunk.toString()));
    await eventually(async () => (await subscribers(`{room:${room.code}}`)) === 1);
    for (let index = 0; index < 20; index++) expect((await small.get(`/v1/rooms/${room.code}`)).status).toBe(200);
    expect((await small.get('/metrics')).body).toMatch(/^coinop_http_requests_in_flight [0-5]$/m);
    await room.act('lock', room.host);
    await eventually(() => (answers.match(/HTTP\/1\.1 200 /g) ?? []).length === 200);
    for (const socket of sockets) socket.destroy();
  });
});

describe('pairings', () => {
  const pair = async (): Promise<{ token: string; cookies: string[] }> => {
    const { body, cookies } = await here.post('/v1/pair/new');
    return { token: body.token, cookies };
  };

  test('a poll is answered at once when the pairing is claimed, on every process, and only its own browser gets the cookie', async () => {
    const { token, cookies } = await pair();
    const polls = [
      timed(there.get(`/v1/pair/status?token=${token}&wait=20`, { cookies })),
      timed(here.get(`/v1/pair/status?token=${token}&wait=20`)),
    ] as const;
    await eventually(async () => (await subscribers(`{pair:${token}}`)) === 2);
    await here.post('/v1/pair/claim', { token, installId: freshId() });
    const [[browser, seconds], [stranger]] = await Promise.all(polls);
    expect([browser.body.status, stranger.body.status]).toEqual(['claimed', 'claimed']);
    expect([browser.cookies.length, stranger.cookies.length]).toEqual([1, 0]);
    expect(seconds).toBeLessThan(2);
  });

  test('a poll without a change is answered with the present status after the wait', async () => {
    const { token } = await pair();
    const [[quiet, seconds], [known]] = await Promise.all([
      timed(here.get(`/v1/pair/status?token=${token}&wait=1`)),
      timed(here.get(`/v1/pair/status?token=${token}&wait=1&since=pending`)),
    ]);
    expect([quiet.body.status, known.body.status]).toEqual(['pending', 'pending']);
    expect(seconds).toBeGreaterThanOrEqual(0.99);
    await here.post('/v1/pair/claim', { token, installId: freshId(), step: 'scan' });
    const [news, at] = await timed(here.get(`/v1/pair/status?token=${token}&wait=20&since=pending`));
    expect([news.body.status, at < 1]).toEqual(['scanned', true]);
  });

  test('a poll is answered when the pairing expires, and later polls of the final status at once', async () => {
    await using brief = await redis.start();
    const { body } = await brief.post('/v1/pair/new');
    brief.advance(179_000);
    const [expired, waited] = await timed(brief.get(`/v1/pair/status?token=${body.token}&wait=20`));
    expect([expired.body.status, waited < 10]).toEqual(['expired', true]);
    const [again, seconds] = await timed(brief.get(`/v1/pair/status?token=${body.token}&wait=20`));
    expect([again.body.status, seconds < 1]).toEqual(['expired', true]);
    const [unknown, at] = await timed(brief.get(`/v1/pair/status?token=${'x'.repeat(24)}&wait=20`));
    expect([unknown.status, at < 1]).toEqual([404, true]);
  });
});

test('a drain answers every poll with the present state, and ends within seconds', async () => {
  const service = await redis.start();
  const room = await open(service);
  const { body } = await service.post('/v1/pair/new');
  const polls = [
    timed(service.get(`/v1/rooms/${room.code}?since=1&wait=20`)),
    timed(service.get(`/v1/pair/status?token=${body.token}&wait=20`)),
  ];
  await eventually(async () => (await subscribers(`{room:${room.code}}`)) === 1 && (await subscribers(`{pair:${body.token}}`)) === 1);
  const drained = service.service.drain();
  const [[shown], [status]] = (await Promise.all(polls)) as [[TestReply, number], [TestReply, number]];
  expect([shown.status, shown.body.room.seq, status.body.status]).toEqual([200, 1, 'pending']);
  const startedAt = performance.now();
  await drained;
  expect(performance.now() - startedAt).toBeLessThan(3000);
});
