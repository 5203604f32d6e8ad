import { afterAll, expect, test } from 'vitest';
import { audited } from '../../consistency/audited.ts';
import { forFile, freshId, start } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { Client } from '../../proofs/client.ts';
import { makeServerKey, statusWith } from '../../server-keys.ts';
import { catalogueFile, catalogueOf } from './catalogue-of.ts';
import { seeded } from '../../seeded.ts';
import { sized } from '../../sized.ts';
import { RandomBoard } from './random-board.ts';

/** A small run of `npm run prove:boards`. */
const STEPS = sized(250, 700);

const ascending = freshId('game').toLowerCase();
const CATALOGUE_FILE = catalogueFile(catalogueOf([ascending]));
const own = await forFile(startRedis());
const settings = { CATALOGUE_FILE, BOARDS: 'open', ADMIN_API: 'on', STORE: 'sandbox' };
// Each service caches its own lists and versions.
const services = [
  await forFile(start({ redis: own.location, settings })),
  await forFile(start({ redis: own.location, settings })),
] as const;
const { token: bearer } = await makeServerKey(services[0], ['admin']);
const client = new Client(() => services[Math.random() < 0.5 ? 0 : 1].url);
afterAll(() => client.close());

test('boards of two services agree with a model through random operations, and the audit finds nothing', async () => {
  await expect.poll(() => statusWith(services[1].url, bearer)).toBe(200);
  const seed = Math.floor(Math.random() * 2 ** 32);
  const walk = async (game: string, order: 'asc' | 'desc', players: number): Promise<void> => {
    const board = await RandomBoard.open({ client, bearer }, { game, order, players, random: seeded(seed) });
    for (let step = 0; step < STEPS; step++)
      await board.step().catch((error: unknown) => {
        throw new Error(`board ${order}, seed ${seed}, step ${step}`, { cause: error });
      });
  };
  await Promise.all([walk(ascending, 'asc', 24), walk(freshId('game').toLowerCase(), 'desc', 150)]);
  await expect.poll(async () => (await audited(own.location)).findings).toEqual([]);
});
