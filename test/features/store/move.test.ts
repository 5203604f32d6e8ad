import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountsOn, addEntry } from '../../board-entries.ts';
import { coinKeys } from '../../../src/features/coins/model.ts';
import { boardKeys } from '../../../src/features/highscores/model.ts';
import { storeKeys } from '../../../src/features/store/model.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { accountKey, standingKey } from '../../../src/accounts/account-keys.ts';
import { freshId, isOnCluster, signIn, start, type TestReply, type TestService } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { historyOf, signInToStore } from '../../store.ts';

let service: TestService;
beforeAll(async () => void (service = await start()));
afterAll(() => service[Symbol.asyncDispose]());

const DAY_MS = 86_400_000;

const credit = (installId: string, coins: number, key: string) => service.post('/v1/coins/credit', { installId, coins, key });
const balanceOf = async (installId: string): Promise<number> =>
  (await service.get('/v1/balance', { headers: { 'x-install-id': installId } })).body.balanceCoins;
const balanceIn = async (cookies: string): Promise<number> => (await service.get('/v1/balance', { cookies })).body.balanceCoins;
const codeOf = ({ status, body }: TestReply): string => `${status} ${body.error?.code}`;
/** Status and error code of a balance request by this installId. */
const refusalOf = async (installId: string): Promise<string> =>
  codeOf(await service.get('/v1/balance', { headers: { 'x-install-id': installId } }));

/** On a Cluster the guest's set names its boards for another minute, because a score may still arrive. */
async function settled(guestId: string): Promise<void> {
  if (!isOnCluster()) return;
  service.advance(61_000);
  await expect.poll(() => service.service.redis.exists(boardKeys.ofAccount(guestId)), { timeout: 15_000 }).toBe(0);
}

interface SeenRoom {
  phase: string;
  players: { connected: boolean }[];
}

async function openSocket({ url }: TestService, code: string) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/rooms/${code}/live`);
  const rooms: SeenRoom[] = [];
  const errors: string[] = [];
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(String(data));
    if (message.type === 'room') rooms.push(message.room);
    if (message.type === 'error') errors.push(message.error.code);
  };
  await new Promise((resolve) => (socket.onopen = resolve));
  return { socket, errors, room: () => rooms.at(-1), send: (message: object) => socket.send(JSON.stringify(message)) };
}

describe('coins in a move', () => {
  test('the coins leave the guest and reach the account with a merge entry on both sides', async () => {
    const installId = freshId();
    const subject = freshId('subject');
    await credit(installId, 100, 'a');
    await service.post('/v1/coins/debit', { installId, coins: 30, key: 'b' });
    service.advance(1000);
    const { cookies, body } = await signInToStore(service, subject, { installId });
    expect(body).toMatchObject({ created: true, moved: true, movedCoins: 70 });
    service.advance(1000);
    await service.post('/v1/coins/credit', { coins: 5, key: 'c' }, { cookies });

    const guestId = accountIdOf(installId);
    expect((await historyOf(service, cookies)).map(({ at: _, ...entry }) => entry)).toEqual([
      { id: '2', type: 'credit', coins: 5, balanceAfterCoins: 75, key: 'c' },
      { id: '1', type: 'merge', coins: 70, balanceAfterCoins: 70, key: `merge:${guestId}` },
      { id: '1.3', type: 'merge', coins: -70, balanceAfterCoins: 0, key: `merge:${body.accountId}` },
      { id: '1.2', type: 'debit', coins: -30, balanceAfterCoins: 70, key: 'b' },
      { id: '1.1', type: 'credit', coins: 100, balanceAfterCoins: 100, key: 'a' },
    ]);
    expect(await balanceIn(cookies)).toBe(75);
    expect(await refusalOf(installId)).toBe('401 sign_in_required');
  });

  test('the coins of three guests reach one account, whose history lists every entry once and by time', async () => {
    const subject = freshId('subject');
    const { cookies } = await signInToStore(service, subject);
    const installs = [freshId(), freshId(), freshId()];
    const keys: string[] = [];
    for (let round = 0; round < 20; round++) {
      for (const [index, installId] of installs.entries()) {
        keys.push(`${round}.${index}`);
        await credit(installId, 1, `${round}.${index}`);
        service.advance(1);
      }
      keys.push(`${round}.own`);
      await service.post('/v1/coins/credit', { coins: 1, key: `${round}.own` }, { cookies });
      service.advance(1);
    }
    for (const installId of installs) await signInToStore(service, subject, { installId });
    for (const limit of [1, 7, 16, 17, 100]) {
      const entries = await historyOf(service, cookies, limit);
      expect(new Set(entries.map(({ id }) => id)).size).toBe(entries.length);
      expect(entries.filter(({ type }) => type !== 'merge').map(({ key }) => key)).toEqual(keys.toReversed());
      expect(entries.filter(({ type }) => type === 'merge').map(({ coins }) => coins)).toEqual([20, -20, 20, -20, 20, -20]);
      expect(entries.reduce((sum, { coins }) => sum + coins, 0)).toBe(80);
    }
    expect((await service.get('/v1/balance', { cookies })).body.balanceCoins).toBe(80);
  });

  test('a guest that moves in does not appear on later pages of a history that a client is reading', async () => {
    const subject = freshId('subject');
    const { cookies } = await signInToStore(service, subject);
    for (const key of ['a', 'b', 'c']) await service.post('/v1/coins/credit', { coins: 1, key }, { cookies });
    const first = await service.get('/v1/coins/history?limit=1', { cookies });
    const installId = freshId();
    await credit(installId, 9, 'guest');
    await signInToStore(service, subject, { installId });
    const second = await service.get(`/v1/coins/history?cursor=${first.body.nextCursor}`, { cookies });
    expect(second.body.entries.map(({ key }: { key: string }) => key)).toEqual(['b', 'a']);
    expect(second.body.nextCursor).toBeUndefined();
  });

  test('an operation of the guest that the account repeats is a replay', async () => {
    const installId = freshId();
    const { body: before } = await credit(installId, 100, 'welcome');
    const { cookies } = await signInToStore(service, freshId('subject'), { installId });
    await service.post('/v1/coins/credit', { coins: 1, key: 'own' }, { cookies });
    const again = { ...before, replayed: true, balanceCoins: 101 };
    expect(codeOf(await credit(installId, 100, 'welcome'))).toBe('401 sign_in_required');
    expect((await service.post('/v1/coins/credit', { coins: 100, key: 'welcome' }, { cookies })).body).toEqual(again);
    const reused = await service.post('/v1/coins/credit', { coins: 99, key: 'welcome' }, { cookies });
    expect([reused.status, reused.body.error.code]).toEqual([422, 'key_reused']);
    expect((await service.get('/v1/balance', { cookies })).body.balanceCoins).toBe(101);
  });

  test('all 79 keys of a guest are replays for the account, and later keys are new', async () => {
    const installId = freshId();
    // 79 entries: the merge entry is the 80th, at which a bucket of keys splits.
    for (let index = 0; index < 79; index++) await credit(installId, 1, `key-${index}`);
    const { cookies } = await signInToStore(service, freshId('subject'), { installId });
    for (let index = 0; index < 79; index++) {
      const { body } = await service.post('/v1/coins/credit', { coins: 1, key: `key-${index}` }, { cookies });
      expect(body).toEqual({ ok: true, balanceAfterCoins: index + 1, replayed: true, balanceCoins: 79 });
    }
    for (let index = 79; index < 130; index++) await service.post('/v1/coins/credit', { coins: 1, key: `key-${index}` }, { cookies });
    for (let index = 0; index < 130; index++) {
      expect((await service.post('/v1/coins/credit', { coins: 1, key: `key-${index}` }, { cookies })).body).toMatchObject({
        replayed: true,
        balanceCoins: 130,
      });
    }
  });

  test('a key that guest and account both used replays both operations', async () => {
    const installId = freshId();
    const subject = freshId('subject');
    await credit(installId, 10, 'same');
    const { cookies } = await signInToStore(service, subject);
    await service.post('/v1/coins/credit', { coins: 20, key: 'same' }, { cookies });
    await signInToStore(service, subject, { installId });
    const send = async (coins: number) => (await service.post('/v1/coins/credit', { coins, key: 'same' }, { cookies })).body;
    expect(await send(10)).toEqual({ ok: true, balanceAfterCoins: 10, replayed: true, balanceCoins: 30 });
    expect(await send(20)).toEqual({ ok: true, balanceAfterCoins: 20, replayed: true, balanceCoins: 30 });
    expect((await send(30)).error.code).toBe('key_reused');
  });

  test('the credits of a guest count against the daily cap of the account', async () => {
    await using capped = await start({ settings: { CREDIT_DAILY_CAP: '100' } });
    const installId = freshId();
    const subject = freshId('subject');
    const { cookies } = await signInToStore(capped, subject);
    const send = async (coins: number, key: string) => (await capped.post('/v1/coins/credit', { coins, key }, { cookies })).status;
    await capped.post('/v1/coins/credit', { installId, coins: 60, key: 'guest' });
    expect(await send(30, 'own')).toBe(200);
    await signInToStore(capped, subject, { installId });
    expect([await send(11, 'b'), await send(10, 'c'), await send(1, 'd')]).toEqual([409, 200, 409]);
    capped.advance(86_400_000);
    expect(await send(100, 'd')).toBe(200);
  });

  test('eight guests at the daily cap all move, and no further credit or purchase succeeds that day', async () => {
    await using capped = await start({ settings: { CREDIT_DAILY_CAP: '100' } });
    // Noon, so that the test does not run across midnight.
    capped.advance(DAY_MS - (capped.now() % DAY_MS) + DAY_MS / 2);
    const subject = freshId('subject');
    let cookies = '';
    for (let count = 1; count <= 8; count++) {
      const installId = freshId();
      const type = count % 2 === 0 ? 'credit' : 'purchase';
      await capped.post(`/v1/coins/${type}`, { installId, coins: 100, key: 'all' });
      const moved = await signInToStore(capped, subject, { installId });
      expect(moved.body).toMatchObject({ moved: true, movedCoins: 100 });
      cookies = moved.cookies;
      for (const path of ['/v1/coins/credit', '/v1/coins/purchase']) {
        const reply = await capped.post(path, { coins: 1, key: 'more' }, { cookies });
        expect([reply.status, reply.body.error]).toMatchObject([409, { code: 'balance_limit', balanceCoins: count * 100 }]);
      }
    }
    capped.advance(DAY_MS);
    expect((await capped.post('/v1/coins/credit', { coins: 100, key: 'more' }, { cookies })).body.balanceAfterCoins).toBe(900);
  });

  test('a guest does not move when the account would exceed 1e12 coins', async () => {
    const installId = freshId();
    const subject = freshId('subject');
    const { cookies, body } = await signInToStore(service, subject);
    await credit(installId, 2, 'a');
    await service.service.redis.rpush(`{${body.accountId}}:ledger`, `1:999999999999 c999999999999 ${Date.now().toString(36)} huge`);
    const moved = await signInToStore(service, subject, { installId });
    expect(moved.body).toMatchObject({ created: false, moved: false, notMoved: 'balance_limit' });
    expect(await balanceOf(installId)).toBe(2);
    expect((await service.get('/v1/balance', { cookies })).body.balanceCoins).toBe(999_999_999_999);
  });
});

describe('a guest that moves into a store account', () => {
  test('moves once: repeated sign-ins move nothing', async () => {
    const installId = freshId();
    const subject = freshId('subject');
    await credit(installId, 100, 'a');
    const { cookies } = await signInToStore(service, subject, { installId });
    for (const guest of [{ installId }, { cookies }, { installId, cookies }]) {
      expect((await signInToStore(service, subject, guest)).body).toMatchObject({ created: false, moved: false });
    }
    expect(await balanceIn(cookies)).toBe(100);
    expect(await historyOf(service, cookies)).toHaveLength(3);
  });

  test('moves once when 20 sign-ins of one subject run concurrently', async () => {
    const installId = freshId();
    const subject = freshId('subject');
    await credit(installId, 100, 'a');
    const replies = await Promise.all(Array.from({ length: 20 }, () => signInToStore(service, subject, { installId })));
    expect(replies.filter(({ body }) => body.moved)).toHaveLength(1);
    expect(replies.filter(({ body }) => body.created)).toHaveLength(1);
    expect(new Set(await Promise.all(replies.map(({ cookies }) => balanceIn(cookies))))).toEqual(new Set([100]));
  });

  test('moves into one account when 20 subjects sign in with it concurrently', async () => {
    const installId = freshId();
    await credit(installId, 100, 'a');
    const replies = await Promise.all(Array.from({ length: 20 }, () => signInToStore(service, freshId('subject'), { installId })));
    expect(replies.filter(({ body }) => body.moved)).toHaveLength(1);
    const balances = await Promise.all(
      replies.map(async ({ cookies }) => (await service.get('/v1/balance', { cookies })).body.balanceCoins),
    );
    expect(balances.toSorted((one, other) => other - one)).toEqual([100, ...Array.from({ length: 19 }, () => 0)]);
  });

  test('moves together with a second guest that moves concurrently into the same account', async () => {
    const [first, second] = [freshId(), freshId()];
    const subject = freshId('subject');
    await Promise.all([credit(first, 100, 'a'), credit(second, 20, 'a')]);
    const [{ cookies }] = await Promise.all([
      signInToStore(service, subject, { installId: first }),
      signInToStore(service, subject, { installId: second }),
    ]);
    expect((await service.get('/v1/balance', { cookies })).body.balanceCoins).toBe(120);
    expect([await refusalOf(first), await refusalOf(second)]).toEqual(['401 sign_in_required', '401 sign_in_required']);
  });

  test('cannot move on: its account is not a guest', async () => {
    const installId = freshId();
    await credit(installId, 100, 'a');
    const { cookies, body: one } = await signInToStore(service, freshId('subject'), { installId });
    // A moved installId is ignored.
    for (const [guest, notMoved] of [
      [{ cookies }, 'not_a_guest'],
      [{ installId }, undefined],
    ] as const) {
      const other = await signInToStore(service, freshId('subject'), guest);
      expect([other.body.created, other.body.moved, other.body.notMoved]).toEqual([true, false, notMoved]);
      expect(other.body.accountId).not.toBe(one.accountId);
      expect(await balanceIn(other.cookies)).toBe(0);
    }
    expect(await balanceIn(cookies)).toBe(100);
  });

  test('may be named by its session and may be an unknown install', async () => {
    const installId = freshId();
    await credit(installId, 7, 'a');
    const session = await signIn(service, installId);
    const { body } = await signInToStore(service, freshId('subject'), { cookies: session });
    expect(body).toMatchObject({ moved: true, movedCoins: 7 });

    const unseen = freshId();
    const fresh = await signInToStore(service, freshId('subject'), { installId: unseen });
    expect(fresh.body).toMatchObject({ created: true, moved: true, movedCoins: 0 });
    expect(codeOf(await service.post('/v1/account/resolve', { installId: unseen }))).toBe('401 sign_in_required');
  });

  test('is not named by a signed-out session: the installId decides', async () => {
    const installId = freshId();
    const other = freshId();
    await credit(installId, 7, 'a');
    await credit(other, 5, 'a');
    const session = await signIn(service, installId);
    await service.post('/v1/logout', {}, { cookies: session });
    expect((await signInToStore(service, freshId('subject'), { cookies: session })).body).toMatchObject({ moved: false });
    expect((await signInToStore(service, freshId('subject'), { cookies: session, installId: other })).body).toMatchObject({
      movedCoins: 5,
    });
    expect(await balanceOf(installId)).toBe(7);
    // A signed-out session of the account itself is ignored too.
    const subject = freshId('subject');
    const { cookies } = await signInToStore(service, subject);
    await service.post('/v1/logout', {}, { cookies });
    expect((await signInToStore(service, subject, { cookies, installId })).body).toMatchObject({ movedCoins: 7 });
  });

  test('does not move when the account already has 500 guests', async () => {
    const subject = freshId('subject');
    const { body } = await signInToStore(service, subject);
    await service.service.redis.set(
      standingKey(body.accountId),
      Array.from({ length: 500 }, (_, index) => `${freshId('g')}${index} 0=\n`).join(''),
    );
    const installId = freshId();
    await credit(installId, 7, 'a');
    expect((await signInToStore(service, subject, { installId })).body).toMatchObject({ moved: false, notMoved: 'too_many_guests' });
    expect(await balanceOf(installId)).toBe(7);
  });
});

describe('after a move', () => {
  test("the guest's installId and sessions are refused on every process, and logout still answers 200", async () => {
    await using other = await start();
    const installId = freshId();
    await credit(installId, 7, 'a');
    const session = await signIn(service, installId);
    await signInToStore(service, freshId('subject'), { installId });
    for (const at of [service, other]) {
      const replies = [
        await at.get('/v1/session', { cookies: session }),
        await at.get('/v1/balance', { cookies: session }),
        await at.get('/v1/coins/history', { cookies: session }),
        await at.get('/v1/balance', { headers: { 'x-install-id': installId } }),
        await at.post('/v1/login', { installId }),
      ];
      expect(replies.map(codeOf)).toEqual(replies.map(() => '401 sign_in_required'));
      expect(replies.flatMap(({ setCookies }) => setCookies)).toEqual([]);
    }
    const { status, setCookies } = await other.post('/v1/logout', {}, { cookies: session });
    expect([status, setCookies]).toEqual([200, ['svc_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax']]);
    // Afterwards it counts as no session, like every signed-out session.
    expect((await service.get('/v1/session', { cookies: session })).body).toEqual({ ok: true, authenticated: false });
    expect(codeOf(await service.get('/v1/balance', { cookies: session }))).toBe('401 identity_required');
  });

  test('a refused request of the guest costs one Redis round trip', async () => {
    // A Redis without other clients: ioredis fails when a foreign command follows the reply to MONITOR at once.
    await using own = await startRedis();
    await using alone = await start({ redis: own.location });
    const installId = freshId();
    await alone.post('/v1/coins/credit', { installId, coins: 7, key: 'a' });
    const { body } = await signInToStore(alone, freshId('subject'), { installId });
    const refusal = async (): Promise<string> => codeOf(await alone.get('/v1/balance', { headers: { 'x-install-id': installId } }));
    // Redis receives the source of a script once. Afterwards the service sends only its hash.
    await refusal();
    const asked: string[] = [];
    const monitor = await alone.service.redis.monitor();
    monitor.on('monitor', (_time: string, command: string[], source: string) => {
      if (source !== 'lua' && command.some((word) => word.includes(`{${accountIdOf(installId)}}`))) asked.push('guest');
      else if (source !== 'lua' && command.some((word) => word.includes(`{${body.accountId}}`))) asked.push('account');
    });
    for (let index = 0; index < 3; index++) expect(await refusal()).toBe('401 sign_in_required');
    await expect.poll(() => asked).toEqual(['guest', 'guest', 'guest']);
    monitor.disconnect();
  });

  test('Redis keeps the standing of the guest and nothing else, and its ledger with the account', async () => {
    const installId = freshId();
    await credit(installId, 7, 'a');
    await service.post('/v1/highscores/tetris', { installId, score: 1, name: 'Ada' });
    await service.post('/v1/entitlement/first-run', { installId });
    const { body } = await signInToStore(service, freshId('subject'), { installId });
    const guestId = accountIdOf(installId);
    const { redis } = service.service;
    await settled(guestId);
    const names = ['account', 'ledger', 'index:0', 'boards', `credited:${new Date(service.now()).toISOString().slice(0, 10)}`];
    expect(await redis.exists(...names.map((name) => `{${guestId}}:${name}`))).toBe(0);
    expect(await redis.get(standingKey(guestId))).toBe(`>${body.accountId}`);
    expect(await redis.lrange(coinKeys.guestLedger(body.accountId, guestId), 0, -1)).toHaveLength(2);
    expect((await redis.zrange(storeKeys.unfinishedMoves, '0', '-1')).filter((member) => member.startsWith(guestId))).toEqual([]);
  });
});

describe('a move also carries', () => {
  test('the best scores: the better of two on a board, under the player id of the account', async () => {
    const subject = freshId('subject');
    const installId = freshId();
    const [better, worse, alone] = [freshId('game').toLowerCase(), freshId('game').toLowerCase(), freshId('game').toLowerCase()];
    const { cookies } = await signInToStore(service, subject);
    const submit = (game: string, score: number, who: { cookies?: string; installId?: string }) =>
      service.post(
        `/v1/highscores/${game}`,
        { score, name: 'Ada', installId: who.installId },
        who.cookies === undefined ? {} : { cookies },
      );
    const own = await submit(better, 10, { cookies });
    await submit(worse, 10, { cookies });
    await submit(better, 20, { installId });
    await submit(worse, 5, { installId });
    await submit(alone, 3, { installId });
    await signInToStore(service, subject, { installId });
    const scores = async (game: string) => {
      const { body } = await service.get(`/v1/highscores/${game}`);
      return body.top.map(({ score }: { score: number }) => score);
    };
    await expect.poll(() => scores(better)).toEqual([20]);
    await expect.poll(() => scores(worse)).toEqual([10]);
    await expect.poll(() => scores(alone)).toEqual([3]);
    expect((await service.get(`/v1/highscores/${better}`)).body.top[0].playerId).toBe(own.body.top[0].playerId);
    // The board holds one entry of the account.
    expect((await submit(better, 15, { cookies })).body).toMatchObject({ best: 20, personalBest: false, rank: 1 });
    expect((await submit(alone, 4, { cookies })).body).toMatchObject({ best: 4, personalBest: true, top: [{ score: 4 }] });
  });

  test('the lower score on an ascending board', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'coinop-catalogue-'));
    const app = {
      id: 'sprint',
      kind: 'game',
      name: 'Sprint',
      tagline: 'Run.',
      icon: 'https://a.example/i.png',
      url: 'https://a.example',
      order: 'asc',
    };
    writeFileSync(
      join(folder, 'catalogue.json'),
      JSON.stringify([{ ...app, status: 'live', platforms: [], updatedAt: '2026-01-01T00:00:00Z' }]),
    );
    // A service with another catalogue, and a clock that runs ahead, would take the move over.
    await using redis = await startRedis();
    await using timed = await start({ redis: redis.location, settings: { CATALOGUE_FILE: join(folder, 'catalogue.json') } });
    const subject = freshId('subject');
    const installId = freshId();
    const { cookies } = await signInToStore(timed, subject);
    await timed.post('/v1/highscores/sprint', { score: 50, name: 'Ada' }, { cookies });
    await timed.post('/v1/highscores/sprint', { score: 40, name: 'Ada', installId });
    await signInToStore(timed, subject, { installId });
    const { body } = await timed.post('/v1/highscores/sprint', { score: 45, name: 'Ada' }, { cookies });
    expect(body).toMatchObject({ best: 40, personalBest: false });
    rmSync(folder, { recursive: true });
  });

  test('scores that a crashed process left behind, by a later check of any process', async () => {
    const subject = freshId('subject');
    const installId = freshId();
    const game = freshId('game').toLowerCase();
    const { body } = await signInToStore(service, subject, { installId });
    const guestId = accountIdOf(installId);
    // The state of a move that stopped before its first board.
    const { redis } = service.service;
    await addEntry(redis, game, guestId, 77);
    await redis.sadd(boardKeys.ofAccount(guestId), game);
    await redis.zadd(storeKeys.unfinishedMoves, service.now(), `${guestId} ${body.accountId}`);
    await expect.poll(() => accountsOn(redis, game), { timeout: 5000 }).toEqual([body.accountId]);
    await expect.poll(() => redis.zscore(storeKeys.unfinishedMoves, `${guestId} ${body.accountId}`)).toBeNull();
    expect((await service.get(`/v1/highscores/${game}`)).body.top).toMatchObject([{ score: 77, name: 'Ada' }]);
  });

  test('on a Cluster a score that arrives after the move, a minute later', { timeout: 30_000 }, async (context) => {
    if (!isOnCluster()) return context.skip();
    const [installId, game] = [freshId(), freshId('game').toLowerCase()];
    const guestId = accountIdOf(installId);
    await service.post(`/v1/highscores/${game}`, { installId, score: 5, name: 'Ada' });
    const { redis } = service.service;
    const { body } = await signInToStore(service, freshId('subject'), { installId });
    await addEntry(redis, game, guestId, 9);
    await settled(guestId);
    expect(await accountsOn(redis, game)).toEqual([body.accountId]);
    expect((await service.get(`/v1/highscores/${game}`)).body.top).toMatchObject([{ score: 9, name: 'Ada' }]);
  });

  test('the scores of other boards when one board was deleted meanwhile', async () => {
    const installId = freshId();
    const [emptied, kept] = [freshId('game').toLowerCase(), freshId('game').toLowerCase()];
    for (const game of [emptied, kept]) await service.post(`/v1/highscores/${game}`, { installId, score: 5, name: 'Ada' });
    const { redis } = service.service;
    await redis.del(boardKeys.scores(emptied));
    const { body } = await signInToStore(service, freshId('subject'), { installId });
    await settled(accountIdOf(installId));
    expect(await redis.smembers(boardKeys.ofAccount(accountIdOf(installId)))).toEqual([]);
    expect([await accountsOn(redis, emptied), await accountsOn(redis, kept)]).toEqual([[], [body.accountId]]);
  });

  test('scores later when a board is broken now, and the move itself succeeds', async () => {
    const installId = freshId();
    const subject = freshId('subject');
    const game = freshId('game').toLowerCase();
    await credit(installId, 7, 'a');
    await service.post(`/v1/highscores/${game}`, { installId, score: 5, name: 'Ada' });
    const { redis } = service.service;
    const aside = `${boardKeys.players(game)}:aside`;
    await redis.rename(boardKeys.players(game), aside);
    await redis.set(boardKeys.players(game), 'no hash');
    const { cookies, body } = await signInToStore(service, subject, { installId });
    expect(body).toMatchObject({ created: true, moved: true, movedCoins: 7 });
    await redis.rename(aside, boardKeys.players(game));
    service.advance(10_001);
    await expect.poll(() => accountsOn(redis, game), { timeout: 5000 }).toEqual([body.accountId]);
    expect((await service.post(`/v1/highscores/${game}`, { score: 1, name: 'Ada' }, { cookies })).body.best).toBe(5);
  });

  test('the host role: an account with two seats acts from the host’s seat', async () => {
    const installId = freshId();
    const subject = freshId('subject');
    const { cookies } = await signInToStore(service, subject);
    const { code } = (await service.post('/v1/rooms', { installId, name: 'Ada' })).body.room;
    expect((await service.post(`/v1/rooms/${code}/join`, {}, { cookies })).body.you.playerId).toBe('p2');
    await signInToStore(service, subject, { installId });
    const act = async (action: string, body: object = {}) => (await service.post(`/v1/rooms/${code}/${action}`, body, { cookies })).body;
    expect(await act('start')).toMatchObject({ you: { playerId: 'p1', host: true }, room: { phase: 'playing' } });
    expect(await act('transfer', { playerId: 'p2' })).toMatchObject({ you: { playerId: 'p1', host: false }, room: { hostId: 'p2' } });
    expect((await act('kick', { playerId: 'p1' })).room.players).toMatchObject([{ id: 'p2', host: true }]);
  });

  test('seats and the host role, while a socket of the guest remains as a watcher', async () => {
    await using own = await startRedis();
    await using service = await start({ redis: own.location });
    await using other = await start({ redis: own.location });
    const installId = freshId();
    const { body: created } = await service.post('/v1/rooms', { installId, name: 'Ada' });
    const { code } = created.room;
    await service.post(`/v1/rooms/${code}/join`, { installId: freshId(), name: 'Bob' });
    const watcher = await openSocket(other, code);
    watcher.send({ type: 'hello', installId });
    await expect.poll(() => watcher.room()?.players[0]!.connected).toBe(true);

    const { cookies } = await signInToStore(service, freshId('subject'), { installId });
    // Within 1.5 s: earlier than the next renewal of its lease could cause it.
    await expect.poll(() => watcher.errors, { timeout: 1500 }).toEqual(['sign_in_required']);
    await expect.poll(() => watcher.room()?.players[0]!.connected, { timeout: 1500 }).toBe(false);
    watcher.send({ type: 'hello', installId });
    await expect.poll(() => watcher.errors).toEqual(['sign_in_required', 'sign_in_required']);

    const started = await service.post(`/v1/rooms/${code}/start`, {}, { cookies });
    expect(started.body).toMatchObject({ you: { playerId: 'p1', host: true }, room: { phase: 'playing' } });
    // A repeated join keeps the seat.
    expect((await service.post(`/v1/rooms/${code}/join`, {}, { cookies })).body.you.playerId).toBe('p1');
    expect(codeOf(await service.post(`/v1/rooms/${code}/state`, { installId, state: { level: 2 } }))).toBe('401 sign_in_required');
    // The guest's socket still receives states as a watcher.
    await expect.poll(() => watcher.room()?.phase).toBe('playing');
    expect(watcher.room()?.players.map(({ connected }) => connected)).toEqual([false, false]);
    watcher.socket.close();
    expect(JSON.stringify(started.body)).not.toContain(accountIdOf(installId));
  });

  test('a seat whose process missed the message of the move, at the next renewal of its lease', async () => {
    const installId = freshId();
    const { body: created } = await service.post('/v1/rooms', { installId, name: 'Ada' });
    const watcher = await openSocket(service, created.room.code);
    watcher.send({ type: 'hello', installId });
    await expect.poll(() => watcher.room()?.players[0]!.connected).toBe(true);
    // The record of a move whose message was lost.
    await service.service.redis.set(standingKey(accountIdOf(installId)), `>${accountIdOf(freshId())}`);
    await expect.poll(() => watcher.errors, { timeout: 8000 }).toEqual(['sign_in_required']);
    await expect.poll(() => watcher.room()?.players[0]!.connected).toBe(false);
    watcher.socket.close();
  });

  test('a pairing that the guest scanned, which the account may confirm', async () => {
    const installId = freshId();
    const pairing = await service.post('/v1/pair/new', {});
    const { token } = pairing.body;
    await service.post('/v1/pair/claim', { token, installId, step: 'scan' });
    const { cookies, body } = await signInToStore(service, freshId('subject'), { installId });
    expect(codeOf(await service.post('/v1/pair/claim', { token, installId, step: 'confirm' }))).toBe('401 sign_in_required');
    expect((await service.post('/v1/pair/claim', { token, step: 'confirm' }, { cookies })).body.status).toBe('claimed');
    const polled = await service.get(`/v1/pair/status?token=${token}`, { cookies: pairing.cookies });
    expect((await service.get('/v1/session', { cookies: polled.cookies })).body.accountId).toBe(body.accountId);
  });

  test('no pairing that the guest claimed: it expires and gives no session', async () => {
    const installId = freshId();
    const pairing = await service.post('/v1/pair/new', {});
    const { token } = pairing.body;
    await service.post('/v1/pair/claim', { token, installId });
    const { cookies } = await signInToStore(service, freshId('subject'), { installId });
    for (let index = 0; index < 2; index++) {
      const polled = await service.get(`/v1/pair/status?token=${token}`, { cookies: pairing.cookies });
      expect([polled.body.status, polled.setCookies]).toEqual(['expired', []]);
    }
    for (const step of [undefined, 'scan', 'confirm'])
      expect(codeOf(await service.post('/v1/pair/claim', { token, step }, { cookies }))).toBe('409 pair_expired');
    expect((await service.post('/v1/pair/claim', { token, step: 'deny' }, { cookies })).body.status).toBe('expired');
  });

  test.each([
    ['only the guest has one', [undefined, 2], 2],
    ['only the account has one', [2, undefined], 2],
    ["the guest's is earlier", [1, 5], 5],
    ["the account's is earlier", [5, 1], 5],
  ] as const)('the earlier trial and first run when %s', async (_name, [accountDays, guestDays], days) => {
    const subject = freshId('subject');
    const installId = freshId();
    const { cookies, body } = await signInToStore(service, subject);
    const { redis } = service.service;
    const now = service.now();
    const set = async (accountId: string, ago: number | undefined): Promise<void> => {
      if (ago !== undefined)
        await redis.hset(accountKey(accountId), { createdAt: now, trialStartedAt: now - ago * DAY_MS, firstRunAt: now - ago * DAY_MS });
    };
    await set(body.accountId, accountDays);
    await set(accountIdOf(installId), guestDays);
    await signInToStore(service, subject, { installId });
    const at = new Date(now - days * DAY_MS).toISOString();
    expect((await service.get('/v1/trial/status', { cookies })).body).toMatchObject({ active: true, startedAt: at });
    expect((await service.get('/v1/entitlement', { cookies })).body).toMatchObject({ state: 'trial', firstRunAt: at });
  });

  test('the later subscription report', async () => {
    const subject = freshId('subject');
    const installId = freshId();
    const { cookies } = await signInToStore(service, subject);
    await service.post('/v1/subscription/report', { subscribed: false }, { cookies });
    service.advance(10);
    await service.post('/v1/subscription/report', { installId, subscribed: true });
    await signInToStore(service, subject, { installId });
    expect((await service.get('/v1/subscription', { cookies })).body).toMatchObject({ subscribed: true, source: 'report' });
    // An earlier report of a guest does not replace a later one of the account.
    const late = freshId();
    await service.post('/v1/subscription/report', { installId: late, subscribed: false });
    service.advance(10);
    await service.post('/v1/subscription/report', { subscribed: true }, { cookies });
    await signInToStore(service, subject, { installId: late });
    expect((await service.get('/v1/subscription', { cookies })).body).toMatchObject({ subscribed: true, source: 'report' });
  });
});
