import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { coinKeys } from '../../../src/features/coins/model.ts';
import { freshId, signIn, start, type RequestOptions, type TestReply, type TestService } from '../../harness.ts';
import { historyOf, issue, signInToStore } from '../../store.ts';

let service: TestService;
beforeAll(async () => void (service = await start()));
afterAll(() => service[Symbol.asyncDispose]());

const by = (installId: string): RequestOptions => ({ headers: { 'x-install-id': installId } });
const credit = (installId: string, key: string) => service.post('/v1/coins/credit', { installId, coins: 1, key });

/** All pages, and all their lists as one. */
async function exported(
  options: RequestOptions,
): Promise<{ pages: TestReply['body'][]; entries: { id: string; key: string }[]; scores: { game: string }[] }> {
  const pages: TestReply['body'][] = [];
  do {
    const cursor = pages.at(-1)?.nextCursor;
    const { status, body } = await service.get(`/v1/account/export${cursor === undefined ? '' : `?cursor=${cursor}`}`, options);
    expect([status, body.error]).toEqual([200, undefined]);
    pages.push(body);
  } while (pages.at(-1).nextCursor !== undefined);
  return { pages, entries: pages.flatMap(({ entries = [] }) => entries), scores: pages.flatMap(({ scores = [] }) => scores) };
}

describe('GET /v1/account/export', () => {
  test('shows all that is kept about a guest on one page, by installId or session', async () => {
    const installId = freshId();
    const cookies = await signIn(service, installId);
    await credit(installId, 'a');
    await service.post('/v1/highscores/pebble-drop', { installId, score: 7, name: 'Ada' });
    await service.post('/v1/subscription/report', { installId, subscribed: true });
    await service.post('/v1/entitlement/first-run', { installId });
    const { purchaseToken } = await issue(service, { kind: 'subscription' });
    await service.post('/v1/subscription/purchase', { installId, purchaseToken });
    const deviceId = freshId('device');
    await service.post('/v1/trial/touch', { deviceId });
    await service.post('/v1/trial/link', {}, { cookies, headers: { 'x-device-id': deviceId } });
    const { body } = await service.get('/v1/account/export', by(installId));
    expect(body).toEqual({
      ok: true,
      accountId: accountIdOf(installId),
      account: { kind: 'guest', createdAt: expect.any(String), firstRunAt: expect.any(String), guests: [], signOutsEverywhere: 0 },
      trial: { startedAt: expect.any(String), device: expect.any(String) },
      subscription: {
        report: { subscribed: true, at: expect.any(String) },
        purchases: [
          { productId: expect.any(String), state: 'active', expiresAt: expect.any(String), willRenew: true, checkedAt: expect.any(String) },
        ],
      },
      balanceCoins: 1,
      scores: [{ game: 'pebble-drop', playerId: expect.any(String), name: 'Ada', score: 7, at: expect.any(String) }],
      entries: [{ id: '1', type: 'credit', coins: 1, balanceAfterCoins: 1, key: 'a', at: expect.any(String) }],
    });
    for (const secret of [installId, deviceId, purchaseToken]) expect(JSON.stringify(body)).not.toContain(secret);
    expect((await service.get('/v1/account/export', { cookies })).body).toEqual(body);
  });

  test('an install that was never seen has nothing, and the export creates nothing', async () => {
    const installId = freshId();
    expect((await service.get('/v1/account/export', by(installId))).body).toEqual({
      ok: true,
      accountId: accountIdOf(installId),
      account: { kind: 'guest', guests: [], signOutsEverywhere: 0 },
      subscription: { purchases: [] },
      balanceCoins: 0,
      scores: [],
      entries: [],
    });
    expect(await service.service.redis.keys(`{${accountIdOf(installId)}}:*`)).toEqual([]);
  });

  test('has the entries of guests that moved in, as the history shows them', async () => {
    const [subject, small, large] = [freshId('subject'), freshId(), freshId()];
    await credit(small, 'small');
    await Promise.all(Array.from({ length: 700 }, (_, number) => credit(large, `large-${number}`)));
    await signInToStore(service, subject, { installId: small });
    const { cookies } = await signInToStore(service, subject, { installId: large });
    const { pages, entries } = await exported({ cookies });
    expect(pages[0].account).toMatchObject({ kind: 'store', guests: [accountIdOf(small), accountIdOf(large)] });
    expect(pages.length).toBe(2);
    expect(entries).toEqual(await historyOf(service, cookies));
    expect(JSON.stringify(pages)).not.toContain(large);
  });

  test('an account with 100,000 entries comes in pages of at most 500, each entry once', { timeout: 120_000 }, async () => {
    const installId = freshId();
    const accountId = accountIdOf(installId);
    await credit(installId, 'first');
    const { redis } = service.service;
    const at = service.now().toString(36);
    for (let seq = 2; seq <= 100_000; seq += 1000) {
      const texts = Array.from(
        { length: Math.min(1000, 100_001 - seq) },
        (_, index) => `${seq + index}:${seq + index} c1 ${at} key-${seq + index}`,
      );
      await redis.rpush(coinKeys.ledger(accountId), ...texts);
    }
    const { pages, entries } = await exported(by(installId));
    expect(pages.length).toBe(200);
    expect(Math.max(...pages.map((page) => JSON.stringify(page).length))).toBeLessThan(100_000);
    expect(entries.map(({ id }) => Number(id))).toEqual(Array.from({ length: 100_000 }, (_, index) => 100_000 - index));
    await redis.del(coinKeys.ledger(accountId));
  });

  test('scores on many boards come in pages too', async () => {
    const installId = freshId();
    const games = Array.from({ length: 330 }, () => freshId('game').toLowerCase());
    await Promise.all(games.map((game) => service.post(`/v1/highscores/${game}`, { installId, score: 1, name: 'Ada' })));
    const { pages, scores, entries } = await exported(by(installId));
    expect(pages.length).toBeGreaterThan(1);
    expect(Math.max(...pages.map(({ scores: some = [] }) => some.length))).toBeLessThan(350);
    expect([...new Set(scores.map(({ game }) => game))].toSorted()).toEqual(games.toSorted());
    expect(entries).toEqual([]);
  });

  test.each(['x', 's', 'e0', 's1.5', 'e1~1', 's-1', `e${'1.'.repeat(2000)}1`])('the cursor %j is refused', async (cursor) => {
    const { status } = await service.get(`/v1/account/export?cursor=${cursor}`, by(freshId()));
    expect(status).toBe(400);
  });

  test('a cursor of another account shows the own account only', async () => {
    const [one, other] = [freshId(), freshId()];
    for (let number = 0; number < 3; number++) await credit(one, `one-${number}`);
    await credit(other, 'other');
    const { body } = await service.get('/v1/account/export?cursor=e3', by(other));
    expect([body.accountId, body.entries.map(({ key }: { key: string }) => key)]).toEqual([accountIdOf(other), ['other']]);
  });

  test('nobody named is 401, and a guest that moved signs in with the store', async () => {
    const [subject, installId] = [freshId('subject'), freshId()];
    expect((await service.get('/v1/account/export')).body.error.code).toBe('identity_required');
    await credit(installId, 'a');
    await signInToStore(service, subject, { installId });
    expect((await service.get('/v1/account/export', by(installId))).body.error.code).toBe('sign_in_required');
  });
});
