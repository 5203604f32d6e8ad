import { inspect } from 'node:util';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { coinopServer, type CoinopEvent } from '../../../src/clients/javascript/server.ts';
import { libraryModule } from '../../../src/web/client/client-module.ts';
import { forFile, freshId, start, tokenFor } from '../../harness.ts';
import { answering, refusal, type Seen } from './answering.ts';
import { makeServerKey } from '../../server-keys.ts';
import type { Scope } from '../../../src/server/identity/server-keys.ts';

const SECRET = 'S3cretS3cretS3cretS3cretS3cret12';
const key = `coinop_sk_abcd1234_${SECRET}`;

const done = '{"ok":true,"balanceAfterCoins":5}';
const given = { accountId: 'account-1', coins: 5, key: 'match-17' };

describe('a call of a server', () => {
  test('sends the key as a bearer and an installId as a header, without a cookie or an Origin header', async () => {
    await using service = await answering([200, done]);
    const coinop = coinopServer({ url: `${service.url}/`, key });
    expect(await coinop.grant(given)).toEqual({ ok: true, balanceAfterCoins: 5 });
    await coinop.history({ installId: 'install-0001', limit: 2 });
    const [{ line, body, headers }, second] = service.seen as [Seen, Seen];
    expect([line, JSON.parse(body)]).toEqual(['POST /v1/coins/credit', given]);
    expect([headers['authorization'], headers['origin'], headers['cookie']]).toEqual([`Bearer ${key}`, undefined, undefined]);
    expect([second.line, second.headers['x-install-id']]).toEqual(['GET /v1/coins/history?limit=2', 'install-0001']);
  });

  test('for events continues after outages and empty pages, and ends with a lasting failure', async () => {
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

  test.each(['', `${key}\n`, `Bearer ${key}`])('%j is refused at once, without showing it', (bad) => {
    const make = () => coinopServer({ url: 'https://coinop.example', key: bad });
    expect(make).toThrow(new TypeError('Bad key: it must look like coinop_sk_<id>_<secret>'));
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

  test.each([
    ['a page', { document: {}, process: undefined }],
    ['a page of a bundler that brings a process', { document: {}, process: { versions: {}, env: {} } }],
    ['a page of Electron with Node', { document: {} }],
    ['a worker of a page', { process: undefined }],
  ])('%s gets an error that says why', (_, globals) => {
    for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value);
    let error: unknown;
    try {
      coinopServer({ url: 'https://coinop.example', key });
    } catch (thrown) {
      error = thrown;
    }
    // The assertion itself needs the real globals.
    vi.unstubAllGlobals();
    expect(String(error)).toContain('runs on servers only: a page must never hold a server key');
  });
});

const service = await forFile(start({ settings: { EVENTS: 'on' } }));

describe('with the service', () => {
  const clientWith = async (...scopes: Scope[]) => coinopServer({ url: service.url, key: (await makeServerKey(service, scopes)).token });

  test('a server that follows events receives new events until its signal aborts', async () => {
    const coinop = await clientWith('coins', 'events');
    const installId = freshId();
    const found: CoinopEvent[] = [];
    const ending = new AbortController();
    const following = (async () => {
      for await (const page of coinop.events.follow({ limit: 1000 }, { signal: ending.signal }))
        found.push(...(page.ok ? page.events.filter((event) => event.accountId === accountIdOf(installId)) : []));
    })();
    await coinop.grant({ installId, coins: 5, key: 'first' });
    await expect.poll(() => found.map(({ type }) => type)).toEqual(['account.created', 'coins.changed']);
    await coinop.grant({ installId, coins: 7, key: 'second' });
    await expect.poll(() => found.at(-1)!.data).toMatchObject({ type: 'grant', coins: 7, balanceAfterCoins: 12 });
    ending.abort();
    await following;
  });

  test('each function sends its request to a real service and returns the answer', async () => {
    const coinop = await clientWith('coins', 'scores', 'rooms', 'accounts:read');
    const installId = freshId();
    const sessionToken = await tokenFor(service, installId);
    const accountId = accountIdOf(installId);
    expect(await coinop.verifySession(sessionToken)).toMatchObject({ authenticated: true, accountId });
    expect(await coinop.verifySession(`${sessionToken}x`)).toEqual({ ok: true, authenticated: false });

    expect(await coinop.grant({ accountId, coins: 25, key: 'match-1' })).toEqual({ ok: true, balanceAfterCoins: 25 });
    expect(await coinop.purchase({ installId, coins: 10, key: 'order-1' })).toEqual({ ok: true, balanceAfterCoins: 35 });
    expect(await coinop.debit({ accountId, coins: 5, key: 'hat' })).toEqual({ ok: true, balanceAfterCoins: 30 });
    expect(await coinop.balance({ installId })).toEqual({ ok: true, balanceCoins: 30 });
    const history = await coinop.history({ accountId, limit: 2 });
    expect(history).toMatchObject({ ok: true, entries: [{ key: 'hat' }, { key: 'order-1' }], nextCursor: expect.any(String) });
    const game = freshId('board').toLowerCase();
    expect(await coinop.submitScore({ accountId, game, score: 12, name: 'Ada' })).toMatchObject({ ok: true, rank: 1, best: 12 });

    const opened = (await service.post('/v1/rooms', { installId })).body.room;
    for (const name of ['Bob', 'Cleo']) await service.post(`/v1/rooms/${opened.code}/join`, { installId: freshId(), name });
    const room = coinop.room(opened.code);
    expect(await room.lock()).toMatchObject({ room: { locked: true } });
    expect(await room.unlock()).toMatchObject({ room: { locked: false } });
    expect(await room.kick({ playerId: 'p2' })).toMatchObject({ room: { players: [{ id: 'p1' }, { id: 'p3' }] } });
    expect(await room.transfer({ playerId: 'p3' })).toMatchObject({ room: { hostId: 'p3' } });
    expect(await room.start()).toMatchObject({ ok: true, room: { phase: 'playing' }, you: { playerId: 'p3', host: true } });
    expect(await room.state({ state: { round: 1 } })).toMatchObject({ ok: true, room: { state: { round: 1 } } });
    expect(await room.transfer({ playerId: 'p2' })).toMatchObject({ ok: false, error: { code: 'invalid_request', field: 'playerId' } });
    expect(await room.end()).toMatchObject({ ok: true, room: { phase: 'ended' } });
    expect(await room.rematch()).toMatchObject({ ok: true, room: { nextCode: expect.any(String) } });
    expect(await room.read()).toMatchObject({ ok: true, room: { phase: 'ended' } });
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
});

test('the module of the package exports what the source exports, and works', async () => {
  await using service = await answering([200, done]);
  const packed = (await import(
    `data:text/javascript;base64,${Buffer.from(libraryModule('server')).toString('base64')}`
  )) as typeof import('../../../src/clients/javascript/server.ts');
  expect(Object.keys(packed)).toEqual(['coinopServer']);
  expect(await packed.coinopServer({ url: service.url, key }).grant(given)).toEqual({ ok: true, balanceAfterCoins: 5 });
});
