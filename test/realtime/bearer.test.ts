import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseSessionKeys } from '../../src/config.ts';
import { open } from '../features/rooms/room.ts';
import { freshId, signIn, tokenFor, type TestService } from '../harness.ts';
import { signInToStore } from '../store.ts';
import { ownRedis } from './own.ts';
import { RawSocket } from './raw-socket.ts';
import { eventually, watchRoom, type Message, type Watcher } from './watcher.ts';

let redis: Awaited<ReturnType<typeof ownRedis>>;
let service: TestService;
/** Another process on the same data, and another deployment. */
let elsewhere: TestService;
let stranger: TestService;
beforeAll(async () => {
  redis = await ownRedis();
  service = await redis.start();
  elsewhere = await redis.start();
  stranger = await redis.start({ sessionKeys: parseSessionKeys(`other:${Buffer.alloc(32, 8).toString('base64url')}`) });
});
afterAll(async () => {
  await Promise.all([service, elsewhere, stranger].map((one) => one[Symbol.asyncDispose]()));
  await redis[Symbol.asyncDispose]();
});

const connectedOf = (watcher: Watcher): Record<string, boolean> =>
  Object.fromEntries(watcher.last.room.players.map(({ id, connected }: Message) => [id, connected]));

/** Sends a hello and returns the answer. */
async function hello(watcher: Watcher, fields: object): Promise<Message> {
  const before = watcher.messages.length;
  watcher.send({ type: 'hello', ...fields });
  return watcher.until(
    (message) => watcher.messages.indexOf(message) >= before && (message.type === 'welcome' || message.type === 'error'),
  );
}

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

describe('hello with a sessionToken', () => {
  test('connects the player of the session, even if the message also has the installId of another player', async () => {
    const room = await open(service);
    const guest = await room.join();
    const watcher = await watchRoom(service, room.code);
    expect(await hello(watcher, { sessionToken: await tokenFor(service, room.host), installId: guest })).toEqual({
      type: 'welcome',
      you: { playerId: 'p1', host: true },
    });
    await eventually(() => connectedOf(watcher)['p1'] === true);
    expect(connectedOf(watcher)).toEqual({ p1: true, p2: false });
    // A repeated hello gets no answer while its player keeps the seat. The second is by another player, and does.
    watcher.send({ type: 'hello', sessionToken: await tokenFor(service, room.host) });
    expect((await hello(watcher, { installId: guest })).you.playerId).toBe('p2');
    await watcher.close();
  });

  test('that does not verify or has ended is session_required, and neither the installId nor the cookie takes its place', async () => {
    const room = await open(service);
    const guest = await room.join();
    for (const [what, sessionToken] of Object.entries(await invalidTokens())) {
      const watcher = await watchRoom(service, room.code, { cookies: await signIn(service, guest) });
      await watcher.until(({ type }) => type === 'welcome');
      expect([what, (await hello(watcher, { sessionToken, installId: room.host })).error?.code]).toEqual([what, 'session_required']);
      await eventually(() => connectedOf(watcher)['p2'] === true);
      expect(connectedOf(watcher)['p1']).toBe(false);
      // The connection continues, and still counts for the same player.
      expect((await hello(watcher, { installId: room.host })).you.playerId).toBe('p1');
      await watcher.close();
      await eventually(async () => (await room.read()).players.every(({ connected }: Message) => !connected));
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
    const malformed = await hello(watcher, { installId: 'short' });
    expect(malformed.error.code).toBe('invalid_request');
    const { error } = await hello(watcher, { sessionToken, installId: room.host });
    expect([error.code, error.message.split(':')[0]]).toEqual(['invalid_request', 'sessionToken']);
    watcher.send({ type: 'hello', sessionToken });
    expect((await watcher.closed).code).toBe(4400);
  });

  test('may be missing if an installId is sent, and the other way round, but one is needed', async () => {
    const room = await open(service);
    const watcher = await watchRoom(service, room.code);
    expect((await hello(watcher, {})).error).toEqual({ code: 'invalid_request', message: 'installId: Is needed, or a sessionToken' });
    await watcher.close();
  });

  test('of a guest that moved is sign_in_required', async () => {
    const installId = freshId();
    const room = await open(service);
    const sessionToken = await tokenFor(service, installId);
    await signInToStore(service, freshId('subject'), { installId });
    const watcher = await watchRoom(service, room.code);
    expect((await hello(watcher, { sessionToken })).error.code).toBe('sign_in_required');
    await watcher.close();
  });
});

describe('an upgrade with a bearer', () => {
  const FOREIGN = { origin: 'https://elsewhere.example' };

  test('connects the player of the bearer, not that of the cookie, from any origin', async () => {
    const room = await open(service);
    const guest = await room.join();
    const headers = { authorization: `Bearer ${await tokenFor(service, guest)}`, ...FOREIGN };
    const watcher = await watchRoom(service, room.code, { cookies: await signIn(service, room.host), headers });
    expect((await watcher.until(({ type }) => type === 'welcome')).you.playerId).toBe('p2');
    await eventually(() => connectedOf(watcher)['p2'] === true);
    expect(connectedOf(watcher)['p1']).toBe(false);
    await watcher.close();
  });

  test('that is invalid is refused with 401 session_required, and the cookie does not take its place', async () => {
    const room = await open(service);
    const cookie = await signIn(service, room.host);
    for (const token of ['', 'a.b.c', ...Object.values(await invalidTokens())]) {
      const socket = await RawSocket.open(service.port, `/v1/rooms/${room.code}/live`, { cookie, authorization: `Bearer ${token}` });
      expect([socket.status, socket.body.error.code]).toEqual([401, 'session_required']);
    }
    expect((await room.read()).players[0].connected).toBe(false);
  });

  test('of a guest that moved is refused with 401 sign_in_required', async () => {
    const installId = freshId();
    const room = await open(service);
    const token = await tokenFor(service, installId);
    await signInToStore(service, freshId('subject'), { installId });
    const socket = await RawSocket.open(service.port, `/v1/rooms/${room.code}/live`, { authorization: `Bearer ${token}` });
    expect([socket.status, socket.body.error.code]).toEqual([401, 'sign_in_required']);
  });

  test('to a pairing is accepted, whatever the bearer is: that channel identifies nobody', async () => {
    const { token } = (await service.post('/v1/pair/new')).body;
    const socket = await RawSocket.open(service.port, `/v1/pair/live?token=${token}`, { authorization: 'Bearer a.b.c' });
    expect(socket.status).toBe(101);
    socket.destroy();
  });
});
