import { writeFileSync } from 'node:fs';
import { afterAll, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { moveScores } from '../../../src/features/highscores/account-scores.ts';
import { boardKeys } from '../../../src/features/highscores/model.ts';
import { ScriptRunner } from '../../../src/redis/script-runner.ts';
import { forFile, freshId, sharedClient, start } from '../../harness.ts';
import { appOf, catalogueFile, catalogueOf } from './catalogue-of.ts';

/** The top ten in the answers of two services on one Redis. random-board.test.ts compares it with a model. */

const services = [await forFile(start()), await forFile(start())] as const;
const redis = sharedClient();
afterAll(() => redis.disconnect());

const freshGame = (): string => freshId('game').toLowerCase();

interface Shown {
  rank: number;
  name: string;
  score: number;
}
const lines = (top: Shown[]): string[] => top.map(({ rank, name, score }) => `${rank} ${name} ${score}`);

/** A board whose players have numbers. */
class Board {
  readonly path: string;
  readonly game = freshGame();
  readonly #prefix = freshId();

  constructor() {
    this.path = `/v1/highscores/${this.game}`;
  }

  accountId(player: number): string {
    return accountIdOf(this.#prefix + player);
  }

  /** @returns the top ten of the answer */
  async submit(through: number, player: number, score: number, name = `p${player}`): Promise<Shown[]> {
    return (await services[through]!.post(this.path, { installId: this.#prefix + player, score, name })).body.top;
  }

  /** Twelve players with the scores 12 to 1. */
  async fill(): Promise<void> {
    for (let player = 1; player <= 12; player++) await this.submit(0, player, 13 - player);
  }

  version(): Promise<string | null> {
    return redis.get(boardKeys.version(this.game));
  }
}

test('the top ten in the answer to a submission is right after a change of the order in the catalogue', async () => {
  const game = freshGame();
  const file = catalogueFile(JSON.stringify({ apps: [appOf(game, { order: 'desc' })] }));
  await using service = await start({ settings: { CATALOGUE_FILE: file } });
  const installIds = Array.from({ length: 12 }, () => freshId());
  const submit = async (player: number): Promise<string[]> =>
    lines((await service.post(`/v1/highscores/${game}`, { installId: installIds[player], score: player, name: `p${player}` })).body.top);
  for (let player = 0; player < 12; player++) await submit(player);
  const descending = Array.from({ length: 10 }, (_, index) => `${index + 1} p${11 - index} ${11 - index}`);
  const rising = Array.from({ length: 10 }, (_, index) => `${index + 1} p${index} ${index}`);
  expect(await submit(5)).toEqual(descending);
  writeFileSync(file, catalogueOf([game]));
  const seen: string[][] = [];
  // The service looks at the file twice a second. Submissions in between keep its cached list fresh.
  await expect.poll(async () => seen[seen.push(await submit(5)) - 1], { interval: 5 }).toEqual(rising);
  expect(seen.slice(0, -1)).toEqual(seen.slice(1).map(() => descending));
});

test('each of many players sees the own score in the answer, and then on both services, while all submit at once', async () => {
  const board = new Board();
  const [first, second] = services;
  await Promise.all(
    Array.from({ length: 16 }, async (_, player) => {
      for (let turn = 1; turn <= 12; turn++) {
        const score = turn * 16 + player;
        const answered = await board.submit((turn + player) % 2, player, score);
        const tops = [answered, (await first.get(board.path)).body.top, (await second.get(board.path)).body.top] as Shown[][];
        // If the score is not listed, ten better scores are.
        for (const top of tops) {
          const own = top.find(({ name }) => name === `p${player}`);
          if (own === undefined) expect([top.length, top.every((entry) => entry.score > score)]).toEqual([10, true]);
          else expect(own.score).toBe(score);
        }
      }
    }),
  );
  const scores = Array.from({ length: 10 }, (_, index) => 12 * 16 + 15 - index);
  expect((await first.get(board.path)).body.top.map(({ score }: Shown) => score)).toEqual(scores);
});

test('the version of a top ten changes exactly with the ten', async () => {
  const board = new Board();
  await board.fill();
  // The eleventh and the twelfth score were not listed.
  expect(await board.version()).toBe('10');
  await board.submit(0, 12, 1.5);
  await board.submit(1, 12, 1.5, 'renamed');
  await board.submit(0, 13, 0);
  await board.submit(1, 1, 3);
  await board.submit(0, 1, 12);
  expect(await board.version()).toBe('10');
  await board.submit(1, 1, 3, 'renamed');
  expect(await board.version()).toBe('11');
  await board.submit(0, 13, 50);
  expect(await board.version()).toBe('12');
  // As the move of a guest into a store account does.
  const parts = { scripts: new ScriptRunner(redis, { now: Date.now }), catalogue: { orderOf: () => 'desc' as const } };
  await moveScores(board.accountId(12), board.accountId(13), true, parts);
  expect(await board.version()).toBe('13');
});
