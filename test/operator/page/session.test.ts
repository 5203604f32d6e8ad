import { beforeAll, describe, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { forFile, freshId, start, type StartOptions, type TestReply, type TestService } from '../../harness.ts';
import { eventually } from '../../realtime/watcher.ts';
import { keyChangesOf, makeServerKey } from '../../server-keys.ts';

/** The sessions of the console, as a browser and as an attacker use them. */
const service = await forFile(start({ settings: { ADMIN_API: 'on' } }));
const key = await makeServerKey(service, ['admin'], { role: 'admin', name: 'Zoë' });

const own = (): Record<string, string> => ({ origin: service.url, 'sec-fetch-site': 'same-origin', 'x-console': 'look' });

/** Signs in with the request of the page. */
async function signIn(token = key.token, headers: Record<string, string> = own()): Promise<TestReply> {
  return service.post('/console/session', {}, { bearer: token, headers });
}

async function cookieOf(token = key.token): Promise<string> {
  const { status, cookies } = await signIn(token);
  expect(status).toBe(200);
  return cookies[0]!;
}

/** Sends a request as the page does. */
const look = (cookie: string, path = '/v1/admin/log?limit=1', headers: Record<string, string> = {}): Promise<TestReply> =>
  service.get(path, { cookies: cookie, headers: { 'sec-fetch-site': 'same-origin', 'x-console': 'look', ...headers } });

/** Another process, which knows the key. */
async function another(settings: Record<string, string> = {}, more: StartOptions = {}): Promise<TestService> {
  const made = await start({ ...more, settings: { ADMIN_API: 'on', ...settings } });
  await eventually(async () => (await made.get('/console/session', { bearer: key.token })).status === 200);
  return made;
}

async function anAccount(coins = 100): Promise<string> {
  const installId = freshId();
  await service.post('/v1/coins/credit', { installId, coins, key: 'welcome' });
  return accountIdOf(installId);
}

const send = (cookie: string, path: string, body: object, says = 'look'): Promise<TestReply> =>
  service.post(path, body, { cookies: cookie, headers: { ...own(), 'x-console': says } });

const ask = (cookie: string, operation: string, input: object): Promise<TestReply> =>
  send(cookie, '/console/ask', { operation, input: { reason: 'test', ...input } });

/** Adds coins to an account, as the page does with the answer to a question. */
const adjust = (cookie: string, accountId: string, fields: object, says?: string): Promise<TestReply> =>
  send(cookie, `/v1/admin/accounts/${accountId}/adjust`, { reason: 'test', ...fields }, says);

const balanceOf = async (cookie: string, accountId: string): Promise<number> =>
  (await look(cookie, `/v1/admin/accounts/${accountId}`)).body.balanceCoins;

const codeOf = ({ status, body }: TestReply): [number, string | undefined] => [status, body.error?.code];

test('a key typed into the page gives a cookie that no script, no other site and no other path can read', async () => {
  const { body, setCookies, headers } = await signIn();
  expect(body).toMatchObject({ name: 'Zoë', role: 'admin', keyId: key.id });
  expect(setCookies).toEqual([expect.stringMatching(/^svc_console=[\w.-]+; Path=\/; Max-Age=3600; HttpOnly; SameSite=Strict$/)]);
  expect(setCookies[0]).not.toContain(key.token.slice(-32));
  expect(headers.get('cache-control')).toBe('no-store');
  const { body: again } = await look(setCookies[0]!, '/console/session');
  expect(Math.abs(Date.parse(again.endsAt) - Date.parse(body.endsAt))).toBeLessThan(60_000);
});

test('over TLS the cookie is Secure with the prefix __Host-, and a cookie without the prefix gives no access', async () => {
  await using secure = await another({ PUBLIC_URL: 'https://play.example' });
  const headers = { origin: 'https://play.example', 'x-console': 'look' };
  const { setCookies, cookies } = await secure.post('/console/session', {}, { bearer: key.token, headers });
  expect(setCookies[0]).toMatch(/^__Host-svc_console=[\w.-]+; Path=\/; Max-Age=3600; HttpOnly; SameSite=Strict; Secure$/);
  const open = { headers: { 'x-console': 'look' } };
  expect((await secure.get('/v1/admin/log', { cookies, ...open })).status).toBe(200);
  const tossed = cookies[0]!.replace('__Host-', '');
  expect(codeOf(await secure.get('/v1/admin/log', { cookies: tossed, ...open }))).toEqual([403, 'server_only']);
});

test('a request with the cookie acts for the key, and the log names the key', async () => {
  const [cookie, accountId] = [await cookieOf(), await anAccount()];
  const fields = { coins: 50, key: 't-1' };
  const { seen } = (await ask(cookie, 'accounts adjust', { accountId, ...fields })).body;
  expect((await adjust(cookie, accountId, fields, seen)).body.balanceAfterCoins).toBe(150);
  const { entries } = (await look(cookie, `/v1/admin/log?account=${accountId}`)).body;
  expect(entries[0]).toMatchObject({ by: `key:${key.id}`, action: 'accounts adjust', outcome: { word: 'done' } });
});

describe('a request from outside the page is not signed in', () => {
  const foreign: [string, Record<string, string | undefined>][] = [
    ['without the header, as a form or an image sends it', { 'x-console': undefined }],
    ['from another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }],
    ['from another port of the same machine', { 'sec-fetch-site': 'same-site', origin: 'http://127.0.0.1:9' }],
    ['from an origin that may call, in a browser without Fetch Metadata', { 'sec-fetch-site': undefined, origin: 'http://localhost:5173' }],
    ['typed into the address bar', { 'sec-fetch-site': 'none' }],
    ['from a sandboxed frame', { 'sec-fetch-site': 'cross-site', origin: 'null' }],
  ];

  const headersOf = (more: Record<string, string | undefined>): Record<string, string> =>
    Object.fromEntries(Object.entries({ ...own(), ...more }).filter((pair): pair is [string, string] => pair[1] !== undefined));

  test.each(foreign)('%s, and cannot sign in', async (_, more) => {
    const [cookies, accountId, headers] = [await cookieOf(), await anAccount(), headersOf(more)];
    expect(codeOf(await service.get('/v1/admin/log', { cookies, headers }))).toEqual([403, 'server_only']);
    const body = { coins: 50, key: 'forged', reason: 'forged' };
    const [status, code] = codeOf(await service.post(`/v1/admin/accounts/${accountId}/adjust`, body, { cookies, headers }));
    expect([status, ['server_only', 'cross_site'].includes(code!)]).toEqual([403, true]);
    expect(await balanceOf(cookies, accountId)).toBe(100);
    const reply = await service.post('/console/session', {}, { bearer: key.token, headers });
    // Without Fetch Metadata the origin alone tells the page apart, so the refusal takes it for one behind a proxy.
    const isLikeProxy = 'sec-fetch-site' in more && more['sec-fetch-site'] === undefined;
    expect([codeOf(reply), reply.setCookies]).toEqual([isLikeProxy ? [403, 'cross_site'] : [401, 'bad_key'], []]);
  });

  test('behind a proxy that drops the port of the Host header, the sign-in names the header and PUBLIC_URL', async () => {
    const headers = headersOf({ origin: 'https://console.example:8443' });
    const reply = await service.post('/console/session', {}, { bearer: key.token, headers });
    expect([codeOf(reply), reply.setCookies]).toEqual([[403, 'cross_site'], []]);
    expect(reply.body.error.message).toContain(
      `This page is at https://console.example:8443, but the request came to the host ${new URL(service.url).host}.`,
    );
    expect(reply.body.error.message).toContain('proxy_set_header Host $http_host');
  });

  test('no preflight of another origin allows the header, not even of one in ALLOWED_ORIGINS', async () => {
    await using allowing = await start({ settings: { ADMIN_API: 'on', ALLOWED_ORIGINS: 'https://game.example' } });
    const { headers } = await allowing.get('/v1/admin/log', { method: 'OPTIONS', headers: { origin: 'https://game.example' } });
    expect(headers.get('access-control-allow-headers')).not.toContain('x-console');
    const cookies = await cookieOf();
    const reply = await allowing.get('/v1/admin/log', { cookies, headers: { ...own(), origin: 'https://game.example' } });
    expect(codeOf(reply)).toEqual([403, 'server_only']);
  });
});

test('a key from a browser is refused everywhere except at the sign-in of the page, which refuses other keys', async () => {
  for (const path of ['/v1/admin/log', '/console/session'])
    expect(codeOf(await service.get(path, { bearer: key.token, headers: own() }))).toEqual([401, 'bad_key']);
  const { token } = await makeServerKey(service, ['coins']);
  expect(codeOf(await signIn(`${key.token.slice(0, -4)}AAAA`))).toEqual([401, 'bad_key']);
  expect(codeOf(await signIn(token))).toEqual([403, 'forbidden']);
  for (const options of [{}, { cookies: await cookieOf() }])
    expect(codeOf(await service.post('/console/session', {}, { ...options, headers: own() }))).toEqual([403, 'server_only']);
});

test('guesses count against the rate limit of their address', async () => {
  const limits = { RATE_LIMIT: 'on', RATE_LIMIT_PER_SECOND: '1', RATE_LIMIT_BURST: '5' };
  await using limited = await another(limits, { stoppedClock: true });
  const options = { bearer: `coinop_sk_${key.id}_${'x'.repeat(32)}`, headers: { origin: limited.url, 'x-console': 'look' } };
  const answers: number[] = [];
  for (let tries = 0; tries < 7; tries++) answers.push((await limited.post('/console/session', {}, options)).status);
  expect(answers).toContain(429);
  expect(answers.filter((status) => status === 401).length).toBeLessThanOrEqual(5);
});

test('signing out ends a copy of the cookie too, on every process', async () => {
  await using other = await another();
  const cookies = await cookieOf();
  const options = { cookies, headers: { 'x-console': 'look' } };
  expect((await other.get('/v1/admin/log', options)).status).toBe(200);
  const out = await send(cookies, '/console/session/end', {});
  expect(out.setCookies).toEqual(['svc_console=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict']);
  for (const { get } of [service, other]) expect(codeOf(await get('/v1/admin/log', options))).toEqual([401, 'bad_key']);
});

test('a second sign-in of a browser ends its first session and starts a new one', async () => {
  const first = await cookieOf();
  const { cookies } = await service.post('/console/session', {}, { bearer: key.token, cookies: first, headers: own() });
  expect(codeOf(await look(first))).toEqual([401, 'bad_key']);
  expect((await look(cookies[0]!)).status).toBe(200);
});

test('a session ends after an hour even if it is used, and neither a forged cookie nor that of a player gives access', async () => {
  await using timed = await another({}, { stoppedClock: true });
  const headers = { 'x-console': 'look' };
  const { cookies } = await timed.post('/console/session', {}, { bearer: key.token, headers });
  const lookWith = async (cookie: string) => codeOf(await timed.get('/v1/admin/log', { cookies: cookie, headers }));
  timed.advance(3_599_000);
  expect(await lookWith(cookies[0]!)).toEqual([200, undefined]);
  timed.advance(1000);
  const player = (await service.post('/v1/login', { installId: freshId() })).cookies.find((cookie) => cookie.startsWith('svc_session='))!;
  for (const cookie of [cookies[0]!, cookies[0]!.slice(0, -2), player.replace('svc_session', 'svc_console')])
    expect(await lookWith(cookie)).toEqual([401, 'bad_key']);
});

test('a key has at most twenty open sessions: the oldest one ends', async () => {
  const { token } = await makeServerKey(service, ['admin'], { role: 'viewer' });
  const first = await cookieOf(token);
  service.advance(1);
  const others: string[] = [];
  for (let count = 0; count < 20; count++) others.push(await cookieOf(token));
  expect(codeOf(await look(first))).toEqual([401, 'bad_key']);
  expect((await look(others[0]!)).status).toBe(200);
});

test('revoking a key or changing its role ends its sessions at once', async () => {
  const made = await makeServerKey(service, ['admin'], { role: 'economist' });
  const cookie = await cookieOf(made.token);
  expect((await look(cookie)).status).toBe(200);
  const records = JSON.parse((await service.service.redis.hget('{server-keys}', made.id))!);
  await service.service.redis.hset('{server-keys}', made.id, JSON.stringify({ ...records, scopes: ['admin:support'] }));
  await eventually(async () => (await look(cookie)).status === 401);
  const lowered = await cookieOf(made.token);
  expect((await look(lowered, '/console/session')).body.role).toBe('support');
  await keyChangesOf(service).revoke(made.id);
  await eventually(async () => (await look(lowered)).status === 401);
  expect(codeOf(await signIn(made.token))).toEqual([401, 'bad_key']);
});

test('a role that is too small is refused at the question and at the change', async () => {
  const { token } = await makeServerKey(service, ['admin'], { role: 'viewer' });
  const [cookie, accountId] = [await cookieOf(token), await anAccount()];
  for (const reply of [
    await ask(cookie, 'accounts ban', { accountId }),
    await send(cookie, `/v1/admin/accounts/${accountId}/ban`, { reason: 'test' }),
    await look(cookie, '/console/keys'),
  ])
    expect(codeOf(reply)).toEqual([403, 'forbidden']);
  const { operations } = (await look(cookie, '/console/session')).body;
  expect(operations.find(({ name }: { name: string }) => name === 'log list').fields[0]).toMatchObject({ name: 'limit', type: 'integer' });
  expect(operations.filter(({ isChange }: { isChange: boolean }) => isChange)).toEqual([]);
  // The names of operators' keys, without servers' keys.
  const { operators } = (await look(cookie, '/console/operators')).body;
  expect(operators.every((each: object) => Object.keys(each).join() === 'id,name') && operators.length > 0).toBe(true);
  expect((await look(cookie, '/console/figures')).body.ready).toBe(true);
});

describe('a change', () => {
  let cookie: string;
  beforeAll(async () => void (cookie = await cookieOf()));

  test('without a confirmed question is refused, and the refusal has the question', async () => {
    const accountId = await anAccount();
    const { error } = (await adjust(cookie, accountId, { coins: 50, key: 't-2' })).body;
    expect(error).toMatchObject({
      code: 'forbidden',
      needs: 'confirmation',
      question: `Add 50 coins to the account ${accountId}, which has 100 and will have 150? Key: t-2. Reason: test`,
    });
    expect(await balanceOf(cookie, accountId)).toBe(100);
  });

  test('of an account that changed meanwhile is refused, with a new question about its current state', async () => {
    const installId = freshId();
    await service.post('/v1/coins/credit', { installId, coins: 100, key: 'welcome' });
    const accountId = accountIdOf(installId);
    const fields = { coins: -100, key: 't-3' };
    const asked = await ask(cookie, 'accounts adjust', { accountId, ...fields });
    await service.post('/v1/coins/credit', { installId, coins: 7, key: 'more' });
    const { error } = (await adjust(cookie, accountId, fields, asked.body.seen)).body;
    expect(error).toMatchObject({ needs: 'confirmation', question: expect.stringContaining('which has 107 and will have 7') });
    expect((await adjust(cookie, accountId, fields, error.seen)).body.balanceAfterCoins).toBe(7);
  });

  test('with other fields needs another question: a confirmation is only for its question', async () => {
    const accountId = await anAccount();
    const { seen } = (await ask(cookie, 'accounts adjust', { accountId, coins: 1, key: 't-4' })).body;
    expect((await adjust(cookie, accountId, { coins: 1, key: 't-5' }, seen)).status).toBe(403);
    expect((await send(cookie, `/v1/admin/accounts/${accountId}/ban`, { reason: 'test' }, seen)).status).toBe(403);
  });

  test('has no question if its subject does not exist or if it is a search, and a question changes no data', async () => {
    const accountId = await anAccount();
    for (const [operation, input, code] of [
      ['accounts mint', {}, 'invalid_request'],
      ['accounts ban', { accountId: accountIdOf(freshId()) }, 'account_not_found'],
      ['accounts ban', { accountId: 'short' }, 'invalid_request'],
      // A search waits for its turn elsewhere.
      ['accounts find', { who: accountId }, 'invalid_request'],
    ] as const)
      expect([operation, (await ask(cookie, operation, input)).body.error.code]).toEqual([operation, code]);
    expect((await ask(cookie, 'accounts ban', { accountId })).body.question).toContain(`Ban the account ${accountId}`);
    expect((await look(cookie, `/v1/admin/accounts/${accountId}`)).body.state).toBe('open');
    expect((await ask(cookie, 'accounts unban', { accountId })).body.question).toBeUndefined();
  });

  test('that cannot be undone needs the key of the session again after five minutes', async () => {
    await using timed = await another({}, { stoppedClock: true });
    const headers = { 'x-console': 'look' };
    const { cookies } = await timed.post('/console/session', {}, { bearer: key.token, headers });
    const accountId = await anAccount();
    const input = { accountId, reason: 'asked' };
    const asked = (await timed.post('/console/ask', { operation: 'accounts delete', input }, { cookies, headers })).body;
    expect([asked.cannotBeUndone, asked.question]).toEqual([true, expect.stringContaining('its balance of 100')]);
    const erase = async () =>
      (await timed.post(`/v1/admin/accounts/${accountId}/delete`, { reason: 'asked' }, { cookies, headers: { 'x-console': asked.seen } }))
        .body;
    timed.advance(300_001);
    expect((await erase()).error.needs).toBe('key');
    const confirm = async (bearer?: string) =>
      codeOf(await timed.post('/console/session/confirm', {}, { cookies, headers, ...(bearer !== undefined && { bearer }) }));
    const { token: other } = await makeServerKey(timed, ['admin']);
    expect(await confirm(other)).toEqual([403, 'forbidden']);
    expect(await confirm(`${key.token.slice(0, -4)}AAAA`)).toEqual([401, 'bad_key']);
    expect(await confirm()).toEqual([403, 'server_only']);
    expect((await erase()).error.needs).toBe('key');
    expect(await confirm(key.token)).toEqual([200, undefined]);
    expect((await erase()).balanceCoins).toBe(100);
    await timed.post('/console/session/end', {}, { cookies, headers });
    expect(await confirm(key.token)).toEqual([401, 'bad_key']);
  });
});

test('the session of a key for one game reaches only the boards and rooms of that game', async () => {
  const { token } = await makeServerKey(service, ['admin'], { game: 'pebble-drop' });
  const cookie = await cookieOf(token);
  expect((await look(cookie, '/v1/admin/boards/pebble-drop')).status).toBe(200);
  for (const reply of [
    ...(await Promise.all(['/v1/admin/boards/tetris', '/v1/admin/log', '/console/figures'].map((path) => look(cookie, path)))),
    await ask(cookie, 'boards reset', { game: 'tetris' }),
  ])
    expect(codeOf(reply)).toEqual([403, 'forbidden']);
});

describe('the page', () => {
  test('cannot be framed, is not cached, and runs only modules of the service', async () => {
    const { headers, body } = await service.get('/console');
    expect(Object.fromEntries(headers)).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-frame-options': 'DENY',
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    });
    expect(body).not.toMatch(/<script(?![^>]*\bsrc=)|\bon\w+=|style=/);
  });

  const production = { NODE_ENV: 'production', PUBLIC_URL: 'https://play.example', SESSION_KEYS: `a:${'A'.repeat(43)}`, ADMIN_API: 'on' };
  test.each([
    [{ CONSOLE: 'off', ADMIN_API: 'on' }, 404, 'no such page'],
    [{ ADMIN_API: 'off' }, 200, 'The console is closed'],
    [production, 404, 'no such page'],
    [{ ...production, CONSOLE: 'on' }, 200, 'id="bar"'],
  ])('with %j is %i', async (settings, expected, text) => {
    await using other = await start({ settings });
    const page = await fetch(`${other.url}/console`, { headers: { accept: 'text/html' } });
    expect([page.status, await page.text()]).toEqual([expected, expect.stringContaining(text)]);
    if (text === 'id="bar"') return;
    const headers = { authorization: `Bearer ${key.token}`, 'content-type': 'application/json' };
    expect((await fetch(`${other.url}/console/session`, { method: 'POST', headers, body: '{}' })).status).toBe(404);
    expect((await fetch(`${other.url}/console/figures`, { headers })).status).toBe(404);
    // A cookie from before the console was closed gives no access.
    const reply = await fetch(`${other.url}/v1/admin/log`, { headers: { ...own(), origin: other.url, cookie: await cookieOf() } });
    expect([403, 404]).toContain(reply.status);
  });
});
