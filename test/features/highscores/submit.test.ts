import { describe, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { boardKeys } from '../../../src/features/highscores/model.ts';
import { forFile, freshId, request, start } from '../../harness.ts';
import { blankNames } from '../blank-names.ts';

// random-board.test.ts compares random submissions with a model.
const service = await forFile(start());
const { redis } = service.service;

const freshGame = (): string => freshId('game').toLowerCase();
const submit = (game: string, installId: string, score: unknown, name: unknown = 'Ada') =>
  service.post(`/v1/highscores/${game}`, { installId, score, name });
/** Sends a score as raw JSON, which JSON.stringify would not write. */
const submitRaw = (game: string, score: string, name: string) =>
  request(service.url, `/v1/highscores/${game}`, { method: 'POST' }, `{"installId":"${freshId()}","score":${score},"name":"${name}"}`);
const top = async (game: string) => (await service.get(`/v1/highscores/${game}`)).body.top;

interface Entry {
  rank: number;
  name: string;
  score: number;
}
const lines = (entries: Entry[]) => entries.map(({ rank, name, score }) => `${rank} ${name} ${score}`);

test('ranks of POST /v1/highscores/{game} are 1, 2, 2, 4, and the earlier of equal scores is listed first', async () => {
  const game = freshGame();
  await submit(game, freshId(), 5, 'last');
  await submit(game, freshId(), 7, 'tie first');
  await submit(game, freshId(), 9, 'best');
  const { body } = await submit(game, freshId(), 7, 'tie second');
  expect(lines(body.top)).toEqual(['1 best 9', '2 tie first 7', '2 tie second 7', '4 last 5']);
  expect(body).toMatchObject({ rank: 2, best: 7, personalBest: true });
});

describe('the best score of an account', () => {
  test('keeps its value, time and place among equal scores when a submission is not better, and takes the latest name', async () => {
    const [game, ada] = [freshGame(), freshId()];
    const first = (await submit(game, ada, 10)).body;
    expect(first).toMatchObject({ rank: 1, best: 10, personalBest: true });
    for (const score of [10, 3]) expect((await submit(game, ada, score)).body).toEqual({ ...first, personalBest: false });
    await submit(game, freshId(), 10, 'Bob');
    const renamed = (await submit(game, ada, 1, 'Countess')).body;
    expect(lines(renamed.top)).toEqual(['1 Countess 10', '1 Bob 10']);
    expect(renamed.top[0]).toEqual({ ...first.top[0], name: 'Countess' });
    const better = (await submit(game, ada, 11)).body;
    expect(better).toMatchObject({ rank: 1, best: 11, personalBest: true });
    expect(Date.parse(better.top[0].at)).toBeGreaterThan(Date.parse(first.top[0].at));
    expect(await top(game)).toEqual(better.top);
    expect(await redis.zcard(boardKeys.scores(game))).toBe(2);
  });

  test('keeps its playerId, which differs from board to board, and no reply contains an installId or an account id', async () => {
    const [game, otherGame, ada] = [freshGame(), freshGame(), freshId()];
    const replies = [await submit(game, ada, 1), await submit(game, ada, 2, 'Countess'), await submit(otherGame, ada, 2)];
    const [first, second, other] = replies.map(({ body }) => body.top[0].playerId as string);
    expect(first).toMatch(/^[\w-]{10}$/);
    expect([second === first, other === first]).toEqual([true, false]);
    const text = JSON.stringify([...replies.map(({ body }) => body), await top(game)]);
    expect(text).toContain('"score":2');
    for (const id of [ada, accountIdOf(ada)]) expect(text).not.toContain(id);
  });
});

test('scores are stored as exact doubles, and minus zero equals zero', async () => {
  const game = freshGame();
  const scores = [9007199254740991, 9007199254740990, 0.1 + 0.2, 0.3, 1e-300, 5e-324, 0, -5e-324, -0.1, -9007199254740991];
  for (const score of scores.toReversed()) expect((await submit(game, freshId(), score)).body).toMatchObject({ best: score, rank: 1 });
  expect(lines(await top(game))).toEqual(scores.map((score, index) => `${index + 1} Ada ${score}`));
  const zeros = freshGame();
  await submit(zeros, freshId(), 0, 'zero');
  const { body } = await submitRaw(zeros, '-0', 'minus');
  expect([Object.is(body.best, 0), lines(body.top)]).toEqual([true, ['1 zero 0', '1 minus 0']]);
  const [held] = await redis.zrange(boardKeys.scores(zeros), '0', '0');
  expect(await redis.zscore(boardKeys.scores(zeros), held!)).toBe('0');
});

describe('a submission is refused', () => {
  test.each([
    ['score', 2 ** 53],
    ['score', -(2 ** 53)],
    ['score', '7'],
    ['score', undefined],
    ['name', '   '],
    ['name', 'x'.repeat(25)],
    ['name', 'a\u0007b'],
    ['name', 'a\nb'],
    ['name', 'a\u202eb'],
    ['name', '\ud800'],
    ...blankNames.map((name): [string, string] => ['name', name]),
    ['name', undefined],
  ])('when its %s is %j', async (field, value) => {
    const game = freshGame();
    const { status, body } = await service.post(`/v1/highscores/${game}`, { installId: freshId(), score: 1, name: 'Ada', [field]: value });
    expect([status, body.error]).toMatchObject([400, { code: 'invalid_request', field }]);
    expect(await top(game)).toEqual([]);
  });

  test('when its score is not finite', async () => {
    const { status, body } = await submitRaw(freshGame(), '1e999', 'Ada');
    expect([status, body.error.field]).toEqual([400, 'score']);
  });

  test.each(['Tetris', '-tetris', 'a%20b', 'x'.repeat(65)])('when its game is %s, and so is reading the board', async (game) => {
    for (const { status, body } of [await submit(game, freshId(), 1), await service.get(`/v1/highscores/${game}`)])
      expect([status, body.error]).toMatchObject([400, { code: 'invalid_request', field: 'game' }]);
  });
});

test('names are trimmed, in Unicode NFC, and have up to 24 code points of any plane', async () => {
  const game = freshGame();
  await submit(game, freshId(), 2, '  Zoe\u0308  ');
  await submit(game, freshId(), 1, '🦆'.repeat(24));
  expect((await top(game)).map(({ name }: Entry) => name)).toEqual(['Zo\u00eb', '🦆'.repeat(24)]);
});

test('20 concurrent players, each sending twice, are on the board once and at their rank', async () => {
  const game = freshGame();
  // Every score occurs twice, and every submission is sent twice.
  const players = Array.from({ length: 20 }, (_, index) => ({ installId: freshId(), score: Math.floor(index / 2), name: `n${index}` }));
  const send = async (player: object) => (await service.post(`/v1/highscores/${game}`, player)).body;
  await Promise.all([...players, ...players].map(send));
  expect(await Promise.all(players.map(send))).toMatchObject(
    players.map(({ score }) => ({ rank: 1 + 2 * (9 - score), personalBest: false })),
  );
  expect(await redis.zcard(boardKeys.scores(game))).toBe(20);
});
