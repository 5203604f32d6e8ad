import { describe, expect, test } from 'vitest';
import { parseSessionKeys } from '../../src/config.ts';
import { open, type TestRoom } from '../features/rooms/room.ts';
import { forFile, freshId, signIn, start, tokenFor } from '../harness.ts';
import { signInToStore } from '../store.ts';
import { RawSocket } from './raw-socket.ts';
import { eventually, watchRoom, type Message } from './watcher.ts';

const service = await forFile(start());
/** Another process on the same data, and another deployment. */
const elsewhere = await forFile(start());
const stranger = await forFile(start({ sessionKeys: parseSessionKeys(`other:${Buffer.alloc(32, 8).toString('base64url')}`) }));

/** Waits until only this player of the room is connected. */
const onlyConnected = (room: TestRoom, playerId: string): Promise<void> =>
  eventually(async () => (await room.read()).players.every(({ id, connected }: Message) => connected === (id === playerId)));

/** Tokens that are not valid, each with a description. */
async function invalidTokens(): Promise<Record<string, string>> {
  const [here, there] = [await tokenFor(service, freshId()), await tokenFor(service, freshId())];
  await service.post('/v1/logout', {}, { bearer: here });
  await elsewhere.post('/v1/logout', {}, { bearer: there });
  return {
    'of another deployment': await tokenFor(stranger, freshId()),
    'signed out here': here,
    'signed out on another process': there,
  };
}

/** The token of a guest who moved since. */
async function tokenOfMoved(): Promise<string> {
  const installId = freshId();
  const token = await tokenFor(service, installId);
  await signInToStore(service, freshId('subject'), { installId });
  return token;
}

describe('hello with a sessionToken', () => {
  test('connects the player of the session, even if the message also has the installId of another player', async () => {
    const room = await open(service);
    const guest = await room.join();
    const watcher = await watchRoom(service, room.code);
    const welcome = await watcher.hello({ sessionToken: await tokenFor(service, room.host), installId: guest });
    expect(welcome).toEqual({ type: 'welcome', you: { playerId: 'p1', host: true } });
    await onlyConnected(room, 'p1');
    // A repeated hello gets no answer while its player keeps the seat. The second is by another player, and does.
    watcher.send({ type: 'hello', sessionToken: await tokenFor(service, room.host) });
    expect((await watcher.hello(guest)).you.playerId).toBe('p2');
    await watcher.close();
  });

  test('that does not verify or has ended is session_required, and neither the installId nor the cookie takes its place', async () => {
    const room = await open(service);
    const guest = await room.join();
    for (const [what, sessionToken] of Object.entries(await invalidTokens())) {
      const watcher = await watchRoom(service, room.code, { cookies: await signIn(service, guest) });
      await watcher.until(({ type }) => type === 'welcome');
      expect([what, (await watcher.hello({ sessionToken, installId: room.host })).error?.code]).toEqual([what, 'session_required']);
      await onlyConnected(room, 'p2');
      // The connection continues, and still counts for the same player.
      expect((await watcher.hello(room.host)).you.playerId).toBe('p1');
      await watcher.close();
      await onlyConnected(room, 'nobody');
    }
  });

  test.each([
    ['is no text', 7],
    ['is empty', ''],
    ['is no token', 'x'],
    ['is a token of 10 KB', `a.${'b'.repeat(10_000)}.c`],
    ['is null', null],
  ])('that %s gets the answer of a malformed installId', async (_, sessionToken) => {
    const room = await open(service);
    const watcher = await watchRoom(service, room.code);
    expect((await watcher.hello('short')).error.code).toBe('invalid_request');
    const { error } = await watcher.hello({ sessionToken, installId: room.host });
    expect([error.code, error.message.split(':')[0]]).toEqual(['invalid_request', 'sessionToken']);
    watcher.send({ type: 'hello', sessionToken });
    expect((await watcher.closed).code).toBe(4400);
  });

  test('or an installId is needed, and the token of a guest that moved is sign_in_required', async () => {
    const watcher = await watchRoom(service, (await open(service)).code);
    expect((await watcher.hello({})).error).toEqual({ code: 'invalid_request', message: 'installId: Is needed, or a sessionToken' });
    expect((await watcher.hello({ sessionToken: await tokenOfMoved() })).error.code).toBe('sign_in_required');
    await watcher.close();
  });
});

describe('an upgrade with a bearer', () => {
  const upgrade = (path: string, token: string, cookie = ''): Promise<RawSocket> =>
    RawSocket.open(service.port, path, { authorization: `Bearer ${token}`, ...(cookie === '' ? {} : { cookie }) });

  test('connects the player of the bearer, not that of the cookie, from any origin', async () => {
    const room = await open(service);
    const headers = { authorization: `Bearer ${await tokenFor(service, await room.join())}`, origin: 'https://elsewhere.example' };
    const watcher = await watchRoom(service, room.code, { cookies: await signIn(service, room.host), headers });
    expect((await watcher.until(({ type }) => type === 'welcome')).you.playerId).toBe('p2');
    await onlyConnected(room, 'p2');
    await watcher.close();
  });

  test('that is invalid is refused with 401, and the cookie does not take its place', async () => {
    const room = await open(service);
    const cookie = await signIn(service, room.host);
    const refused = async (token: string): Promise<unknown> => {
      const { status, body } = await upgrade(`/v1/rooms/${room.code}/live`, token, cookie);
      return [status, body.error.code];
    };
    for (const token of ['', 'a.b.c', ...Object.values(await invalidTokens())])
      expect(await refused(token)).toEqual([401, 'session_required']);
    expect(await refused(await tokenOfMoved())).toEqual([401, 'sign_in_required']);
    expect((await room.read()).players[0].connected).toBe(false);
  });

  test('to a pairing is accepted, whatever the bearer is: that channel identifies nobody', async () => {
    const { token } = (await service.post('/v1/pair/new')).body;
    const socket = await upgrade(`/v1/pair/live?token=${token}`, 'a.b.c');
    expect(socket.status).toBe(101);
    socket.destroy();
  });
});
