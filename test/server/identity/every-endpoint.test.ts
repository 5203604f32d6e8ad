import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseSessionKeys } from '../../../src/config.ts';
import { freshId, signIn, tokenFor, type TestReply, type TestService } from '../../harness.ts';
import { ownRedis } from '../../realtime/own.ts';
import { signInToStore } from '../../store.ts';
import { takesInstallId } from '../../valid-requests.ts';
import { identifying, prepare } from './requests.ts';

const DAY_MS = 86_400_000;

let redis: Awaited<ReturnType<typeof ownRedis>>;
let service: TestService;
/** Another process on the same data. */
let elsewhere: TestService;
/** Another deployment: other keys under another name. */
let stranger: TestService;
/** A process whose clock is 31 days behind. */
let earlier: TestService;
beforeAll(async () => {
  redis = await ownRedis();
  [service, elsewhere, stranger, earlier] = await Promise.all([
    redis.start(),
    redis.start(),
    redis.start({ sessionKeys: parseSessionKeys(`other:${Buffer.alloc(32, 8).toString('base64url')}`) }),
    redis.start(),
  ]);
  earlier.advance(-31 * DAY_MS);
});
afterAll(async () => {
  await Promise.all([service, elsewhere, stranger, earlier].map((one) => one[Symbol.asyncDispose]()));
  await redis[Symbol.asyncDispose]();
});

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
  JSON.parse(JSON.stringify(body, (_, value: unknown) => (typeof value === 'string' && /[\dA-Z]/.test(value) ? '…' : value)));

/** Bearers without a valid session, by name. */
async function invalidBearers(): Promise<Record<string, string>> {
  const signedOut = await tokenFor(service, freshId());
  const signedOutElsewhere = await tokenFor(service, freshId());
  const unseen = await tokenFor(service, freshId());
  // The process has verified both before, and remembers them.
  for (const bearer of [signedOut, signedOutElsewhere]) expect((await service.get('/v1/session', { bearer })).status).toBe(200);
  await service.post('/v1/logout', {}, { bearer: signedOut });
  for (const bearer of [signedOutElsewhere, unseen]) await elsewhere.post('/v1/logout', {}, { bearer });
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
    'signed out on another process': signedOutElsewhere,
    'signed out on another process before this one saw it': unseen,
  };
}

const SIGNED_OUT = ['signed out here', 'signed out on another process', 'signed out on another process before this one saw it'];

/** The endpoint treats an invalid credential as a missing one. */
const refusesNone = (caller: string): boolean => caller === 'any' || caller === 'public';

describe.each(identifying)('$name', (endpoint) => {
  const { caller } = endpoint;

  test('a bearer works as the cookie does, and no session cookie is set', async () => {
    const [one, other] = [await install(), await install()];
    const [cookies, bearer] = [await signIn(service, one), await tokenFor(service, other)];
    const byCookie = await (await prepare(endpoint, service))({ cookies, installId: one });
    const byBearer = await (await prepare(endpoint, service))({ bearer, installId: other });
    expect([codeOf(byCookie), codeOf(byBearer)]).toEqual(['200', '200']);
    expect(byBearer.setCookies).toEqual([]);
    // A request with a bearer gets a new session as a token.
    const { sessionToken: _, ...body } = byBearer.body;
    expect(masked(body)).toEqual(masked(byCookie.body));
  });

  test('an invalid bearer beside a valid cookie and a valid installId is 401 and changes nothing', async () => {
    const installId = await install();
    const cookies = await signIn(service, installId);
    const send = await prepare(endpoint, service);
    for (const [what, bearer] of Object.entries(await invalidBearers())) {
      const isIgnored = refusesNone(caller) || (caller === 'lenient' && SIGNED_OUT.includes(what));
      if (isIgnored && caller === 'lenient') continue;
      const before = await keysNow();
      const reply = await send({ bearer, cookies, installId, headers: { origin: 'https://elsewhere.example' } });
      expect([what, codeOf(reply)]).toEqual([what, isIgnored ? '200' : '401 session_required']);
      expect([what, reply.setCookies]).toEqual([what, []]);
      expect([what, await changesSince(before)]).toEqual([what, []]);
    }
    const { body } = await service.get('/v1/balance', { cookies });
    expect(body.balanceCoins).toBe(10);
  });

  test('an invalid bearer alone is refused as well', async () => {
    const send = await prepare(endpoint, service);
    for (const bearer of ['a.b.c', await tokenFor(stranger, freshId())])
      expect(codeOf(await send({ bearer }))).toBe(refusesNone(caller) ? '200' : '401 session_required');
  });

  test('a bearer of a moved guest is refused with sign_in_required', async () => {
    const installId = await install();
    const bearer = await tokenFor(service, installId);
    await signInToStore(service, freshId('subject'), { installId });
    const reply = await (await prepare(endpoint, service))({ bearer, installId: await install() });
    expect(codeOf(reply)).toBe(refusesNone(caller) || caller === 'lenient' ? '200' : '401 sign_in_required');
  });
});

describe.each(identifying.filter(takesInstallId))('$name', (endpoint) => {
  test('x-install-id alone names the caller as installId does', async () => {
    const [one, other] = [await install(), await install()];
    const byField = await (await prepare(endpoint, service))({ installId: one });
    const byHeader = await (await prepare(endpoint, service))({ headers: { 'x-install-id': other } });
    const byBoth = await (await prepare(endpoint, service))({ installId: await install(), headers: { 'x-install-id': '' } });
    expect([codeOf(byField), codeOf(byHeader), codeOf(byBoth)]).toEqual(['200', '200', '200']);
    for (const reply of [byHeader, byBoth]) expect(masked(reply.body)).toEqual(masked(byField.body));
  });

  test('x-install-id may repeat the installId', async () => {
    const installId = await install();
    expect(codeOf(await (await prepare(endpoint, service))({ installId, headers: { 'x-install-id': installId } }))).toBe('200');
  });

  test('an x-install-id that names another install, or none that can be, is refused and changes nothing', async () => {
    const [installId, other] = [await install(), await install()];
    const send = await prepare(endpoint, service);
    const before = await keysNow();
    for (const [header, named] of [
      [other, installId],
      [freshId(), freshId()],
      [other, 'short'],
      ['short', installId],
      ['short', undefined],
      ['a'.repeat(129), undefined],
      ['a'.repeat(10_000), installId],
      ['install 0001', undefined],
      ['install-0001, install-0002', undefined],
    ] as const) {
      const { status, body, setCookies } = await send({ installId: named, headers: { 'x-install-id': header } });
      expect([header, status, body.error?.code, body.error?.issues]).toEqual([
        header,
        400,
        'invalid_request',
        [{ path: 'installId', message: expect.any(String) }],
      ]);
      expect(setCookies).toEqual([]);
    }
    expect(await changesSince(before)).toEqual([]);
  });
});

describe.each(identifying.filter((endpoint) => takesInstallId(endpoint) && !['install', 'lenient'].includes(endpoint.caller)))(
  '$name',
  (endpoint) => {
    test.each(['cookie', 'bearer'])('a session by %s decides, whatever x-install-id says', async (form) => {
      for (const header of [freshId(), 'short']) {
        // The request may end the session, or an account may send it only once.
        const installId = await install();
        const session = form === 'cookie' ? { cookies: await signIn(service, installId) } : { bearer: await tokenFor(service, installId) };
        const send = await prepare(endpoint, service);
        expect(codeOf(await send({ ...session, installId: freshId(), headers: { 'x-install-id': header } }))).toBe('200');
      }
    });
  },
);

describe.each(identifying.filter((endpoint) => !takesInstallId(endpoint)))('$name', (endpoint) => {
  test('x-install-id is ignored, malformed or not: the endpoint takes no installId', async () => {
    const cookies = await signIn(service, await install());
    const send = await prepare(endpoint, service);
    for (const header of ['short', await install()]) {
      expect(codeOf(await send({ cookies, headers: { 'x-install-id': header } }))).toBe('200');
      const [alone, without] = [await send({ headers: { 'x-install-id': header } }), await send({})];
      expect([codeOf(alone), masked(alone.status === 200 ? alone.body : {})]).toEqual([
        codeOf(without),
        masked(without.status === 200 ? without.body : {}),
      ]);
    }
  });
});
