import { describe, expect, test } from 'vitest';
import { ban } from '../../../src/accounts/ban.ts';
import { CallerScripts } from '../../../src/accounts/caller-scripts.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { parseSessionKeys } from '../../../src/config.ts';
import { forFile, freshId, signIn, tokenFor, type TestReply } from '../../harness.ts';
import { ownRedis } from '../../realtime/own.ts';
import { signInToStore } from '../../store.ts';
import { takesInstallId } from '../../valid-requests.ts';
import { identifying, prepare, type Credentials, type Identifying } from './requests.ts';

const DAY_MS = 86_400_000;

const redis = await forFile(ownRedis());
const service = await forFile(redis.start());
/** Another process on the same data. */
const elsewhere = await forFile(redis.start());
/** Another deployment: other keys under another name. */
const stranger = await forFile(redis.start({ sessionKeys: parseSessionKeys(`other:${Buffer.alloc(32, 8).toString('base64url')}`) }));
/** A process whose clock is 31 days behind. */
const earlier = await forFile(redis.start());
earlier.advance(-31 * DAY_MS);
/** A process with a limit of one creation a minute and address. */
const limited = await forFile(
  redis.start({
    settings: { RATE_LIMIT: 'on', RATE_LIMIT_CREATIONS_PER_MINUTE: '1', TRUSTED_PROXIES: '127.0.0.1' },
    stoppedClock: true,
  }),
);
/** An install whose account has moved into a store account, so that each use of it is refused. */
const moved = freshId();
await signInToStore(service, freshId('subject'), { installId: moved });
const [banned, gone] = [freshId(), freshId()];
const scripts = new CallerScripts(service.service.connections.scripts, { now: service.now });
await ban(accountIdOf(banned), {}, { scripts, now: service.now });
const { confirm } = (await service.post('/v1/account/delete', { installId: gone })).body;
await service.post('/v1/account/delete', { installId: gone, confirm });

/** An install with ten coins. */
async function install(): Promise<string> {
  const installId = freshId();
  await service.post('/v1/coins/credit', { installId, coins: 10, key: 'start' });
  return installId;
}

const codeOf = ({ status, body }: TestReply): string => (status === 200 ? '200' : `${status} ${body.error.code}`);
const keysNow = async (): Promise<Set<string>> => new Set(await service.service.redis.keys('*'));
/** Keys of the check for refunds, which each service starts a second after its start. */
const OF_REFUNDS = /^(product-purchases:asked:|\{sandbox:keys\}$)/;
/** Keys that were added or removed since, except keys that change by themselves within seconds. */
async function changesSince(before: ReadonlySet<string>): Promise<string[]> {
  const now = await keysNow();
  return [
    ...[...now].filter((key) => !before.has(key) && !OF_REFUNDS.test(key)),
    ...[...before].filter((key) => !now.has(key) && !key.includes(':match:')),
  ];
}
/** A body without the parts that differ between accounts and times: ids, codes and times. */
const masked = (body: object): unknown =>
  // A page of the export ends after a second, so on a slow machine it may lack parts of an account. Every page says whose it is.
  JSON.parse(
    JSON.stringify('account' in body && 'balanceCoins' in body ? { account: body.account } : body, (_, value: unknown) =>
      typeof value === 'string' && /[\dA-Z]/.test(value) ? '…' : value,
    ),
  );

/**
 * By the rule of the caller: the answer to a request without credentials, to a session beside the installId of a moved guest, and to a
 * session beside a malformed installId.
 */
const outcomes: Readonly<Record<string, readonly [nobody: string, besideMoved: string, besideBad: string]>> = {
  required: ['401 identity_required', '200', '200'],
  session: ['401 session_required', '200', '200'],
  optional: ['200', '200', '200'],
  public: ['200', '200', '200'],
  any: ['200', '200', '200'],
  install: ['400 invalid_request', '401 sign_in_required', '400 invalid_request'],
  lenient: ['200', '200', '400 invalid_request'],
};
/** Optional, because a server key or a playerId may stand in place of an account. */
const NEEDS_SOMEBODY = ['POST /v1/rooms/{code}/{action}', 'GET /v1/highscores/{game}/around'];
const ofNobody = ({ caller, name }: Identifying): string =>
  NEEDS_SOMEBODY.includes(name) ? '401 identity_required' : outcomes[caller]![0];

/** A bearer whose session has ended, and a credential of a moved guest, count as not sent. */
const isLenient = (caller: string): boolean => ['lenient', 'any', 'public'].includes(caller);
/** Every invalid credential counts as not sent. */
const refusesNone = (caller: string): boolean => caller === 'any' || caller === 'public';

/** Endpoints that give an install its account, and count that for the address. */
const CREATING = [
  'POST /v1/account/resolve',
  'POST /v1/login',
  'POST /v1/coins/credit',
  'POST /v1/coins/purchase',
  'POST /v1/highscores/{game}',
  'POST /v1/pair/claim',
  'POST /v1/rooms',
  'POST /v1/rooms/match',
  'POST /v1/rooms/{code}/{action}',
  'POST /v1/subscription/report',
  'POST /v1/subscription/purchase',
  'POST /v1/purchases',
  'POST /v1/entitlement/first-run',
  'POST /v1/saves/{game}/{name}',
];
/** Gives an install its account too. The nonce has counted as the creation. */
const OF_PROOF = 'POST /v1/account/store-install';
/** Their requests need what only an account has, or move the account. */
const OF_ACCOUNTS = [
  'POST /v1/sessions/end',
  'GET /v1/saves/{game}/{name}',
  'POST /v1/rooms/{code}/ticket',
  'POST /v1/account/store-provision',
];

/** They take sessions of sign-ins only. */
const OF_SIGN_INS = ['POST /v1/account/sign-ins', 'POST /v1/account/sign-ins/nonce', 'POST /v1/account/sign-ins/remove'];

/** Sends a request that needs nothing but credentials. Another process prepares it, so that this one knows no credential before. */
const send = async (endpoint: Identifying, credentials: Credentials, to = service): Promise<TestReply> =>
  (await prepare(endpoint, elsewhere, to))(credentials);
const ask = async (...request: Parameters<typeof send>): Promise<string> => codeOf(await send(...request));

/** The token of a session that this process has verified, and that ended on another one since. */
async function endedElsewhere(): Promise<string> {
  const bearer = await tokenFor(service, freshId());
  expect((await service.get('/v1/session', { bearer })).status).toBe(200);
  await elsewhere.post('/v1/logout', {}, { bearer });
  return bearer;
}

/** Bearers that the process refuses without asking Redis, by name. */
async function invalidBearers(): Promise<Record<string, string>> {
  const signedOut = await tokenFor(service, freshId());
  await service.post('/v1/logout', {}, { bearer: signedOut });
  const device = (await service.post('/v1/trial/touch', { deviceId: freshId('device') })).cookies[0]!;
  const valid = await tokenFor(service, freshId());
  return {
    empty: '',
    'a word': 'x',
    'of 10 KB': 'a'.repeat(10_000),
    'of 10 KB with dots': `${'a'.repeat(9_000)}.${'b'.repeat(1_000)}.${'c'.repeat(43)}`,
    'with a changed signature': valid.slice(0, -2) + (valid.at(-2) === 'A' ? 'B' : 'A') + valid.at(-1),
    'twice in one header': `${valid} ${valid}`,
    'of another deployment': await tokenFor(stranger, freshId()),
    'of a device cookie': device.slice('svc_device='.length),
    expired: await tokenFor(earlier, freshId()),
    'signed out here': signedOut,
  };
}

// Endpoints of one rule share the code that refuses these bearers.
test.each(Object.keys(outcomes))('a bearer that is no session is refused where the caller is %s, or counts as not sent', async (rule) => {
  const endpoint = identifying.find(({ caller }) => caller === rule)!;
  const installId = await install();
  for (const [what, bearer] of Object.entries(await invalidBearers())) {
    const isIgnored = refusesNone(rule) || (rule === 'lenient' && what === 'signed out here');
    expect([what, await ask(endpoint, { bearer, installId })]).toEqual([what, isIgnored ? '200' : '401 session_required']);
  }
});

describe.each(identifying)('$name', (endpoint) => {
  const { caller } = endpoint;

  test('a bearer works as the cookie does, and no session cookie is set', async () => {
    const [one, other] = [await install(), await install()];
    const byCookie = await send(endpoint, { cookies: await signIn(service, one), installId: one });
    const byBearer = await send(endpoint, { bearer: await tokenFor(service, other), installId: other });
    const answer = OF_SIGN_INS.includes(endpoint.name) ? '403 forbidden' : '200';
    expect([codeOf(byCookie), codeOf(byBearer)]).toEqual([answer, answer]);
    expect(byBearer.setCookies).toEqual([]);
    if (answer !== '200') return;
    // A request with a bearer gets a new session as a token.
    const { sessionToken: _, ...body } = byBearer.body;
    expect(masked(body)).toEqual(masked(byCookie.body));
  });

  test('an invalid bearer beside a valid cookie and a valid installId is 401 and changes nothing', async () => {
    const installId = await install();
    const cookies = await signIn(service, installId);
    const prepared = await prepare(endpoint, elsewhere, service);
    for (const bearer of ['a.b.c', await endedElsewhere()]) {
      // Sign-in with the app store goes on without a session that has ended.
      if (caller === 'lenient' && bearer !== 'a.b.c') continue;
      const before = await keysNow();
      const reply = await prepared({ bearer, cookies, installId, headers: { origin: 'https://elsewhere.example' } });
      expect([codeOf(reply), reply.setCookies]).toEqual([refusesNone(caller) ? '200' : '401 session_required', []]);
      expect(await changesSince(before)).toEqual([]);
    }
    const { body } = await service.get('/v1/balance', { cookies });
    expect(body.balanceCoins).toBe(10);
  });

  test('a bearer of a moved guest is refused with sign_in_required', async () => {
    const installId = freshId();
    const bearer = await tokenFor(service, installId);
    await signInToStore(service, freshId('subject'), { installId });
    expect(await ask(endpoint, { bearer, installId: await install() })).toBe(isLenient(caller) ? '200' : '401 sign_in_required');
  });

  test('a request that names nobody, or a session that ended on another process, gets the answer for nobody', async () => {
    expect(await ask(endpoint, {})).toBe(ofNobody(endpoint));
    expect(await ask(endpoint, { cookies: `svc_session=${await endedElsewhere()}` })).toBe(ofNobody(endpoint));
  });
});

describe.each(identifying.filter(takesInstallId))('$name', (endpoint) => {
  const { caller } = endpoint;
  const [, besideMoved, besideBad] = outcomes[caller]!;

  test('beside a cookie of a session that ended on another process, the installId decides', async () => {
    const ended = async (): Promise<string> => `svc_session=${await endedElsewhere()}`;
    expect(await ask(endpoint, { cookies: await ended(), installId: await install() })).toBe('200');
    expect(await ask(endpoint, { cookies: await ended(), installId: moved })).toBe(isLenient(caller) ? '200' : '401 sign_in_required');
  });

  test('an install whose account is banned or deleted is refused', async () => {
    expect(await ask(endpoint, { installId: banned })).toBe(refusesNone(caller) ? '200' : '403 account_banned');
    expect(await ask(endpoint, { installId: gone })).toBe(isLenient(caller) ? '200' : '410 account_deleted');
  });

  test.each(['cookie', 'bearer'])(
    'a session by %s decides, whatever the installId and x-install-id name, except where an install signs in',
    async (form) => {
      for (const [named, outcome] of [
        [moved, besideMoved],
        ['short', besideBad],
      ] as const)
        for (const request of [{ installId: named }, { headers: { 'x-install-id': named } }]) {
          // The request may end the session, or an account may send it only once.
          const own = await install();
          const session = form === 'cookie' ? { cookies: await signIn(service, own) } : { bearer: await tokenFor(service, own) };
          expect(await ask(endpoint, { ...session, ...request })).toBe(outcome);
        }
    },
  );

  test('x-install-id alone names the caller as installId does, and may repeat it', async () => {
    const [one, other] = [await install(), await install()];
    const byField = await send(endpoint, { installId: one });
    const byHeader = await send(endpoint, { headers: { 'x-install-id': other } });
    const both = await install();
    const byBoth = await send(endpoint, { installId: both, headers: { 'x-install-id': both } });
    const besideEmpty = await send(endpoint, { installId: await install(), headers: { 'x-install-id': '' } });
    for (const reply of [byField, byHeader, byBoth, besideEmpty])
      expect([codeOf(reply), masked(reply.body)]).toEqual(['200', masked(byField.body)]);
  });

  test('an x-install-id that names another install, or none that can be, is refused and changes nothing', async () => {
    const [installId, other] = [await install(), await install()];
    const prepared = await prepare(endpoint, service);
    const before = await keysNow();
    for (const [header, named] of [
      ...[other, 'short', 'a'.repeat(10_000)].map((each) => [each, installId] as const),
      ...['short', 'a'.repeat(129), 'install 0001', 'install-0001, install-0002'].map((each) => [each, undefined] as const),
      [other, 'short'],
      [undefined, 'short'],
    ] as const) {
      const headers = header === undefined ? undefined : { 'x-install-id': header };
      const { status, body, setCookies } = await prepared({ installId: named, ...(headers && { headers }) });
      const issues = [{ path: 'installId', message: expect.any(String) }];
      expect([header, status, body.error, setCookies]).toMatchObject([header, 400, { code: 'invalid_request', issues }, []]);
    }
    expect(await changesSince(before)).toEqual([]);
  });
});

const hasAccount = async (installId: string): Promise<boolean> => !(await service.post('/v1/account/resolve', { installId })).body.created;

test.each(identifying.filter((endpoint) => takesInstallId(endpoint) && !OF_ACCOUNTS.includes(endpoint.name)))(
  '$name gives a new install an account only where it is declared so',
  async (endpoint) => {
    const installId = freshId();
    await ask(endpoint, { installId });
    expect(await hasAccount(installId)).toBe([...CREATING, OF_PROOF].includes(endpoint.name));
  },
);

test.each(identifying.filter(({ name }) => CREATING.includes(name)))(
  '$name beyond the creation limit of the address is refused and stores nothing',
  async (endpoint) => {
    const headers = { 'x-forwarded-for': `203.0.113.${identifying.indexOf(endpoint)}` };
    const [first, second] = [freshId(), freshId()];
    const sendFirst = async (): Promise<string> => codeOf(await prepared({ installId: first, headers }));
    const prepared = await prepare(endpoint, service, limited);
    expect(await sendFirst()).toBe('200');
    expect(await ask(endpoint, { installId: second, headers }, limited)).toBe('429 rate_limited');
    expect(await hasAccount(second)).toBe(false);
    expect(await sendFirst()).toBe(endpoint.creates === true ? '429 rate_limited' : '200');
  },
);
