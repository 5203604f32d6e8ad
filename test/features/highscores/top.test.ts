import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freshId, settled, start, type TestService } from '../../harness.ts';

let service: TestService;
let other: TestService;
beforeAll(async () => {
  [service, other] = await Promise.all([start(), start()]);
});
afterAll(() => Promise.all([service[Symbol.asyncDispose](), other[Symbol.asyncDispose]()]));

const freshGame = () => freshId('game').toLowerCase();
const top = async (from: TestService, game: string) => (await from.get(`/v1/highscores/${game}`)).body.top;

async function readsOfRedis(of: TestService): Promise<number> {
  // The text is kept for a second.
  of.advance(1000);
  const { body } = await of.get('/metrics');
  return Number(/script_duration_seconds_count\{script="highscores\/top"\} (\d+)/.exec(body)?.[1] ?? 0);
}

describe('a board', () => {
  test('never played is empty', async () => {
    const game = freshGame();
    expect((await service.get(`/v1/highscores/${game}`)).body).toEqual({ ok: true, game, top: [] });
  });

  test('shows rank, player, name, score and time', async () => {
    const game = freshGame();
    await service.post(`/v1/highscores/${game}`, { installId: freshId(), score: 12.5, name: 'Ada' });
    const [entry, ...rest] = await top(other, game);
    expect(entry).toEqual({
      rank: 1,
      playerId: expect.stringMatching(/^[\w-]{12}$/),
      name: 'Ada',
      score: 12.5,
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    expect(Math.abs(Date.parse(entry.at) - Date.now())).toBeLessThan(5000);
    expect(rest).toEqual([]);
  });

  test('answers HEAD without a body', async () => {
    const reply = await service.get(`/v1/highscores/${freshGame()}`, { method: 'HEAD' });
    expect([reply.status, reply.body]).toEqual([200, '']);
  });

  test('asks Redis once for all who ask at once, and again when the answer is 100 ms old', async () => {
    const game = freshGame();
    const before = await readsOfRedis(other);
    const replies = await Promise.all(Array.from({ length: 40 }, () => top(other, game)));
    expect(replies).toEqual(Array.from({ length: 40 }, () => []));
    const after = await readsOfRedis(other);
    // 40 requests take a moment; they may spread over more than 100 ms on a busy machine.
    expect(after - before).toBeLessThan(10);
    await settled(105);
    await top(other, game);
    expect((await readsOfRedis(other)) - after).toBe(1);
  });

  test('shows what another process took, 100 ms after it was answered at the latest', async () => {
    const [game, installId] = [freshGame(), freshId()];
    let done = false;
    const readers = Array.from({ length: 4 }, async () => {
      while (!done) await top(other, game);
    });
    const seen: number[] = [];
    for (let score = 1; score <= 12; score++) {
      await service.post(`/v1/highscores/${game}`, { installId, score, name: 'Ada' });
      await settled(101);
      seen.push((await top(other, game))[0].score);
    }
    done = true;
    await Promise.all(readers);
    expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  });
});
