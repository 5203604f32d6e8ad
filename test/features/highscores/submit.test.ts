import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { playerIdOf } from '../../../src/features/highscores/entry.ts';
import { boardKeys } from '../../../src/features/highscores/model.ts';
import { entryOn } from '../../board-entries.ts';
import { forFile, freshId, start } from '../../harness.ts';
import { blankNames } from '../blank-names.ts';
import { BoardModel } from './board-model.ts';
import { catalogueFile, catalogueOf } from './catalogue-of.ts';
import { sized } from '../../sized.ts';

/** The games of the catalogue, all ascending. Every other game is descending. */
const ascending = Array.from({ length: 60 }, () => freshGame());

const CATALOGUE_FILE = catalogueFile(catalogueOf(ascending));
const service = await forFile(start({ settings: { CATALOGUE_FILE, BOARDS: 'open' } }));

function freshGame(): string {
  return freshId('game').toLowerCase();
}

const submit = (game: string, installId: string, score: unknown, name: unknown = 'Ada') =>
  service.post(`/v1/highscores/${game}`, { installId, score, name });
const top = async (game: string) => (await service.get(`/v1/highscores/${game}`)).body.top;

interface Entry {
  rank: number;
  playerId: string;
  name: string;
  score: number;
  at: string;
}
const lines = (entries: Entry[]) => entries.map(({ rank, name, score }) => `${rank} ${name} ${score}`);

describe('ranks of POST /v1/highscores/{game}', () => {
  test('are 1, 2, 2, 4, and the earlier of equal scores is listed first', async () => {
    const game = freshGame();
    await submit(game, freshId(), 5, 'last');
    await submit(game, freshId(), 7, 'tie first');
    await submit(game, freshId(), 9, 'best');
    const { body } = await submit(game, freshId(), 7, 'tie second');
    expect(lines(body.top)).toEqual(['1 best 9', '2 tie first 7', '2 tie second 7', '4 last 5']);
    expect([body.rank, body.best, body.personalBest]).toEqual([2, 7, true]);
  });

  test('follow the catalogue when it changes the order of a game', async () => {
    const game = ascending.pop()!;
    await using other = await start();
    await submit(game, freshId(), 3, 'three');
    await submit(game, freshId(), 4, 'four');
    const { body } = await other.post(`/v1/highscores/${game}`, { installId: freshId(), score: 3, name: 'later three' });
    expect(lines(body.top)).toEqual(['1 four 4', '2 later three 3', '2 three 3']);
    expect(body.rank).toBe(2);
  });
});

describe('the best score of an account', () => {
  test('keeps its value and time when a submission is not better', async () => {
    const game = freshGame();
    const ada = freshId();
    const first = await submit(game, ada, 10);
    expect([first.body.rank, first.body.best, first.body.personalBest]).toEqual([1, 10, true]);
    for (const score of [10, 3]) {
      const { body } = await submit(game, ada, score);
      expect(body).toEqual({ ...first.body, personalBest: false });
    }
    const { body } = await submit(game, ada, 11);
    expect([body.rank, body.best, body.personalBest]).toEqual([1, 11, true]);
    expect(Date.parse(body.top[0].at)).toBeGreaterThan(Date.parse(first.body.top[0].at));
    expect(Math.abs(Date.parse(body.top[0].at) - service.now())).toBeLessThan(5000);
    expect(body.top).toHaveLength(1);
  });

  test('takes the latest name and keeps its place among equal scores', async () => {
    const game = freshGame();
    const ada = freshId();
    const before = (await submit(game, ada, 10, 'Ada')).body.top[0];
    await submit(game, freshId(), 10, 'Bob');
    const { body } = await submit(game, ada, 1, 'Countess');
    expect(lines(body.top)).toEqual(['1 Countess 10', '1 Bob 10']);
    expect(body.top[0]).toEqual({ ...before, name: 'Countess' });
    expect(await top(game)).toEqual(body.top);
    expect(await service.service.redis.zcard(boardKeys.scores(game))).toBe(2);
  });

  test('is refused to an account with the player id of another, whose entry stays', async () => {
    const [game, ada, bob] = [freshGame(), freshId(), freshId()];
    const { redis } = service.service;
    await submit(game, ada, 10, 'Ada');
    const [secret, players] = [(await redis.get(boardKeys.secret(game)))!, boardKeys.players(game)];
    const { playerId, text } = (await entryOn(redis, game, accountIdOf(ada)))!;
    await redis.hset(players, playerIdOf(secret, accountIdOf(bob)), text);
    expect((await submit(game, bob, 11, 'Bob')).status).toBe(500);
    expect(await redis.hget(players, playerId)).toBe(text);
    expect(lines(await top(game))).toEqual(['1 Ada 10']);
  });

  test('keeps its playerId, which differs from board to board', async () => {
    const [game, otherGame, ada] = [freshGame(), freshGame(), freshId()];
    const { playerId } = (await submit(game, ada, 1)).body.top[0];
    expect(playerId).toMatch(/^[\w-]{10}$/);
    expect((await submit(game, ada, 2, 'Countess')).body.top[0].playerId).toBe(playerId);
    expect((await submit(otherGame, ada, 2)).body.top[0].playerId).not.toBe(playerId);
  });
});

describe('scores', () => {
  test('are stored as exact doubles', async () => {
    const game = freshGame();
    const scores = [9007199254740991, 9007199254740990, 0.1 + 0.2, 0.3, 1e-300, 5e-324, 0, -5e-324, -0.1, -9007199254740991];
    for (const score of scores.toReversed()) expect((await submit(game, freshId(), score)).body).toMatchObject({ best: score, rank: 1 });
    const shown = (await top(game)).map(({ score, rank }: Entry) => [rank, score]);
    expect(shown).toEqual(scores.map((score, index) => [index + 1, score]));
  });

  test('of minus zero equal zero', async () => {
    const game = freshGame();
    await submit(game, freshId(), 0, 'zero');
    const raw = await fetch(`${service.url}/v1/highscores/${game}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: `{"installId":"${freshId()}","score":-0,"name":"minus"}`,
    });
    const text = await raw.text();
    expect(text).toContain('"best":0,');
    expect(lines(JSON.parse(text).top)).toEqual(['1 zero 0', '1 minus 0']);
    const [held] = await service.service.redis.zrange(`{board:${game}}:scores`, '0', '0');
    expect(await service.service.redis.zscore(`{board:${game}}:scores`, held!)).toBe('0');
  });
});

describe('a submission is refused', () => {
  const first = async (game: string, body: object) => {
    const reply = await service.post(`/v1/highscores/${game}`, body);
    return [reply.status, reply.body.error.code, reply.body.error.field];
  };

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
    expect(await first(game, { installId: freshId(), score: 1, name: 'Ada', [field]: value })).toEqual([400, 'invalid_request', field]);
    expect(await top(game)).toEqual([]);
  });

  test('when its score is not finite', async () => {
    const raw = await fetch(`${service.url}/v1/highscores/${freshGame()}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: `{"installId":"${freshId()}","score":1e999,"name":"Ada"}`,
    });
    expect([raw.status, JSON.parse(await raw.text()).error.field]).toEqual([400, 'score']);
  });

  test.each(['Tetris', '-tetris', 'a%20b', 'x'.repeat(65)])('when its game is %s, and so is reading the board', async (game) => {
    expect(await first(game, { installId: freshId(), score: 1, name: 'Ada' })).toEqual([400, 'invalid_request', 'game']);
    const read = await service.get(`/v1/highscores/${game}`);
    expect([read.status, read.body.error.code, read.body.error.field]).toEqual([400, 'invalid_request', 'game']);
  });
});

test('names are trimmed, in Unicode NFC, and have up to 24 code points of any plane', async () => {
  const game = freshGame();
  await submit(game, freshId(), 2, '  Zoe\u0308  ');
  await submit(game, freshId(), 1, '🦆'.repeat(24));
  expect((await top(game)).map(({ name }: Entry) => name)).toEqual(['Zo\u00eb', '🦆'.repeat(24)]);
});

test('no reply contains an installId or an account id', async () => {
  const [game, ada] = [freshGame(), freshId()];
  const { accountId } = (await service.post('/v1/account/resolve', { installId: ada })).body;
  const replies = JSON.stringify([(await submit(game, ada, 5)).body, (await service.get(`/v1/highscores/${game}`)).body]);
  expect(replies).toContain('"score":5');
  expect(replies).not.toContain(ada);
  expect(replies).not.toContain(accountId);
});

test('20 concurrent players, each sending twice, are on the board once and at their rank', async () => {
  const game = freshGame();
  // Every score occurs twice, and every submission is sent twice.
  const players = Array.from({ length: 20 }, (_, index) => ({ installId: freshId(), score: Math.floor(index / 2), name: `n${index}` }));
  await Promise.all([...players, ...players].map((player) => service.post(`/v1/highscores/${game}`, player)));
  const ranks = await Promise.all(players.map(async (player) => (await service.post(`/v1/highscores/${game}`, player)).body));
  expect(ranks.map(({ rank }) => rank)).toEqual(players.map(({ score }) => 1 + 2 * (9 - score)));
  expect(ranks.every(({ personalBest }) => personalBest === false)).toBe(true);
  expect(await service.service.redis.zcard(`{board:${game}}:scores`)).toBe(20);
});

const score = fc.oneof(
  fc.integer({ min: -3, max: 3 }),
  fc.double({ min: -(2 ** 53 - 1), max: 2 ** 53 - 1, noNaN: true }).map((double) => double + 0),
);
const submission = fc.record({ player: fc.integer({ min: 0, max: 13 }), score, name: fc.constantFrom('Ada', 'Bob', 'Cy') });

test.each(['desc', 'asc'] as const)('random submissions answer as a sorted list does (%s)', async (order) => {
  await fc.assert(
    fc.asyncProperty(fc.array(submission, { minLength: 1, maxLength: 40 }), async (submissions) => {
      const game = order === 'asc' ? ascending.pop()! : freshGame();
      const installs = Array.from({ length: 14 }, () => freshId());
      const model = new BoardModel(order);
      const players = new Map<number, string>();
      for (const { player, score: given, name } of submissions) {
        const expected = model.submit(player, given, `${name} ${player}`);
        const { body } = await submit(game, installs[player]!, given, `${name} ${player}`);
        expect({ ...body, top: lines(body.top) }).toEqual({ ok: true, ...expected });
        for (const { playerId, name: shown } of body.top as Entry[]) {
          const number = Number(shown.split(' ')[1]);
          expect(players.get(number) ?? playerId).toBe(playerId);
          players.set(number, playerId);
        }
        expect(await top(game)).toEqual(body.top);
      }
    }),
    // No shrinking: each run of the ascending case uses up one of the 60 games.
    { numRuns: sized(5, 25), endOnFailure: true },
  );
});
