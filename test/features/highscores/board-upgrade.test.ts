import { beforeAll, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { operatedBoardKeys } from '../../../src/features/highscores/archives.ts';
import { boardKeys } from '../../../src/features/highscores/model.ts';
import { DATA_VERSION, DATA_VERSION_KEY } from '../../../src/redis/data/data-version.ts';
import { audited } from '../../consistency/audited.ts';
import { forFile, freshId, request, start, type TestService } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { catalogueFile, catalogueOf } from './catalogue-of.ts';
import { exportOf } from '../../exported.ts';

/** Boards of data of version 3, in the format of its release. */

const DAY = Date.parse('2026-01-01T00:00:00Z');
const installs = Array.from({ length: 450 }, () => freshId());
const settings = { CATALOGUE_FILE: catalogueFile(catalogueOf(['sprint'])), BOARDS: 'open' };
const own = await forFile(startRedis());
beforeAll(async () => {
  await using service = await start({ redis: own.location, settings });
  // The accounts of the players.
  for (const game of ['climb', 'sprint'])
    for (let start = 0; start < installs.length; start += 50) {
      const replies = await Promise.all(installs.slice(start, start + 50).map((installId) => submit(service, game, installId, 1, 'Ada')));
      expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
    }
});

function submit({ url }: Pick<TestService, 'url'>, game: string, installId: string, score: number, name: string) {
  return request(url, `/v1/highscores/${game}`, { method: 'POST' }, JSON.stringify({ installId, score, name }));
}

/** Writes a board as version 3 did. All entries have the same millisecond; of equal scores the player with the lower number came first. */
async function writeOld(game: string, isAscending: boolean, keys: { scores: string; players: string }): Promise<void> {
  const { redis } = own;
  await redis.del(keys.scores, keys.players, boardKeys.secret(game));
  for (const [index, installId] of installs.entries()) {
    const number = index + 10;
    const arrival = isAscending ? number : 999_999_999_999 - number;
    const at = (DAY + Math.floor(index / 10)).toString(36).padStart(9, '0');
    const entry = `${String(arrival).padStart(12, '0')}${at}${String(index).padStart(12, 'p')}Player ${index}`;
    await redis.zadd(keys.scores, Math.floor(index / 50), entry);
    await redis.hset(keys.players, accountIdOf(installId), entry);
  }
  await redis.set(boardKeys.arrivals(game), installs.length + 9);
}

/** Player numbers in the order of the board. */
function order(isAscending: boolean): number[] {
  const players = installs.map((_, index) => index);
  const scoreOf = (index: number): number => Math.floor(index / 50);
  return players.toSorted((one, other) => (isAscending ? scoreOf(one) - scoreOf(other) : scoreOf(other) - scoreOf(one)) || one - other);
}

test('boards and archives of version 3 have the same entries, ranks and times once they are upgraded', async () => {
  const { redis } = own;
  const archive = { scores: operatedBoardKeys.archivedScores('climb', 1), players: operatedBoardKeys.archivedPlayers('climb', 1) };
  await writeOld('climb', false, archive);
  await redis.hset(operatedBoardKeys.archives('climb'), 1, JSON.stringify({ at: 1, by: 'ada', reason: 'old', entries: installs.length }));
  await writeOld('climb', false, { scores: boardKeys.scores('climb'), players: boardKeys.players('climb') });
  await writeOld('sprint', true, { scores: boardKeys.scores('sprint'), players: boardKeys.players('sprint') });
  await redis.set(DATA_VERSION_KEY, '3');
  {
    await using first = await start({ redis: own.location, settings });
    await expect.poll(() => redis.get(DATA_VERSION_KEY)).toBe(String(DATA_VERSION));
    // Until then the service is not ready.
    await expect.poll(async () => (await first.get('/ready')).status).toBe(200);
  }
  // An upgrade that was interrupted runs again. Upgraded entries stay.
  await redis.set(DATA_VERSION_KEY, '3>4');
  await using service = await start({ redis: own.location, settings });
  await expect.poll(async () => (await service.get('/ready')).status).toBe(200);
  expect(await redis.get(DATA_VERSION_KEY)).toBe(String(DATA_VERSION));
  for (const [game, isAscending] of [
    ['climb', false],
    ['sprint', true],
  ] as const) {
    const shown: { name: string; at: string; score: number; rank: number; playerId: string }[] = [];
    for (let cursor = ''; ;) {
      const { body } = await service.get(`/v1/highscores/${game}/entries?limit=100${cursor}`);
      shown.push(...body.entries);
      if (body.nextCursor === undefined) break;
      cursor = `&cursor=${body.nextCursor}`;
    }
    const players = order(isAscending);
    expect(shown.map(({ name }) => name)).toEqual(players.map((index) => `Player ${index}`));
    expect(shown.map(({ at }) => Date.parse(at))).toEqual(players.map((index) => DAY + Math.floor(index / 10)));
    expect(new Set(shown.map(({ playerId }) => playerId)).size).toBe(installs.length);
    const { body } = await submit(service, game, installs[7]!, isAscending ? 9 : -9, 'renamed');
    expect([body.best, body.personalBest]).toEqual([0, false]);
  }
  const exported = (await exportOf(service, { headers: { 'x-install-id': installs[7]! } })).scores;
  expect(exported).toMatchObject([
    { game: 'climb', name: 'renamed' },
    { game: 'climb', archive: 1, name: 'Player 7', score: 0 },
    { game: 'sprint', name: 'renamed' },
  ]);
  expect((await audited(own.location)).findings).toEqual([]);
});
