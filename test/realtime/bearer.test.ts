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

/** Tokens that give no access, and the codes of their refusal. */
const refused: [what: string, token: () => Promise<string>, code: string][] = [
  ['of another deployment', () => tokenFor(stranger, freshId()), 'session_required'],
  [
    'that was signed out on another process',
    async () => {
      const token = await tokenFor(service, freshId());
      await elsewhere.post('/v1/logout', {}, { bearer: token });
      return token;
    },
    'session_required',
  ],
  [
    'of a guest that has moved',
    async () => {
      const installId = freshId();
      const token = await tokenFor(service, installId);
      await signInToStore(service, freshId('subject'), { installId });
      return token;
    },
    'sign_in_required',
  ],
];

describe('hello with a sessionToken', () => {
  test('connects the player of the session, even if the message also has the installId of another player', async () => {
    const room = await open(service);
    const guest = await room.join();
    const watcher = await watchRoom(service, room.code);
    const welcome = await watcher.hello({ sessionToken: await tokenFor(service, room.host), installId: guest });
    expect(welcome).toEqual({ type: 'welcome', you: { playerId: 'p1', host: true }, now: expect.any(Number) });
    await onlyConnected(room, 'p1');
    await watcher.close();
  });

  test.each(refused)('%s is refused, and neither the installId nor the cookie takes its place', async (_, token, code) => {
    const room = await open(service);
    const guest = await room.join();
    const watcher = await watchRoom(service, room.code, { cookies: await signIn(service, guest) });
    await watcher.until(({ type }) => type === 'welcome');
    expect((await watcher.hello({ sessionToken: await token(), installId: room.host })).error?.code).toBe(code);
    await onlyConnected(room, 'p2');
    // The connection continues, and still counts for the same player.
    expect((await watcher.hello(room.host)).you.playerId).toBe('p1');
    await watcher.close();
  });

  test.each([7, '', 'x', `a.${'b'.repeat(10_000)}.c`, null])('%j gets the answer of a malformed installId', async (sessionToken) => {
    const room = await open(service);
    const watcher = await watchRoom(service, room.code);
    const { error } = await watcher.hello({ sessionToken, installId: room.host });
    expect([error.code, error.message.split(':')[0]]).toEqual(['invalid_request', 'sessionToken']);
    expect((await watcher.hello({})).error).toEqual({ code: 'invalid_request', message: 'installId: Is needed, or a sessionToken' });
    await watcher.close();
  });
});

describe('an upgrade with a bearer', () => {
  test('connects the player of the bearer, not that of the cookie, from any origin', async () => {
    const room = await open(service);
    const headers = { authorization: `Bearer ${await tokenFor(service, await room.join())}`, origin: 'https://elsewhere.example' };
    const watcher = await watchRoom(service, room.code, { cookies: await signIn(service, room.host), headers });
    expect((await watcher.until(({ type }) => type === 'welcome')).you.playerId).toBe('p2');
    await onlyConnected(room, 'p2');
    await watcher.close();
  });

  test.each([
    ['that is empty', async () => '', 'session_required'],
    ['that is malformed', async () => 'a.b.c', 'session_required'],
    ...refused,
  ] as typeof refused)('%s is refused with 401, and the cookie does not take its place', async (_, token, code) => {
    const room = await open(service);
    const headers = { authorization: `Bearer ${await token()}`, cookie: await signIn(service, room.host) };
    const { status, body } = await RawSocket.open(service.port, `/v1/rooms/${room.code}/live`, headers);
    expect([status, body.error.code]).toEqual([401, code]);
    expect((await room.read()).players[0].connected).toBe(false);
  });
});
