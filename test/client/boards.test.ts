import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { WebSocket as WsSocket } from 'ws';
import type { Fetch } from '../../src/client/request.ts';
import { watchBoard, type ScoreEntry } from '../../src/client/rooms.ts';
import type { SocketClass } from '../../src/client/watched.ts';
import { forFile, freshId, start } from '../harness.ts';
import { FakeSockets } from './fake-socket.ts';
import { player } from './player.ts';

// Without a store, because the periodic requests to a store would wait for the fake clock below.
const service = await forFile(start({ settings: { STORE: 'off' } }));
const WebSocket: SocketClass = WsSocket;

const freshGame = (): string => freshId('game').toLowerCase();
const lineOf = ({ rank, name, score }: ScoreEntry): string => `${rank} ${name} ${score}`;

describe('a board', () => {
  test.each([
    ['a WebSocket', { WebSocket }, 'socket'],
    ['reads', { WebSocket: null }, 'poll'],
  ] as const)('is followed over %s', { timeout: 20_000 }, async (_, options, by) => {
    using ada = player(service.url);
    using bob = player(service.url, options);
    const game = freshGame();
    const seen: string[] = [];
    const watch = watchBoard(bob, game, (top) => seen.push(top.map(lineOf).join()));
    await expect.poll(() => seen).toEqual(['']);
    await ada.highscores.submit({ game, score: 5, name: 'Ada' });
    await expect.poll(() => seen).toEqual(['', '1 Ada 5']);
    expect(watch.state).toEqual({ status: 'live', by });
    watch.close();
    expect(await watch.ended).toEqual({ code: 'closed' });
  });

  test('ends with the error of a game that the service refuses', async () => {
    using bob = player(service.url, { WebSocket });
    expect(await watchBoard(bob, 'No Game/?', () => {}).ended).toEqual({ code: 'invalid_request' });
  });

  test('can be read page by page, and around the player', async () => {
    const game = freshGame();
    using ada = player(service.url);
    for (const score of [3, 2]) {
      using other = player(service.url);
      await other.highscores.submit({ game, score, name: `p${score}` });
    }
    expect(await ada.highscores.around({ game })).toMatchObject({ ok: true, you: null, entries: [] });
    await ada.highscores.submit({ game, score: 1, name: 'Ada' });
    const first = await ada.highscores.entries({ game, limit: 2 });
    if (!first.ok) throw new Error(first.error.code);
    const second = await ada.highscores.entries({ game, limit: 2, cursor: first.nextCursor });
    expect([first, second].map((page) => page.ok && page.entries.map(lineOf))).toEqual([['1 p3 3', '2 p2 2'], ['3 Ada 1']]);
    const around = await ada.highscores.around({ game, limit: 1 });
    expect(around.ok && [around.you?.rank, around.entries.map(lineOf)]).toEqual([3, ['2 p2 2', '3 Ada 1']]);
  });
});

describe('a followed board with a fake clock', () => {
  beforeEach(() => {
    vi.useFakeTimers();
    vi.spyOn(Math, 'random').mockReturnValue(0.5);
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  test('reports only new entries after a lost connection, and reads check the connection', async () => {
    const [low, high] = [
      { rank: 1, score: 1 },
      { rank: 1, score: 2 },
    ];
    const reads: string[] = [];
    const fetch: Fetch = async (url) => {
      reads.push(url);
      return new Response(JSON.stringify({ ok: true, game: 'duel', top: [high] }));
    };
    const fake = new FakeSockets();
    using client = player('https://coinop.example', { WebSocket: fake.WebSocket, fetch, installId: 'install-of-ada' });
    const seen: number[] = [];
    watchBoard(client, 'duel', (top) => seen.push(...top.map(({ score }) => score)));
    const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
    const tell = async (version: number, ...top: object[]) => {
      fake.last.message({ type: 'board', version, top });
      await pass(0);
    };
    await pass(0);
    expect(fake.last.url).toBe('wss://coinop.example/v1/highscores/duel/live');
    fake.last.onopen!({});
    await tell(7, low);
    fake.last.onclose!({ code: 1006 });
    await pass(1500);
    expect(fake.opened).toHaveLength(2);
    fake.last.onopen!({});
    await tell(7, low);
    expect([seen, reads]).toEqual([[1], []]);
    // The connection is silent, and a read finds a change that it missed.
    await pass(45_000);
    expect([seen, fake.opened.length]).toEqual([[1, 2], 3]);
    expect(new Set(reads)).toEqual(new Set(['https://coinop.example/v1/highscores/duel']));
  });
});
