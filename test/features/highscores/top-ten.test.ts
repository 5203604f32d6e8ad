import { writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { moveScores } from '../../../src/features/highscores/account-scores.ts';
import { boardKeys } from '../../../src/features/highscores/model.ts';
import { ScriptRunner } from '../../../src/redis/script-runner.ts';
import { forFile, freshId, sharedClient, start } from '../../harness.ts';
import { BoardModel } from './board-model.ts';
import { appOf, catalogueFile, catalogueOf } from './catalogue-of.ts';
import { sized } from '../../sized.ts';

/** The top ten in the answers of two services on one Redis. Each service caches its own lists and versions. */

/** Games of the catalogue, all ascending. Every other game is descending. */
const ascending = Array.from({ length: 60 }, () => freshGame());
const settings = { CATALOGUE_FILE: catalogueFile(catalogueOf(ascending)), BOARDS: 'open' };
const services = [await forFile(start({ settings, stoppedClock: true })), await forFile(start({ settings, stoppedClock: true }))] as const;
const redis = sharedClient();
afterAll(() => redis.disconnect());

function freshGame(): string {
  return freshId('game').toLowerCase();
}

interface Shown {
  rank: number;
  name: string;
  score: number;
}
const lines = (top: Shown[]): string[] => top.map(({ rank, name, score }) => `${rank} ${name} ${score}`);

/** A board on which players submit through both services, and its model. */
class Board {
  readonly game: string;
  readonly #model: BoardModel;
  readonly #installIds = new Map<number, string>();

  constructor(order: 'asc' | 'desc' = 'desc') {
    this.game = order === 'asc' ? ascending.pop()! : freshGame();
    this.#model = new BoardModel(order);
  }

  get path(): string {
    return `/v1/highscores/${this.game}`;
  }

  installId(player: number): string {
    const installId = this.#installIds.get(player) ?? freshId();
    this.#installIds.set(player, installId);
    return installId;
  }

  /** Submits, and compares the whole answer with the model. */
  async submit(through: number, player: number, score: number, name = `p${player}`): Promise<string[]> {
    const service = services[through]!;
    const expected = this.#model.submit(player, score, name);
    const { body } = await service.post(this.path, { installId: this.installId(player), score, name });
    expect({ ...body, top: lines(body.top) }).toEqual({ ok: true, ...expected });
    return expected.top;
  }

  async read(through: number): Promise<void> {
    const { body } = await services[through]!.get(this.path);
    expect(lines(body.top)).toEqual(this.#model.top());
  }

  /** Moves a guest's score, as the move of a guest into a store account does. */
  async move(guest: number, player: number, order: 'asc' | 'desc'): Promise<void> {
    this.#model.move(guest, player);
    const scripts = new ScriptRunner(redis, { now: Date.now });
    const [from, to] = [accountIdOf(this.installId(guest)), accountIdOf(this.installId(player))];
    await moveScores(from, to, true, { scripts, catalogue: { orderOf: () => order } });
  }

  version(): Promise<string | null> {
    return redis.get(boardKeys.version(this.game));
  }

  /** Twelve players with the scores 12 to 1, through one service. The other service then knows the list. */
  async fill(): Promise<void> {
    for (let player = 1; player <= 12; player++) await this.submit(0, player, 13 - player);
    await this.submit(1, 12, 0);
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

const action = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({ kind: fc.constant('submit' as const), score: fc.integer({ min: -4, max: 4 }), name: fc.boolean() }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('read' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('move' as const), to: fc.integer({ min: 0, max: 15 }) }) },
);
const step = fc.record({ through: fc.integer({ min: 0, max: 1 }), player: fc.integer({ min: 0, max: 15 }), action });

test.each(['desc', 'asc'] as const)('random changes through two services answer as the model does (%s)', async (order) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 60 }), async (steps) => {
      const board = new Board(order);
      /** A move resolves before both services have its message, so a read right after it may be 100 ms old. */
      let isMoving = false;
      for (const { through, player, action: given } of steps) {
        if (given.kind === 'submit') await board.submit(through, player, given.score, given.name ? `p${player}` : 'other');
        else if (given.kind === 'move' && given.to !== player) {
          await board.move(player, given.to, order);
          isMoving = true;
        } else if (given.kind === 'read' && !isMoving) await board.read(through);
      }
    }),
    // No shrinking: each run of the ascending case uses up one of the games.
    { numRuns: sized(3, 15), endOnFailure: true },
  );
});

test('each of many players sees the own score in the answer, and then on both services, while all submit at once', async () => {
  const board = new Board();
  const [first, second] = services;
  await Promise.all(
    Array.from({ length: 16 }, async (_, player) => {
      for (let turn = 1; turn <= 12; turn++) {
        const score = turn * 16 + player;
        const through = services[(turn + player) % 2]!;
        const { body } = await through.post(board.path, { installId: board.installId(player), score, name: `p${player}` });
        const tops = [body.top, (await first.get(board.path)).body.top, (await second.get(board.path)).body.top] as Shown[][];
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
  for (let player = 1; player <= 12; player++) await board.submit(0, player, 13 - player);
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
  await board.move(12, 13, 'desc');
  expect(await board.version()).toBe('13');
});

test('an entry that an operator removed leaves the answers within 100 ms, even under constant submissions', async () => {
  const board = new Board();
  await board.fill();
  // Submits a score that changes nothing, so that a service that knows a list sends its version.
  const listed = async (): Promise<string[]> =>
    lines((await services[0].post(board.path, { installId: board.installId(12), score: 0, name: 'p12' })).body.top);
  await listed();
  const [best] = await redis.zrange(boardKeys.scores(board.game), '+inf', '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, 1);
  await redis.zrem(boardKeys.scores(board.game), best!);
  const removedAt = performance.now();
  while (performance.now() < removedAt + 100) await listed();
  expect((await listed())[0]).toBe('1 p2 11');
});
