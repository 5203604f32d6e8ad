import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { forFile, freshId, signIn, start } from '../../harness.ts';
import { makeServerKey } from '../../server-keys.ts';
import { appOf, catalogueFile } from './catalogue-of.ts';

const served = freshId('served').toLowerCase();
const usual = freshId('usual').toLowerCase();
const named = freshId('named').toLowerCase();

const catalogue = (scores: string): string =>
  JSON.stringify({ apps: [appOf(served, { scores }), appOf(usual), appOf(named, { scores: 'client' })] });
const file = catalogueFile(catalogue('server'));
const service = await forFile(start({ settings: { CATALOGUE_FILE: file, BOARDS: 'open' } }));

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

test('the other games take scores from clients, and an edit of the catalogue changes it', async () => {
  for (const game of [usual, named, freshId('unlisted').toLowerCase()])
    expect((await submit(game, { installId: freshId() })).body).toMatchObject({ ok: true, rank: 1 });
  for (const [scores, status] of [['client', 200] as const, ['server', 403] as const]) {
    writeFileSync(file, catalogue(scores));
    await expect.poll(async () => (await submit(served, { installId: freshId() })).status).toBe(status);
  }
});
