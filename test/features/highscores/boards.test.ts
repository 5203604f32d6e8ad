import { expect, test } from 'vitest';
import { freshId, start, type TestService } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';

/** A game of the bundled sample catalogue. */
const LISTED = 'pebble-drop';

const freshGame = (): string => freshId('game').toLowerCase();
const submit = (to: TestService, game: string, installId: string, score = 1) =>
  to.post(`/v1/highscores/${game}`, { installId, score, name: 'Ada' });
const top = async (of: TestService, game: string) => (await of.get(`/v1/highscores/${game}`)).body.top;

test('only the first score of a board counts against the creation limit', async () => {
  await using limited = await start({ settings: { RATE_LIMIT: 'on', RATE_LIMIT_CREATIONS_PER_MINUTE: '3' }, stoppedClock: true });
  await using free = await start();
  const [installId, other] = [freshId(), freshId()];
  for (const player of [installId, other]) await free.post('/v1/account/resolve', { installId: player });
  const games = [freshGame(), freshGame(), freshGame(), freshGame()];
  for (const game of games.slice(0, 3)) expect((await submit(limited, game, installId)).status).toBe(200);
  const { status, headers, body } = await submit(limited, games[3]!, installId);
  expect([status, body.error.code]).toEqual([429, 'rate_limited']);
  expect(Number(headers.get('retry-after'))).toBe(20);
  expect(await top(limited, games[3]!)).toEqual([]);
  // Existing boards accept scores, of a listed player and of a new one.
  for (const player of [installId, other]) expect((await submit(limited, games[0]!, player, 2)).status).toBe(200);
  limited.advance(20_000);
  expect((await submit(limited, games[3]!, installId)).status).toBe(200);
});

test('with BOARDS=catalogue a game outside the catalogue refuses scores and reads as empty, unless it has a board', async () => {
  await using redis = await startRedis();
  const [game, existing, installId] = [freshGame(), freshGame(), freshId()];
  {
    await using open = await start({ redis: redis.location });
    expect((await submit(open, existing, freshId(), 5)).status).toBe(200);
  }
  await using service = await start({ redis: redis.location, settings: { BOARDS: 'catalogue' } });
  const { status, body } = await submit(service, game, installId);
  expect([status, body.error]).toMatchObject([404, { code: 'game_not_found', field: 'game' }]);
  expect((await service.get(`/v1/highscores/${game}`)).body).toEqual({ ok: true, game, top: [] });
  // An app of the sample catalogue, which is no game.
  expect((await submit(service, 'tide-table', installId)).body.error.code).toBe('game_not_found');
  // The refused scores created no account.
  expect((await service.post('/v1/account/resolve', { installId })).body.created).toBe(true);
  expect((await submit(service, LISTED, installId)).status).toBe(200);
  expect(await top(service, existing)).toMatchObject([{ score: 5 }]);
  expect((await submit(service, existing, freshId(), 7)).body).toMatchObject({ rank: 1, personalBest: true });
});
