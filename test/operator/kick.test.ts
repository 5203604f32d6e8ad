import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { freshId, start, type TestReply, type TestService } from '../harness.ts';
import { makeServerKey } from '../server-keys.ts';
import { logged } from './parts.ts';

/** `rooms kick` and `rooms pardon`. */

let service: TestService;
let bearer: string;
let id: string;
beforeAll(async () => {
  service = await start({ settings: { ADMIN_API: 'on' } });
  ({ token: bearer, id } = await makeServerKey(service, ['admin'], { role: 'support' }));
});
afterAll(() => service[Symbol.asyncDispose]());

const change = (path: string, body: object, token = bearer): Promise<TestReply> =>
  service.post(`/v1/admin${path}`, { reason: 'test', ...body }, { bearer: token });
const newest = async () => (await service.get(`/v1/admin/log?limit=1&operator=key:${id}`, { bearer })).body.entries[0];
const join = (code: string, installId: string): Promise<TestReply> => service.post(`/v1/rooms/${code}/join`, { installId, name: 'Bob' });

async function room(): Promise<{ code: string; host: string; guest: string }> {
  const [host, guest] = [freshId(), freshId()];
  const { code } = (await service.post('/v1/rooms', { installId: host, game: 'tetris' })).body.room;
  expect((await join(code, guest)).status).toBe(200);
  return { code, host, guest };
}

describe('a player who is kicked by an operator', () => {
  test('leaves the room, and cannot join again before a pardon', async () => {
    const { code, guest } = await room();
    const account = accountIdOf(guest);
    expect((await change(`/rooms/${code}/kick`, { player: 'p2' })).body).toEqual({ ok: true, accountId: account, logged });
    expect(await newest()).toMatchObject({ action: 'rooms kick', what: { room: code, player: 'p2', account }, outcome: { word: 'done' } });
    expect((await service.get(`/v1/rooms/${code}`)).body.room.players.map(({ id }: { id: string }) => id)).toEqual(['p1']);
    expect((await join(code, guest)).body.error.code).toBe('kicked');
    expect((await change(`/rooms/${code}/pardon`, { account })).body).toEqual({ ok: true, wasKicked: true, logged });
    expect(await newest()).toMatchObject({ action: 'rooms pardon', outcome: { word: 'done', wasKicked: 'yes' } });
    expect((await join(code, guest)).body.you).toMatchObject({ playerId: 'p3' });
    expect((await change(`/rooms/${code}/pardon`, { account })).body.wasKicked).toBe(false);
  });

  test('may be the host, whose role passes to another player', async () => {
    const { code, host } = await room();
    await change(`/rooms/${code}/kick`, { player: 'p1' });
    expect((await service.get(`/v1/rooms/${code}`)).body.room).toMatchObject({ hostId: 'p2', players: [{ id: 'p2' }] });
    expect((await join(code, host)).body.error.code).toBe('kicked');
    await change(`/rooms/${code}/kick`, { player: 'p2' });
    expect((await service.get(`/v1/rooms/${code}`)).body.room.phase).toBe('ended');
    expect((await change(`/rooms/${code}/kick`, { player: 'p2' })).body.error.code).toBe('room_ended');
  });

  test('needs a seat in the room, and a key that reaches its game', async () => {
    const { code } = await room();
    for (const player of ['p3', 'host', 'p0', 'p1:account'])
      expect((await change(`/rooms/${code}/kick`, { player })).body.error).toMatchObject({ code: 'invalid_request', field: 'player' });
    expect((await change('/rooms/BBBBB/kick', { player: 'p1' })).body.error.code).toBe('room_not_found');
    expect((await change('/rooms/BBBBB/pardon', { account: accountIdOf(freshId()) })).body.error.code).toBe('room_not_found');
    const { token } = await makeServerKey(service, ['admin'], { game: 'snake' });
    expect((await change(`/rooms/${code}/kick`, { player: 'p2' }, token)).body.error.code).toBe('forbidden');
  });

  test('is removed once if ten operators kick at once', async () => {
    const { code } = await room();
    const replies = await Promise.all(Array.from({ length: 10 }, () => change(`/rooms/${code}/kick`, { player: 'p2' })));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
  });
});

test('a room finds the accounts in its seats', async () => {
  const { code, host, guest } = await room();
  const find = async (who: string) => (await service.post('/v1/admin/find', { who }, { bearer })).body;
  for (const who of [`room:${code}`, `room:${code.toLowerCase()}`])
    expect((await find(who)).accounts).toMatchObject([
      { accountId: accountIdOf(host), foundBy: 'room', kind: 'guest' },
      { accountId: accountIdOf(guest), foundBy: 'room' },
    ]);
  for (const who of ['room:BBBBB', 'room:no room'.replace(' ', '-'), 'order:GPA.0000', 'order:a/b'])
    expect([who, (await find(who)).error.code]).toEqual([who, 'account_not_found']);
});
