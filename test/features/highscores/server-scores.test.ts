import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { freshId, signIn, start, type TestService } from '../../harness.ts';
import { makeServerKey } from '../../server-keys.ts';

const served = freshId('served').toLowerCase();
const usual = freshId('usual').toLowerCase();
const named = freshId('named').toLowerCase();

const folder = mkdtempSync(join(tmpdir(), 'coinop-server-scores-'));
let service: TestService;
let file: string;
beforeAll(async () => {
  file = join(folder, 'catalogue.json');
  write('server');
  service = await start({ settings: { CATALOGUE_FILE: file, BOARDS: 'open' } });
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

function write(scores: string): void {
  const link = 'https://play.example/game';
  const game = { kind: 'game', name: 'Game', tagline: '', icon: link, url: link, status: 'live', platforms: [] };
  const at = { updatedAt: '2026-01-01T00:00:00Z' };
  const apps = [
    { id: served, ...game, scores, ...at },
    { id: usual, ...game, ...at },
    { id: named, ...game, scores: 'client', ...at },
  ];
  writeFileSync(file, JSON.stringify({ apps }));
}

const submit = (game: string, who: object, options = {}) =>
  service.post(`/v1/highscores/${game}`, { ...who, score: 10, name: 'Ada' }, options);

test('a game with scores:"server" refuses the scores of every kind of client', async () => {
  const installId = freshId();
  const replies = [await submit(served, { installId }), await submit(served, {}, { cookies: await signIn(service, installId) })];
  for (const { status, body } of replies) expect([status, body.error.code]).toEqual([403, 'server_only']);
  expect((await service.get(`/v1/highscores/${served}`)).body.top).toEqual([]);
});

test('a game with scores:"server" takes scores from a server with a key of the scope scores', async () => {
  const [all, ofGame, ofOther, ofCoins] = await Promise.all([
    makeServerKey(service, ['scores']),
    makeServerKey(service, ['scores'], { game: served }),
    makeServerKey(service, ['scores'], { game: usual }),
    makeServerKey(service, ['coins']),
  ]);
  const who = () => ({ accountId: accountIdOf(freshId()) });
  for (const { token } of [all, ofGame])
    expect((await submit(served, who(), { bearer: token })).body).toMatchObject({ ok: true, best: 10 });
  for (const { token } of [ofOther, ofCoins]) {
    const { status, body } = await submit(served, who(), { bearer: token });
    expect([status, body.error.code]).toEqual([403, 'forbidden']);
  }
  expect((await submit(usual, who(), { bearer: ofGame.token })).body.error.code).toBe('forbidden');
  expect((await service.get(`/v1/highscores/${served}`)).body.top).toHaveLength(2);
});

test('REQUIRE_INSTALL_PROOF does not bind a server key', async () => {
  await using proving = await start({ settings: { CATALOGUE_FILE: file, BOARDS: 'open', REQUIRE_INSTALL_PROOF: 'highscores' } });
  const { token } = await makeServerKey(proving, ['scores']);
  const send = (options = {}) => proving.post(`/v1/highscores/${usual}`, { installId: freshId(), score: 1, name: 'Ada' }, options);
  expect((await send()).body.error.code).toBe('integrity_failed');
  expect((await send({ bearer: token })).status).toBe(200);
});

test('the other games take scores from clients', async () => {
  for (const game of [usual, named, freshId('unlisted').toLowerCase()]) {
    expect((await submit(game, { installId: freshId() })).body).toMatchObject({ ok: true, rank: 1 });
  }
});

test('an edit of the catalogue changes it', async () => {
  write('client');
  await expect.poll(async () => (await submit(served, { installId: freshId() })).status).toBe(200);
  write('server');
  await expect.poll(async () => (await submit(served, { installId: freshId() })).status).toBe(403);
  expect((await service.get(`/v1/highscores/${served}`)).body.top.length).toBeGreaterThan(0);
});
