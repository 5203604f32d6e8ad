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
    for (const [action, more, playerId, seq] of [
      ['lock', {}, 'p1', 3],
      ['unlock', {}, 'p1', 4],
      ['state', { state: { round: 1 } }, 'p1', 5],
      ['start', {}, 'p1', 6],
      ['transfer', { playerId: 'p2' }, 'p2', 7],
      ['kick', { playerId: 'p1' }, 'p2', 8],
      ['end', {}, 'p2', 9],
    ] as const) {
      const { body } = await host(room, action, more);
      expect([action, body]).toEqual([action, { ok: true, room: await room.read(), you: { playerId, host: true } }]);
      expect([action, body.room.seq]).toEqual([action, seq]);
    }
    expect(await room.read()).toMatchObject({ phase: 'ended', locked: false, state: { round: 1 }, hostId: 'p2' });
  });

  test('has no seat, whomever the request names, and opens no account', async () => {
    const room = await openWithTwo();
    const [before, installId] = [await room.read(), freshId()];
    for (const action of ['join', 'leave', 'ready', 'unready'])
      for (const more of [{}, { installId: room.host }, { installId }]) {
        const reply = await host(room, action, more);
        expect([...refusal(reply), reply.body.error.field]).toEqual([403, 'forbidden', 'action']);
      }
    expect(await room.read()).toEqual(before);
    expect((await host(room, 'lock', { installId })).body.you).toEqual({ playerId: 'p1', host: true });
    expect((await service.post('/v1/account/resolve', { installId })).body.created).toBe(true);
  });
});

test.each(hostActions)('%s is forbidden to a key of another game or scope', async (action) => {
  const [own, other, none] = [await openWithTwo({ game: 'tetris' }), await openWithTwo({ game: 'chess' }), await openWithTwo()];
  for (const room of [other, none]) {
    const before = await room.read();
    for (const key of [ofTetris, ofCoins]) expect(refusal(await host(room, action, needed[action], key))).toEqual([403, 'forbidden']);
    expect(await room.read()).toEqual(before);
  }
  expect((await host(own, action, needed[action], ofTetris)).status).toBe(200);
});

describe('a room whose host has left', () => {
  test('lets the server act for the next host', async () => {
    const room = await openWithTwo();
    await room.act('leave', room.host);
    expect((await host(room, 'lock')).body).toMatchObject({ you: { playerId: 'p2', host: true }, room: { hostId: 'p2', locked: true } });
  });

  test('has no host once all players have left: end changes nothing, and there is no rematch but an earlier one', async () => {
    const [room, rematched] = [await open(service), await open(service)];
    const { seq } = (await room.act('leave', room.host)).body.room;
    const { body } = await host(room, 'end');
    expect(body).toMatchObject({ ok: true, you: { playerId: 'p1', host: false }, room: { seq } });
    expect(refusal(await host(room, 'rematch'))).toEqual([409, 'room_ended']);
    const { nextCode } = (await host(rematched, 'rematch')).body.room;
    await rematched.act('leave', rematched.host);
    expect((await host(rematched, 'rematch')).body).toMatchObject({ room: { nextCode }, you: { playerId: 'p1', host: false } });
  });
});

test('a kick of the host by a server makes the longest-seated player the host, and a kick of the last player ends the room', async () => {
  const room = await openWithTwo();
  const kicked = (await host(room, 'kick', { playerId: 'p1' })).body;
  expect([kicked.you, kicked.room.hostId, hosts(kicked.room)]).toEqual([{ playerId: 'p2', host: true }, 'p2', ['p2']]);
  expect(refusal(await room.act('lock', room.host))).toEqual([403, 'not_in_room']);
  expect(refusal(await room.act('join', room.host))).toEqual([403, 'kicked']);
  const { body } = await host(room, 'kick', { playerId: 'p2' });
  expect(body).toMatchObject({ you: { playerId: 'p2', host: false }, room: { phase: 'ended', players: [], hostId: 'p2' } });
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
    const players = [{ id: 'p1', name: 'Player 2', host: true }];
    expect(next).toMatchObject({ phase: 'lobby', game: 'tetris', minPlayers: 2, maxPlayers: 5, seq: 1, hostId: 'p1', players });
    // The seat belongs to the player, who is the host.
    const { you } = (await service.post(`/v1/rooms/${lobby.code}/lock`, { installId: room.guest })).body;
    expect(you).toEqual({ playerId: 'p1', host: true });
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
