import { describe, expect, onTestFinished, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { forFile, freshId, signIn } from '../harness.ts';
import { open, type TestRoom } from '../features/rooms/room.ts';
import { ownRedis } from './own.ts';
import { eventually, watchRoom, type Message, type WatchOptions, type Watcher } from './watcher.ts';

const redis = await forFile(ownRedis());
const service = await forFile(redis.start({ settings: { ROOM_TTL_SECONDS: '100', HOST_GRACE_SECONDS: '30' } }));

const connectedOf = (room: Message): Record<string, boolean> =>
  Object.fromEntries(room.players.map(({ id, connected }: Message) => [id, connected]));

async function watch({ code }: TestRoom, options?: WatchOptions, of = service): Promise<Watcher> {
  const watcher = await watchRoom(of, code, options);
  onTestFinished(() => watcher.close());
  return watcher;
}

/** A room whose host and other players are connected to its channel. */
async function seated(others: number): Promise<{ room: TestRoom; installs: string[]; players: Watcher[] }> {
  const room = await open(service);
  const installs = [room.host];
  while (installs.length <= others) installs.push(await room.join());
  const players: Watcher[] = [];
  for (const installId of installs) {
    const player = await watch(room);
    expect((await player.hello(installId)).type).toBe('welcome');
    players.push(player);
  }
  return { room, installs, players };
}

describe('a watcher', () => {
  test('is sent the whole state at once and after every change, equal to the state that a GET reads', async () => {
    const room = await open(service, { name: 'Ann', state: { turn: 1 } });
    const watcher = await watch(room);
    expect(await watcher.reaches(1)).toEqual(await room.read());
    await room.join('Bob');
    expect(await watcher.reaches(2)).toEqual(await room.read());
    await room.act('state', room.host, { state: [] });
    expect(await watcher.reaches(3)).toEqual(await room.read());
    expect(watcher.states.map(({ seq }) => seq)).toEqual([1, 2, 3]);
    expect(watcher.last.room.state).toEqual([]);
  });

  test('learns no credential of a player', async () => {
    const { room, installs, players } = await seated(2);
    const stranger = await watch(room);
    await room.act('ready', installs[2]!);
    await room.act('transfer', room.host, { playerId: 'p2' });
    const { seq } = await room.read();
    for (const watcher of [...players, stranger]) {
      await watcher.reaches(seq);
      const text = JSON.stringify(watcher.messages);
      for (const secret of installs.flatMap((installId) => [installId, accountIdOf(installId)])) expect(text).not.toContain(secret);
    }
    expect(stranger.messages.filter(({ type }) => type !== 'room')).toEqual([]);
  });

  test('is sent the latest state of a burst, few states in between and none twice, also if it connects in the middle of it', async () => {
    const room = await open(service);
    const watchers = await Promise.all(Array.from({ length: 5 }, () => watch(room)));
    const late: Promise<Watcher>[] = [];
    const startedAt = performance.now();
    for (let batch = 0; batch < 10; batch++) {
      late.push(watch(room), watch(room));
      await Promise.all(Array.from({ length: 20 }, (_, index) => room.act('state', room.host, { state: batch * 20 + index })));
    }
    const elapsedMs = performance.now() - startedAt;
    const { seq, state } = await room.read();
    expect(seq).toBe(201);
    for (const watcher of [...watchers, ...(await Promise.all(late))]) {
      expect((await watcher.reaches(seq)).state).toBe(state);
      expect([watcher.faults, watcher.messages[0].type]).toEqual([[], 'room']);
      expect(watcher.states.length).toBeLessThan((elapsedMs / 1000) * 60 + 3);
    }
  });
});

describe('presence', () => {
  test('a hello by installId marks its player connected and welcomes that socket alone, and the close marks the player away', async () => {
    const room = await open(service);
    const guest = await room.join();
    const [player, other] = await Promise.all([watch(room), watch(room)]);
    expect(await player.hello(guest)).toEqual({ type: 'welcome', you: { playerId: 'p2', host: false }, now: expect.any(Number) });
    const shown = await other.reaches(3);
    // A host who never connected stays host.
    expect([connectedOf(shown), shown.hostId]).toEqual([{ p1: false, p2: true }, 'p1']);
    // The same hello again is not answered: the next answer is that to the stranger.
    player.send({ type: 'hello', installId: guest });
    expect((await player.hello(freshId())).error.code).toBe('not_in_room');
    await player.close();
    expect(connectedOf(await other.reaches(4))).toEqual({ p1: false, p2: false });
    expect((await room.read()).players).toHaveLength(2);
    expect(other.messages.every(({ type }) => type === 'room')).toBe(true);
    expect(other.states.map(({ seq }) => seq)).toEqual([2, 3, 4]);
  });

  test('a session cookie marks its player connected without a hello', async () => {
    const room = await open(service);
    const watcher = await watch(room, { cookies: await signIn(service, room.host) });
    expect(await watcher.until(({ type }) => type === 'welcome')).toEqual({
      type: 'welcome',
      you: { playerId: 'p1', host: true },
      now: expect.any(Number),
    });
    expect(connectedOf(await watcher.reaches(2))).toEqual({ p1: true });
  });

  test('a cookie that was signed out, is forged, or belongs to a stranger marks no player connected', async () => {
    const room = await open(service);
    const signedOut = await signIn(service, room.host);
    await service.post('/v1/logout', {}, { cookies: signedOut });
    for (const cookies of [signedOut, await signIn(service, freshId()), `svc_session=${'x'.repeat(40)}`]) {
      const watcher = await watch(room, { cookies });
      // Messages are handled in order, after the cookie.
      expect((await watcher.hello(freshId())).error.code).toBe('not_in_room');
      expect(watcher.messages.map(({ type }) => type)).toEqual(['room', 'error']);
    }
    expect((await room.read()).seq).toBe(1);
  });

  test('a socket that says hello as two players counts as the later one, and leaves neither connected when it closes', async () => {
    const room = await open(service);
    const guest = await room.join();
    const witness = await watch(room);
    const socket = await watch(room);
    socket.send({ type: 'hello', installId: room.host });
    socket.send({ type: 'hello', installId: guest });
    await witness.until(({ room: shown }) => shown.players[1].connected && !shown.players[0].connected);
    await socket.until(({ type, you }) => type === 'welcome' && you.playerId === 'p2');
    expect(socket.messages.filter(({ type }) => type === 'welcome').map(({ you }) => you.playerId)).toEqual(['p1', 'p2']);
    await socket.close();
    await witness.until(({ seq, room: shown }) => seq > 3 && !shown.players[1].connected && !shown.players[0].connected);
    expect(await service.service.redis.exists(`{room:${room.code}}:leases`)).toBe(0);
  });

  test('sockets that close right after their hello leave no player connected', async () => {
    const room = await open(service);
    const witness = await watch(room);
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        const socket = await watch(room);
        socket.send({ type: 'hello', installId: room.host });
        await socket.close();
      }),
    );
    // The hellos and closes of the sockets overlap. At least one hello is done before its socket closes: seq rises by 2.
    await eventually(async () => {
      const { seq, ...shown } = await room.read();
      const leases = await service.service.redis.exists(`{room:${room.code}}:leases`);
      return seq >= 3 && leases === 0 && connectedOf(shown)['p1'] === false;
    });
  });

  test('a host who is away for HOST_GRACE_SECONDS hands over to the longest-seated connected player, and not before', async () => {
    await using timed = await redis.start({ settings: { HOST_GRACE_SECONDS: '5' }, stoppedClock: true });
    const room = await open(timed);
    // p2 never connects, so p3 is the longest-seated connected player.
    const [, third, fourth] = [await room.join(), await room.join(), await room.join()];
    const connect = async (installId: string): Promise<Watcher> => {
      const watcher = await watch(room, {}, timed);
      await watcher.hello(installId);
      return watcher;
    };
    const host = await connect(room.host);
    await connect(fourth);
    const witness = await connect(third);
    await host.close();
    const { room: away } = await witness.until(
      ({ room: shown }) => shown?.players[0].connected === false && shown.players[2].connected && shown.players[3].connected,
    );
    expect(away.hostId).toBe('p1');
    timed.advance(Date.parse(away.updatedAt) + 4999 - timed.now());
    // A hello makes the service look at the room's presence.
    await connect(fourth);
    expect((await room.read()).hostId).toBe('p1');
    timed.advance(1);
    const { room: passed } = await witness.until(({ room: shown }) => shown?.hostId === 'p3');
    expect(passed.players.map(({ host: isHost }: Message) => isHost)).toEqual([false, false, true, false]);
    // The old host has kept the seat, but not the role.
    const back = await watch(room, {}, timed);
    expect(await back.hello(room.host)).toEqual({ type: 'welcome', you: { playerId: 'p1', host: false }, now: expect.any(Number) });
  });

  test.each([
    ['at once', false],
    ['after a refused hello', true],
  ])('a player who leaves and joins again on the same socket is connected %s, and a hello is answered again', async (_, isRefused) => {
    const { room, installs, players } = await seated(1);
    const [host, guest] = players as [Watcher, Watcher];
    const isBack = (): Promise<Message> =>
      host.until((message) => message.room?.players.some(({ id, connected }: Message) => id === 'p3' && connected));
    await room.act('leave', installs[1]!);
    await guest.until(() => guest.last.room.players.length === 1);
    if (isRefused) expect((await guest.hello(installs[1]!)).error.code).toBe('not_in_room');
    await room.act('join', installs[1]!);
    if (!isRefused) await isBack();
    expect(await guest.hello(installs[1]!)).toEqual({ type: 'welcome', you: { playerId: 'p3', host: false }, now: expect.any(Number) });
    await isBack();
    // The hello is not answered again as long as the player keeps the seat.
    guest.send({ type: 'hello', installId: installs[1]! });
    expect((await guest.hello(freshId())).error.code).toBe('not_in_room');
  });
});

describe('the end', () => {
  test.each<[how: string, action: string]>([
    ['that its host ends', 'end'],
    ['that its last player leaves', 'leave'],
    ['by a rematch', 'rematch'],
  ])('of a room %s sends its last state, then 4501, to watchers and to those that connect later', async (_, action) => {
    const room = await open(service);
    const watcher = await watch(room);
    const { body } = await room.act(action, room.host);
    const { players, nextCode, seq } = action === 'leave' ? await room.read() : body.room;
    for (const each of [watcher, await watch(room)]) {
      expect(await each.closed).toEqual({ code: 4501, reason: 'finished' });
      expect(each.last).toMatchObject({ seq, room: { phase: 'ended', players } });
      expect([each.last.room.nextCode, each.faults]).toEqual([nextCode, []]);
    }
  });

  test('of a room that expires closes its channel with 4500, though no client asks', async () => {
    await using timed = await redis.start({ settings: { ROOM_TTL_SECONDS: '100' } });
    const room = await open(timed);
    const watcher = await watch(room, {}, timed);
    timed.advance(101_000);
    expect(await watcher.closed).toEqual({ code: 4500, reason: 'gone' });
    expect(watcher.states).toHaveLength(1);
    await expect(watch(room, {}, timed)).rejects.toThrow('no channel');
  });

  test('of a room whose state in Redis went back closes the channel with 4009, and the next connection gets the older state', async () => {
    const room = await open(service);
    const { redis: commands } = service.service;
    const older = await commands.dumpBuffer(`{room:${room.code}}`);
    await room.join();
    const watcher = await watch(room);
    await watcher.reaches(2);
    await commands.restore(`{room:${room.code}}`, 0, older!, 'REPLACE');
    expect((await watcher.closed).code).toBe(4009);
    const next = await watch(room);
    expect((await next.reaches(1)).seq).toBe(1);
  });
});
