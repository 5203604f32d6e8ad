import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { addEntry, damageEntry } from '../board-entries.ts';
import { freshId, sharedClient, start, type TestReply, type TestService } from '../harness.ts';
import { startRedis } from '../own-redis.ts';
import { makeServerKey } from '../server-keys.ts';
import { signInToStore } from '../store.ts';
import { logged } from './parts.ts';

/** Operations on boards and rooms. */

let service: TestService;
let bearer: string;
let id: string;
const redis = sharedClient();
beforeAll(async () => {
  service = await start({ settings: { ADMIN_API: 'on' } });
  ({ token: bearer, id } = await makeServerKey(service, ['admin']));
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  redis.disconnect();
});

const look = (path: string): Promise<TestReply> => service.get(`/v1/admin${path}`, { bearer });
const change = (path: string, body: object): Promise<TestReply> => service.post(`/v1/admin${path}`, body, { bearer });
const freshGame = (): string => freshId('game').toLowerCase();

async function submit(game: string, score: number, name = 'Ada', installId = freshId()): Promise<string> {
  expect((await service.post(`/v1/highscores/${game}`, { installId, score, name })).status).toBe(200);
  return accountIdOf(installId);
}

const versionOf = async (game: string): Promise<number> => Number(await redis.get(`{board:${game}}:version`));
const scoresOf = (entries: { score: number }[]): number[] => entries.map(({ score }) => score);

describe('seasons of boards', () => {
  test('are listed, and a removal takes an entry off the board of all time and the open season', async () => {
    await using redis = await startRedis();
    const folder = mkdtempSync(join(tmpdir(), 'coinop-seasons-'));
    const file = join(folder, 'catalogue.json');
    const entry = { id: 'cups', kind: 'game', name: 'Cups', tagline: '', icon: '/i.png', url: '/g', status: 'live', platforms: [] };
    const season = { period: 'monthly', prizes: [{ upTo: 2, coins: 5 }], payAfterSeconds: 60, keep: 3 };
    writeFileSync(file, JSON.stringify([{ ...entry, season, updatedAt: '2026-11-22T12:00:00.000Z' }]));
    await using own = await start({ redis: redis.location, settings: { ADMIN_API: 'on', CATALOGUE_FILE: file } });
    rmSync(folder, { recursive: true });
    const bearer = (await makeServerKey(own, ['admin'])).token;
    const lookAt = async (path: string) => own.get(`/v1/admin/boards/cups${path}`, { bearer });
    expect((await lookAt('/seasons')).body).toEqual({ ok: true, game: 'cups', seasons: [] });
    const [cheater, honest] = [freshId(), freshId()];
    const submit = async (installId: string, score: number) =>
      (await own.post('/v1/highscores/cups', { installId, score, name: 'Ada' })).body;
    await submit(cheater, 99);
    const { id, endsAt } = (await submit(honest, 1)).season;
    expect((await lookAt('/seasons')).body.seasons).toEqual([
      {
        ...{ season: id, state: 'open', order: 'desc', endsAt, paysAt: new Date(Date.parse(endsAt) + 60_000).toISOString(), keep: 3 },
        ...{ prizes: [{ upTo: 2, coins: 5 }], entries: 2, unpaid: 0, paid: 0, paidCoins: 0 },
      },
    ]);
    const scoresAt = async (query: string) => scoresOf((await lookAt(query)).body.entries);
    expect([await scoresAt(''), await scoresAt('?season=all'), await scoresAt(`?season=${id}`)]).toEqual([
      [99, 1],
      [99, 1],
      [99, 1],
    ]);
    expect((await lookAt('')).body.entries[0].accountId).toBe(accountIdOf(cheater));
    const remove = (body: object) => own.post('/v1/admin/boards/cups/remove', { reason: 'cheated', ...body }, { bearer });
    const removed = await remove({ player: accountIdOf(cheater) });
    expect(removed.body).toMatchObject({ removed: { score: 99, accountId: accountIdOf(cheater) }, seasons: [id] });
    expect([await scoresAt(''), await scoresAt('?season=all')]).toEqual([[1], [1]]);
    expect((await remove({ player: accountIdOf(honest), season: 'all' })).body.seasons).toBeUndefined();
    expect([await scoresAt(''), await scoresAt('?season=all')]).toEqual([[1], []]);
    for (const reply of [await remove({ player: accountIdOf(honest), season: '2020-01' }), await lookAt('?season=2020-01')])
      expect([reply.status, reply.body.error.code]).toEqual([404, 'season_not_found']);
    const { playerId } = (await lookAt('')).body.entries[0];
    expect((await remove({ player: playerId, season: id })).body).toMatchObject({ removed: { score: 1 }, seasons: [id] });
  });
});

describe('boards', () => {
  test('list shows a range of places, with competition ranks and accounts', async () => {
    const game = freshGame();
    const accounts: string[] = [];
    for (const score of [50, 40, 40, 40, 10]) accounts.push(await submit(game, score));
    const { body } = await look(`/boards/${game}?from=3&to=5`);
    expect(body).toMatchObject({ game, count: 5, archives: [] });
    expect(body.entries.map(({ rank, score, accountId }: Record<string, unknown>) => [rank, score, accountId])).toEqual([
      [2, 40, accounts[2]],
      [2, 40, accounts[3]],
      [5, 10, accounts[4]],
    ]);
    expect((await look(`/boards/${game}?from=6`)).body.entries).toEqual([]);
    expect((await look(`/boards/${freshGame()}`)).body).toMatchObject({ count: 0, entries: [] });
    for (const query of ['from=0', 'from=2&to=1', 'from=1&to=101', 'archive=x', 'from=-1'])
      expect((await look(`/boards/${game}?${query}`)).body.error.code).toBe('invalid_request');
    expect((await look(`/boards/${game}?archive=1`)).body.error.code).toBe('entry_not_found');
  });

  test('a ban removes the entry, and the end of the ban restores it', async () => {
    const game = freshGame();
    const [installId, top] = [freshId(), async () => scoresOf((await service.get(`/v1/highscores/${game}`)).body.top)];
    const accountId = await submit(game, 30, 'Ada', installId);
    await submit(game, 20, 'Bob');
    expect((await change(`/accounts/${accountId}/ban`, { reason: 'cheats' })).status).toBe(200);
    await expect.poll(top).toEqual([20]);
    expect((await look(`/boards/${game}`)).body.count).toBe(1);
    expect((await change(`/accounts/${accountId}/unban`, { reason: 'appeal' })).status).toBe(200);
    await expect.poll(top).toEqual([30, 20]);
    expect((await service.get(`/v1/highscores/${game}/around?installId=${installId}`)).body.you).toMatchObject({ rank: 1, score: 30 });
  });

  test('remove takes one entry off by playerId or accountId, and every reader sees the removal at once', async () => {
    const game = freshGame();
    await using other = await start();
    const installId = freshId();
    await submit(game, 30);
    const second = await submit(game, 20, 'Bob', installId);
    const third = await submit(game, 10);
    // Both processes have the board cached.
    for (let times = 0; times < 2; times++) for (const each of [service, other]) await each.get(`/v1/highscores/${game}`);
    const { playerId } = (await look(`/boards/${game}`)).body.entries[1];
    const version = await versionOf(game);
    const { body } = await change(`/boards/${game}/remove`, { player: playerId, reason: 'cheated' });
    // A concurrent submission must not be answered with the old list.
    expect(await versionOf(game)).toBe(version + 1);
    expect(body.removed).toMatchObject({ playerId, name: 'Bob', score: 20, accountId: second });
    await expect.poll(async () => scoresOf((await other.get(`/v1/highscores/${game}`)).body.top)).toEqual([30, 10]);
    expect(scoresOf((await service.get(`/v1/highscores/${game}`)).body.top)).toEqual([30, 10]);
    expect((await change(`/boards/${game}/remove`, { player: third, reason: 'cheated' })).status).toBe(200);
    for (const player of [third, playerId, 'a'.repeat(12)])
      expect((await change(`/boards/${game}/remove`, { player, reason: 'cheated' })).body.error.code).toBe('entry_not_found');
    expect((await change(`/boards/${game}/remove`, { player: 'short', reason: 'cheated' })).body.error.code).toBe('invalid_request');
    await submit(game, 5, 'Bob', installId);
    expect(scoresOf((await look(`/boards/${game}`)).body.entries)).toEqual([30, 5]);
  });

  test('remove takes every entry of an account', async () => {
    const game = freshGame();
    await using own = await start({ settings: { STORE: 'sandbox', ADMIN_API: 'on' } });
    const subject = freshId('ada');
    const installId = freshId();
    const { cookies } = await signInToStore(own, subject);
    await own.post(`/v1/highscores/${game}`, { score: 40, name: 'Ada' }, { cookies });
    await submit(game, 30, 'Bob', installId);
    const remove = async (player: string): Promise<TestReply> =>
      own.post(`/v1/admin/boards/${game}/remove`, { player, reason: 'cheated' }, { bearer });
    expect((await remove(`sandbox:${subject}`)).body.removed).toMatchObject({ name: 'Ada' });
    expect((await remove(`sandbox:${subject}`)).body.error.code).toBe('entry_not_found');
    expect((await remove(installId)).body.removed).toMatchObject({ name: 'Bob' });
    expect((await remove('sandbox:nobody-at-all')).body.error.code).toBe('entry_not_found');
  });

  test('a damaged entry in Redis hides no other entry, and can be removed', async () => {
    const game = freshGame();
    const [standing, damaged] = [await submit(game, 10), await submit(game, 20)];
    await damageEntry(redis, game, damaged);
    const at = '1970-01-01T00:00:00.000Z';
    await expect
      .poll(async () => (await service.get(`/v1/highscores/${game}`)).body.top)
      .toMatchObject([{ score: 20, name: 'Ada', at }, { score: 10 }]);
    expect((await look(`/boards/${game}`)).body.entries).toMatchObject([{ accountId: damaged, at }, { accountId: standing }]);
    expect((await change(`/boards/${game}/remove`, { player: damaged, reason: 'damaged' })).body.removed).toMatchObject({ score: 20, at });
    expect(scoresOf((await look(`/boards/${game}`)).body.entries)).toEqual([10]);
  });

  test('reset empties the board, and the archive stays readable until drop deletes it', async () => {
    const game = freshGame();
    const installId = freshId();
    const accountId = await submit(game, 7, 'Ada', installId);
    const version = await versionOf(game);
    const { body } = await change(`/boards/${game}/reset`, { reason: 'season 2' });
    expect(await versionOf(game)).toBe(version + 1);
    expect(body).toEqual({ ok: true, game, archive: 1, entries: 1, logged });
    const empty = await change(`/boards/${game}/reset`, { reason: 'again' });
    expect(empty.body.error).toMatchObject({ code: 'entry_not_found', message: `The board of ${game} has no entries.` });
    await submit(game, 3, 'Ada', installId);
    expect((await change(`/boards/${game}/reset`, { reason: 'season 3' })).body.archive).toBe(2);
    const old = (await look(`/boards/${game}?archive=1`)).body;
    expect(old.entries).toMatchObject([{ rank: 1, score: 7, accountId }]);
    expect(old.archives).toMatchObject([
      { archive: 2, entries: 1, reason: 'season 3' },
      { archive: 1, entries: 1, by: `key:${id}` },
    ]);
    for (const archive of ['1', 0, 1.5, 1e9])
      expect((await change(`/boards/${game}/drop`, { archive, reason: 'old' })).body.error).toMatchObject({
        code: 'invalid_request',
        field: 'archive',
      });
    expect((await change(`/boards/${game}/drop`, { archive: 1, reason: 'old' })).body).toEqual({ ok: true, game, archive: 1, logged });
    expect((await look(`/boards/${game}?archive=1`)).body.error.code).toBe('entry_not_found');
    expect((await change(`/boards/${game}/drop`, { archive: 1, reason: 'old' })).body.error.code).toBe('entry_not_found');
    expect(await redis.exists(`{board:${game}}:archive:1:scores`)).toBe(0);
    expect((await look(`/boards/${game}?archive=2`)).body.entries).toMatchObject([{ score: 3 }]);
  });

  test('an archive follows a guest into its store account, and forgets a deleted account', async () => {
    const game = freshGame();
    const installId = freshId();
    const guest = await submit(game, 7, 'Ada', installId);
    await submit(game, 3);
    await change(`/boards/${game}/reset`, { reason: 'season 2' });
    const { cookies } = await signInToStore(service, freshId('user'), { installId });
    const accountsOf = async () =>
      (await look(`/boards/${game}?archive=1`)).body.entries.map(({ accountId }: { accountId: string }) => accountId);
    const [moved, other] = await accountsOf();
    expect(moved).toBe((await service.get('/v1/session', { cookies })).body.accountId);
    expect(moved).not.toBe(guest);
    const deleting = freshId();
    await submit(game, 9, 'Bob', deleting);
    await change(`/boards/${game}/reset`, { reason: 'season 3' });
    const { body } = await service.post('/v1/account/delete', { installId: deleting });
    await service.post('/v1/account/delete', { installId: deleting, confirm: body.confirm });
    expect((await look(`/boards/${game}?archive=2`)).body.entries).toEqual([]);
    expect(await accountsOf()).toEqual([moved, other]);
  });

  test('a board forgets that an operator removed an entry once the account is deleted or the guest has moved', async () => {
    const game = freshGame();
    const [deleting, moving] = [freshId(), freshId()];
    for (const installId of [deleting, moving]) {
      const player = await submit(game, 7, 'Ada', installId);
      expect((await change(`/boards/${game}/remove`, { player, reason: 'cheated' })).status).toBe(200);
    }
    expect(await redis.scard(`{board:${game}}:removed`)).toBe(2);
    const { confirm } = (await service.post('/v1/account/delete', { installId: deleting })).body;
    await service.post('/v1/account/delete', { installId: deleting, confirm });
    expect(await redis.smembers(`{board:${game}}:removed`)).toEqual([accountIdOf(moving)]);
    await signInToStore(service, freshId('user'), { installId: moving });
    expect(await redis.exists(`{board:${game}}:removed`)).toBe(0);
  });

  test('each score that arrives during resets is either in one archive or on the board', async () => {
    const game = freshGame();
    await submit(game, 1);
    const scores = Array.from({ length: 120 }, (_, index) => index + 2);
    const resets = async (): Promise<void> => {
      for (let times = 0; times < 6; times++) await change(`/boards/${game}/reset`, { reason: 'a race' });
    };
    await Promise.all([...scores.map((score) => submit(game, score)), resets(), resets()]);
    const { body } = await look(`/boards/${game}?from=1&to=100`);
    const found = scoresOf(body.entries);
    expect(body.archives.length).toBeGreaterThan(0);
    for (const { archive, entries } of body.archives as { archive: number; entries: number }[]) {
      const old: number[] = [];
      for (const query of ['from=1&to=100', 'from=101&to=200'])
        old.push(...scoresOf((await look(`/boards/${game}?archive=${archive}&${query}`)).body.entries));
      expect(old).toHaveLength(entries);
      found.push(...old);
    }
    if (body.count > 100) found.push(...scoresOf((await look(`/boards/${game}?from=101&to=200`)).body.entries));
    expect(found.toSorted((one, other) => one - other)).toEqual([1, ...scores]);
  });

  test('a player is found on a board of 3,000', async () => {
    const game = freshGame();
    const accounts = await Promise.all(Array.from({ length: 5 }, (_, index) => submit(game, 10_000 + index)));
    const many = Array.from({ length: 3000 }, (_, index) => `a${String(index).padStart(21, '0')}`);
    await Promise.all(many.map((account, index) => addEntry(redis, game, account, index)));
    const { body } = await look(`/boards/${game}?from=1&to=10`);
    expect(body.count).toBe(3005);
    expect(body.entries.map(({ accountId }: { accountId: string }) => accountId)).toEqual([
      ...accounts.toReversed(),
      ...many.slice(-5).toReversed(),
    ]);
    await redis.del(`{board:${game}}:players`, `{board:${game}}:scores`);
  });
});

describe('rooms', () => {
  test('show has the document and the accounts of the seats', async () => {
    const installId = freshId();
    const { body: made } = await service.post('/v1/rooms', { installId, name: 'Ann', state: { round: 1 } });
    const { code } = made.room;
    const { body } = await look(`/rooms/${code.toLowerCase()}`);
    expect(body.room).toEqual(made.room);
    expect(body.seats).toEqual([{ playerId: 'p1', accountId: accountIdOf(installId) }]);
    expect(body.connections).toBe(0);
    for (const unknown of ['ZZZZZ', 'nothing']) expect((await look(`/rooms/${unknown}`)).body.error.code).toBe('room_not_found');
  });

  test('show returns how long the list has a public room, and the number of reserved seats', async () => {
    const [installId, game] = [freshId(), freshId('game').toLowerCase()];
    const { code } = (await service.post('/v1/rooms', { installId, game, public: true })).body.room;
    const listed = async () => (await look(`/rooms/${code}`)).body.listed;
    await expect.poll(() => listed()).toMatchObject({ reservedSeats: 0 });
    const leftMs = Date.parse((await listed()).until) - service.now();
    expect(leftMs).toBeGreaterThan(5000);
    expect(leftMs).toBeLessThanOrEqual(15_000);
    await service.post(`/v1/rooms/${code}/lock`, { installId });
    await expect.poll(() => listed()).toBeUndefined();
  });

  test('end ends a room once, in any phase, and its players cannot continue', async () => {
    const installId = freshId();
    const { body: made } = await service.post('/v1/rooms', { installId });
    const { code, seq } = made.room;
    await service.post(`/v1/rooms/${code}/start`, { installId });
    const { body } = await change(`/rooms/${code}/end`, { reason: 'abuse' });
    expect(body.room).toMatchObject({ code, phase: 'ended', seq: seq + 2, endedAt: expect.any(String), state: {} });
    expect((await service.post(`/v1/rooms/${code}/state`, { installId, state: 1 })).body.error.code).toBe('room_ended');
    expect((await change(`/rooms/${code}/end`, { reason: 'abuse' })).body.error.code).toBe('room_ended');
    expect((await change('/rooms/ZZZZZ/end', { reason: 'abuse' })).body.error.code).toBe('room_not_found');
  });
});
