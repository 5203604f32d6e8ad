import { describe, expect, test } from 'vitest';
import { accountsOn, addEntry } from '../../board-entries.ts';
import { coinKeys } from '../../../src/features/coins/model.ts';
import { boardKeys } from '../../../src/features/highscores/model.ts';
import { moveKeys } from '../../../src/features/guest-moves/model.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { accountKey, standingKey } from '../../../src/accounts/account-keys.ts';
import { codeOf, forFile, freshId, isOnCluster, signIn, start, type TestReply } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { balanceOf as balanceAt, historyOf, postAs, provision, signInToStore, type Who } from '../../store.ts';
import { catalogueFile, catalogueOf } from '../highscores/catalogue-of.ts';

const service = await forFile(start());
const { redis } = service.service;

const DAY_MS = 86_400_000;

const coinsOf = (type: 'credit' | 'debit', who: Who, coins: number, key: string, at = service): Promise<TestReply> =>
  postAs(at, `/v1/coins/${type}`, { coins, key }, who);
const credit = (who: Who, coins: number, key: string, at = service) => coinsOf('credit', who, coins, key, at);
const balanceOf = (who: Who) => balanceAt(service, who);
const MOVED = '401 sign_in_required';
const isRefused = async (installId: string): Promise<boolean> => codeOf(await service.post('/v1/account/resolve', { installId })) === MOVED;

/** A guest with a ledger of so many entries, of 1 coin, 2 coins and so on. */
async function guestWith(entries: number, prefix = 'key'): Promise<string> {
  const installId = freshId();
  for (let index = 0; index < entries; index++) await credit({ installId }, 1 + index, `${prefix}-${index}`);
  return installId;
}

/** A guest moves into the account of a store user. */
const moveIn = (installId: string, subject = freshId('subject')) => signInToStore(service, subject, { installId });

/** On a Cluster the guest's set names its boards for another minute, because a score may still arrive. */
async function settled(guestId: string): Promise<void> {
  if (!isOnCluster()) return;
  service.advance(61_000);
  await expect.poll(() => redis.exists(boardKeys.ofAccount(guestId))).toBe(0);
}

describe('coins in a move', () => {
  test('the coins leave the guest and reach the account with a merge entry on both sides', async () => {
    const installId = freshId();
    await credit({ installId }, 100, 'a');
    await coinsOf('debit', { installId }, 30, 'b');
    service.advance(1000);
    const { cookies, body } = await moveIn(installId);
    expect(body).toMatchObject({ created: true, moved: true, movedCoins: 70 });
    service.advance(1000);
    await credit({ cookies }, 5, 'c');

    expect((await historyOf(service, cookies)).map(({ at: _, ...entry }) => entry)).toEqual([
      { id: '2', type: 'credit', coins: 5, balanceAfterCoins: 75, key: 'c' },
      { id: '1', type: 'merge', coins: 70, balanceAfterCoins: 70, key: `merge:${accountIdOf(installId)}` },
      { id: '1.3', type: 'merge', coins: -70, balanceAfterCoins: 0, key: `merge:${body.accountId}` },
      { id: '1.2', type: 'debit', coins: -30, balanceAfterCoins: 70, key: 'b' },
      { id: '1.1', type: 'credit', coins: 100, balanceAfterCoins: 100, key: 'a' },
    ]);
    expect([await balanceOf({ cookies }), await isRefused(installId)]).toEqual([75, true]);
  });

  test('the history lists the entries of the account and of its guests once and by time, on pages of any size', async () => {
    const subject = freshId('subject');
    const { cookies } = await signInToStore(service, subject);
    // Ledgers with at most 100 entries are kept otherwise than longer ones. The move adds an entry.
    const installs = [await guestWith(100), await guestWith(101), freshId(), freshId()];
    const keys: string[] = [];
    for (let round = 0; round < 6; round++) {
      for (const who of [{ installId: installs[2]! }, { installId: installs[3]! }, { cookies }]) {
        keys.unshift(`${round}.${keys.length}`);
        await credit(who, 1, keys[0]!);
        service.advance(1);
      }
    }
    for (const installId of installs) await moveIn(installId, subject);
    const whole = await historyOf(service, cookies, 100);
    expect(new Set(whole.map(({ id }) => id)).size).toBe(201 + keys.length + 8);
    expect(whole.filter(({ key }) => keys.includes(key)).map(({ key }) => key)).toEqual(keys);
    const times = whole.map(({ at }) => at);
    expect(times).toEqual(times.toSorted().toReversed());
    expect(whole.filter(({ type }) => type === 'merge').map(({ coins }) => coins)).toEqual([6, -6, 6, -6, 5151, -5151, 5050, -5050]);
    for (const limit of [17, 33]) expect(await historyOf(service, cookies, limit)).toEqual(whole);
    expect(await balanceOf({ cookies })).toBe(5050 + 5151 + 18);
  });

  test('a guest that moves in between two pages does not appear on the following pages', async () => {
    const subject = freshId('subject');
    // The entries of the late guest are older than those of the account.
    const late = await guestWith(5, 'late');
    const { cookies } = await moveIn(await guestWith(4, 'early'), subject);
    const before = await historyOf(service, cookies);
    let { entries, nextCursor } = (await service.get('/v1/coins/history?limit=2', { cookies })).body;
    await moveIn(late, subject);
    while (nextCursor !== undefined) {
      const { body } = await service.get(`/v1/coins/history?limit=2&cursor=${nextCursor}`, { cookies });
      entries = [...entries, ...body.entries];
      ({ nextCursor } = body);
    }
    expect(entries).toEqual(before);
    expect(await historyOf(service, cookies, 9)).toHaveLength(before.length + 1 + 6);
  });

  test('all 79 keys of a guest are replays for the account: with the merge entry the bucket of the keys splits', async () => {
    const { cookies } = await moveIn(await guestWith(79));
    const replays = await Promise.all(Array.from({ length: 79 }, (_, index) => credit({ cookies }, 1 + index, `key-${index}`)));
    expect(replays.map(({ body: { replayed, balanceAfterCoins, balanceCoins } }) => [replayed, balanceAfterCoins, balanceCoins])).toEqual(
      Array.from({ length: 79 }, (_, index) => [true, ((1 + index) * (2 + index)) / 2, 3160]),
    );
  });

  test('a key that the account and several guests used replays each of their operations, and no other', async () => {
    const subject = freshId('subject');
    const { cookies } = await signInToStore(service, subject);
    await credit({ cookies }, 100, 'first');
    await coinsOf('debit', { cookies }, 30, 'welcome');
    for (const coins of [10, 20, 10]) {
      const installId = freshId();
      await credit({ installId }, 100, 'first');
      await coinsOf('debit', { installId }, coins, 'welcome');
      await moveIn(installId, subject);
    }
    const debit = async (coins: number) => (await coinsOf('debit', { cookies }, coins, 'welcome')).body;
    for (const coins of [10, 20, 30]) expect(await debit(coins)).toMatchObject({ replayed: true, balanceAfterCoins: 100 - coins });
    // Other amounts, a prefix of a used amount, and a used amount as a credit.
    for (const coins of [1, 100, 40]) expect((await debit(coins)).error.code).toBe('key_reused');
    expect(codeOf(await credit({ cookies }, 10, 'welcome'))).toBe('422 key_reused');
  });

  test('the credits of guests count against the daily cap of the account, and all of them move', async () => {
    await using capped = await start({ settings: { CREDIT_DAILY_CAP: '100' } });
    // Noon, so that the test does not run across midnight.
    capped.advance(DAY_MS - (capped.now() % DAY_MS) + DAY_MS / 2);
    const subject = freshId('subject');
    const { cookies } = await signInToStore(capped, subject);
    const send = async (coins: number, key: string) => (await credit({ cookies }, coins, key, capped)).status;
    const move = async (coins: number) => {
      const installId = freshId();
      await credit({ installId }, coins, 'guest', capped);
      expect((await signInToStore(capped, subject, { installId })).body).toMatchObject({ moved: true, movedCoins: coins });
    };
    expect(await send(30, 'own')).toBe(200);
    await move(60);
    expect([await send(11, 'b'), await send(10, 'c'), await send(1, 'd')]).toEqual([409, 200, 409]);
    for (let guest = 0; guest < 3; guest++) await move(100);
    const purchase = await capped.post('/v1/coins/purchase', { coins: 1, key: 'more' }, { cookies });
    expect([purchase.status, purchase.body.error]).toMatchObject([409, { code: 'balance_limit', balanceCoins: 400 }]);
    capped.advance(DAY_MS);
    expect(await send(100, 'e')).toBe(200);
  });

  const entry = (index: number, large: boolean) => `${freshId('g')}${index} 0${large ? `*${index + 1}` : '='}\n`;
  const guests = (count: number, large = false) => Array.from({ length: count }, (_, index) => entry(index, large)).join('');
  test.each([
    ['the account would exceed 1e12 coins', 'balance_limit', `1:999999999999 c999999999999 ${Date.now().toString(36)} huge`, '', 2],
    ['the account already has 500 guests', 'too_many_guests', '', guests(500), 1],
    ['the account has 50 guests with more than 100 entries, and this is another', 'too_many_guests', '', guests(50, true), 101],
  ])('a guest does not move when %s', async (_, notMoved, ledger, standing, entries) => {
    const subject = freshId('subject');
    const { cookies, body } = await signInToStore(service, subject);
    if (ledger !== '') await redis.rpush(coinKeys.ledger(body.accountId), ledger);
    else await redis.set(standingKey(body.accountId), standing);
    const installId = await guestWith(entries);
    expect((await moveIn(installId, subject)).body).toMatchObject({ created: false, moved: false, notMoved });
    const balances = [(entries * (entries + 1)) / 2, ledger === '' ? 0 : 999_999_999_999];
    expect([await balanceOf({ installId }), await balanceOf({ cookies })]).toEqual(balances);
    // Smaller guests still move into an account with 50 large ones.
    if (entries === 101) expect((await moveIn(await guestWith(1), subject)).body.moved).toBe(true);
  });
});

describe('a guest with a damaged ledger', () => {
  test.each(['nonsense', `${'9'.repeat(20)}:3 c2 mx12iypm key-1`])(
    'is not frozen, and moves once the ledger is mended: %s',
    async (damaged) => {
      const [installId, subject] = [await guestWith(2), freshId('subject')];
      const ledger = coinKeys.ledger(accountIdOf(installId));
      const entry = (await redis.lindex(ledger, -1))!;
      await redis.lset(ledger, -1, damaged);
      expect(codeOf(await provision(service, subject, { installId }))).toBe('500 internal');
      expect(await redis.get(standingKey(accountIdOf(installId)))).toBeNull();
      await redis.lset(ledger, -1, entry);
      expect((await moveIn(installId, subject)).body).toMatchObject({ moved: true, movedCoins: 3 });
    },
  );
});

describe('a guest that moves into a store account', () => {
  test('moves once: repeated sign-ins move nothing', async () => {
    const installId = await guestWith(1);
    const subject = freshId('subject');
    const session = await signIn(service, installId);
    const { cookies } = await moveIn(installId, subject);
    // The third repeats the request of a guest whose answer was lost.
    for (const guest of [{ installId }, { cookies }, { installId, cookies: session }, { installId, cookies }])
      expect((await signInToStore(service, subject, guest)).body).toMatchObject({ created: false, moved: false });
    expect(await historyOf(service, cookies)).toHaveLength(3);
  });

  test.each(['one subject', 'different subjects'])('moves once when 12 sign-ins of %s run concurrently', async (subjects) => {
    const installId = await guestWith(1);
    const same = freshId('subject');
    const isOne = subjects === 'one subject';
    const replies = await Promise.all(Array.from({ length: 12 }, () => moveIn(installId, isOne ? same : freshId('subject'))));
    expect(replies.filter(({ body }) => body.moved)).toHaveLength(1);
    const owners = isOne ? 12 : 1;
    expect((await Promise.all(replies.map(({ cookies }) => balanceOf({ cookies })))).filter((coins) => coins === 1)).toHaveLength(owners);
  });

  test('moves together with a second guest that moves concurrently into the same account', async () => {
    const [first, second, subject] = [await guestWith(1), await guestWith(2), freshId('subject')];
    const [{ cookies }] = await Promise.all([moveIn(first, subject), moveIn(second, subject)]);
    expect(await balanceOf({ cookies })).toBe(1 + 3);
    expect([await isRefused(first), await isRefused(second)]).toEqual([true, true]);
  });

  test('cannot move on: its account is not a guest', async () => {
    const installId = await guestWith(1);
    const { cookies, body: one } = await moveIn(installId);
    // A moved installId is ignored.
    for (const [guest, notMoved] of [
      [{ cookies }, 'not_a_guest'],
      [{ installId }, undefined],
    ] as const) {
      const other = await signInToStore(service, freshId('subject'), guest);
      expect([other.body.created, other.body.moved, other.body.notMoved]).toEqual([true, false, notMoved]);
      expect(other.body.accountId).not.toBe(one.accountId);
      expect(await balanceOf({ cookies: other.cookies })).toBe(0);
    }
    expect(await balanceOf({ cookies })).toBe(1);
  });

  test('may be named by its session and may be an unknown install', async () => {
    const session = await signIn(service, await guestWith(1));
    const { body } = await signInToStore(service, freshId('subject'), { cookies: session });
    expect(body).toMatchObject({ moved: true, movedCoins: 1 });
    const unseen = freshId();
    expect((await moveIn(unseen)).body).toMatchObject({ created: true, moved: true, movedCoins: 0 });
    expect(await isRefused(unseen)).toBe(true);
  });

  test('is not named by a signed-out session: the installId decides', async () => {
    const [installId, other, subject] = [await guestWith(1), await guestWith(2), freshId('subject')];
    const ended = await signIn(service, installId);
    // A signed-out session of the account itself is ignored too.
    const own = await signInToStore(service, subject);
    for (const cookies of [ended, own.cookies]) await service.post('/v1/logout', {}, { cookies });
    expect((await signInToStore(service, freshId('subject'), { cookies: ended })).body).toMatchObject({ moved: false });
    const ofOther = await signInToStore(service, freshId('subject'), { cookies: ended, installId: other });
    expect(ofOther.body).toMatchObject({ movedCoins: 3 });
    expect((await signInToStore(service, subject, { cookies: own.cookies, installId })).body).toMatchObject({ movedCoins: 1 });
  });

  test('leaves its standing in Redis and nothing else, and its ledger with the account', async () => {
    const installId = await guestWith(1);
    await service.post('/v1/highscores/tetris', { installId, score: 1, name: 'Ada' });
    await service.post('/v1/entitlement/first-run', { installId });
    const { body } = await moveIn(installId);
    const guestId = accountIdOf(installId);
    await settled(guestId);
    const names = ['account', 'ledger', 'index:0', 'boards', `credited:${new Date(service.now()).toISOString().slice(0, 10)}`];
    expect(await redis.exists(...names.map((name) => `{${guestId}}:${name}`))).toBe(0);
    expect(await redis.get(standingKey(guestId))).toBe(`>${body.accountId}`);
    expect(await redis.lrange(coinKeys.guestLedger(body.accountId, guestId), 0, -1)).toHaveLength(2);
    expect((await redis.zrange(moveKeys.unfinished, '0', '-1')).filter((member) => member.startsWith(guestId))).toEqual([]);
  });
});

const CATALOGUE_FILE = catalogueFile(catalogueOf(['sprint']));
const freshGame = (): string => freshId('game').toLowerCase();
const submit = (game: string, score: number, who: Who, at = service): Promise<TestReply> =>
  postAs(at, `/v1/highscores/${game}`, { score, name: 'Ada' }, who);

describe('a move also carries', () => {
  test('the best scores: the better of two on a board, under the player id of the account', async () => {
    const [subject, installId] = [freshId('subject'), freshId()];
    const [better, worse, alone, deleted] = [freshGame(), freshGame(), freshGame(), freshGame()];
    const { cookies } = await signInToStore(service, subject);
    const own = await submit(better, 10, { cookies });
    await submit(worse, 10, { cookies });
    for (const [game, score] of [
      [better, 20],
      [deleted, 9],
      [worse, 5],
      [alone, 3],
    ] as const)
      await submit(game, score, { installId });
    await redis.del(boardKeys.scores(deleted));
    await moveIn(installId, subject);
    const top = async (game: string): Promise<{ score: number; playerId: string }[]> =>
      (await service.get(`/v1/highscores/${game}`)).body.top;
    await expect
      .poll(async () => (await Promise.all([better, worse, alone, deleted].map(top))).map((each) => each.map(({ score }) => score)))
      .toEqual([[20], [10], [3], []]);
    await settled(accountIdOf(installId));
    expect(await redis.smembers(boardKeys.ofAccount(accountIdOf(installId)))).toEqual([]);
    expect((await top(better))[0]!.playerId).toBe(own.body.top[0].playerId);
    // The board holds one entry of the account.
    expect((await submit(better, 15, { cookies })).body).toMatchObject({ best: 20, personalBest: false, rank: 1 });
    expect((await submit(alone, 4, { cookies })).body).toMatchObject({ best: 4, personalBest: true, top: [{ score: 4 }] });
  });

  test('the lower score on an ascending board', async () => {
    // A service with another catalogue, and a clock that runs ahead, would take the move over.
    await using own = await startRedis();
    await using timed = await start({ redis: own.location, settings: { CATALOGUE_FILE } });
    const [subject, installId] = [freshId('subject'), freshId()];
    const { cookies } = await signInToStore(timed, subject);
    await submit('sprint', 50, { cookies }, timed);
    await submit('sprint', 40, { installId }, timed);
    await signInToStore(timed, subject, { installId });
    expect((await submit('sprint', 45, { cookies }, timed)).body).toMatchObject({ best: 40, personalBest: false });
  });

  test('on a Cluster a score that arrives after the move, a minute later', async (context) => {
    if (!isOnCluster()) return context.skip();
    const [installId, game] = [freshId(), freshGame()];
    const guestId = accountIdOf(installId);
    await submit(game, 5, { installId });
    const { body } = await moveIn(installId);
    await addEntry(redis, game, guestId, 9);
    await settled(guestId);
    expect(await accountsOn(redis, game)).toEqual([body.accountId]);
    expect((await service.get(`/v1/highscores/${game}`)).body.top).toMatchObject([{ score: 9, name: 'Ada' }]);
  });

  test('scores later when a board is broken now, and the move itself succeeds', async () => {
    const [installId, game] = [await guestWith(1), freshGame()];
    await submit(game, 5, { installId });
    const aside = `${boardKeys.players(game)}:aside`;
    await redis.rename(boardKeys.players(game), aside);
    await redis.set(boardKeys.players(game), 'no hash');
    const { cookies, body } = await moveIn(installId);
    expect(body).toMatchObject({ created: true, moved: true, movedCoins: 1 });
    await redis.rename(aside, boardKeys.players(game));
    service.advance(10_001);
    await expect.poll(() => accountsOn(redis, game)).toEqual([body.accountId]);
    expect((await submit(game, 1, { cookies })).body.best).toBe(5);
  });

  test('the seats and the host role: an account with two seats acts from the host’s seat', async () => {
    const [installId, subject] = [freshId(), freshId('subject')];
    const { cookies } = await signInToStore(service, subject);
    const { code } = (await service.post('/v1/rooms', { installId, name: 'Ada' })).body.room;
    const act = async (action: string, body: object = {}) => (await service.post(`/v1/rooms/${code}/${action}`, body, { cookies })).body;
    expect((await act('join')).you.playerId).toBe('p2');
    await moveIn(installId, subject);
    expect(codeOf(await service.post(`/v1/rooms/${code}/state`, { installId, state: { level: 2 } }))).toBe(MOVED);
    // A repeated join keeps the seat.
    expect((await act('join')).you.playerId).toBe('p1');
    expect(await act('start')).toMatchObject({ you: { playerId: 'p1', host: true }, room: { phase: 'playing' } });
    expect(await act('transfer', { playerId: 'p2' })).toMatchObject({ you: { playerId: 'p1', host: false }, room: { hostId: 'p2' } });
    expect((await act('kick', { playerId: 'p1' })).room.players).toMatchObject([{ id: 'p2', host: true }]);
  });

  test('a pairing that the guest scanned, which the account may confirm, and none that the guest claimed', async () => {
    const installId = freshId();
    const [scanned, claimed] = [await service.post('/v1/pair/new', {}), await service.post('/v1/pair/new', {})];
    const claim = ({ body }: TestReply, who: Who, step?: string) => postAs(service, '/v1/pair/claim', { token: body.token, step }, who);
    const poll = ({ body, cookies }: TestReply) => service.get(`/v1/pair/status?token=${body.token}`, { cookies });
    await claim(scanned, { installId }, 'scan');
    await claim(claimed, { installId });
    const { cookies, body } = await moveIn(installId);
    expect(codeOf(await claim(scanned, { installId }, 'confirm'))).toBe(MOVED);
    expect((await claim(scanned, { cookies }, 'confirm')).body.status).toBe('claimed');
    const session = await service.get('/v1/session', { cookies: (await poll(scanned)).cookies });
    expect(session.body.accountId).toBe(body.accountId);

    const polled = await poll(claimed);
    expect([polled.body.status, polled.setCookies]).toEqual(['expired', []]);
    for (const step of [undefined, 'scan', 'confirm']) expect(codeOf(await claim(claimed, { cookies }, step))).toBe('409 pair_expired');
    expect((await claim(claimed, { cookies }, 'deny')).body.status).toBe('expired');
  });

  test.each([
    ['only the guest has one', [undefined, 2], 2],
    ['only the account has one', [2, undefined], 2],
    ["the guest's is earlier", [1, 5], 5],
    ["the account's is earlier", [5, 1], 5],
  ] as const)('the earlier trial and first run when %s', async (_name, [accountDays, guestDays], days) => {
    const [subject, installId, now] = [freshId('subject'), freshId(), service.now()];
    const { cookies, body } = await signInToStore(service, subject);
    for (const [accountId, ago] of [
      [body.accountId, accountDays],
      [accountIdOf(installId), guestDays],
    ] as const) {
      if (ago === undefined) continue;
      const at = now - ago * DAY_MS;
      await redis.hset(accountKey(accountId), { createdAt: now, trialStartedAt: at, firstRunAt: at });
    }
    await moveIn(installId, subject);
    const at = new Date(now - days * DAY_MS).toISOString();
    expect((await service.get('/v1/trial/status', { cookies })).body).toMatchObject({ active: true, startedAt: at });
    expect((await service.get('/v1/entitlement', { cookies })).body).toMatchObject({ state: 'trial', firstRunAt: at });
  });

  test.each(['guest', 'account'] as const)('the later subscription report, that of the %s', async (later) => {
    const [subject, installId] = [freshId('subject'), freshId()];
    const { cookies } = await signInToStore(service, subject);
    const whos = { guest: { installId }, account: { cookies } };
    for (const by of later === 'guest' ? (['account', 'guest'] as const) : (['guest', 'account'] as const)) {
      await postAs(service, '/v1/subscription/report', { subscribed: by === later }, whos[by]);
      service.advance(10);
    }
    await moveIn(installId, subject);
    expect((await service.get('/v1/subscription', { cookies })).body).toMatchObject({ subscribed: true, source: 'report' });
  });
});
