import { pino } from 'pino';
import { describe, expect, test, vi } from 'vitest';
import { accountsOn, addEntry } from '../../board-entries.ts';
import { CallerScripts } from '../../../src/accounts/caller-scripts.ts';
import { accountIdOf, storeAccountIdOf } from '../../../src/accounts/ids.ts';
import { accountKey, standingKey } from '../../../src/accounts/account-keys.ts';
import { tombstoneKeys } from '../../../src/accounts/tombstones.ts';
import { DeletionJournal } from '../../../src/features/deletion/deletion-journal.ts';
import { boardKeys } from '../../../src/features/highscores/model.ts';
import { holdings } from '../../../src/holdings.ts';
import { CLUSTER_QUEUE_TAGS } from '../../../src/redis/slots.ts';
import { codeOf, forFile, freshId, isOnCluster, type RequestOptions, signIn, start, tokenFor } from '../../harness.ts';
import { watchRoom } from '../../realtime/watcher.ts';
import { makeServerKey } from '../../server-keys.ts';
import { balanceOf, deleteAccount, issue, provision, signInToStore } from '../../store.ts';
import { testConfig } from '../../environment.ts';
import { open } from '../rooms/room.ts';
import { pair } from '../sessions/paired.ts';

const service = await forFile(start());

const GONE = '410 account_deleted';

const request = (body: object, options?: RequestOptions) => service.post('/v1/account/delete', body, options);
const { redis } = service.service;
const freshGame = (): string => freshId('game').toLowerCase();
const credit = (installId: string, coins: number, key: string) => service.post('/v1/coins/credit', { installId, coins, key });
const tokenOf = async (subject: string): Promise<string> => (await issue(service, { kind: 'id_token', subject })).token;

/** The confirm of a first call. Without it a second call would be a first one again, and 200. */
async function confirmOf(proof: object, options?: RequestOptions): Promise<string> {
  const { status, body } = await request(proof, options);
  expect([status, body.error]).toEqual([200, undefined]);
  return body.confirm;
}

const deleted = (proof: { installId: string } | { token: string }) => deleteAccount(service, proof);
const deleteUser = async (subject: string) => deleted({ token: await tokenOf(subject) });

/** Without marks of signed-out sessions and records of moves, because they expire. */
async function keysOf(accountId: string): Promise<string[]> {
  const keys = await redis.keys(`{${accountId}}:*`);
  return keys.filter((key) => !/:(?:out|move):[^:]+$/.test(key)).toSorted();
}

/** Moves the clock past the last check of a deletion on a Cluster, and waits for the check. */
async function settled(accountId: string): Promise<void> {
  if (!isOnCluster()) return;
  service.advance(61_000);
  await expect.poll(() => keysOf(accountId)).toEqual([standingKey(accountId)]);
}

async function expectErased(accountId: string): Promise<void> {
  await settled(accountId);
  expect(await keysOf(accountId)).toEqual([standingKey(accountId)]);
  // On a Cluster the last step of the deletion may follow.
  await expect.poll(() => redis.get(standingKey(accountId))).toMatch(/^=\d{13}$/);
  const indexed = await Promise.all(tombstoneKeys(CLUSTER_QUEUE_TAGS).map((key) => redis.zscore(key, accountId)));
  expect(indexed.some((score) => score !== null)).toBe(true);
}

describe('POST /v1/account/delete by a guest', () => {
  test('the first call deletes nothing, and answers what would be deleted', async () => {
    const installId = freshId();
    await credit(installId, 110, 'a');
    const { status, body } = await request({ installId });
    const [accountId, confirm, expiresAt] = [accountIdOf(installId), expect.any(String), expect.any(String)];
    expect([status, body]).toEqual([200, { ok: true, deleted: false, accountId, balanceCoins: 110, confirm, expiresAt }]);
    expect(Date.parse(body.expiresAt) - service.now()).toBeLessThanOrEqual(5 * 60_000);
    expect((await credit(installId, 1, 'b')).status).toBe(200);
  });

  test('the second call closes the account for its installId, its sessions and its keys, and leaves only a tombstone', async () => {
    const installId = freshId();
    const accountId = accountIdOf(installId);
    const [cookies, bearer] = [await signIn(service, installId), await tokenFor(service, installId)];
    for (let number = 0; number < 70; number++) await credit(installId, 1, `key-${number}`);
    const game = freshGame();
    await service.post(`/v1/highscores/${game}`, { installId, score: 7, name: 'Ada' });
    await service.post('/v1/subscription/report', { installId, subscribed: true });
    const deviceId = freshId('device');
    await service.post('/v1/trial/touch', { deviceId });
    await service.post('/v1/trial/link', {}, { cookies, headers: { 'x-device-id': deviceId } });
    expect(await deleted({ installId })).toEqual({ ok: true, deleted: true, accountId });

    for (const each of [{ headers: { 'x-install-id': installId } }, { cookies }, { bearer }])
      expect(codeOf(await service.post('/v1/coins/credit', { coins: 1, key: 'key-0' }, each))).toBe(GONE);
    expect(codeOf(await request({ installId }))).toBe(GONE);
    for (const everywhere of [false, true]) expect((await service.post('/v1/logout', { everywhere }, { cookies })).status).toBe(200);
    await using other = await start({ settings: { SESSION_VERIFY: 'on' } });
    expect((await other.post('/v1/sessions/verify', { sessionToken: bearer })).body).toEqual({ ok: true, authenticated: false });

    expect((await service.get(`/v1/highscores/${game}`)).body.top).toEqual([]);
    expect(await redis.hgetall(boardKeys.players(game))).toEqual({});
    expect((await service.get(`/v1/trial/status?deviceId=${deviceId}`)).body.state).toBe('active');
    await expectErased(accountId);
  });

  test('ends although the last entry of the ledger has a seq beyond all ledgers', async () => {
    const installId = freshId();
    await credit(installId, 5, 'a');
    await redis.lset(`{${accountIdOf(installId)}}:ledger`, -1, `${'9'.repeat(20)}:5 c5 mx12iypm a`);
    await deleted({ installId });
    await expectErased(accountIdOf(installId));
  });

  test('of 50 requests at once one deletes, and none fails', async () => {
    const installId = freshId();
    await credit(installId, 1, 'a');
    const confirm = await confirmOf({ installId });
    const replies = await Promise.all(Array.from({ length: 50 }, () => request({ installId, confirm })));
    expect(replies.map(codeOf).toSorted()).toEqual(['200', ...Array(49).fill(GONE)]);
    await expectErased(accountIdOf(installId));
  });

  test('an install that was never seen is deleted too: a key that it sends later takes no effect', async () => {
    const installId = freshId();
    await deleted({ installId });
    expect(codeOf(await credit(installId, 1, 'a'))).toBe(GONE);
  });

  test('the confirm of another account or user, an old one and any other text are refused', async () => {
    const [installId, other, user, otherUser] = [freshId(), freshId(), freshId('subject'), freshId('subject')];
    for (const subject of [user, otherUser]) await signInToStore(service, subject);
    const ofUser = await confirmOf({ token: await tokenOf(user) });
    expect(codeOf(await request({ token: await tokenOf(otherUser), confirm: ofUser }))).toBe('400 invalid_request');
    const [ofOther, own] = [await confirmOf({ installId: other }), await confirmOf({ installId })];
    service.advance(5 * 60_000 + 1000);
    const ofSession = await tokenFor(service, installId);
    const recent = await confirmOf({ installId: other });
    for (const confirm of [ofOther, recent, own, '', 'x', `${own}x`, 'a.b.c', 'x'.repeat(5000), ofSession])
      expect(codeOf(await request({ installId, confirm }))).toBe('400 invalid_request');
    expect((await credit(installId, 1, 'a')).status).toBe(200);
  });

  test('a session deletes nothing, whether it came from a login or a pairing', async () => {
    const installId = freshId();
    const cookies = await signIn(service, installId);
    const { cookies: paired } = await pair(service, { installId });
    for (const options of [{ cookies }, { cookies: paired }, { bearer: cookies.slice('svc_session='.length) }])
      expect(codeOf(await request({}, options))).toBe('401 identity_required');
    expect((await service.get('/v1/balance', { cookies: paired })).status).toBe(200);
  });

  test('a pairing that the guest claimed before expires', async () => {
    const installId = freshId();
    const opened = await service.post('/v1/pair/new', {});
    await service.post('/v1/pair/claim', { token: opened.body.token, installId });
    await deleted({ installId });
    const { body, cookies } = await service.get(`/v1/pair/status?token=${opened.body.token}`, { cookies: opened.cookies });
    expect([body.status, cookies]).toEqual(['expired', []]);
  });

  test('an install proof that is under way is not recorded', async () => {
    const installId = freshId();
    const { nonce } = (await service.get('/v1/account/store-install/nonce', { headers: { 'x-install-id': installId } })).body;
    const { integrityToken } = await issue(service, { kind: 'integrity_token', nonce });
    await deleted({ installId });
    expect(codeOf(await service.post('/v1/account/store-install', { nonce, integrityToken }))).toBe(GONE);
    expect(await redis.exists(accountKey(accountIdOf(installId)))).toBe(0);
  });
});

describe('POST /v1/account/delete by a user of the app store', () => {
  test('deletes the account with the guests that moved in, and the next sign-in opens a new account', async () => {
    const subject = freshId('subject');
    const [small, large] = [freshId(), freshId()];
    await credit(small, 5, 'small');
    await Promise.all(Array.from({ length: 130 }, (_, number) => credit(large, 1, `large-${number}`)));
    const games = [freshGame(), freshGame()];
    await service.post(`/v1/highscores/${games[0]}`, { installId: small, score: 3, name: 'Ada' });
    const { cookies, body } = await signInToStore(service, subject, { installId: small });
    await signInToStore(service, subject, { installId: large });
    await service.post(`/v1/highscores/${games[1]}`, { score: 3, name: 'Ada' }, { cookies });
    const accountId = storeAccountIdOf('sandbox', subject);
    expect(body.accountId).toBe(accountId);

    const token = await tokenOf(subject);
    expect((await request({ token })).body).toMatchObject({ deleted: false, accountId, balanceCoins: 135 });
    await deleted({ token });
    expect(codeOf(await service.get('/v1/balance', { cookies }))).toBe(GONE);
    for (const installId of [small, large])
      expect([codeOf(await credit(installId, 1, 'small')), codeOf(await service.post('/v1/login', { installId }))]).toEqual([GONE, GONE]);
    for (const game of games) expect((await service.get(`/v1/highscores/${game}`)).body.top).toEqual([]);
    for (const id of [accountId, accountIdOf(small), accountIdOf(large)]) await expectErased(id);

    const next = await signInToStore(service, subject, { installId: small, cookies });
    expect(next.body).toMatchObject({ created: true, moved: false, accountId: storeAccountIdOf('sandbox', subject, 1) });
    expect(await balanceOf(service, { cookies: next.cookies })).toBe(0);
    expect((await service.post('/v1/coins/credit', { coins: 1, key: 'small' }, { cookies: next.cookies })).body.replayed).toBeUndefined();
  });

  test('a server with a key gives no coins to a deleted account or its guests, by their ids or the installId', async () => {
    const { token: bearer } = await makeServerKey(service, ['coins', 'accounts:read']);
    const [subject, installId, guest] = [freshId('subject'), freshId(), freshId()];
    await credit(guest, 5, 'a');
    const { accountId } = (await signInToStore(service, subject, { installId: guest })).body;
    await deleteUser(subject);
    await deleted({ installId });
    for (const named of [{ accountId }, { installId }, { installId: guest }, { accountId: accountIdOf(guest) }]) {
      expect(codeOf(await service.post('/v1/coins/credit', { ...named, coins: 5, key: 'grant' }, { bearer }))).toBe(GONE);
      expect(codeOf(await service.post('/v1/coins/debit', { ...named, coins: 5, key: 'a' }, { bearer }))).toBe(GONE);
    }
    expect(codeOf(await service.get(`/v1/balance?accountId=${accountId}`, { bearer }))).toBe(GONE);
  });

  test('seven deletions of one user lead to the eighth account', async () => {
    const subject = freshId('subject');
    for (let ordinal = 0; ordinal < 7; ordinal++) {
      const { body } = await signInToStore(service, subject);
      expect(body).toMatchObject({ created: true, accountId: storeAccountIdOf('sandbox', subject, ordinal) });
      await deleteUser(subject);
    }
    const guest = freshId();
    await credit(guest, 9, 'a');
    const { body } = await signInToStore(service, subject, { installId: guest });
    expect(body).toMatchObject({ created: true, moved: true, movedCoins: 9, accountId: storeAccountIdOf('sandbox', subject, 7) });
  });

  test('a token that is older than ten minutes, or not one of the store, is refused', async () => {
    const subject = freshId('subject');
    await signInToStore(service, subject);
    const { token } = await issue(service, { kind: 'id_token', subject, expiresInSeconds: 3600 - 11 * 60 - 5 });
    for (const bad of [token, 'x']) expect(codeOf(await request({ token: bad }))).toBe('401 bad_token');
    const confirm = await confirmOf({ token: await tokenOf(subject) });
    expect(codeOf(await request({ token, confirm }))).toBe('200');
  });

  test('a user without an account has none to delete, also after a deletion whose answer was lost', async () => {
    const subject = freshId('subject');
    expect(codeOf(await request({ token: await tokenOf(subject) }))).toBe(GONE);
    await signInToStore(service, subject);
    const token = await tokenOf(subject);
    const confirm = await confirmOf({ token });
    await request({ token, confirm });
    for (const again of [{ token, confirm }, { token }]) expect(codeOf(await request(again))).toBe(GONE);
  });

  test('the installId of a guest that moved into an account deletes nothing', async () => {
    const [subject, installId] = [freshId('subject'), freshId()];
    const confirm = await confirmOf({ installId });
    await credit(installId, 5, 'a');
    const { cookies } = await signInToStore(service, subject, { installId });
    for (const proof of [{ installId }, { installId, confirm }]) expect(codeOf(await request(proof))).toBe('401 sign_in_required');
    expect(await balanceOf(service, { cookies })).toBe(5);
  });

  test('without an app store a token is refused', async () => {
    await using other = await start({ settings: { STORE: 'off' } });
    expect(codeOf(await other.post('/v1/account/delete', { token: 'x' }))).toBe('503 store_unconfigured');
  });
});

describe('a deletion at the same time as other requests', () => {
  test('coin operations either happen before it or are refused, and nothing is left', async () => {
    const installId = freshId();
    await credit(installId, 1, 'first');
    const confirm = await confirmOf({ installId });
    const operations = Array.from({ length: 100 }, async (_, number) => codeOf(await credit(installId, 1, `key-${number}`)));
    const deletion = request({ installId, confirm });
    const later = Array.from({ length: 100 }, async (_, number) => codeOf(await credit(installId, 1, `later-${number}`)));
    expect((await deletion).status).toBe(200);
    for (const code of await Promise.all([...operations, ...later])) expect(['200', GONE]).toContain(code);
    await expectErased(accountIdOf(installId));
  });

  test('scores on many boards leave no entry behind', async () => {
    const installId = freshId();
    const games = Array.from({ length: 40 }, freshGame);
    const confirm = await confirmOf({ installId });
    const submit = (game: string) => service.post(`/v1/highscores/${game}`, { installId, score: 1, name: 'Ada' });
    const submissions = games.slice(0, 20).map(submit);
    const deletion = request({ installId, confirm });
    await Promise.all([...submissions, deletion, ...games.slice(20).map(submit)]);
    await expectErased(accountIdOf(installId));
    for (const game of games) expect(await accountsOn(redis, game)).toEqual([]);
  });

  test('on a Cluster a score that arrives after the mark is removed a minute later', async (context) => {
    if (!isOnCluster()) return context.skip();
    const installId = freshId();
    const accountId = accountIdOf(installId);
    const game = freshGame();
    await service.post(`/v1/highscores/${game}`, { installId, score: 1, name: 'Ada' });
    await deleted({ installId });
    expect(await accountsOn(redis, game)).toEqual([]);
    await addEntry(redis, game, accountId, 1);
    await settled(accountId);
    expect([await accountsOn(redis, game), await redis.zcard(boardKeys.scores(game))]).toEqual([[], 0]);
  });

  test('a guest that moves into the account goes with it, or stays a guest and moves into the next one', async () => {
    for (let round = 0; round < 20; round++) {
      const [subject, installId] = [freshId('subject'), freshId()];
      await signInToStore(service, subject);
      for (let number = 0; number < 5; number++) await credit(installId, 2, `key-${number}`);
      const game = freshGame();
      await service.post(`/v1/highscores/${game}`, { installId, score: 1, name: 'Ada' });
      const token = await tokenOf(subject);
      const confirm = await confirmOf({ token });
      const [deletion, move] = await Promise.all([request({ token, confirm }), provision(service, subject, { installId })]);
      expect([codeOf(deletion), codeOf(move)]).toEqual(['200', '200']);
      const cookies = move.cookies.find((cookie) => cookie.startsWith('svc_session='))!;
      const isNext = move.body.accountId === storeAccountIdOf('sandbox', subject, 1);
      const balance = await service.get('/v1/balance', { cookies });
      if (isNext) expect([move.body.moved, codeOf(balance), balance.body.balanceCoins]).toEqual([true, '200', 10]);
      else expect(codeOf(balance)).toBe(GONE);
      await settled(storeAccountIdOf('sandbox', subject));
      expect(await accountsOn(redis, game)).toEqual(isNext ? [move.body.accountId] : []);
      expect(codeOf(await credit(installId, 1, 'x'))).toBe(isNext ? '401 sign_in_required' : GONE);
    }
  });
});

test('the queue entry is on as many replicas as the mark', async () => {
  const scripts = new CallerScripts(service.service.connections.scripts, { now: service.now });
  const run = vi.spyOn(scripts, 'run');
  const metrics = { accountDeleted() {} };
  const parts = { scripts, config: testConfig(), log: pino({ level: 'silent' }), now: service.now, metrics };
  await new DeletionJournal({ ...parts, holdings, catalogue: { orderOf: () => 'desc' } }).delete(accountIdOf(freshId()), 'owner');
  const durable = run.mock.calls.flatMap(([script]) => (script.durable ? script.name : []));
  expect(durable).toEqual(expect.arrayContaining(['redis/queue-ahead', 'accounts/mark-deleted']));
});

describe('a deleted account in rooms', () => {
  test('loses everything else at once while one of its rooms cannot be changed, and the seat later', async () => {
    const installId = freshId();
    const accountId = accountIdOf(installId);
    await credit(installId, 5, 'a');
    const game = freshGame();
    await service.post(`/v1/highscores/${game}`, { installId, score: 7, name: 'Ada' });
    const { code } = (await service.post('/v1/rooms', { installId, name: 'Ada' })).body.room;
    const seq = (await redis.hget(`{room:${code}}`, 'seq'))!;
    await redis.hset(`{room:${code}}`, 'seq', 'damaged');
    await deleted({ installId });
    expect(await redis.hget(`{room:${code}}`, 'players')).toBe('p1');
    expect((await service.get(`/v1/highscores/${game}`)).body.top).toEqual([]);
    expect(await redis.exists(`{${accountId}}:ledger`)).toBe(0);
    await redis.hset(`{room:${code}}`, 'seq', seq);
    service.advance(61_000);
    await expect.poll(() => keysOf(accountId)).toEqual([standingKey(accountId)]);
    expect((await service.get(`/v1/rooms/${code}`)).body.room.players).toEqual([]);
  });

  test('gives its seats up, and hands the role of host over', async () => {
    const [host, guest] = [freshId(), freshId()];
    const { room } = (await service.post('/v1/rooms', { installId: host, name: 'Ann' })).body;
    await service.post(`/v1/rooms/${room.code}/join`, { installId: guest, name: 'Bob' });
    const alone = (await service.post('/v1/rooms', { installId: host, name: 'Ann' })).body.room;
    await deleted({ installId: host });
    const after = (await service.get(`/v1/rooms/${room.code}`)).body.room;
    expect([after.hostId, after.players.map(({ name }: { name: string }) => name), after.phase]).toEqual(['p2', ['Bob'], 'lobby']);
    expect((await service.get(`/v1/rooms/${alone.code}`)).body.room).toMatchObject({ phase: 'ended', players: [] });
    expect(await redis.hexists(`{room:${room.code}}`, 'p1')).toBe(0);
    expect(codeOf(await service.post(`/v1/rooms/${room.code}/state`, { installId: host, state: 1 }))).toBe(GONE);
    await expectErased(accountIdOf(host));
  });

  test('its connections lose their caller and go on as watchers', async () => {
    const room = await open(service);
    const guest = await room.join();
    const socket = await watchRoom(service, room.code);
    expect((await socket.hello(guest)).type).toBe('welcome');
    await deleted({ installId: guest });
    expect((await socket.until(({ type }) => type === 'error')).error.code).toBe('account_deleted');
    await expect.poll(() => socket.last.room.players.length).toBe(1);
    expect((await socket.hello(guest)).error.code).toBe('account_deleted');
    await socket.close();
  });
});
