import { Agent } from 'node:http';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { audited } from '../../consistency/audited.ts';
import { freshId, start, type TestService } from '../../harness.ts';
import { startRedis, type OwnRedis } from '../../own-redis.ts';
import { makeServerKey } from '../../server-keys.ts';
import { catalogueOf } from './catalogue-of.ts';
import { seeded } from '../../seeded.ts';
import { RandomBoard, type BoardService } from './random-board.ts';

/** A small run of `npm run prove:boards`. */

const [folder, agent] = [mkdtempSync(join(tmpdir(), 'coinop-random-boards-')), new Agent({ keepAlive: true })];
const ascending = freshId('game').toLowerCase();
let own: OwnRedis;
let service: TestService;
let boards: BoardService;
beforeAll(async () => {
  const file = join(folder, 'catalogue.json');
  writeFileSync(file, catalogueOf([ascending]));
  own = await startRedis();
  service = await start({ redis: own.location, settings: { CATALOGUE_FILE: file, BOARDS: 'open', ADMIN_API: 'on', STORE: 'sandbox' } });
  boards = { url: service.url, bearer: (await makeServerKey(service, ['admin'])).token, agent };
});
afterAll(async () => {
  agent.destroy();
  await service[Symbol.asyncDispose]();
  await own[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

test('boards agree with a model through random operations, and the audit finds nothing', { timeout: 60_000 }, async () => {
  const seed = Math.floor(Math.random() * 2 ** 32);
  const walk = async (game: string, order: 'asc' | 'desc', players: number): Promise<void> => {
    const board = await RandomBoard.open(boards, { game, order, players, random: seeded(seed) });
    for (let step = 0; step < 700; step++)
      await board.step().catch((error: unknown) => {
        throw new Error(`board ${order}, seed ${seed}, step ${step}`, { cause: error });
      });
  };
  await Promise.all([walk(ascending, 'asc', 24), walk(freshId('game').toLowerCase(), 'desc', 150)]);
  await expect.poll(async () => (await audited(own.location)).findings, { timeout: 20_000 }).toEqual([]);
});
