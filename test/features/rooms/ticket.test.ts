import { describe, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { ban } from '../../../src/accounts/ban.ts';
import { CallerScripts } from '../../../src/accounts/caller-scripts.ts';
import { forFile, freshId, signIn, start, type TestReply } from '../../harness.ts';
import { makeServerKey } from '../../server-keys.ts';
import { signInToStore } from '../../store.ts';
import { open, refusal, type TestRoom } from './room.ts';

const service = await forFile(start());
const scripts = new CallerScripts(service.service.connections.scripts, { now: service.now });
const key = (await makeServerKey(service, ['rooms'])).token;

const ticketOf = (room: TestRoom, installId: string): Promise<TestReply> => service.post(`/v1/rooms/${room.code}/ticket`, { installId });
const verify = (code: string, ticket: string, bearer = key): Promise<TestReply> =>
  service.post(`/v1/rooms/${code}/ticket/verify`, { ticket }, { bearer });

async function deleteAccount(installId: string): Promise<void> {
  const { confirm } = (await service.post('/v1/account/delete', { installId })).body;
  expect((await service.post('/v1/account/delete', { installId, confirm })).body.deleted).toBe(true);
}

describe('a ticket', () => {
  test('tells one of ten servers that ask at once the player and the account, and nobody afterwards', async () => {
    const room = await open(service);
    const guest = await room.join();
    const { ticket, ...rest } = (await ticketOf(room, guest)).body;
    expect(rest).toEqual({ ok: true, playerId: 'p2', expiresIn: 60 });
    expect(ticket).not.toContain(guest);
    const replies = await Promise.all(Array.from({ length: 10 }, () => verify(room.code, ticket)));
    const verified = replies.filter(({ status }) => status === 200);
    expect(verified.map(({ body }) => body)).toEqual([{ ok: true, playerId: 'p2', accountId: accountIdOf(guest) }]);
    expect(refusal(await verify(room.code, ticket))).toEqual([401, 'bad_token']);
  });

  test('is refused in another room, after its player left, after the room ended, and if it is none', async () => {
    const [room, other] = [await open(service), await open(service)];
    const guest = await room.join();
    const ticket = async (installId = guest): Promise<string> => (await ticketOf(room, installId)).body.ticket;
    const [first, second, ofHost] = [await ticket(), await ticket(), await ticket(room.host)];
    const isBad = async (code: string, text: string) => expect(refusal(await verify(code, text))).toEqual([401, 'bad_token']);
    await isBad(other.code, first);
    for (const text of ['', 'x', 'eyJhbGciOiJub25lIn0.e30.']) await isBad(room.code, text);
    await room.act('leave', guest);
    await isBad(room.code, second);
    await room.act('end', room.host);
    await isBad(room.code, ofHost);
  });

  test.each<[what: string, ends: (player: { installId: string; cookies: string }) => Promise<unknown>]>([
    ['the account was banned', ({ installId }) => ban(accountIdOf(installId), {}, { scripts, now: service.now })],
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
