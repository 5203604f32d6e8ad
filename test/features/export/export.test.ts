import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { coinKeys } from '../../../src/features/coins/model.ts';
import { roomKeys } from '../../../src/features/rooms/model.ts';
import { codeOf, forFile, freshId, type RequestOptions, signIn, start, type TestReply } from '../../harness.ts';
import { eventually } from '../../realtime/watcher.ts';
import { makeServerKey } from '../../server-keys.ts';
import { historyOf, issue, signInToStore } from '../../store.ts';
import { sized } from '../../sized.ts';
import { open } from '../rooms/room.ts';
import { exportOf, exportPages, joined } from '../../exported.ts';

const service = await forFile(start({ settings: { ADMIN_API: 'on' } }));

const by = (installId: string): RequestOptions => ({ headers: { 'x-install-id': installId } });
const credit = (installId: string, key: string) => service.post('/v1/coins/credit', { installId, coins: 1, key });

/** All pages, with their lists joined. */
async function exported(options: RequestOptions): Promise<{
  pages: TestReply['body'][];
  entries: { id: string; key: string }[];
  scores: { game: string; score: number; archive?: number }[];
  seats: { code: string; playerId: string }[];
  purchases: object[];
}> {
  const pages = await exportPages(service, options);
  const all = <Thing>(name: string): Thing[] => pages.flatMap((page) => page[name] ?? []);
  return { pages, entries: all('entries'), scores: all('scores'), seats: all('seats'), purchases: all('purchases') };
}

describe('GET /v1/account/export', () => {
  test('shows all that is kept about a guest, by installId or session', async () => {
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
    const room = await open(service, { game: 'pebble-drop' });
    await room.act('join', installId, { name: 'Ada' });
    // On a busy machine a page may end early.
    const body = joined((await exported(by(installId))).pages);
    const text = expect.any(String);
    expect(body).toEqual({
      ok: true,
      accountId: accountIdOf(installId),
      coinPurchases: [],
      account: { kind: 'guest', createdAt: text, firstRunAt: text, guests: [], signOutsEverywhere: 0 },
      trial: { startedAt: text, device: text },
      subscriptionReport: { subscribed: true, at: text },
      balanceCoins: 1,
      scores: [{ game: 'pebble-drop', playerId: text, name: 'Ada', score: 7, at: text }],
      saves: [],
      seats: [{ code: room.code, game: 'pebble-drop', phase: 'lobby', playerId: 'p2', name: 'Ada', joinedAt: text }],
      purchases: [{ productId: text, packageName: text, state: 'active', expiresAt: text, willRenew: true, checkedAt: text }],
      entries: [{ id: '1', type: 'credit', coins: 1, balanceAfterCoins: 1, key: 'a', at: text }],
    });
    for (const secret of [installId, deviceId, purchaseToken]) expect(JSON.stringify(body)).not.toContain(secret);
    expect(joined((await exported({ cookies })).pages)).toEqual(body);
  });

  test('an install that was never seen has nothing, and the export creates nothing', async () => {
    const installId = freshId();
    const accountId = accountIdOf(installId);
    const account = { kind: 'guest', guests: [], signOutsEverywhere: 0 };
    const lists = { scores: [], seats: [], saves: [], coinPurchases: [], purchases: [], entries: [] };
    expect(await exportOf(service, by(installId))).toEqual({ ok: true, accountId, account, balanceCoins: 0, ...lists });
    expect(await service.service.redis.keys(`{${accountId}}:*`)).toEqual([]);
  });

  test('has the entries of guests that moved in, as the history shows them', async () => {
    const [subject, small, large] = [freshId('subject'), freshId(), freshId()];
    await credit(small, 'small');
    await Promise.all(Array.from({ length: 510 }, (_, number) => credit(large, `large-${number}`)));
    await signInToStore(service, subject, { installId: small });
    const { cookies } = await signInToStore(service, subject, { installId: large });
    const { pages, entries } = await exported({ cookies });
    expect(pages[0].account).toMatchObject({ kind: 'store', guests: [accountIdOf(small), accountIdOf(large)] });
    expect(pages.length).toBe(2);
    expect(entries).toEqual(await historyOf(service, cookies));
    expect(JSON.stringify(pages)).not.toContain(large);
  });

  test('a long ledger comes in pages of at most 500, each entry once', async () => {
    const length = sized(5000, 100_000);
    const installId = freshId();
    const accountId = accountIdOf(installId);
    await credit(installId, 'first');
    const { redis } = service.service;
    const at = service.now().toString(36);
    const texts = Array.from({ length: length - 1 }, (_, index) => `${index + 2}:${index + 2} c1 ${at} key-${index + 2}`);
    for (let from = 0; from < texts.length; from += 1000) await redis.rpush(coinKeys.ledger(accountId), ...texts.slice(from, from + 1000));
    const { pages, entries } = await exported(by(installId));
    expect(pages.length).toBe(length / 500);
    expect(Math.max(...pages.map((page) => JSON.stringify(page).length))).toBeLessThan(100_000);
    expect(entries.map(({ id }) => Number(id))).toEqual(Array.from({ length }, (_, index) => length - index));
    await redis.del(coinKeys.ledger(accountId));
  });

  test('scores on many boards come in pages too', async () => {
    const installId = freshId();
    const games = Array.from({ length: 330 }, () => freshId('game').toLowerCase());
    await Promise.all(games.map((game) => service.post(`/v1/highscores/${game}`, { installId, score: 1, name: 'Ada' })));
    const { pages, scores, entries } = await exported(by(installId));
    expect(pages.length).toBeGreaterThan(1);
    expect(scores.map(({ game }) => game).toSorted()).toEqual(games.toSorted());
    expect(entries).toEqual([]);
  });

  test('has a score that a reset put into an archive, until the archive is dropped', async () => {
    const { token: bearer } = await makeServerKey(service, ['admin']);
    const change = async (path: string, more = {}): Promise<void> => {
      const { status } = await service.post(`/v1/admin/boards/${path}`, { reason: 'season', ...more }, { bearer });
      expect(status).toBe(200);
    };
    const [installId, game] = [freshId(), freshId('game').toLowerCase()];
    const submit = (score: number) => service.post(`/v1/highscores/${game}`, { installId, score, name: 'Ada' });
    const shown = async () => (await exported(by(installId))).scores.map(({ score, archive }) => [score, archive]);
    await submit(30);
    await change(`${game}/reset`);
    expect(await shown()).toEqual([[30, 1]]);
    await submit(5);
    expect(await shown()).toEqual([
      [5, undefined],
      [30, 1],
    ]);
    await change(`${game}/drop`, { archive: 1 });
    expect(await shown()).toEqual([[5, undefined]]);
  });

  test('has the seats of guests that moved in, but no seat that was left or whose room is gone', async () => {
    const [subject, ...guests] = [freshId('subject'), ...Array.from({ length: 7 }, () => freshId())];
    const rooms = await Promise.all(guests.map(() => open(service)));
    for (const [index, { act }] of rooms.entries()) await act('join', guests[index]!);
    const codes = rooms.map(({ code }) => code);
    await rooms[0]!.act('leave', guests[0]!);
    await service.service.redis.del(roomKeys.room(codes[1]!));
    let cookies = '';
    for (const installId of guests) {
      await credit(installId, installId);
      ({ cookies } = await signInToStore(service, subject, { installId }));
    }
    // From here on the seat names the account. Only the guest's set names the room.
    const { status } = await service.post(`/v1/rooms/${codes[2]}/ready`, { ready: true }, { cookies });
    expect(status).toBe(200);
    const { pages, seats } = await exported({ cookies });
    expect(pages.length).toBeLessThanOrEqual(2);
    const shown = new Set(seats.map(({ code, playerId }) => `${code} ${playerId}`));
    expect([seats.length, shown]).toEqual([5, new Set(codes.slice(2).map((code) => `${code} p2`))]);
  });

  test('has all purchases, also those beyond the ten lines of an account, and those of guests that moved in', async () => {
    const [subject, small, large] = [freshId('subject'), freshId(), freshId()];
    const buy = async (installId: string): Promise<void> => {
      const { purchaseToken } = await issue(service, { kind: 'subscription' });
      expect((await service.post('/v1/subscription/purchase', { installId, purchaseToken })).status).toBe(200);
    };
    await buy(small);
    for (let number = 0; number < 12; number++) await buy(large);
    await signInToStore(service, subject, { installId: small });
    const { cookies } = await signInToStore(service, subject, { installId: large });
    const { purchases } = await exported({ cookies });
    expect(purchases.length).toBe(13);
  });

  test('seats in more rooms than a page reads at come once each, also when a week ends between two pages', async () => {
    await using late = await start({ stoppedClock: true });
    const week = 7 * 86_400_000;
    late.advance(week - (late.now() % week) - 30_000);
    const installId = freshId();
    const rooms = await Promise.all(Array.from({ length: 90 }, () => open(late)));
    await Promise.all(rooms.map(({ act }) => act('join', installId)));
    const codes: string[] = [];
    let [cursor, pages] = ['', 0];
    do {
      const { status, body } = await late.get(`/v1/account/export${cursor}`, by(installId));
      expect([status, body.error]).toEqual([200, undefined]);
      codes.push(...(body.seats ?? []).map(({ code }: { code: string }) => code));
      cursor = body.nextCursor === undefined ? '' : `?cursor=${body.nextCursor}`;
      if (pages++ === 0) late.advance(60_000);
    } while (cursor !== '');
    expect(pages).toBeGreaterThan(2);
    expect(codes.toSorted()).toEqual(rooms.map(({ code }) => code).toSorted());
  });

  test('pages that one address asks for at once are made one after the other, and too many are refused', async () => {
    const installId = freshId();
    const rooms = await Promise.all(Array.from({ length: 30 }, () => open(service)));
    await Promise.all(rooms.map(({ act }) => act('join', installId)));
    const ask = () => service.get('/v1/account/export', by(installId));
    const replies = await Promise.all(Array.from({ length: 30 }, ask));
    const codes = replies.map((reply) => `${codeOf(reply)} ${reply.headers.get('retry-after')}`);
    expect(new Set(codes)).toEqual(new Set(['200 null', '429 rate_limited 1']));
    expect((await ask()).status).toBe(200);
  });

  test('a page whose client has gone leaves its turn to the next one', async () => {
    const installId = freshId();
    const rooms = await Promise.all(Array.from({ length: 60 }, () => open(service)));
    await Promise.all(rooms.map(({ act }) => act('join', installId)));
    for (let round = 0; round < 5; round++) {
      const socket = connect(service.port, '127.0.0.1');
      await once(socket, 'connect');
      socket.write(`GET /v1/account/export HTTP/1.1\r\nhost: a\r\nx-install-id: ${installId}\r\n\r\n`);
      // Once this is answered, the page is under way.
      await service.get('/health');
      socket.resetAndDestroy();
      await eventually(async () => (await service.get('/v1/account/export', by(installId))).status === 200);
    }
  });

  test('a cursor that no page has given shows no more than there is, or is refused', async () => {
    const ask = (cursor: string) => service.get(`/v1/account/export?cursor=${cursor}`, by(freshId()));
    for (const cursor of [`s${2n ** 64n - 1n}`, `r0.${2n ** 64n - 1n}`, 'p99999.0', 'e999999999999999', 's0~tetris', 'p0.0~x']) {
      const { status, body } = await ask(cursor);
      expect([cursor, status, body.scores ?? [], body.seats ?? [], body.entries ?? []]).toEqual([cursor, 200, [], [], []]);
    }
    for (const cursor of [
      ...[`s${'9'.repeat(20)}`, `r0.${2n ** 64n}`, 'x', 'r', 'r1.x', 'e0', 's1.5', 's0~a~b', 's0~A%20B', 's-1'],
      ...[`r0.0~${'a'.repeat(65)}`, `e${'1.'.repeat(2000)}1`],
    ])
      expect([cursor, (await ask(cursor)).status]).toEqual([cursor, 400]);
  });

  test('a cursor of another account shows the own account only', async () => {
    const [one, other] = [freshId(), freshId()];
    for (let number = 0; number < 3; number++) await credit(one, `one-${number}`);
    await credit(other, 'other');
    const body = await exportOf(service, by(other), 'e3');
    expect([body.accountId, body.entries.map(({ key }: { key: string }) => key)]).toEqual([accountIdOf(other), ['other']]);
  });
});
