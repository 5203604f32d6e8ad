import { describe, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { damageEntry } from '../board-entries.ts';
import { audited } from '../consistency/audited.ts';
import { appOf, catalogueFile } from '../features/highscores/catalogue-of.ts';
import { forFile, freshId, start, type TestReply } from '../harness.ts';
import { startRedis } from '../own-redis.ts';
import { signInToStore } from '../store.ts';
import { logged, openDesk } from './parts.ts';

/** Operations on boards and rooms. */

const { service, id, read, change } = await forFile(openDesk());
const { redis } = service.service;
const season = { period: 'monthly', prizes: [{ upTo: 2, coins: 5 }], payAfterSeconds: 60, keep: 3 };
const CATALOGUE_FILE = catalogueFile(JSON.stringify({ apps: [appOf('cups', { season })] }));

const freshGame = (): string => freshId('game').toLowerCase();
const codeOf = ({ body }: TestReply): string | undefined => body.error?.code;
const scoresOf = (entries: { score: number }[]): number[] => entries.map(({ score }) => score);
const board = async (game: string, query = '') => (await read(`/boards/${game}${query}`)).body;
const top = async (game: string, at = service) => scoresOf((await at.get(`/v1/highscores/${game}`)).body.top);
const remove = (game: string, player: string) => change(`/boards/${game}/remove`, { player });
const versionOf = async (game: string): Promise<number> => Number(await redis.get(`{board:${game}}:version`));

async function submit(game: string, score: number, name = 'Ada', installId = freshId()): Promise<string> {
  expect((await service.post(`/v1/highscores/${game}`, { installId, score, name })).status).toBe(200);
  return accountIdOf(installId);
}

async function deleteAccount(installId: string): Promise<void> {
  const { confirm } = (await service.post('/v1/account/delete', { installId })).body;
  expect((await service.post('/v1/account/delete', { installId, confirm })).status).toBe(200);
}

test('seasons are listed, and a removal takes an entry off the board of all time and the open season', async () => {
  await using own = await startRedis();
  await using desk = await openDesk({ redis: own.location, settings: { CATALOGUE_FILE } });
  const lookAt = async (path: string) => (await desk.read(`/boards/cups${path}`)).body;
  expect(await lookAt('/seasons')).toEqual({ ok: true, game: 'cups', seasons: [] });
  const [cheater, honest] = [freshId(), freshId()];
  const play = async (installId: string, score: number) =>
    (await desk.service.post('/v1/highscores/cups', { installId, score, name: 'Ada' })).body;
  await play(cheater, 99);
  const { id: open, endsAt } = (await play(honest, 1)).season;
  expect((await lookAt('/seasons')).seasons).toEqual([
    {
      ...{ season: open, state: 'open', order: 'desc', endsAt, paysAt: new Date(Date.parse(endsAt) + 60_000).toISOString(), keep: 3 },
      ...{ prizes: [{ upTo: 2, coins: 5 }], entries: 2, unpaid: 0, paid: 0, paidCoins: 0 },
    },
  ]);
  const scoresAt = (...queries: string[]) => Promise.all(queries.map(async (query) => scoresOf((await lookAt(query)).entries)));
  expect(await scoresAt('', '?season=all', `?season=${open}`)).toEqual(Array.from({ length: 3 }, () => [99, 1]));
  expect((await lookAt('')).entries[0].accountId).toBe(accountIdOf(cheater));
  const removed = async (body: object) => (await desk.change('/boards/cups/remove', body)).body;
  expect(await removed({ player: accountIdOf(cheater) })).toMatchObject({
    removed: { score: 99, accountId: accountIdOf(cheater) },
    seasons: [open],
  });
  expect(await scoresAt('', '?season=all')).toEqual([[1], [1]]);
  expect((await removed({ player: accountIdOf(honest), season: 'all' })).seasons).toBeUndefined();
  expect(await scoresAt('', '?season=all')).toEqual([[1], []]);
  for (const { error } of [await removed({ player: accountIdOf(honest), season: '2020-01' }), await lookAt('?season=2020-01')])
    expect(error.code).toBe('season_not_found');
  const { playerId } = (await lookAt('')).entries[0];
  expect(await removed({ player: playerId, season: open })).toMatchObject({ removed: { score: 1 }, seasons: [open] });
  for (const game of ['cups', 'others']) {
    for (const installId of [cheater, honest]) await desk.service.post(`/v1/highscores/${game}`, { installId, score: 5, name: 'Ada' });
    await desk.change(`/boards/${game}/remove`, { player: cheater });
    await desk.change(`/boards/${game}/reset`);
  }
  await desk.change('/boards/others/drop', { archive: 1 });
  expect((await audited(own.location)).findings).toEqual([]);
});

describe('boards', () => {
  test('list shows a range of places, with competition ranks and accounts', async () => {
    const game = freshGame();
    const accounts: string[] = [];
    for (const score of [50, 40, 40, 40, 10]) accounts.push(await submit(game, score));
    expect(await board(game, '?from=3&to=5')).toMatchObject({
      game,
      count: 5,
      archives: [],
      entries: [
        { rank: 2, score: 40, accountId: accounts[2] },
        { rank: 2, score: 40, accountId: accounts[3] },
        { rank: 5, score: 10, accountId: accounts[4] },
      ],
    });
    expect((await board(game, '?from=6')).entries).toEqual([]);
    expect(await board(freshGame())).toMatchObject({ count: 0, entries: [] });
    for (const query of ['from=0', 'from=2&to=1', 'from=1&to=101', 'archive=x', 'from=-1'])
      expect([query, (await board(game, `?${query}`)).error.code]).toEqual([query, 'invalid_request']);
  });

  test('remove takes one entry off by any name of its player, and every reader sees the removal at once', async () => {
    const game = freshGame();
    await using other = await start();
    const [second, fourth, subject] = [freshId(), freshId(), freshId('ada')];
    for (const [score, installId] of [[30], [20, second], [10], [9, fourth]] as [number, string?][])
      await submit(game, score, 'Bob', installId);
    const { cookies } = await signInToStore(service, subject);
    await service.post(`/v1/highscores/${game}`, { score: 8, name: 'Ada' }, { cookies });
    // Both processes have the board cached.
    for (let times = 0; times < 2; times++) for (const each of [service, other]) await top(game, each);
    const { playerId } = (await board(game)).entries[1];
    const version = await versionOf(game);
    const { body } = await remove(game, playerId);
    // A concurrent submission must not be answered with the old list.
    expect(await versionOf(game)).toBe(version + 1);
    expect(body.removed).toMatchObject({ playerId, name: 'Bob', score: 20, accountId: accountIdOf(second) });
    await expect.poll(() => top(game, other)).toEqual([30, 10, 9, 8]);
    expect(await top(game)).toEqual([30, 10, 9, 8]);
    const third = (await board(game)).entries[1].accountId;
    for (const player of [third, fourth, `sandbox:${subject}`]) expect((await remove(game, player)).status).toBe(200);
    for (const player of [third, playerId, 'a'.repeat(12), `sandbox:${subject}`, 'sandbox:nobody-at-all'])
      expect([player, codeOf(await remove(game, player))]).toEqual([player, 'entry_not_found']);
    expect(codeOf(await remove(game, 'short'))).toBe('invalid_request');
    await submit(game, 5, 'Bob', second);
    expect(scoresOf((await board(game)).entries)).toEqual([30, 5]);
  });

  test('a damaged entry in Redis hides no other entry, and can be removed', async () => {
    const game = freshGame();
    const [standing, damaged] = [await submit(game, 10), await submit(game, 20)];
    await damageEntry(redis, game, damaged);
    const at = '1970-01-01T00:00:00.000Z';
    const entries = async () => (await service.get(`/v1/highscores/${game}`)).body.top;
    await expect.poll(entries).toMatchObject([{ score: 20, name: 'Ada', at }, { score: 10 }]);
    expect((await board(game)).entries).toMatchObject([{ accountId: damaged, at }, { accountId: standing }]);
    expect((await remove(game, damaged)).body.removed).toMatchObject({ score: 20, at });
    expect(scoresOf((await board(game)).entries)).toEqual([10]);
  });

  test('reset empties the board, and the archive stays readable until drop deletes it', async () => {
    const game = freshGame();
    const installId = freshId();
    const accountId = await submit(game, 7, 'Ada', installId);
    const version = await versionOf(game);
    const reset = async (reason: string) => (await change(`/boards/${game}/reset`, { reason })).body;
    const drop = async (archive: unknown) => (await change(`/boards/${game}/drop`, { archive })).body;
    expect(await reset('season 2')).toEqual({ ok: true, game, archive: 1, entries: 1, logged });
    expect(await versionOf(game)).toBe(version + 1);
    expect((await reset('again')).error).toMatchObject({ code: 'entry_not_found', message: `The board of ${game} has no entries.` });
    await submit(game, 3, 'Ada', installId);
    expect((await reset('season 3')).archive).toBe(2);
    expect(await board(game, '?archive=1')).toMatchObject({
      entries: [{ rank: 1, score: 7, accountId }],
      archives: [
        { archive: 2, entries: 1, reason: 'season 3' },
        { archive: 1, entries: 1, by: `key:${id}` },
      ],
    });
    for (const archive of ['1', 0, 1.5, 1e9])
      expect((await drop(archive)).error).toMatchObject({ code: 'invalid_request', field: 'archive' });
    expect(await drop(1)).toEqual({ ok: true, game, archive: 1, logged });
    for (const { error } of [await drop(1), await board(game, '?archive=1')]) expect(error.code).toBe('entry_not_found');
    expect(await redis.exists(`{board:${game}}:archive:1:scores`)).toBe(0);
    expect((await board(game, '?archive=2')).entries).toMatchObject([{ score: 3 }]);
  });

  test('an archive and the list of removed entries follow a guest into its store account, and forget a deleted account', async () => {
    const game = freshGame();
    const [moving, deleting] = [freshId(), freshId()];
    for (const installId of [moving, deleting]) await remove(game, await submit(game, 7, 'Ada', installId));
    await submit(game, 7, 'Ada', moving);
    await change(`/boards/${game}/reset`);
    await submit(game, 9, 'Bob', deleting);
    await change(`/boards/${game}/reset`);
    expect(await redis.scard(`{board:${game}}:removed`)).toBe(2);
    const { accountId } = (await signInToStore(service, freshId('user'), { installId: moving })).body;
    expect(await redis.smembers(`{board:${game}}:removed`)).toEqual([accountIdOf(deleting)]);
    await deleteAccount(deleting);
    expect(await redis.exists(`{board:${game}}:removed`)).toBe(0);
    expect((await board(game, '?archive=1')).entries).toMatchObject([{ accountId, score: 7 }]);
    expect((await board(game, '?archive=2')).entries).toEqual([]);
  });

  test('each score that arrives during resets is either in one archive or on the board', async () => {
    const game = freshGame();
    await submit(game, 1);
    const scores = Array.from({ length: 120 }, (_, index) => index + 2);
    const resets = async (): Promise<void> => {
      for (let times = 0; times < 6; times++) await change(`/boards/${game}/reset`);
    };
    await Promise.all([...scores.map((score) => submit(game, score)), resets(), resets()]);
    const scoresIn = async (archive = '') => {
      const pages = await Promise.all(['from=1&to=100', 'from=101&to=200'].map((range) => board(game, `?${range}${archive}`)));
      return pages.flatMap(({ entries }) => scoresOf(entries));
    };
    const { archives } = await board(game);
    expect(archives.length).toBeGreaterThan(0);
    const found = await scoresIn();
    for (const { archive, entries } of archives) {
      const old = await scoresIn(`&archive=${archive}`);
      expect(old).toHaveLength(entries);
      found.push(...old);
    }
    expect(found.toSorted((one, other) => one - other)).toEqual([1, ...scores]);
  });
});

describe('rooms', () => {
  test('show has the document, the accounts of the seats, the time in the list, and the reserved seats', async () => {
    const installId = freshId();
    const { room } = (await service.post('/v1/rooms', { installId, name: 'Ann', state: { round: 1 }, game: freshGame(), public: true }))
      .body;
    const shown = async () => (await read(`/rooms/${room.code.toLowerCase()}`)).body;
    expect(await shown()).toMatchObject({ room, seats: [{ playerId: 'p1', accountId: accountIdOf(installId) }], connections: 0 });
    await expect.poll(async () => (await shown()).listed).toMatchObject({ reservedSeats: 0 });
    const leftMs = Date.parse((await shown()).listed.until) - service.now();
    expect(leftMs).toBeGreaterThan(5000);
    expect(leftMs).toBeLessThanOrEqual(15_000);
    await service.post(`/v1/rooms/${room.code}/lock`, { installId });
    await expect.poll(async () => (await shown()).listed).toBeUndefined();
    expect(codeOf(await read('/rooms/nothing'))).toBe('room_not_found');
  });

  test('end ends a room once, in any phase, and its players cannot continue', async () => {
    const installId = freshId();
    const { code, seq } = (await service.post('/v1/rooms', { installId })).body.room;
    await service.post(`/v1/rooms/${code}/start`, { installId });
    const { body } = await change(`/rooms/${code}/end`);
    expect(body.room).toMatchObject({ code, phase: 'ended', seq: seq + 2, endedAt: expect.any(String), state: {} });
    expect(codeOf(await service.post(`/v1/rooms/${code}/state`, { installId, state: 1 }))).toBe('room_ended');
    expect(codeOf(await change(`/rooms/${code}/end`))).toBe('room_ended');
  });
});
