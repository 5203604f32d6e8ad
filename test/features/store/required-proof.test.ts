import { describe, expect, test } from 'vitest';
import { forFile, freshId, signIn, start, type TestReply, type TestService } from '../../harness.ts';
import { issue, signInToStore } from '../../store.ts';

const service = await forFile(start({ settings: { REQUIRE_INSTALL_PROOF: 'credit,highscores' } }));

const credit = (installId: string | undefined, key: string, cookies?: string, at = service): Promise<TestReply> =>
  at.post('/v1/coins/credit', { installId, coins: 5, key }, cookies === undefined ? {} : { cookies });
const submit = (installId: string, game: string, at = service): Promise<TestReply> =>
  at.post(`/v1/highscores/${game}`, { installId, score: 7, name: 'Ada' });

async function prove(installId: string): Promise<void> {
  const { nonce } = (await service.get('/v1/account/store-install/nonce')).body;
  const { integrityToken } = await issue(service, { kind: 'integrity_token', nonce });
  expect((await service.post('/v1/account/store-install', { nonce, integrityToken, installId })).status).toBe(200);
}

const REFUSED = [403, { code: 'integrity_failed', message: 'The install could not be proven genuine.', failed: ['install_proof'] }];

describe('REQUIRE_INSTALL_PROOF=credit,highscores', () => {
  test('a credit is refused until the install is proven genuine', async () => {
    const installId = freshId();
    const session = await signIn(service, installId);
    for (const reply of [await credit(installId, 'a'), await credit(undefined, 'a', session), await credit(installId, 'a')]) {
      expect([reply.status, reply.body.error]).toEqual(REFUSED);
    }
    expect((await service.get('/v1/balance', { cookies: session })).body.balanceCoins).toBe(0);
    expect((await service.get('/v1/coins/history', { cookies: session })).body.entries).toEqual([]);
    await prove(installId);
    expect((await credit(installId, 'a')).body).toEqual({ ok: true, balanceAfterCoins: 5 });
    expect((await credit(undefined, 'a', session)).body).toEqual({ ok: true, balanceAfterCoins: 5, replayed: true, balanceCoins: 5 });
    expect((await service.get('/v1/session', { cookies: session })).body.installVerified).toBe(true);
  });

  test('a score is refused until the install is proven genuine', async () => {
    const installId = freshId();
    const game = freshId('game').toLowerCase();
    const reply = await submit(installId, game);
    expect([reply.status, reply.body.error]).toEqual(REFUSED);
    expect((await service.get(`/v1/highscores/${game}`)).body.top).toEqual([]);
    await prove(installId);
    expect((await submit(installId, game)).body).toMatchObject({ rank: 1, best: 7 });
  });

  test('a refused credit or score creates no account', async () => {
    const installId = freshId();
    await credit(installId, 'a');
    await submit(installId, 'tetris');
    expect((await service.post('/v1/account/resolve', { installId })).body.created).toBe(true);
  });

  test('a purchase of coins needs a proof, a debit needs none', async () => {
    const installId = freshId();
    const purchase = (key: string) => service.post('/v1/coins/purchase', { installId, coins: 5, key });
    const refused = await purchase('a');
    expect([refused.status, refused.body.error]).toEqual(REFUSED);
    expect((await service.post('/v1/coins/debit', { installId, coins: 5, key: 'b' })).body.error.code).toBe('insufficient_coins');
    await prove(installId);
    expect((await purchase('a')).body).toEqual({ ok: true, balanceAfterCoins: 5 });
    expect((await service.post('/v1/coins/debit', { installId, coins: 5, key: 'b' })).status).toBe(200);
  });

  test('a guest that moves into an account brings its proof along', async () => {
    const [proven, other] = [freshId(), freshId()];
    const subject = freshId('subject');
    await prove(proven);
    const { cookies } = await signInToStore(service, subject, { installId: other });
    expect((await credit(undefined, 'a', cookies)).status).toBe(403);
    await signInToStore(service, subject, { installId: proven });
    expect((await credit(undefined, 'a', cookies)).status).toBe(200);
  });
});

test('REQUIRE_INSTALL_PROOF affects only the features that it names', async () => {
  await using credits = await start({ settings: { REQUIRE_INSTALL_PROOF: 'credit' } });
  await using scores = await start({ settings: { REQUIRE_INSTALL_PROOF: 'highscores' } });
  const statuses = async (at: TestService) => {
    const installId = freshId();
    return [(await credit(installId, 'a', undefined, at)).status, (await submit(installId, freshId('game').toLowerCase(), at)).status];
  };
  expect([await statuses(credits), await statuses(scores)]).toEqual([
    [403, 200],
    [200, 403],
  ]);
});
