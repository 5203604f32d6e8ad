import { Redis } from 'ioredis';
import { afterAll, describe, expect, test } from 'vitest';
import { accountIdOf, storeAccountIdOf } from '../../../src/accounts/ids.ts';
import { callerOf, dyingAt, freshInstall, Movers } from '../../features/guest-moves/mortal.ts';
import { forFile, freshId, isOnCluster, signIn, start, tokenFor, type RequestOptions, type TestReply } from '../../harness.ts';
import { RawSocket } from '../../realtime/raw-socket.ts';
import { ownRedis } from '../../realtime/own.ts';
import { Lines } from '../connection-lines.ts';
import { keyChangesOf, makeServerKey, statusWith } from '../../server-keys.ts';
import { historyOf, signInToStore } from '../../store.ts';

/** Requests with server keys, through the whole service. */

const logLines: string[] = [];
const service = await forFile(start({ logLines }));
const { token: coins } = await makeServerKey(service, ['coins']);
const { token: reader } = await makeServerKey(service, ['accounts:read']);

const codeOf = ({ status, body }: Pick<TestReply, 'status' | 'body'>): string => (status === 200 ? '200' : `${status} ${body.error.code}`);
const grant = (named: object, options: RequestOptions = {}, path = '/v1/coins/credit') =>
  service.post(path, { coins: 5, key: freshId('key'), ...named }, { bearer: coins, ...options });
const upgrade = (path: string, token: string, headers: Record<string, string> = {}) =>
  RawSocket.open(service.port, path, { authorization: `Bearer ${token}`, ...headers });
const balanceOf = async (accountId: string): Promise<number> =>
  (await service.get(`/v1/balance?accountId=${accountId}`, { bearer: reader })).body.balanceCoins;

describe('the account of a keyed request', () => {
  test('is named by installId or accountId, in the body or the header x-install-id', async () => {
    const installId = freshId();
    const accountId = accountIdOf(installId);
    for (const named of [{ installId }, { accountId }, { installId, accountId }]) expect(codeOf(await grant(named))).toBe('200');
    expect(codeOf(await grant({}, { headers: { 'x-install-id': installId } }))).toBe('200');
    expect(codeOf(await grant({ accountId }, { headers: { 'x-install-id': installId } }))).toBe('200');
    expect(await balanceOf(accountId)).toBe(25);
  });

  test('that does not exist yet is opened by the first write, and reads of it create nothing', async () => {
    const accountId = accountIdOf(freshId());
    expect(await balanceOf(accountId)).toBe(0);
    expect(await service.service.redis.exists(`{${accountId}}:account`)).toBe(0);
    expect((await grant({ accountId })).body).toEqual({ ok: true, balanceAfterCoins: 5 });
    expect(await service.service.redis.exists(`{${accountId}}:account`)).toBe(1);
  });

  test.each([
    {},
    ...['abc', '}aaaaaaaaaaaaaaaaaaaaa', 'aaaaaaaaaaaaaaaaaaaaa:', 'aaaaaaaaaaaaaaaaaaaaa\0', 7, null].map((accountId) => ({ accountId })),
    { installId: 'no' },
    { accountId: accountIdOf('install-0001'), installId: 'install-0002' },
  ])('is 400 if the request names it by %j', async (named) => {
    const { status, body } = await grant(named);
    expect([status, body.error.code]).toEqual([400, 'invalid_request']);
    expect(['accountId', 'installId']).toContain(body.error.field);
  });

  test('is 400 if the header and the body name two installs, or the query names two accounts', async () => {
    expect(codeOf(await grant({ installId: freshId() }, { headers: { 'x-install-id': freshId() } }))).toBe('400 invalid_request');
    const [one, other] = [accountIdOf(freshId()), accountIdOf(freshId())];
    const read = (second: string) => service.get(`/v1/balance?accountId=${one}&accountId=${second}`, { bearer: reader });
    expect([codeOf(await read(other)), codeOf(await read(one))]).toEqual(['400 invalid_request', '200']);
  });

  test('is not that of a cookie beside the key', async () => {
    const installId = freshId();
    const cookies = await signIn(service, installId);
    expect(codeOf(await grant({}, { cookies }))).toBe('400 invalid_request');
    const other = accountIdOf(freshId());
    const { status, setCookies } = await grant({ accountId: other }, { cookies });
    expect([status, setCookies]).toEqual([200, []]);
    expect([await balanceOf(accountIdOf(installId)), await balanceOf(other)]).toEqual([0, 5]);
  });

  test('is not read without a key: an accountId is then an unknown field', async () => {
    const [installId, accountId] = [freshId(), accountIdOf(freshId())];
    const body = { installId, accountId, coins: 5, key: 'a' };
    expect(codeOf(await service.post('/v1/coins/credit', body))).toBe('200');
    expect([await balanceOf(accountIdOf(installId)), await balanceOf(accountId)]).toEqual([5, 0]);
    expect(codeOf(await service.post('/v1/coins/credit', { ...body, installId: undefined }))).toBe('401 identity_required');
    const session = await tokenFor(service, installId);
    expect(codeOf(await service.get(`/v1/coins/history?accountId=${accountId}`, { bearer: session }))).toBe('200');
  });
});

describe('an account that moved', () => {
  test('is followed by its installId, by its accountId, and by both, even if one is older than the move', async () => {
    const [installId, subject] = [freshId(), freshId('subject')];
    const guestId = accountIdOf(installId);
    expect(codeOf(await grant({ installId, key: 'before' }))).toBe('200');
    const { cookies } = await signInToStore(service, subject, { installId });
    const accountId = storeAccountIdOf('sandbox', subject);
    expect((await grant({ installId })).body.balanceAfterCoins).toBe(10);
    expect((await grant({ accountId: guestId })).body.balanceAfterCoins).toBe(15);
    expect((await grant({ accountId, installId })).body.balanceAfterCoins).toBe(20);
    expect((await grant({ accountId: guestId, installId })).body.balanceAfterCoins).toBe(25);
    // The keys of the guest stay replays.
    expect((await grant({ installId, key: 'before' })).body).toMatchObject({ replayed: true, balanceAfterCoins: 5, balanceCoins: 25 });
    expect(await balanceOf(guestId)).toBe(25);
    const entries = await historyOf(service, cookies);
    const { body } = await service.get(`/v1/coins/history?installId=${installId}&limit=100`, { bearer: reader });
    expect(body.entries).toEqual(entries);
    // Somebody else's account stays a contradiction.
    expect(codeOf(await grant({ accountId: storeAccountIdOf('sandbox', freshId('subject')), installId }))).toBe('400 invalid_request');
  });

  test.skipIf(isOnCluster())('in the middle of its move gets its coins once, wherever the move ends', async () => {
    await using redis = await ownRedis();
    await using own = await redis.start();
    const { token } = await makeServerKey(own, ['coins']);
    const client = own.service.redis as Redis;
    using movers = await Movers.open(client);
    for (let number = 1; number <= 6; number++) {
      const [{ installId, accountId: guestId }, subject] = [freshInstall(), freshId('subject')];
      await own.post('/v1/coins/credit', { installId, coins: 3, key: 'first' });
      await signInToStore(own, subject);
      const targetId = storeAccountIdOf('sandbox', subject);
      const { around } = dyingAt(number, true);
      await movers
        .mover(around)
        .moves.begin(callerOf(guestId), { accountId: targetId, store: 'sandbox' })
        .catch(() => {});
      const named = number % 2 === 0 ? { installId } : { accountId: guestId };
      const reply = await own.post('/v1/coins/credit', { ...named, coins: 5, key: 'granted' }, { bearer: token });
      expect([number, codeOf(reply), reply.body.balanceAfterCoins]).toEqual([number, '200', 8]);
      await movers.work();
      const again = await own.post('/v1/coins/credit', { ...named, coins: 5, key: 'granted' }, { bearer: token });
      expect(again.body).toMatchObject({ replayed: true, balanceAfterCoins: 8, balanceCoins: 8 });
    }
  });
});

describe('a bad key', () => {
  const withOtherEnd = (token: string): string => token.slice(0, -1) + (token.endsWith('A') ? 'B' : 'A');
  const BAD = 'The server key is not valid.';
  const installId = freshId();
  afterAll(async () => expect(await balanceOf(accountIdOf(installId))).toBe(0));
  const expectBad = async (token: string, message: string = BAD, options: RequestOptions = {}) => {
    const reply = await grant({ installId }, { bearer: token, ...options });
    expect([token, reply.status, reply.body.error]).toEqual([token, 401, { code: 'bad_key', message }]);
  };

  test('is refused if it is truncated, too long or of other characters, or has the id of another key, a wrong secret or an unknown id', async () => {
    const [id, secret] = [coins.slice(10, 18), coins.slice(19)];
    for (const length of [10, 14, 18, 19, 30, coins.length - 1]) await expectBad(coins.slice(0, length));
    for (const tail of ['x', '_', ' x', '\tx']) await expectBad(`${coins}${tail}`);
    for (const token of [
      coins.replace('coinop_sk_', 'coinop_sk_-'),
      'coinop_sk_' + 'a'.repeat(10_000),
      withOtherEnd(coins),
      `coinop_sk_${id}_${'a'.repeat(32)}`,
      ...[reader.slice(10, 18), id.toUpperCase(), '00000000', '__proto__', 'toString', 'construc'].map((of) => `coinop_sk_${of}_${secret}`),
    ])
      await expectBad(token);
  });

  test('that was just revoked or has expired is reported as such to a client with the secret', async () => {
    const revoked = await makeServerKey(service, ['coins']);
    const expiring = await makeServerKey(service, ['coins'], { expiresAt: service.now() + 3_600_000 });
    await expectKnown(revoked.token);
    await expectKnown(expiring.token);
    expect(await keyChangesOf(service).revoke(revoked.id)).toBe(true);
    await expect.poll(() => statusWith(service.url, revoked.token)).toBe(401);
    await expectBad(revoked.token, 'This server key was revoked.');
    await expectBad(withOtherEnd(revoked.token));
    service.advance(3_000_000);
    await expectKnown(expiring.token);
    service.advance(600_000);
    await expectBad(expiring.token, 'This server key has expired.');
  });
  const expectKnown = async (token: string) => expect(codeOf(await grant({ installId: freshId() }, { bearer: token }))).toBe('200');

  test('that was revoked, or expired, while the body was on its way, is refused', async () => {
    const revoked = await makeServerKey(service, ['coins', 'rooms', 'accounts:read']);
    const expiring = await makeServerKey(service, ['coins', 'rooms', 'accounts:read'], { expiresAt: service.now() + 60_000 });
    const accountId = accountIdOf(freshId());
    using lines = new Lines(service);
    const begin = async (path: string, body: object, token: string) => {
      const line = await lines.open();
      const text = JSON.stringify(body);
      const head = `Host: a\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\nAuthorization: Bearer ${token}`;
      line.socket.write(`POST ${path} HTTP/1.1\r\n${head}\r\n\r\n${text.slice(0, -1)}`);
      return line;
    };
    const { body: opened } = await service.post('/v1/rooms', { installId: freshId() });
    const begun = await Promise.all(
      [revoked, expiring].flatMap(({ token }) => [
        begin('/v1/coins/credit', { accountId, coins: 5, key: freshId('key') }, token),
        begin(`/v1/rooms/${opened.room.code}/end`, { name: 'a' }, token),
        begin('/v1/sessions/verify', { sessionToken: 'a' }, token),
      ]),
    );
    await keyChangesOf(service).revoke(revoked.id);
    service.advance(60_000);
    for (const { token } of [revoked, expiring]) await expect.poll(() => statusWith(service.url, token)).toBe(401);
    for (const { socket } of begun) socket.write('}');
    for (const line of begun) await expect.poll(() => line.received).toMatch(/^HTTP\/1\.1 401 [^]*bad_key[^]*(was revoked|has expired)/);
    expect(await balanceOf(accountId)).toBe(0);
  });

  test('is refused at every endpoint and path, and at both channels', async () => {
    const bad = `coinop_sk_00000000_${'0'.repeat(32)}`;
    for (const path of ['/health', '/ready', '/metrics', '/', '/openapi.json', '/v1/session', '/v1/catalogue', '/nothing'])
      expect([path, codeOf(await service.get(path, { bearer: bad }))]).toEqual([path, '401 bad_key']);
    for (const path of ['/v1/login', '/login', '/v1/pair/new', '/v1/sessions/verify', '/v1/coins/debit', '/v1/nothing'])
      expect([path, codeOf(await service.post(path, {}, { bearer: bad }))]).toEqual([path, '401 bad_key']);
    for (const path of ['/v1/rooms/BCDFG/live', '/v1/pair/live?token=a']) expect(codeOf(await upgrade(path, bad))).toBe('401 bad_key');
  });

  test('from a browser is refused even where its origin is allowed, with a message of its own, and the log names the key', async () => {
    const { id, token } = await makeServerKey(service, ['coins']);
    const message = 'A server key does not belong in a browser: keep it on your server.';
    for (const origin of [service.url, 'https://elsewhere.example', 'null', 'x']) await expectBad(token, message, { headers: { origin } });
    await expectBad(`coinop_sk_00000000_${'0'.repeat(32)}`, message, { headers: { origin: service.url } });
    // A page's GET to its own site has no Origin.
    const { token: readers } = await makeServerKey(service, ['accounts:read']);
    const path = `/v1/balance?accountId=${accountIdOf(freshId())}`;
    const ofPage = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' };
    const read = await service.get(path, { bearer: readers, headers: ofPage });
    expect([read.status, read.body.error]).toEqual([401, { code: 'bad_key', message }]);
    expect(codeOf(await service.get(path, { bearer: readers, headers: { 'sec-fetch-mode': 'cors' } }))).toBe('200');
    expect(codeOf(await upgrade('/v1/rooms/BCDFG/live', token, { origin: service.url }))).toBe('401 bad_key');
    const ownLines: string[] = [];
    await using other = await start({ logLines: ownLines });
    await expect.poll(() => statusWith(other.url, token)).toBe(200);
    await other.get('/health', { bearer: token, headers: { origin: other.url } });
    const lines = ownLines.filter((line) => line.includes('server keys refused'));
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 40, keys: [id], refused: { from_browser: 1 }, msg: expect.stringContaining('a key came from a browser') },
    ]);
    expect(lines[0]).not.toContain(token.slice(19));
  });
});

describe('the scope of a key', () => {
  test('decides which endpoints it may call, before the rest of the request is checked: 403 names the missing scope', async () => {
    const lacking = await service.post('/v1/coins/credit', { coins: 'many' }, { bearer: reader });
    expect([lacking.status, lacking.body.error]).toEqual([
      403,
      { code: 'forbidden', message: 'This server key lacks the scope coins.', scope: 'coins' },
    ]);
    expect(codeOf(await service.get(`/v1/balance?installId=${freshId()}`, { bearer: coins }))).toBe('403 forbidden');
    expect(codeOf(await service.post('/v1/sessions/verify', { sessionToken: 'a' }, { bearer: coins }))).toBe('403 forbidden');
    expect(codeOf(await service.post('/v1/coins/credit', { coins: 'many' }, { bearer: coins }))).toBe('400 invalid_request');
  });

  test('gives no access to an endpoint without a scope, and makes no difference to one that reads no credential', async () => {
    for (const path of ['/v1/session', '/v1/entitlement', '/v1/subscription']) {
      const { status, body } = await service.get(path, { bearer: coins });
      expect([path, status, body.error]).toEqual([path, 403, { code: 'forbidden', message: 'No server key may do this.' }]);
    }
    for (const path of ['/v1/login', '/login', '/v1/account/resolve', '/v1/logout'])
      expect([path, codeOf(await service.post(path, { installId: freshId() }, { bearer: coins }))]).toEqual([path, '403 forbidden']);
    for (const path of ['/health', '/v1/catalogue', '/v1/highscores/tetris', '/openapi.json'])
      expect([path, codeOf(await service.get(path, { bearer: coins }))]).toEqual([path, '200']);
  });

  test('a key at the upgrade of a channel that takes sessions is refused, at the other one it makes no difference', async () => {
    const { body: opened } = await service.post('/v1/rooms', { installId: freshId() });
    expect(codeOf(await upgrade(`/v1/rooms/${opened.room.code}/live`, reader))).toBe('403 forbidden');
    const { body: pair } = await service.post('/v1/pair/new', {});
    const pairing = await upgrade(`/v1/pair/live?token=${pair.token}`, reader);
    expect(pairing.status).toBe(101);
    pairing.destroy();
  });
});

describe('limits', () => {
  const limited = { RATE_LIMIT: 'on', RATE_LIMIT_PER_SECOND: '1', RATE_LIMIT_BURST: '3', RATE_LIMIT_CREATIONS_PER_MINUTE: '2' };

  test('count a keyed request for its key and not for its address, and its accounts for nobody', async () => {
    await using small = await start({ settings: { ...limited, RATE_LIMIT_SERVER_KEY_PER_SECOND: '10' }, stoppedClock: true });
    const changes = keyChangesOf(small);
    const [{ token }, { token: other }] = [
      await changes.create({ name: 'one', scopes: ['coins'] }),
      await changes.create({ name: 'other', scopes: ['coins'] }),
    ];
    const ask = (bearer: string) => small.post('/v1/coins/credit', { installId: freshId(), coins: 1, key: 'a' }, { bearer });
    // Health is not counted.
    await expect.poll(() => statusWith(small.url, other)).toBe(200);
    for (let index = 0; index < 20; index++) expect(codeOf(await ask(token))).toBe('200');
    const refused = await ask(token);
    expect([codeOf(refused), refused.body.error.retryAfterMs]).toEqual(['429 rate_limited', 100]);
    expect(codeOf(await ask(other))).toBe('200');
    // Nor do creations of endpoints that ignore a key.
    for (let index = 0; index < 5; index++) expect(codeOf(await small.post('/v1/pair/new', {}, { bearer: other }))).toBe('200');
    // The address still has its three requests, and its two creations.
    const anybody = () => small.post('/v1/coins/credit', { installId: freshId(), coins: 1, key: 'a' });
    expect([codeOf(await anybody()), codeOf(await anybody())]).toEqual(['200', '200']);
    expect(codeOf(await small.get('/v1/catalogue'))).toBe('200');
    expect(codeOf(await small.get('/v1/catalogue'))).toBe('429 rate_limited');
  });

  test('count a bad key for its address', async () => {
    await using small = await start({ settings: limited, stoppedClock: true });
    const bad = `coinop_sk_00000000_${'0'.repeat(32)}`;
    const codes: string[] = [];
    for (let index = 0; index < 5; index++) codes.push(codeOf(await small.get('/v1/catalogue', { bearer: bad })));
    expect(codes).toEqual([...Array.from({ length: 3 }, () => '401 bad_key'), '429 rate_limited', '429 rate_limited']);
  });

  test('keep a hundred bad keys out of the log: a line at once, and one a minute', async () => {
    const lines: string[] = [];
    await using own = await start({ logLines: lines });
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) => own.get('/health', { bearer: `coinop_sk_0000${1000 + index}_${'0'.repeat(32)}` })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
    const told = lines.filter((line) => line.includes('server keys refused')).map((line) => JSON.parse(line));
    expect(told).toMatchObject([{ refused: { unknown: 1 }, keys: [] }]);
  });
});

test('a key with accounts:read sees whose session a token is, without SESSION_VERIFY', async () => {
  const installId = freshId();
  const sessionToken = await tokenFor(service, installId);
  const verify = (token: string, options?: RequestOptions) => service.post('/v1/sessions/verify', { sessionToken: token }, options);
  const { body } = await verify(sessionToken, { bearer: reader });
  expect(body).toMatchObject({ ok: true, authenticated: true, accountId: accountIdOf(installId) });
  expect((await verify(reader, { bearer: reader })).body).toEqual({ ok: true, authenticated: false });
  expect(codeOf(await verify(sessionToken))).toBe('403 server_only');
});

test('a service that never read the keys answers requests with keys 503 if a key matters there', async () => {
  await using away = await start({ redis: { url: 'redis://127.0.0.1:1' } });
  const reply = await away.post('/v1/coins/credit', { installId: freshId(), coins: 1, key: 'a' }, { bearer: coins });
  expect([codeOf(reply), reply.body.error.retryAfterMs, reply.body.error.outcome]).toEqual(['503 store_unavailable', 1000, undefined]);
  expect(codeOf(await away.get('/health', { bearer: coins }))).toBe('200');
  expect(codeOf(await away.get('/v1/catalogue', { bearer: coins }))).toBe('200');
});

test('a key in place of a session in a message, a cookie or a body gives no access', async () => {
  expect((await service.get('/v1/session', { cookies: `svc_session=${coins}` })).body).toEqual({ ok: true, authenticated: false });
  expect(codeOf(await service.get('/v1/coins/history', { headers: { 'x-install-id': coins } }))).toBe('401 session_required');
  expect(codeOf(await service.get(`/v1/coins/history?access_token=${coins}`))).toBe('401 session_required');
});

test('the log and the metrics never hold a secret', async () => {
  const { body } = await service.get('/metrics');
  for (const token of [coins, reader]) {
    expect(body).not.toContain(token.slice(19));
    expect(logLines.join('')).not.toContain(token.slice(19));
  }
});
