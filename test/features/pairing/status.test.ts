import { describe, expect, test } from 'vitest';
import { codeOf, forFile, freshId, start, type RequestOptions, type TestReply, type TestService } from '../../harness.ts';

const service = await forFile(start());
const elsewhere = await forFile(start());

/** Opens a pairing whose client gets the secret in a cookie, or with the form token in the body. */
async function open(session: 'cookie' | 'token' = 'cookie', held: string[] = []) {
  const { body, cookies } = await service.post('/v1/pair/new', { session }, { cookies: held });
  return { token: body.token as string, cookies, secret: (body.secret ?? cookies[0]!.slice('svc_pair='.length)) as string };
}

const claim = async (token: string, installId = freshId(), step?: string): Promise<void> => {
  expect((await service.post('/v1/pair/claim', { token, installId, step })).status).toBe(200);
};
const poll = (token: string, options: RequestOptions = {}, query = '', on = service) =>
  on.get(`/v1/pair/status?token=${token}${query}`, options);

const CLAIMED = { ok: true, status: 'claimed' };
/** The status that the client of the pairing reads once it has its session. */
const OWN = { ...CLAIMED, claimedBy: {} };
const isHanded = ({ body, setCookies }: TestReply): boolean => body.sessionToken !== undefined || setCookies.length > 0;

describe('GET /v1/pair/status', () => {
  test.each([
    ['the cookie svc_pair', 'cookie', 'cookie', ''],
    ['the cookie svc_pair, and asks for a token,', 'cookie', 'cookie', '&session=token'],
    ['the secret', 'token', 'header', ''],
    ['the secret, and the cookie of another pairing,', 'token', 'both', ''],
    ['the secret of the cookie as a header', 'cookie', 'header', ''],
  ] as const)('the client that holds %s gets the session of the claimant once, on any process', async (_, form, sent, query) => {
    const { token, cookies, secret } = await open(form);
    const held: RequestOptions = {
      ...(sent === 'header' ? {} : { cookies: sent === 'both' ? (await open()).cookies : cookies }),
      ...(sent === 'cookie' ? {} : { headers: { 'x-pair-secret': secret } }),
    };
    expect((await poll(token, held, query)).body).toEqual({ ok: true, status: 'pending' });
    const installId = freshId();
    await claim(token, installId);
    // A HEAD does not use up the session.
    for (const by of ['', '&session=token', '&wait=1&since=pending'])
      expect(await poll(token, { ...held, method: 'HEAD' }, by)).toMatchObject({ status: 200, setCookies: [] });
    const replies = await Promise.all([poll(token, held, query), poll(token, held, query, elsewhere)]);
    expect(replies.filter(isHanded)).toHaveLength(1);
    const { body, cookies: given, setCookies, headers } = replies.find(isHanded)!;
    const isToken = form === 'token' || query !== '';
    expect(headers.get('cache-control')).toBe('no-store');
    expect(body).toEqual(isToken ? { ...OWN, sessionToken: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]{43}$/) } : OWN);
    const cookie = expect.stringMatching(/^svc_session=[^;]+; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Lax$/);
    expect(setCookies).toEqual(isToken ? [] : [cookie]);
    const { accountId } = (await service.post('/v1/account/resolve', { installId })).body;
    const session = await service.get('/v1/session', isToken ? { bearer: body.sessionToken } : { cookies: given });
    expect(session.body).toMatchObject({ authenticated: true, accountId });
    // A lost session is not given again.
    for (const by of ['', '&session=token', '&session=cookie']) {
      const again = await poll(token, held, by);
      expect([again.body, again.setCookies]).toEqual([OWN, []]);
    }
  });

  test.each(['cookie', 'token'] as const)('a client without the secret of the form %s reads the status only', async (form) => {
    const [other, { token, secret, cookies }] = [await open(), await open(form)];
    await claim(token);
    const wrong = [
      ...['', ' ', '.', token, other.secret, 'A'.repeat(32), `${secret.slice(0, -1)}!`, secret.slice(0, -1), `${secret}a`],
      secret.toLowerCase() === secret ? secret.toUpperCase() : secret.toLowerCase(),
      // The hash, which Redis holds.
      (await service.service.redis.hget(`{pair:${token}}`, 'secretHash'))!,
    ];
    const strangers: RequestOptions[] = [
      {},
      ...wrong.flatMap((text) => [{ cookies: `svc_pair=${text}` }, { headers: { 'x-pair-secret': text } }]),
      ...[`${secret}.${secret}`, 'x'.repeat(10_000)].map((text) => ({ headers: { 'x-pair-secret': text } })),
      // A sibling domain may plant a second cookie. The service cannot tell the two apart and trusts neither.
      { cookies: [`svc_pair=${secret}`, other.cookies[0]!] },
    ];
    for (const options of strangers) {
      const { status, body, setCookies } = await poll(token, options, `&secret=${secret}&x-pair-secret=${secret}`);
      expect([options, status, body, setCookies]).toEqual([options, 200, CLAIMED, []]);
    }
    const refused = await poll(token, { cookies }, '&session=both');
    expect([codeOf(refused), refused.body.error.field]).toEqual(['400 invalid_request', 'session']);
    expect(isHanded(await poll(token, { cookies, headers: { 'x-pair-secret': secret } }))).toBe(true);
  });

  test('a long-poll gets the session with the claim', async () => {
    const { token, cookies } = await open();
    const polled = poll(token, { cookies }, '&wait=20&since=pending&session=token');
    await claim(token);
    expect(isHanded(await polled)).toBe(true);
  });

  test('a browser can complete two pairings from two tabs', async () => {
    const first = await open();
    const { cookies, token } = await open('cookie', first.cookies);
    for (const each of [first.token, token]) await claim(each);
    for (const each of [first.token, token]) expect(isHanded(await poll(each, { cookies }))).toBe(true);
  });

  // A claimed pairing gives its session to a late poll too.
  test.each([
    [[], ['pending', 'expired', 'expired'], false],
    [['scan'], ['scanned', 'expired', 'expired'], false],
    [['scan', 'deny'], ['denied', 'denied', 'denied'], false],
    [['confirm'], ['claimed', 'claimed', 'claimed'], true],
  ])('after the steps %j the status is, after 175, 180 and 775 s, %j; then the pairing is deleted', async (steps, statuses, gives) => {
    const [{ token, cookies }, installId] = [await open(), freshId()];
    for (const step of steps) await claim(token, installId, step);
    for (const [index, wait] of [175_000, 5_000, 595_000].entries()) {
      service.advance(wait);
      const reply = await poll(token, index === 2 ? { cookies } : {});
      expect([reply.body.status, isHanded(reply)]).toEqual([statuses[index], index === 2 && gives]);
    }
    service.advance(5_000);
    const gone = await poll(token, { cookies });
    expect([codeOf(gone), gone.setCookies]).toEqual(['404 pair_not_found', []]);
  });
});

describe.each<[string, (on: TestService, token: string, installId: string) => Promise<TestReply>]>([
  ['GET /v1/pair/status', (on, token) => on.get(`/v1/pair/status?token=${encodeURIComponent(token)}`)],
  ['GET /v1/pair/qr.svg', (on, token) => on.get(`/v1/pair/qr.svg?token=${encodeURIComponent(token)}`)],
  ['POST /v1/pair/claim', (on, token, installId) => on.post('/v1/pair/claim', { token, installId })],
])('the token of %s', (_, ask) => {
  test.each(['A'.repeat(24), '}{pair:x', '"><script>'])('%s of no pairing is answered with pair_not_found', async (token) => {
    expect(codeOf(await ask(service, token, freshId()))).toBe('404 pair_not_found');
  });

  test('must not be empty', async () => {
    const reply = await ask(service, '', freshId());
    expect([codeOf(reply), reply.body.error.field]).toEqual(['400 invalid_request', 'token']);
  });

  test('counts as a miss of the address if it is guessed, and not if it is right', async () => {
    await using limited = await start({ settings: { RATE_LIMIT: 'on', RATE_LIMIT_MISSES_PER_MINUTE: '3' }, stoppedClock: true });
    const [{ token }, installId] = [(await limited.post('/v1/pair/new')).body, freshId()];
    const codes = async (asked: string) => {
      const replies = [];
      for (let times = 0; times < 4; times++) replies.push(codeOf(await ask(limited, asked, installId)));
      return replies;
    };
    expect(await codes(token)).toEqual(Array(4).fill('200'));
    expect(await codes('A'.repeat(24))).toEqual([...Array(3).fill('404 pair_not_found'), '429 rate_limited']);
    expect(codeOf(await ask(limited, token, installId))).toBe('429 rate_limited');
  });
});
