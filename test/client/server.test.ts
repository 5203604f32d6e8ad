import { inspect } from 'node:util';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { coinopServer, type CoinopEvent, type ServerOptions } from '../../src/client/server.ts';
import { serverModule } from '../../src/web/client/client-module.ts';
import { forFile, freshId, start, tokenFor } from '../harness.ts';
import { answering, refusal, type Seen } from './answering.ts';
import { keyChangesOf, makeServerKey } from '../server-keys.ts';

const SECRET = 'S3cretS3cretS3cretS3cretS3cret12';
const key = `coinop_sk_abcd1234_${SECRET}`;

const done = '{"ok":true,"balanceAfterCoins":5}';
const given = { accountId: 'account-1', coins: 5, key: 'match-17' };

describe('a call of a server', () => {
  test('sends the key as a bearer, without a cookie or an Origin header', async () => {
    await using service = await answering([200, done]);
    expect(await coinopServer({ url: `${service.url}/`, key }).grant(given)).toEqual({ ok: true, balanceAfterCoins: 5 });
    const [{ line, body, headers }] = service.seen as [Seen];
    expect([line, JSON.parse(body)]).toEqual(['POST /v1/coins/credit', given]);
    expect([headers['authorization'], headers['origin'], headers['cookie']]).toEqual([`Bearer ${key}`, undefined, undefined]);
  });

  test('sends each request to its endpoint, and an installId as a header only', async () => {
    await using service = await answering([200, '{"ok":true}']);
    const coinop = coinopServer({ url: service.url, key });
    const installId = 'install-0001';
    await coinop.purchase({ installId, coins: 1, key: 'a' });
    await coinop.debit({ accountId: 'b', coins: 1, key: 'b' });
    await coinop.balance({ installId });
    await coinop.history({ accountId: 'a/b', limit: 2 });
    await coinop.submitScore({ installId, game: 'pebble-drop', score: 3, name: 'Ada' });
    await coinop.verifySession('a token');
    await coinop.events.read({ after: '1k', wait: 2 });
    const room = coinop.room('BC/FG');
    await room.read();
    for (const action of ['start', 'end', 'lock', 'unlock', 'rematch'] as const) await room[action]();
    await room.kick({ playerId: 'p2' });
    await room.transfer({ playerId: 'p3' });
    await room.state({ state: [1] });
    expect(
      service.seen.map(({ line, body, headers }) => [line, body.replace(/(?<="tab":")[a-z0-9]{16}(?=")/, 'T'), headers['x-install-id']]),
    ).toEqual([
      ['POST /v1/coins/purchase', '{"coins":1,"key":"a"}', installId],
      ['POST /v1/coins/debit', '{"accountId":"b","coins":1,"key":"b"}', undefined],
      ['GET /v1/balance', '', installId],
      ['GET /v1/coins/history?accountId=a%2Fb&limit=2', '', undefined],
      ['POST /v1/highscores/pebble-drop', '{"score":3,"name":"Ada"}', installId],
      ['POST /v1/sessions/verify', '{"sessionToken":"a token"}', undefined],
      ['GET /v1/events?after=1k&wait=2', '', undefined],
      ['GET /v1/rooms/BC%2FFG', '', undefined],
      ['POST /v1/rooms/BC%2FFG/start', '{"order":1,"tab":"T"}', undefined],
      ['POST /v1/rooms/BC%2FFG/end', '{"order":2,"tab":"T"}', undefined],
      ['POST /v1/rooms/BC%2FFG/lock', '{"order":3,"tab":"T"}', undefined],
      ['POST /v1/rooms/BC%2FFG/unlock', '{"order":4,"tab":"T"}', undefined],
      ['POST /v1/rooms/BC%2FFG/rematch', '{"order":5,"tab":"T"}', undefined],
      ['POST /v1/rooms/BC%2FFG/kick', '{"playerId":"p2","order":6,"tab":"T"}', undefined],
      ['POST /v1/rooms/BC%2FFG/transfer', '{"playerId":"p3","order":7,"tab":"T"}', undefined],
      ['POST /v1/rooms/BC%2FFG/state', '{"state":[1],"order":8,"tab":"T"}', undefined],
    ]);
  });

  test('events: the pages continue after outages and empty pages, and end with a lasting failure', async () => {
    const page = (cursor: string, ...ids: string[]): string => JSON.stringify({ ok: true, events: ids.map((id) => ({ id })), cursor });
    await using service = await answering(
      [200, page('2', 'a', 'b')],
      'cut',
      [503, refusal('store_unavailable', { retryAfterMs: 1 })],
      [200, page('7')],
      [200, page('8', 'c')],
      [403, refusal('forbidden')],
    );
    const { events } = coinopServer({ url: service.url, key });
    const pages: unknown[] = [];
    for await (const each of events.follow({ types: ['coins.changed', 'account.moved'], limit: 2 })) pages.push(each);
    expect(pages).toEqual([
      { ok: true, events: [{ id: 'a' }, { id: 'b' }], cursor: '2' },
      { ok: true, events: [{ id: 'c' }], cursor: '8' },
      expect.objectContaining({ ok: false, error: { code: 'forbidden', message: 'forbidden' } }),
    ]);
    const types = 'types=coins.changed%2Caccount.moved';
    expect(service.seen.map(({ line }) => line)).toEqual([
      `GET /v1/events?limit=2&wait=25&${types}`,
      ...Array.from({ length: 3 }, () => `GET /v1/events?limit=2&after=2&wait=25&${types}`),
      `GET /v1/events?limit=2&after=7&wait=25&${types}`,
      `GET /v1/events?limit=2&after=8&wait=25&${types}`,
    ]);
  });

  test('is repeated with the same coin key after lost answers, outages and temporary refusals', async () => {
    await using service = await answering(
      'cut',
      [502, '<html>Bad gateway</html>'],
      [503, refusal('store_unavailable', { outcome: 'unknown', retryAfterMs: 1 })],
      [429, refusal('rate_limited', { retryAfterMs: 1 })],
      [200, '{"ok":true,"balanceAfterCoins":5,"replayed":true,"balanceCoins":7}'],
    );
    const reply = await coinopServer({ url: service.url, key }).grant(given);
    expect(reply).toEqual({ ok: true, balanceAfterCoins: 5, replayed: true, balanceCoins: 7 });
    expect(service.seen.map(({ body }) => JSON.parse(body))).toEqual(Array.from({ length: 5 }, () => given));
  });

  test('is not repeated after a definite refusal, and returns the status and fields of the refusal', async () => {
    await using service = await answering([403, refusal('forbidden', { scope: 'coins' })]);
    expect(await coinopServer({ url: service.url, key }).grant(given)).toEqual({
      ok: false,
      error: { code: 'forbidden', message: 'forbidden', scope: 'coins' },
      requestId: 'r-1',
      status: 403,
    });
    expect(service.seen).toHaveLength(1);
  });

  test('follows no redirect: another host must not get the key', async () => {
    await using other = await answering([200, done]);
    await using service = await answering([307, '', { location: `${other.url}/v1/coins/credit` }]);
    const reply = await coinopServer({ url: service.url, key, timeoutMs: 50 }).grant(given);
    expect([reply.ok, other.seen]).toEqual([false, []]);
  });
});

describe('the key', () => {
  test('appears neither in the client nor in a failure that repeats the headers of the request', async () => {
    await using service = await answering([401, refusal('bad_key', { message: `No such key: Bearer ${key}`, headers: [key] })]);
    const coinop = coinopServer({ url: service.url, key });
    const failing = coinopServer({
      url: service.url,
      key,
      timeoutMs: 20,
      fetch: (_, { headers }) => Promise.reject(new Error(`Could not send ${JSON.stringify(headers)}`)),
    });
    const shown = [coinop, coinop.grant, coinop.room('BCDFG'), await coinop.grant(given), await failing.grant(given)];
    for (const each of shown) {
      const texts = [inspect(each, { depth: Infinity, showHidden: true }), JSON.stringify(each), String(each)];
      for (const text of texts) expect(text ?? '').not.toContain(SECRET);
    }
    expect(shown.slice(-2)).toMatchObject([
      { error: { code: 'bad_key', message: `No such key: Bearer coinop_sk_abcd1234_…` } },
      { error: { code: 'network' } },
    ]);
  });

  test.each([
    ['', 'it must look like coinop_sk_<id>_<secret>'],
    [`${key}\n`, 'it must look like coinop_sk_<id>_<secret>'],
    [`Bearer ${key}`, 'it must look like coinop_sk_<id>_<secret>'],
  ])('%j is refused at once, without showing it', (bad, message) => {
    const make = () => coinopServer({ url: 'https://coinop.example', key: bad as string });
    expect(make).toThrow(new TypeError(`Bad key: ${message}`));
  });

  test.each(['coinop.example', 'ftp://coinop.example', 'https://coinop.example/v1', 'https://user:password@coinop.example', undefined])(
    'the client refuses the url %j at once, and its error does not show it',
    (url) => {
      expect(() => coinopServer({ url: url as string, key })).toThrow(new TypeError('Bad url: it must look like https://coinop.example'));
    },
  );
});

describe('outside of a server', () => {
  afterEach(() => vi.unstubAllGlobals());

  const message = 'coinop/client/server runs on servers only: a page must never hold a server key. Pages import coinop/client.';
  const options: ServerOptions = { url: 'https://coinop.example', key };

  test.each([
    ['a page', { document: {}, process: undefined }],
    ['a page of a bundler that brings a process', { document: {}, process: { versions: {}, env: {} } }],
    ['a page of Electron with Node', { document: {} }],
    ['a worker of a page', { process: undefined }],
  ])('%s gets an error that says why', (_, globals) => {
    for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value);
    let error: unknown;
    try {
      coinopServer(options);
    } catch (thrown) {
      error = thrown;
    }
    vi.unstubAllGlobals();
    expect(error).toEqual(new Error(message));
  });
});

const service = await forFile(start({ settings: { EVENTS: 'on' } }));

describe('with the service', () => {
  const clientWith = async (...[scopes, more]: Parameters<typeof makeServerKey> extends [unknown, ...infer Rest] ? Rest : never) =>
    coinopServer({ url: service.url, key: (await makeServerKey(service, scopes, more)).token });

  test('a server that follows events receives new events until its signal aborts', async () => {
    const coinop = await clientWith(['coins', 'events']);
    const installId = freshId();
    const accountId = accountIdOf(installId);
    const found: CoinopEvent[] = [];
    const ending = new AbortController();
    const following = (async () => {
      for await (const page of coinop.events.follow({ limit: 1000 }, { signal: ending.signal }))
        found.push(...(page.ok ? page.events.filter((event) => event.accountId === accountId) : []));
    })();
    await coinop.grant({ installId, coins: 5, key: 'first' });
    await vi.waitFor(() => expect(found.map(({ type }) => type)).toEqual(['account.created', 'coins.changed']), 15_000);
    await coinop.grant({ installId, coins: 7, key: 'second' });
    await vi.waitFor(() => expect(found.at(-1)!.data).toMatchObject({ type: 'grant', coins: 7, balanceAfterCoins: 12 }), 15_000);
    ending.abort();
    await following;
  });

  test('each function sends its request to a real service and returns the answer', async () => {
    const coinop = await clientWith(['coins', 'scores', 'rooms', 'accounts:read']);
    const installId = freshId();
    const sessionToken = await tokenFor(service, installId);
    const session = await coinop.verifySession(sessionToken);
    if (!session.ok) throw new Error(session.error.code);
    const { authenticated, accountId = '' } = session;
    expect([authenticated, accountId]).toEqual([true, expect.stringMatching(/^[\w-]{22}$/)]);
    expect(await coinop.verifySession(`${sessionToken}x`)).toEqual({ ok: true, authenticated: false });

    expect(await coinop.grant({ accountId, coins: 25, key: 'match-1' })).toEqual({ ok: true, balanceAfterCoins: 25 });
    expect(await coinop.grant({ installId, coins: 25, key: 'match-1' })).toMatchObject({ ok: true, replayed: true, balanceCoins: 25 });
    expect(await coinop.grant({ accountId, coins: 26, key: 'match-1' })).toMatchObject({ ok: false, error: { code: 'key_reused' } });
    expect(await coinop.purchase({ accountId, coins: 10, key: 'order-1' })).toEqual({ ok: true, balanceAfterCoins: 35 });
    expect(await coinop.debit({ accountId, coins: 5, key: 'hat' })).toEqual({ ok: true, balanceAfterCoins: 30 });
    const history = await coinop.history({ accountId, limit: 2 });
    expect(history).toMatchObject({ ok: true, entries: [{ key: 'hat' }, { key: 'order-1' }], nextCursor: expect.any(String) });

    const game = freshId('board').toLowerCase();
    expect(await coinop.submitScore({ accountId, game, score: 12, name: 'Ada' })).toMatchObject({ ok: true, rank: 1, best: 12 });

    const { room: opened } = (await service.post('/v1/rooms', { installId })).body;
    const room = coinop.room(opened.code);
    expect(await room.start()).toMatchObject({ ok: true, room: { phase: 'playing', seq: 2 }, you: { playerId: 'p1', host: true } });
    expect(await room.state({ state: { round: 1 } })).toMatchObject({ ok: true, room: { state: { round: 1 } } });
    expect(await room.transfer({ playerId: 'p2' })).toMatchObject({ ok: false, error: { code: 'invalid_request', field: 'playerId' } });
    expect(await room.rematch()).toMatchObject({ ok: true, room: { phase: 'ended', nextCode: expect.any(String) } });
    expect(await room.read()).toMatchObject({ ok: true, room: { phase: 'ended', seq: 4 } });
  });

  test('a delayed first try of a repeated state does not overwrite a newer state', async () => {
    const { token } = await makeServerKey(service, ['rooms']);
    let late: Parameters<typeof fetch> | undefined;
    const room = coinopServer({
      url: service.url,
      key: token,
      async fetch(url, init) {
        if (late !== undefined) return fetch(url, init);
        late = [url, { ...init, signal: null }];
        throw new TypeError('the network keeps it');
      },
    }).room((await service.post('/v1/rooms', { installId: freshId() })).body.room.code);
    const [first, second] = await Promise.all([room.state({ state: 'old' }), room.state({ merge: { is: 'new' } })]);
    expect([first, second]).toMatchObject([{ ok: true }, { ok: true, room: { state: { is: 'new' } } }]);
    expect(await (await fetch(...late!)).json()).toMatchObject({ ok: true, replayed: true, room: { state: { is: 'new' } } });
  });

  test('a grant with lost answers is applied once', async () => {
    const coinop = await clientWith(['coins', 'accounts:read']);
    const accountId = (await service.post('/v1/account/resolve', { installId: freshId() })).body.accountId as string;
    const { token } = await makeServerKey(service, ['coins']);
    let lost = 0;
    const leaky = coinopServer({
      url: service.url,
      key: token,
      async fetch(url, init) {
        const response = await fetch(url, init);
        if (lost++ < 3) throw new TypeError('fetch failed');
        return response;
      },
    });
    expect(await leaky.grant({ accountId, coins: 7, key: 'once' })).toEqual({
      ok: true,
      balanceAfterCoins: 7,
      replayed: true,
      balanceCoins: 7,
    });
    expect(await coinop.balance({ accountId })).toEqual({ ok: true, balanceCoins: 7 });
  });

  test('a call with a key that lacks the scope or belongs to another game fails at once', async () => {
    const coinop = await clientWith(['rooms'], { game: 'tetris' });
    const installId = freshId();
    expect(await coinop.grant({ installId, coins: 5, key: 'k' })).toMatchObject({
      status: 403,
      error: { code: 'forbidden', scope: 'coins' },
    });
    const { code } = (await service.post('/v1/rooms', { installId, game: 'chess' })).body.room;
    expect(await coinop.room(code).end()).toMatchObject({ status: 403, error: { code: 'forbidden' } });
  });

  test('after a rotation a grant with the new key is a replay, and a revoked key is bad_key', async () => {
    const { id, token } = await makeServerKey(service, ['coins']);
    const next = await keyChangesOf(service).rotate(id, service.now() + 60_000, undefined);
    const [old, young] = [token, next.token].map((each) => coinopServer({ url: service.url, key: each }));
    const installId = freshId();
    const grant = { installId, coins: 5, key: 'once' };
    expect(await old!.grant(grant)).toMatchObject({ ok: true, balanceAfterCoins: 5 });
    await expect.poll(() => young!.grant(grant)).toMatchObject({ ok: true, replayed: true, balanceCoins: 5 });
    await keyChangesOf(service).revoke(id);
    await expect.poll(() => old!.grant(grant)).toMatchObject({ ok: false, status: 401, error: { code: 'bad_key' } });
    expect(await young!.grant(grant)).toMatchObject({ ok: true, replayed: true });
  });
});

test('the module of the package exports what the source exports, and works', async () => {
  await using service = await answering([200, done]);
  const packed = (await import(
    `data:text/javascript;base64,${Buffer.from(serverModule()).toString('base64')}`
  )) as typeof import('../../src/client/server.ts');
  expect(Object.keys(packed)).toEqual(['coinopServer']);
  expect(await packed.coinopServer({ url: service.url, key }).grant(given)).toEqual({ ok: true, balanceAfterCoins: 5 });
});
