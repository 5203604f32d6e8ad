import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { freshId, start, tokenFor, type TestService } from '../harness.ts';
import { keyChangesOf, makeServerKey } from '../server-keys.ts';

/** docs/examples/game-server.mjs, as its page starts it, against a service whose coins only servers can mint. */
const file = new URL('../../docs/examples/game-server.mjs', import.meta.url).pathname;

let service: TestService;
beforeAll(async () => void (service = await start({ settings: { COIN_AUTHORITY: 'server' } })));
afterAll(() => service[Symbol.asyncDispose]());

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill();
});

interface GameServer {
  /** Sends a body as a page does. */
  send(body: unknown): Promise<{ status: number; body: Record<string, unknown> }>;
  /** All that it printed. */
  printed(): string;
}

async function startGameServer(key: string): Promise<GameServer> {
  const child = spawn(process.execPath, [file], { env: { ...process.env, COINOP_URL: service.url, COINOP_KEY: key, PORT: '0' } });
  children.push(child);
  let text = '';
  child.stderr.on('data', (data: Buffer) => (text += data));
  child.stdout.on('data', (data: Buffer) => (text += data));
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  const url = /http:\S+/.exec(line)![0];
  return {
    printed: () => text,
    async send(body) {
      const response = await fetch(url, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) });
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    },
  };
}

interface TestPlayer {
  readonly installId: string;
  readonly sessionToken: string;
  balance(): Promise<number>;
}

async function newPlayer(): Promise<TestPlayer> {
  const installId = freshId();
  const sessionToken = await tokenFor(service, installId);
  return {
    installId,
    sessionToken,
    balance: async () => (await service.get('/v1/balance', { bearer: sessionToken })).body.balanceCoins,
  };
}

const openRoom = async (player: TestPlayer, settings: object = {}): Promise<string> =>
  (await service.post('/v1/rooms', settings, { bearer: player.sessionToken })).body.room.code;

/** Guesses until the number is found. */
async function win(game: GameServer, { sessionToken }: TestPlayer, code: string, playerId = 'p1'): Promise<number> {
  for (let [low, high] = [1, 100]; ;) {
    const guess = (low + high) >> 1;
    const { status, body } = await game.send({ sessionToken, code, playerId, guess });
    expect(status).toBe(200);
    if (body['hint'] === 'right') return guess;
    if (body['hint'] === 'higher') low = guess + 1;
    else high = guess - 1;
    expect(low).toBeLessThanOrEqual(high);
  }
}

describe('the sample game server', () => {
  test('pays the winner, whom no client could pay, and hosts the room to its end', async () => {
    const { token, id } = await makeServerKey(service, ['coins', 'rooms', 'accounts:read'], { game: 'guess' });
    const game = await startGameServer(token);
    const [ada, bob] = [await newPlayer(), await newPlayer()];
    const credit = await service.post('/v1/coins/credit', { coins: 25, key: 'mine' }, { bearer: ada.sessionToken });
    expect([credit.status, credit.body.error?.code]).toEqual([403, 'server_only']);

    const code = await openRoom(ada, { game: 'guess' });
    await service.post(`/v1/rooms/${code}/join`, {}, { bearer: bob.sessionToken });
    const number = await win(game, bob, code, 'p2');
    expect([await ada.balance(), await bob.balance()]).toEqual([0, 25]);
    expect((await service.get(`/v1/rooms/${code}`)).body.room).toMatchObject({
      phase: 'ended',
      hostId: 'p1',
      state: { playerId: 'p2', guess: number, hint: 'right' },
    });
    // The room has ended: a right guess of another player comes too late, and a second one of the winner pays nothing.
    expect(await game.send({ sessionToken: ada.sessionToken, code, playerId: 'p1', guess: number })).toEqual({
      status: 409,
      body: { error: 'too_late' },
    });
    expect((await game.send({ sessionToken: bob.sessionToken, code, playerId: 'p2', guess: number })).body).toEqual({
      error: 'room_ended',
    });
    expect([await ada.balance(), await bob.balance()]).toEqual([0, 25]);

    const { entries } = (await service.get('/v1/coins/history', { bearer: bob.sessionToken })).body;
    expect(entries).toMatchObject([{ type: 'grant', coins: 25, key: expect.stringMatching(/^guess \d{4}-\d\d-\d\d$/) }]);
    expect(game.printed()).not.toContain(token);
    expect(id).toBe(token.split('_')[2]);
  });

  test('pays a day once, however many rooms a player wins and however often a guess is sent', async () => {
    const { token } = await makeServerKey(service, ['coins', 'rooms', 'accounts:read']);
    const game = await startGameServer(token);
    const ada = await newPlayer();
    await win(game, ada, await openRoom(ada));
    const code = await openRoom(ada);
    const guesses = Array.from({ length: 100 }, (_, index) => index + 1);
    const replies = await Promise.all(
      [...guesses, ...guesses].map((guess) => game.send({ sessionToken: ada.sessionToken, code, playerId: 'p1', guess })),
    );
    expect(replies.filter(({ body }) => body['hint'] === 'right').length).toBeGreaterThan(0);
    expect((await service.get(`/v1/rooms/${code}`)).body.room.phase).toBe('ended');
    expect(await ada.balance()).toBe(25);
  });

  test('plays with nobody whose session is not valid, and survives bad requests', async () => {
    const { token } = await makeServerKey(service, ['coins', 'rooms', 'accounts:read']);
    const game = await startGameServer(token);
    const ada = await newPlayer();
    const code = await openRoom(ada);
    const signedOut = await newPlayer();
    await service.post('/v1/logout', {}, { bearer: signedOut.sessionToken });
    for (const sessionToken of ['', undefined, 'x', token, signedOut.sessionToken])
      expect(await game.send({ sessionToken, code, playerId: 'p1', guess: 1 })).toEqual({ status: 401, body: { error: 'sign_in' } });
    for (const body of ['', 'null', '{', '[]', 'x'.repeat(8000)]) expect((await game.send(body)).status).toBe(body === '[]' ? 401 : 400);
    const { sessionToken } = ada;
    expect((await game.send({ sessionToken, code: 'BBBBB', guess: 1 })).body).toEqual({ error: 'room_not_found' });
    for (const guess of [undefined, null, '50', 1.5, {}])
      expect(await game.send({ sessionToken, code, playerId: 'p1', guess })).toEqual({ status: 400, body: { error: 'bad_request' } });
    for (const playerId of [undefined, 'p2', { id: 'p1' }])
      expect(await game.send({ sessionToken, code, playerId, guess: 1 })).toEqual({ status: 403, body: { error: 'not_in_room' } });
    expect(await ada.balance()).toBe(0);
  });

  test('pays nothing once its key is revoked, and pays with the next one', async () => {
    const { token, id } = await makeServerKey(service, ['coins', 'rooms', 'accounts:read']);
    const ada = await newPlayer();
    const code = await openRoom(ada);
    const game = await startGameServer(token);
    await keyChangesOf(service).revoke(id);
    await expect.poll(async () => (await game.send({ sessionToken: ada.sessionToken, code, playerId: 'p1', guess: 1 })).status).toBe(503);
    expect(await game.send({ sessionToken: ada.sessionToken, code, playerId: 'p1', guess: 1 })).toEqual({
      status: 503,
      body: { error: 'bad_key' },
    });
    expect(game.printed()).not.toContain(token);

    const next = await makeServerKey(service, ['coins', 'rooms', 'accounts:read']);
    await win(await startGameServer(next.token), ada, code);
    expect(await ada.balance()).toBe(25);
  });
});
