import { describe, expect, test } from 'vitest';
import { audited } from '../../consistency/audited.ts';
import { forFile, freshId, start, type TestService } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { Watcher } from '../../realtime/watcher.ts';
import { makeServerKey } from '../../server-keys.ts';
import { open, seated, watched, type TestRoom } from './room.ts';

const own = await forFile(startRedis());
const service = await forFile(start({ redis: own.location }));

const ids = ({ players }: { players: { id: string }[] }): string[] => players.map(({ id }) => id);
const seats = async (room: TestRoom): Promise<string[]> => ids(await room.read());
const delay = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** A player has a channel, and closes it. The room shows that. */
async function comesAndGoes(room: TestRoom, installId: string, at: TestService = service): Promise<void> {
  await (await seated(at, room, installId)).close();
  await expect.poll(async () => (await room.read()).players.some(({ connected }: { connected: boolean }) => connected)).toBe(false);
}

/** A room of a quick match with two players. */
async function matched(): Promise<TestRoom & { guest: string }> {
  const [game, host, guest] = [freshId('game').toLowerCase(), freshId(), freshId()];
  const ask = (installId: string) => service.post('/v1/rooms/match', { installId, game, maxPlayers: 3 });
  const { code } = (await ask(host)).body.room;
  expect((await ask(guest)).body.room.code).toBe(code);
  const act = (action: string, installId: string, more?: object) => service.post(`/v1/rooms/${code}/${action}`, { installId, ...more });
  return { code, host, guest, act, join: async () => '', read: async () => (await service.get(`/v1/rooms/${code}`)).body.room };
}

describe('seatGraceSeconds', () => {
  test('is shown by a room, changed by settings in the lobby, and kept by a rematch', async () => {
    const room = await open(service, { seatGraceSeconds: 20 });
    expect((await room.read()).seatGraceSeconds).toBe(20);
    expect((await open(service).then((plain) => plain.read())).seatGraceSeconds).toBeNull();
    const set = async (seatGraceSeconds: unknown) => {
      const { status, body } = await room.act('settings', room.host, { seatGraceSeconds });
      return status === 200 ? body.room.seatGraceSeconds : body.error.code;
    };
    for (const wrong of [0, 3601, 1.5, '10']) expect([wrong, await set(wrong)]).toEqual([wrong, 'invalid_request']);
    for (const grace of [3600, null, 1]) expect(await set(grace)).toBe(grace);
    await room.act('start', room.host);
    expect(await set(2)).toBe('room_started');
    const { nextCode, seatGraceSeconds } = (await room.act('rematch', room.host)).body.room;
    expect(seatGraceSeconds).toBe(1);
    expect((await service.get(`/v1/rooms/${nextCode}`)).body.room.seatGraceSeconds).toBe(1);
  });

  test('is 10 in a room of a match until it starts, unless the host has set it', async () => {
    const room = await matched();
    expect((await room.read()).seatGraceSeconds).toBe(10);
    const next = (await room.act('rematch', room.host)).body.room.nextCode;
    expect((await service.get(`/v1/rooms/${next}`)).body.room.seatGraceSeconds).toBeNull();
    const [plain, set] = [await matched(), await matched()];
    expect((await plain.act('start', plain.host)).body.room.seatGraceSeconds).toBeNull();
    await set.act('settings', set.host, { seatGraceSeconds: 10 });
    expect((await set.act('start', set.host)).body.room.seatGraceSeconds).toBe(10);
  });

  test('frees the seat of a player whose channel has been closed for that long, in every phase, and hands over the host', async () => {
    const room = await open(service, { seatGraceSeconds: 1 });
    const guest = await room.join();
    await room.join();
    await room.act('start', room.host);
    const watcher = await watched(service, room.code);
    const ofGuest = await seated(service, room, guest);
    await (await seated(service, room, room.host)).close();
    const { room: after } = await watcher.until(({ type, room: shown }) => type === 'room' && ids(shown)[0] === 'p2');
    // The third player never had a channel.
    expect([ids(after), after.hostId]).toEqual([['p2', 'p3'], 'p2']);
    // A second channel of the player keeps the seat.
    const second = await seated(service, room, guest);
    await ofGuest.close();
    await delay(2500);
    expect(await seats(room)).toEqual(['p2', 'p3']);
    await second.close();
    await expect.poll(() => seats(room)).toEqual(['p3']);
    expect((await audited(own.location)).findings).toEqual([]);
  });

  test('ends a room with its last player, and holds for a player who was away before it was set', async () => {
    const room = await open(service);
    const watcher = await watched(service, room.code);
    await comesAndGoes(room, room.host);
    await room.act('settings', room.host, { seatGraceSeconds: 1 });
    expect((await watcher.closed).code).toBe(4501);
    expect(watcher.last.room).toMatchObject({ phase: 'ended', players: [] });
  });

  test.each([0, 4000])('does not count the time without any process (%d ms), and begins anew after it', async (awayMs) => {
    await using redis = await startRedis();
    const first = await start({ redis: redis.location });
    const room = await open(first, { seatGraceSeconds: 3 });
    const watcher = await Watcher.open(first.url, `/v1/rooms/${room.code}/live`);
    await watcher.hello(room.host);
    await watcher.close();
    await first[Symbol.asyncDispose]();
    await delay(awayMs);
    const startedAt = performance.now();
    await using second = await start({ redis: redis.location });
    const phase = async (): Promise<string> => (await second.get(`/v1/rooms/${room.code}`)).body.room.phase;
    expect(await phase()).toBe('lobby');
    await expect.poll(phase).toBe('ended');
    expect(performance.now() - startedAt).toBeGreaterThan(3000);
  });
});

test('startWhenFull waits until no player is away, judged at each join and each welcome', async () => {
  const room = await open(service, { startWhenFull: true, maxPlayers: 3 });
  const guest = await room.join();
  await comesAndGoes(room, room.host);
  // The second never had a channel, and counts as present.
  await room.join();
  expect((await room.read()).phase).toBe('lobby');
  await seated(service, room, guest);
  expect((await room.read()).phase).toBe('lobby');
  await seated(service, room, room.host);
  expect((await room.read()).phase).toBe('playing');
  const other = await open(service, { startWhenFull: true, maxPlayers: 2 });
  await seated(service, other, other.host);
  await other.join();
  expect((await other.read()).phase).toBe('playing');
});

describe('away', () => {
  test('names the receivers of a message without a welcomed channel, over HTTP and over the channel', async () => {
    const room = await open(service);
    await Promise.all([room.join(), room.join()]);
    const away = async (installId: string, to?: string[]) => (await room.act('message', installId, { data: 1, to })).body.away;
    const ofHost = await seated(service, room, room.host);
    // A connection that only watches does not count.
    await watched(service, room.code);
    const order = 1;
    ofHost.send({ type: 'act', order, action: 'message', data: 1 });
    ofHost.send({ type: 'act', order, action: 'message', data: 1 });
    ofHost.send({ type: 'act', order: 2, action: 'message', data: 1, to: ['p1'] });
    await ofHost.until((message) => message.type === 'acted' && message.order === 2);
    const answers = ofHost.messages.filter(({ type }) => type === 'acted');
    expect(answers.map(({ away: absent }) => absent)).toEqual([['p2', 'p3'], ['p2', 'p3'], undefined]);
    expect(await away(room.host)).toEqual(['p2', 'p3']);
    expect(await away(room.host, ['p3', 'p1', 'server'])).toEqual(['p3', 'server']);
    await ofHost.close();
    await expect.poll(() => away(room.host, ['p1'])).toEqual(['p1']);
  });

  test('names the server of a room while it has no channel', async () => {
    const { token: serverKey } = await makeServerKey(service, ['rooms']);
    const { body } = await service.post('/v1/rooms', { seatless: true }, { bearer: serverKey });
    const [code, installId] = [body.room.code as string, freshId()];
    await service.post(`/v1/rooms/${code}/join`, { installId });
    const away = async (to?: string[]) => (await service.post(`/v1/rooms/${code}/message`, { installId, data: 1, to })).body.away;
    expect(await away(['server'])).toEqual(['server']);
    const [one, other] = [await watched(service, code), await watched(service, code)];
    await one.hello({ serverKey }, 's');
    await other.hello({ serverKey });
    expect([await away(['server', 'p1']), await away()]).toEqual([['p1'], undefined]);
    // The server may become a player, on the same connection.
    await one.hello(installId);
    expect(await away(['server', 'p1'])).toBeUndefined();
    await other.close();
    await expect.poll(() => away(['server'])).toEqual(['server']);
  });
});
