import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { playRoom, type PlayedRoom } from '../../../src/clients/javascript/rooms.ts';
import { forFile, start } from '../../harness.ts';
import { makeServerKey } from '../../server-keys.ts';
import { atFullSize } from '../../sized.ts';
import { seat } from './played.ts';
import { done, player, type Player } from './player.ts';
import { childEnvironment } from '../../environment.ts';

/** docs/examples/game-server.mjs, as its page starts it, against a service whose coins only servers can mint. */
const file = fileURLToPath(new URL('../../../docs/examples/game-server.mjs', import.meta.url));

const service = await forFile(start({ settings: { COIN_AUTHORITY: 'server' } }));

const children: ChildProcess[] = [];
const players: Player[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill();
  for (const each of players.splice(0)) each.close();
});

async function startGameServer() {
  const { token } = await makeServerKey(service, ['coins', 'rooms'], { game: 'guess' });
  const child = spawn(process.execPath, [file], { env: childEnvironment({ COINOP_URL: service.url, COINOP_KEY: token }) });
  children.push(child);
  let text = '';
  child.stderr.on('data', (data: Buffer) => (text += data));
  child.stdout.on('data', (data: Buffer) => (text += data));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    token,
    printed: () => text,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    /** The code of the next room that it opens. */
    nextRoom: async () => /room ([A-Z]{5})/.exec((await lines.next()).value as string)![1]!,
  };
}

interface Guess {
  state: { guesses: number; winner?: string; number?: number; paid?: boolean };
  message: { guess: number; hint: string } | { isKnown: boolean };
}

interface Guesser {
  readonly client: Player;
  readonly room: PlayedRoom<Guess>;
  readonly hints: { from: string; guess?: number; hint?: string; isKnown?: boolean }[];
  /** Sends anything to the server. */
  say(data: unknown): Promise<unknown>;
  balance(): Promise<unknown>;
}

const ticketOf = async (client: Player, code: string): Promise<string> => (await done(client.rooms.ticket({ code }))).ticket;

/** A player in the room whose account the server does not know. */
async function unknown(code: string, name: string, client = player(service.url)): Promise<Guesser> {
  players.push(client);
  await seat(client, code, name);
  const room = playRoom<Guess>(client, code);
  const hints: Guesser['hints'] = [];
  room.on('message', ({ from, data }) => hints.push({ from, ...data }));
  await expect.poll(() => room.me?.name).toBe(name);
  return {
    client,
    room,
    hints,
    say: (data) => room.send(data as never, ['server']),
    balance: async () => {
      const reply = await client.coins.balance();
      return reply.ok && reply.balanceCoins;
    },
  };
}

/** A player who has shown a ticket. */
async function guesser(code: string, name: string, client?: Player): Promise<Guesser> {
  const one = await unknown(code, name, client);
  await one.say({ ticket: await ticketOf(one.client, code) });
  await expect.poll(() => one.hints.shift()).toEqual({ from: 'server', isKnown: true });
  return one;
}

/** Guesses until the number is found. */
async function win({ say, hints }: Guesser): Promise<number> {
  for (let [low, high] = [1, 100]; ;) {
    const middle = (low + high) >> 1;
    await say({ guess: middle });
    await expect.poll(() => hints.at(-1)?.guess).toBe(middle);
    const { hint } = hints.at(-1)!;
    if (hint === 'right') return middle;
    if (hint === 'higher') low = middle + 1;
    else high = middle - 1;
    expect(low).toBeLessThanOrEqual(high);
  }
}

describe('the sample game server', () => {
  test('pays the winner, which no client can do, ends the room, and opens the next room', async () => {
    const game = await startGameServer();
    const code = await game.nextRoom();
    const [ada, bob] = [await guesser(code, 'Ada'), await guesser(code, 'Bob')];
    expect(await ada.client.coins.credit({ coins: 25 })).toMatchObject({ ok: false, error: { code: 'server_only' } });
    const number = await win(bob);
    expect(await ada.room.ended).toEqual({ code: 'finished' });
    expect(ada.room.room).toMatchObject({ phase: 'ended', hostId: null, state: { winner: 'p2', number, paid: true } });
    expect([await ada.balance(), await bob.balance()]).toEqual([0, 25]);
    expect(ada.hints).toEqual([]);
    const next = await game.nextRoom();
    expect(next).not.toBe(code);
    // A second win on the same day pays no prize.
    await win(await guesser(next, 'Bob', bob.client));
    await expect.poll(async () => (await service.get(`/v1/rooms/${next}`)).body.room.phase).toBe('ended');
    expect(await bob.balance()).toBe(25);
    expect(game.printed()).not.toContain(game.token);
  });

  atFullSize('lets no cheating client write the state, end the room, win, or stop other players', async () => {
    const game = await startGameServer();
    const code = await game.nextRoom();
    const [honest, cheat] = [await guesser(code, 'Ada'), await unknown(code, 'Eve')];
    const { room } = cheat;
    for (const act of [room.setState({ guesses: 0, winner: 'p2', paid: true }), room.mergeState({ winner: 'p2' })])
      expect(await act).toMatchObject({ ok: false, error: { code: 'not_writer' } });
    expect(await room.act('end')).toMatchObject({ ok: false, error: { code: 'not_host' } });
    const { installId } = await cheat.client.who();
    const rubbish = [null, [], 'guess', 7, {}, { guess: '50' }, { guess: 1.5 }, { guess: null }, { guess: {} }, { hint: 'right' }];
    for (const data of rubbish) await cheat.say(data);
    // Invalid tickets, used tickets, Ada's tickets, and tickets of another room.
    const other = await unknown(code, 'Mallory');
    const used = await ticketOf(other.client, code);
    await other.say({ ticket: used });
    await expect.poll(() => other.hints.shift()).toEqual({ from: 'server', isKnown: true });
    const elsewhere = (await service.post('/v1/rooms', { installId })).body.room.code;
    const bad = ['', 'x', game.token, used, await ticketOf(honest.client, code), await ticketOf(cheat.client, elsewhere)];
    for (const ticket of bad) await cheat.say({ ticket });
    await expect.poll(() => cheat.hints.length).toBe(bad.length);
    expect(cheat.hints.splice(0)).toEqual(bad.map(() => ({ from: 'server', isKnown: false })));
    // The server does not know her account, so none of her guesses counts, not even the right one.
    for (let guess = 1; guess <= 100; guess++) void cheat.say({ guess });
    // A message from Eve to Ada names Eve as its sender.
    await room.send({ guess: 1, hint: 'right' }, ['p1']);
    await expect.poll(() => honest.hints.shift()).toEqual({ from: 'p2', guess: 1, hint: 'right' });
    // A flood does not affect other players.
    const flood = Array.from({ length: 60 }, () =>
      service.post(`/v1/rooms/${code}/message`, { installId, data: { guess: 0 }, to: ['server'] }),
    );
    expect((await Promise.all(flood)).some(({ status }) => status === 429)).toBe(true);
    const number = await win(honest);
    await honest.room.ended;
    expect(honest.room.state).toMatchObject({ winner: 'p1', number, paid: true });
    expect([await honest.balance(), await cheat.balance()]).toEqual([25, 0]);
    expect(game.isRunning()).toBe(true);
  });
});
