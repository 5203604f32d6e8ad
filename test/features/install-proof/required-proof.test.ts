import { expect, test } from 'vitest';
import { codeOf, forFile, freshId, signIn, start, type TestReply } from '../../harness.ts';
import { issue, postAs, signInToStore, type Who } from '../../store.ts';

const service = await forFile(start({ settings: { REQUIRE_INSTALL_PROOF: 'credit,highscores' } }));

const coins = (type: 'credit' | 'purchase' | 'debit', who: Who, key = 'a', at = service) =>
  postAs(at, `/v1/coins/${type}`, { coins: 5, key }, who);
const submit = (game: string, who: Who, at = service) => postAs(at, `/v1/highscores/${game}`, { score: 7, name: 'Ada' }, who);
const freshGame = (): string => freshId('game').toLowerCase();

async function prove(installId: string): Promise<void> {
  const { nonce } = (await service.get('/v1/account/store-install/nonce')).body;
  const { integrityToken } = await issue(service, { kind: 'integrity_token', nonce });
  expect((await service.post('/v1/account/store-install', { nonce, integrityToken, installId })).status).toBe(200);
}

const outcome = (reply: TestReply) => [codeOf(reply), reply.body.error.failed];
const REFUSED = ['403 integrity_failed', ['install_proof']];

test('a credit, a purchase and a score are refused until the install is proven genuine, and create no account', async () => {
  const [installId, game] = [freshId(), freshGame()];
  for (const reply of [await coins('credit', { installId }), await coins('purchase', { installId }), await submit(game, { installId })])
    expect(outcome(reply)).toEqual(REFUSED);
  expect((await service.get(`/v1/highscores/${game}`)).body.top).toEqual([]);
  expect((await service.post('/v1/account/resolve', { installId })).body.created).toBe(true);
  const cookies = await signIn(service, installId);
  expect(outcome(await coins('credit', { cookies }))).toEqual(REFUSED);
  expect((await service.get('/v1/coins/history', { cookies })).body.entries).toEqual([]);
  // A debit needs no proof.
  expect((await coins('debit', { installId })).body.error.code).toBe('insufficient_coins');
  await prove(installId);
  expect((await coins('credit', { installId })).body).toEqual({ ok: true, balanceAfterCoins: 5 });
  expect((await coins('credit', { cookies })).body).toEqual({ ok: true, balanceAfterCoins: 5, replayed: true, balanceCoins: 5 });
  expect((await coins('purchase', { installId }, 'b')).body).toEqual({ ok: true, balanceAfterCoins: 10 });
  expect((await submit(game, { installId })).body).toMatchObject({ rank: 1, best: 7 });
});

test('a guest that moves into an account brings its proof along', async () => {
  const [proven, other, subject] = [freshId(), freshId(), freshId('subject')];
  await prove(proven);
  const { cookies } = await signInToStore(service, subject, { installId: other });
  expect((await coins('credit', { cookies })).status).toBe(403);
  await signInToStore(service, subject, { installId: proven });
  expect((await coins('credit', { cookies })).status).toBe(200);
});

test.each([
  ['credit', [403, 200]],
  ['highscores', [200, 403]],
] as const)('REQUIRE_INSTALL_PROOF=%s affects nothing else', async (feature, statuses) => {
  await using only = await start({ settings: { REQUIRE_INSTALL_PROOF: feature } });
  const who = { installId: freshId() };
  expect([(await coins('credit', who, 'a', only)).status, (await submit(freshGame(), who, only)).status]).toEqual(statuses);
});
