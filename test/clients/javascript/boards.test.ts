import { describe, expect, test } from 'vitest';
import { WebSocket as WsSocket } from 'ws';
import { watchBoard, type ScoreEntry } from '../../../src/clients/javascript/rooms.ts';
import type { SocketClass } from '../../../src/clients/javascript/watched.ts';
import { forFile, freshId, start } from '../../harness.ts';
import { appOf, catalogueFile } from '../../features/highscores/catalogue-of.ts';
import { done, player } from './player.ts';

const service = await forFile(start());
const WebSocket: SocketClass = WsSocket;

const withSeason = catalogueFile(JSON.stringify([appOf('cups', { season: { period: 'daily', prizes: [] } })]));

const freshGame = (): string => freshId('game').toLowerCase();
const lineOf = ({ rank, name, score }: ScoreEntry): string => `${rank} ${name} ${score}`;

describe('a board', () => {
  test.each([
    ['a WebSocket', { WebSocket }, 'socket'],
    ['reads', { WebSocket: null }, 'poll'],
  ] as const)('is followed over %s', async (_, options, by) => {
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

  test.each([
    ['a WebSocket', { WebSocket }],
    ['reads', { WebSocket: null }],
  ] as const)('comes with its season over %s', async (_, options) => {
    await using seasonal = await start({ settings: { CATALOGUE_FILE: withSeason } });
    using ada = player(seasonal.url, options);
    const seen: unknown[] = [];
    watchBoard(ada, 'cups', (top, season) => seen.push([top, season]));
    await expect.poll(() => seen).toEqual([[[], { id: expect.stringMatching(/^\d{4}-\d\d-\d\d$/), endsAt: expect.any(String) }]]);
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
    const first = await done(ada.highscores.entries({ game, limit: 2 }));
    const second = await ada.highscores.entries({ game, limit: 2, cursor: first.nextCursor });
    expect([first, second].map((page) => page.ok && page.entries.map(lineOf))).toEqual([['1 p3 3', '2 p2 2'], ['3 Ada 1']]);
    const around = await ada.highscores.around({ game, limit: 1 });
    expect(around.ok && [around.you?.rank, around.entries.map(lineOf)]).toEqual([3, ['2 p2 2', '3 Ada 1']]);
  });
});
