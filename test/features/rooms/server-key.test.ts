import { describe, expect, test } from 'vitest';
import { forFile, freshId, start, type TestReply } from '../../harness.ts';
import { makeServerKey } from '../../server-keys.ts';
import { signInToStore } from '../../store.ts';
import { open, refusal, type TestRoom } from './room.ts';

const service = await forFile(start());
const { token: rooms } = await makeServerKey(service, ['rooms']);
const { token: ofTetris } = await makeServerKey(service, ['rooms'], { game: 'tetris' });
const { token: ofCoins } = await makeServerKey(service, ['coins', 'scores', 'accounts:read']);

const host = (room: { code: string }, action: string, more: object = {}, bearer = rooms): Promise<TestReply> =>
  service.post(`/v1/rooms/${room.code}/${action}`, more, { bearer });

const hostActions = ['start', 'end', 'kick', 'transfer', 'lock', 'unlock', 'state', 'rematch'];
/** Body fields that an action requires. */
const needed: Record<string, object> = { kick: { playerId: 'p2' }, transfer: { playerId: 'p2' }, state: { state: 1 } };
const hosts = ({ players }: { players: { id: string; host: boolean }[] }) => players.filter(({ host: is }) => is).map(({ id }) => id);

/** A room of this game with a second player, and its document. */
async function openWithTwo(settings: object = {}): Promise<TestRoom & { guest: string }> {
  const room = await open(service, settings);
  return { ...room, guest: await room.join() };
}

describe('a server key of the scope rooms', () => {
  test('acts as the host, and its answers name the seat of the host', async () => {
    const room = await openWithTwo({ minPlayers: 2 });
    const seen: [string, number, object][] = [];
    for (const [action, more] of [
      ['lock', {}],
      ['unlock', {}],
      ['state', { state: { round: 1 } }],
      ['start', {}],
      ['transfer', { playerId: 'p2' }],
      ['kick', { playerId: 'p1' }],
      ['end', {}],
    ] as const) {
      const { status, body } = await host(room, action, more);
      expect([action, status, body.room]).toEqual([action, 200, await room.read()]);
      seen.push([action, body.room.seq, body.you]);
    }
    const [first, second] = [
      { playerId: 'p1', host: true },
      { playerId: 'p2', host: true },
    ];
    expect(seen).toEqual([
      ['lock', 3, first],
      ['unlock', 4, first],
      ['state', 5, first],
      ['start', 6, first],
      ['transfer', 7, second],
      ['kick', 8, second],
      ['end', 9, second],
    ]);
    expect(await room.read()).toMatchObject({ phase: 'ended', locked: false, state: { round: 1 }, hostId: 'p2' });
  });

  test.each(['join', 'leave', 'ready', 'unready'])('has no seat: %s is refused with forbidden', async (action) => {
    const room = await openWithTwo();
    const before = await room.read();
    for (const more of [{}, { installId: room.host }, { installId: freshId() }]) {
      const reply = await host(room, action, more);
      expect([...refusal(reply), reply.body.error.field]).toEqual([403, 'forbidden', 'action']);
    }
    expect(await room.read()).toEqual(before);
  });

  test('is refused what a host is refused', async () => {
    const [lobby, ended] = [await open(service, { minPlayers: 2 }), await openWithTwo()];
    await host(ended, 'end');
    for (const [room, action, more, outcome] of [
      [lobby, 'dance', {}, [400, 'unknown_action']],
      [lobby, 'kick', {}, [400, 'invalid_request']],
      [lobby, 'transfer', { playerId: 'p9' }, [400, 'invalid_request']],
      [lobby, 'start', {}, [409, 'not_enough_players']],
      [ended, 'start', {}, [409, 'room_ended']],
      [{ code: 'BBBBB' }, 'start', {}, [404, 'room_not_found']],
    ] as const)
      expect([action, ...refusal(await host(room, action, more))]).toEqual([action, ...outcome]);
    expect((await lobby.read()).seq).toBe(1);
  });

  test('opens no account, and counts for none that the request names', async () => {
    const room = await openWithTwo();
    const installId = freshId();
    expect((await host(room, 'lock', { installId })).body.you).toEqual({ playerId: 'p1', host: true });
    expect((await service.post('/v1/account/resolve', { installId })).body.created).toBe(true);
  });
});

describe('a key of the scope rooms and a game', () => {
  test.each(hostActions)('performs %s in a room of its game only', async (action) => {
    const [own, other, none] = [await openWithTwo({ game: 'tetris' }), await openWithTwo({ game: 'chess' }), await openWithTwo()];
    for (const room of [other, none]) {
      const before = await room.read();
      expect(refusal(await host(room, action, needed[action], ofTetris))).toEqual([403, 'forbidden']);
      expect(await room.read()).toEqual(before);
      expect((await host(room, action, needed[action])).status).toBe(200);
    }
    expect((await host(own, action, needed[action], ofTetris)).status).toBe(200);
  });
});

test('a key without the scope rooms is refused with forbidden', async () => {
  const room = await openWithTwo();
  const before = await room.read();
  for (const action of hostActions) {
    const reply = await host(room, action, needed[action], ofCoins);
    expect([...refusal(reply), reply.body.error.scope]).toEqual([403, 'forbidden', 'rooms']);
  }
  expect(await room.read()).toEqual(before);
});

describe('a room whose host has left', () => {
  test('lets the server act for the next host', async () => {
    const room = await openWithTwo();
    await room.act('leave', room.host);
    expect((await host(room, 'lock')).body).toMatchObject({ you: { playerId: 'p2', host: true }, room: { hostId: 'p2', locked: true } });
  });

  test('has no host once all players have left: end changes nothing, and there is no rematch', async () => {
    const room = await open(service);
    const { seq } = (await room.act('leave', room.host)).body.room;
    const { status, body } = await host(room, 'end');
    expect([status, body.you, body.room.seq]).toEqual([200, { playerId: 'p1', host: false }, seq]);
    expect(refusal(await host(room, 'rematch'))).toEqual([409, 'room_ended']);
    expect(await room.read()).toEqual(body.room);
  });

  test('still answers with the code of an earlier rematch', async () => {
    const room = await open(service);
    const { nextCode } = (await host(room, 'rematch')).body.room;
    await room.act('leave', room.host);
    expect((await host(room, 'rematch')).body).toMatchObject({ room: { nextCode }, you: { playerId: 'p1', host: false } });
  });
});

describe('kick by a server', () => {
  test('of the host makes the longest-seated player the host, and the kicked one cannot join again', async () => {
    const room = await openWithTwo();
    const third = await room.join();
    const { body } = await host(room, 'kick', { playerId: 'p1' });
    expect([body.you, body.room.hostId, hosts(body.room)]).toEqual([{ playerId: 'p2', host: true }, 'p2', ['p2']]);
    expect(refusal(await room.act('lock', room.host))).toEqual([403, 'not_in_room']);
    expect(refusal(await room.act('lock', third))).toEqual([403, 'not_host']);
    expect(refusal(await room.act('join', room.host))).toEqual([403, 'kicked']);
  });

  test('of the last player ends the room', async () => {
    const room = await open(service);
    const { body } = await host(room, 'kick', { playerId: 'p1' });
    expect(body).toMatchObject({ you: { playerId: 'p1', host: false }, room: { phase: 'ended', players: [], hostId: 'p1' } });
  });
});

describe('rematch by a server', () => {
  test('opens a lobby whose host and first player is the host', async () => {
    const room = await openWithTwo({ game: 'tetris', minPlayers: 2, maxPlayers: 5, name: 'Ann' });
    await host(room, 'transfer', { playerId: 'p2' }, ofTetris);
    await room.act('start', room.guest);
    const { body } = await host(room, 'rematch', {}, ofTetris);
    expect(body).toMatchObject({ you: { playerId: 'p2', host: true }, room: { phase: 'ended', nextCode: expect.any(String) } });
    const lobby = { code: body.room.nextCode as string };
    const { room: next } = (await service.get(`/v1/rooms/${lobby.code}`)).body;
    expect(next).toMatchObject({ phase: 'lobby', game: 'tetris', minPlayers: 2, maxPlayers: 5, seq: 1, hostId: 'p1' });
    expect(next.players).toMatchObject([{ id: 'p1', name: 'Player 2', host: true }]);
    // The seat belongs to the player, who is the host.
    expect((await service.post(`/v1/rooms/${lobby.code}/lock`, { installId: room.guest })).body.you).toEqual({
      playerId: 'p1',
      host: true,
    });
    expect(refusal(await service.post(`/v1/rooms/${lobby.code}/lock`, { installId: room.host }))).toEqual([403, 'not_in_room']);
    expect((await host(lobby, 'unlock', {}, ofTetris)).status).toBe(200);
  });

  test('opens it for the account that the host has moved into', async () => {
    const room = await openWithTwo();
    const { cookies } = await signInToStore(service, freshId('subject'), { installId: room.host });
    const { nextCode } = (await host(room, 'rematch')).body.room;
    const { status, body } = await service.post(`/v1/rooms/${nextCode}/lock`, {}, { cookies });
    expect([status, body.you]).toEqual([200, { playerId: 'p1', host: true }]);
  });

  test('of 20 at once, by the server and the host, opens one lobby that stands', async () => {
    const room = await openWithTwo();
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? host(room, 'rematch') : room.act('rematch', room.host))),
    );
    expect(new Set(replies.map(({ body }) => body.room.nextCode)).size).toBe(1);
    expect(replies.map(({ body }) => body.you)).toEqual(Array.from({ length: 20 }, () => ({ playerId: 'p1', host: true })));
    expect((await room.read()).seq).toBe(3);
  });

  test('takes no creation of an address', async () => {
    await using limited = await start({ settings: { RATE_LIMIT: 'on', RATE_LIMIT_CREATIONS_PER_MINUTE: '1' }, stoppedClock: true });
    const room = await open(service);
    const rematch = () => limited.post(`/v1/rooms/${room.code}/rematch`, {}, { bearer: rooms });
    await expect.poll(async () => (await rematch()).status).toBe(200);
    let code = (await room.read()).nextCode as string;
    for (let count = 0; count < 3; count++) {
      const { status, body } = await limited.post(`/v1/rooms/${code}/rematch`, {}, { bearer: rooms });
      expect(status).toBe(200);
      code = body.room.nextCode;
    }
  });
});

describe('20 actions at once', () => {
  test('of the server and the players leave one host, and raise seq by one for each change', async () => {
    for (let round = 0; round < 3; round++) {
      const room = await open(service, { maxPlayers: 64 });
      const installs = [room.host, ...(await Promise.all(Array.from({ length: 9 }, () => room.join())))];
      const before = (await room.read()).seq;
      const calls = Array.from({ length: 20 }, (_, index): (() => Promise<TestReply>) => {
        const playerId = `p${1 + ((index * 7 + round) % 10)}`;
        const installId = installs[index % 10]!;
        return [
          () => host(room, 'transfer', { playerId }),
          () => room.act('transfer', installId, { playerId }),
          () => host(room, 'state', { state: index }),
          () => host(room, 'kick', { playerId }),
          () => room.act('leave', installId),
        ][index % 5]!;
      });
      const replies = await Promise.all(calls.map((call) => call()));
      const changes = new Set<number>();
      for (const { status, body } of replies) {
        expect([200, 400, 403]).toContain(status);
        if (status !== 200) continue;
        expect(hosts(body.room)).toEqual([body.room.hostId]);
        changes.add(body.room.seq);
      }
      const { players, seq, hostId } = await room.read();
      expect(hosts({ players })).toEqual([hostId]);
      // Every seq in between occurs in one answer: no change was lost or counted twice.
      for (let each = before + 1; each <= seq; each++) expect(changes).toContain(each);
      expect(Math.max(...changes)).toBe(seq);
    }
  });
});
