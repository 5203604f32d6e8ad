import { describe, expect, test } from 'vitest';
import { forFile, freshId, sleep, start, type TestService } from '../../harness.ts';

const service = await forFile(start());
const other = await forFile(start());

const freshGame = () => freshId('game').toLowerCase();
const top = async (from: TestService, game: string) => (await from.get(`/v1/highscores/${game}`)).body.top;

async function readsOfRedis(of: TestService): Promise<number> {
  // The service caches the text for one second.
  of.advance(1000);
  const { body } = await of.get('/metrics');
  return Number(/script_duration_seconds_count\{script="highscores\/top"\} (\d+)/.exec(body)?.[1] ?? 0);
}

describe('GET /v1/highscores/{game}', () => {
  test('concurrent reads share one Redis read, and a read 100 ms later asks again', async () => {
    const game = freshGame();
    const before = await readsOfRedis(other);
    const replies = await Promise.all(Array.from({ length: 40 }, () => top(other, game)));
    expect(replies.flat()).toEqual([]);
    const after = await readsOfRedis(other);
    // On a busy machine the 40 requests may spread over several periods of 100 ms.
    expect(after - before).toBeLessThan(10);
    // The cached answer is valid for 100 ms of the real clock.
    await sleep(105);
    await top(other, game);
    expect((await readsOfRedis(other)) - after).toBe(1);
  });

  test('shows a score of another process at the latest 100 ms after its reply', async () => {
    const [game, installId] = [freshGame(), freshId()];
    let done = false;
    const readers = Array.from({ length: 4 }, async () => {
      while (!done) await top(other, game);
    });
    const seen: number[] = [];
    for (let score = 1; score <= 12; score++) {
      await service.post(`/v1/highscores/${game}`, { installId, score, name: 'Ada' });
      // The bound under test. An earlier read may still be stale.
      await sleep(101);
      seen.push((await top(other, game))[0].score);
    }
    done = true;
    await Promise.all(readers);
    expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  });
});
