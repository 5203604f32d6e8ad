import { describe, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { ban } from '../../../src/accounts/bans.ts';
import { CallerScripts } from '../../../src/accounts/caller-scripts.ts';
import { forFile, freshId, signIn, start, type TestReply } from '../../harness.ts';
import { makeServerKey } from '../../server-keys.ts';
import { signInToStore } from '../../store.ts';
import { open, refusal, type TestRoom } from './room.ts';

const service = await forFile(start());
const key = (await makeServerKey(service, ['rooms'])).token;

const ticketOf = (room: TestRoom, installId: string): Promise<TestReply> => service.post(`/v1/rooms/${room.code}/ticket`, { installId });
const verify = (code: string, ticket: string, bearer = key): Promise<TestReply> =>
  service.post(`/v1/rooms/${code}/ticket/verify`, { ticket }, { bearer });

async function deleteAccount(installId: string): Promise<void> {
  const { confirm } = (await service.post('/v1/account/delete', { installId })).body;
  expect((await service.post('/v1/account/delete', { installId, confirm })).body.deleted).toBe(true);
}

describe('a ticket', () => {
  test('tells a server the player and the account, once', async () => {
    const room = await open(service);
    const guest = await room.join();
    const { status, body } = await ticketOf(room, guest);
    expect([status, body]).toEqual([200, { ok: true, ticket: body.ticket, playerId: 'p2', expiresIn: 60 }]);
    expect(body.ticket).not.toContain(guest);
    const first = await verify(room.code, body.ticket);
    expect([first.status, first.body]).toEqual([200, { ok: true, playerId: 'p2', accountId: accountIdOf(guest) }]);
    expect(refusal(await verify(room.code, body.ticket))).toEqual([401, 'bad_token']);
  });

  test('is verified by one of ten servers that ask at once', async () => {
    const room = await open(service);
    const { ticket } = (await ticketOf(room, room.host)).body;
    const replies = await Promise.all(Array.from({ length: 10 }, () => verify(room.code, ticket)));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  test('is refused in another room, after its player left, and after the room ended', async () => {
    const [room, other] = [await open(service), await open(service)];
    const guest = await room.join();
    const tickets = await Promise.all([ticketOf(room, guest), ticketOf(room, guest), ticketOf(room, room.host)]);
    const [first, second, third] = tickets.map(({ body }) => body.ticket as string) as [string, string, string];
    expect(refusal(await verify(other.code, first))).toEqual([401, 'bad_token']);
    await room.act('leave', guest);
    expect(refusal(await verify(room.code, second))).toEqual([401, 'bad_token']);
    await room.act('end', room.host);
    expect(refusal(await verify(room.code, third))).toEqual([401, 'bad_token']);
  });

  test.each<[what: string, ends: (player: { installId: string; cookies: string }) => Promise<unknown>]>([
    [
      'the account was banned',
      ({ installId }) =>
        ban(
          accountIdOf(installId),
          {},
          { scripts: new CallerScripts(service.service.connections.scripts, { now: service.now }), now: service.now },
        ),
    ],
    ['the account was deleted', ({ installId }) => deleteAccount(installId)],
    ['the account moved', ({ installId }) => signInToStore(service, freshId('subject'), { installId })],
    ['the session was signed out', ({ cookies }) => service.post('/v1/logout', {}, { cookies })],
    ['all sessions were signed out', ({ installId }) => service.post('/v1/logout', { everywhere: true, installId })],
  ])('is refused after %s', async (_what, ends) => {
    const room = await open(service);
    const installId = await room.join();
    const cookies = await signIn(service, installId);
    const { ticket } = (await service.post(`/v1/rooms/${room.code}/ticket`, {}, { cookies })).body;
    await ends({ installId, cookies });
    expect(refusal(await verify(room.code, ticket))).toEqual([401, 'bad_token']);
  });

  test('of an account whose guest took the seat names the account, and a kicked player gets none', async () => {
    const room = await open(service);
    const installId = await room.join();
    const { cookies, body: account } = await signInToStore(service, freshId('subject'), { installId });
    const mine = async () => (await service.post(`/v1/rooms/${room.code}/ticket`, {}, { cookies })).body.ticket as string;
    const first = await mine();
    expect((await verify(room.code, first)).body).toEqual({ ok: true, playerId: 'p2', accountId: account.accountId });
    const second = await mine();
    await room.act('kick', room.host, { playerId: 'p2' });
    expect(refusal(await verify(room.code, second))).toEqual([401, 'bad_token']);
  });

  test.each(['', 'x', 'eyJhbGciOiJub25lIn0.e30.'])('that is %j is refused as bad_token', async (ticket) => {
    const room = await open(service);
    expect(refusal(await verify(room.code, ticket))).toEqual([401, 'bad_token']);
  });

  test('expires after sixty seconds', async () => {
    await using later = await start();
    const room = await open(later);
    const { ticket } = (await later.post(`/v1/rooms/${room.code}/ticket`, { installId: room.host })).body;
    later.advance(61_000);
    const reply = await later.post(`/v1/rooms/${room.code}/ticket/verify`, { ticket }, { bearer: key });
    expect(refusal(reply)).toEqual([401, 'bad_token']);
  });

  test('is given only to a seated caller', async () => {
    const room = await open(service);
    expect(refusal(await ticketOf(room, freshId()))).toEqual([403, 'not_in_room']);
    expect(refusal(await service.post('/v1/rooms/BBBBB/ticket', { installId: freshId() }))).toEqual([404, 'room_not_found']);
    expect(refusal(await service.post(`/v1/rooms/${room.code}/ticket`, {}))).toEqual([401, 'identity_required']);
    await room.act('end', room.host);
    expect(refusal(await ticketOf(room, room.host))).toEqual([409, 'room_ended']);
  });

  test('is verified only for a key of the scope and the game', async () => {
    const room = await open(service, { game: 'chess' });
    const { ticket } = (await ticketOf(room, room.host)).body;
    const [unscoped, otherGame] = [await makeServerKey(service, ['coins']), await makeServerKey(service, ['rooms'], { game: 'go' })];
    expect(refusal(await verify(room.code, ticket, unscoped.token))).toEqual([403, 'forbidden']);
    expect(refusal(await verify(room.code, ticket, otherGame.token))).toEqual([403, 'forbidden']);
    expect(refusal(await service.post(`/v1/rooms/${room.code}/ticket/verify`, { ticket }))).toEqual([403, 'server_only']);
    expect((await verify(room.code, ticket)).status).toBe(200);
  });
});
