import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freshId, signIn, start, type TestReply, type TestService } from '../../harness.ts';
import { makeServerKey } from '../../server-keys.ts';
import { signInToStore } from '../../store.ts';
import { open, refusal, type TestRoom } from './room.ts';

let service: TestService;
let rooms: string;
let ofTetris: string;
let ofCoins: string;
beforeAll(async () => {
  service = await start();
  ({ token: rooms } = await makeServerKey(service, ['rooms']));
  ({ token: ofTetris } = await makeServerKey(service, ['rooms'], { game: 'tetris' }));
  ({ token: ofCoins } = await makeServerKey(service, ['coins', 'scores', 'accounts:read']));
});
afterAll(() => service[Symbol.asyncDispose]());

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

  test('changes nothing when it repeats an action', async () => {
    const room = await openWithTwo();
    for (const [action, more] of [
      ['lock', {}],
      ['state', { state: [] }],
      ['transfer', { playerId: 'p2' }],
      ['start', {}],
      ['end', {}],
      ['rematch', {}],
    ] as const) {
      const { body } = await host(room, action, more);
      service.advance(1000);
      expect((await host(room, action, more)).body).toEqual(body);
    }
    expect((await room.read()).seq).toBe(8);
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

  test('opens no account, and counts for none that the request names', async () => {
    const room = await openWithTwo();
    const installId = freshId();
    expect((await host(room, 'lock', { installId })).body.you).toEqual({ playerId: 'p1', host: true });
    expect((await service.post('/v1/account/resolve', { installId })).body.created).toBe(true);
  });

  test('outranks the cookie of a player', async () => {
    const room = await openWithTwo();
    const cookies = await signIn(service, room.guest);
    const { status, body } = await service.post(`/v1/rooms/${room.code}/lock`, {}, { cookies, bearer: rooms });
    expect([status, body.you]).toEqual([200, { playerId: 'p1', host: true }]);
  });

  test.each(['dance', 'constructor'])('is refused with unknown_action for %s', async (action) => {
    expect(refusal(await host(await open(service), action))).toEqual([400, 'unknown_action']);
  });

  test.each(hostActions)('is refused with room_not_found for %s when no room has the code', async (action) => {
    for (const code of ['BBBBB', 'nonsense'])
      expect(refusal(await host({ code }, action, needed[action]))).toEqual([404, 'room_not_found']);
  });

  test.each(['start', 'kick', 'transfer', 'lock', 'unlock', 'state'])('is refused with room_ended for %s after the end', async (action) => {
    const room = await openWithTwo();
    await host(room, 'end');
    expect(refusal(await host(room, action, needed[action]))).toEqual([409, 'room_ended']);
  });

  test('is refused with not_enough_players for start below minPlayers', async () => {
    const room = await open(service, { minPlayers: 2 });
    expect(refusal(await host(room, 'start'))).toEqual([409, 'not_enough_players']);
  });

  test.each([
    ['kick', {}],
    ['kick', { playerId: 'p9' }],
    ['transfer', {}],
    ['transfer', { playerId: 'p9' }],
    ['state', {}],
  ])('is refused with invalid_request for %s with %j', async (action, more) => {
    const room = await open(service);
    expect(refusal(await host(room, action, more))).toEqual([400, 'invalid_request']);
    expect((await room.read()).seq).toBe(1);
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

  test('is refused in an ended room of another game as in any other', async () => {
    const room = await open(service, { game: 'chess' });
    await room.act('end', room.host);
    for (const action of hostActions) expect(refusal(await host(room, action, needed[action], ofTetris))).toEqual([403, 'forbidden']);
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

  test('shows no account', async () => {
    const room = await openWithTwo();
    const { accountId } = (await service.post('/v1/account/resolve', { installId: room.host })).body;
    expect(JSON.stringify((await host(room, 'rematch')).body)).not.toContain(accountId);
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
    for (let round = 0; round < 5; round++) {
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
