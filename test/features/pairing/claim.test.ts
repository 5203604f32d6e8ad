import { describe, expect, test } from 'vitest';
import { pairKeys } from '../../../src/features/pairing/model.ts';
import { forFile, freshId, start, type TestReply } from '../../harness.ts';

const service = await forFile(start());

const newToken = async (): Promise<string> => (await service.post('/v1/pair/new')).body.token;

const claim = (token: unknown, installId: string, step?: string) => service.post('/v1/pair/claim', { token, installId, step });

const statusOf = async (token: string): Promise<string> => (await service.get(`/v1/pair/status?token=${token}`)).body.status;

/** The `status` of a success, the error code of a failure. */
const outcome = ({ body }: TestReply): string => (body.ok === true ? body.status : body.error.code);

describe('POST /v1/pair/claim', () => {
  test('without a step claims at once and describes the asking browser', async () => {
    const { body: opened } = await service.post('/v1/pair/new', {}, { headers: { 'user-agent': 'Browser/1.0' } });
    service.advance(5000);
    const { status, body } = await claim(opened.token, freshId());
    expect(status).toBe(200);
    expect(body).toEqual({
      ok: true,
      status: 'claimed',
      matchCode: opened.matchCode,
      requester: { address: '127.0.0.1', userAgent: 'Browser/1.0', ageSeconds: 5 },
    });
    expect(await statusOf(opened.token)).toBe('claimed');
  });

  test('the step scan shows the pairing, the step confirm claims it', async () => {
    const token = await newToken();
    const installId = freshId();
    const scanned = await claim(token, installId, 'scan');
    expect([scanned.status, scanned.body.status]).toEqual([200, 'scanned']);
    expect(scanned.body.matchCode).toMatch(/^\d\d$/);
    expect(await statusOf(token)).toBe('scanned');
    const claimed = await claim(token, installId, 'confirm');
    expect(claimed.body).toEqual({ ...scanned.body, status: 'claimed' });
    expect(await statusOf(token)).toBe('claimed');
  });

  // Requests of installs `a`, `b` and `c` in this order, and the outcome of the last one. `claim` sends no step, `wait` lets
  // the 180 seconds pass.
  test.each([
    ['a:confirm', 'claimed'],
    ['a:deny', 'pending'],
    ['a:deny a:confirm', 'claimed'],
    ['a:deny b:confirm', 'claimed'],
    ['a:scan a:claim', 'claimed'],
    ['a:scan a:deny', 'denied'],
    // A scan reserves nothing.
    ['a:scan b:scan', 'scanned'],
    ['a:scan b:scan c:scan', 'scanned'],
    ['a:scan b:claim a:confirm', 'already_claimed'],
    ['a:scan b:scan b:confirm a:confirm', 'already_claimed'],
    // Only the account that scanned may deny.
    ['a:scan b:deny', 'scanned'],
    ['a:scan b:deny a:deny', 'denied'],
    ['a:scan b:scan a:deny', 'scanned'],
    ['a:scan b:scan a:scan a:deny', 'scanned'],
    ['a:scan b:scan c:scan c:deny', 'scanned'],
    ['a:scan b:scan a:deny b:deny b:confirm', 'claimed'],
    ['a:scan b:scan a:deny wait a:deny', 'expired'],
    ['a:claim a:confirm', 'claimed'],
    ['a:claim a:scan', 'claimed'],
    ['a:claim a:deny', 'claimed'],
    ['a:claim b:confirm', 'already_claimed'],
    ['a:claim b:scan', 'already_claimed'],
    ['a:claim b:deny', 'claimed'],
    ['a:scan a:deny a:deny', 'denied'],
    ['a:scan a:deny a:claim', 'pair_denied'],
    ['a:scan a:deny b:deny', 'denied'],
    ['a:scan a:deny b:confirm', 'pair_denied'],
    ['wait a:scan', 'pair_expired'],
    ['wait a:claim', 'pair_expired'],
    ['wait a:deny', 'expired'],
    ['a:scan wait a:confirm', 'pair_expired'],
    ['a:claim wait a:claim', 'claimed'],
    ['a:claim wait b:claim', 'already_claimed'],
    ['a:claim wait b:deny', 'claimed'],
    ['a:scan a:deny wait a:deny', 'denied'],
    ['a:scan a:deny wait a:claim', 'pair_denied'],
  ])('the steps "%s" end in %s', async (steps, expected) => {
    const token = await newToken();
    const installs: Record<string, string> = { a: freshId(), b: freshId(), c: freshId() };
    let last: string | undefined;
    for (const move of steps.split(' ')) {
      if (move === 'wait') {
        service.advance(180_000);
        continue;
      }
      const [who, step] = move.split(':');
      last = outcome(await claim(token, installs[who!]!, step === 'claim' ? undefined : step));
    }
    expect(last).toBe(expected);
  });

  test('of 30 concurrent claimants exactly one wins', async () => {
    const token = await newToken();
    const installs = Array.from({ length: 30 }, () => freshId());
    const replies = await Promise.all(installs.map((installId) => claim(token, installId)));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(replies.filter((reply) => outcome(reply) === 'already_claimed')).toHaveLength(29);
    const winner = installs[replies.findIndex(({ status }) => status === 200)]!;
    expect(outcome(await claim(token, winner))).toBe('claimed');
  });

  test('30 concurrent scans lock nobody out, and keep no more than one does', async () => {
    const [token, other] = [await newToken(), await newToken()];
    const owner = freshId();
    const { redis } = service.service;
    const fieldsOf = (of: string) => redis.hkeys(pairKeys.pair(of));
    await claim(other, freshId(), 'scan');
    const strangers = Array.from({ length: 30 }, () => freshId());
    const replies = await Promise.all([...strangers.slice(0, 15), owner, ...strangers.slice(15)].map((id) => claim(token, id, 'scan')));
    expect(new Set(replies.map(outcome))).toEqual(new Set(['scanned']));
    expect((await fieldsOf(token)).toSorted()).toEqual((await fieldsOf(other)).toSorted());
    expect(await redis.hget(pairKeys.pair(token), 'scanner')).toBe('*');
    const denials = await Promise.all(strangers.map((id) => claim(token, id, 'deny')));
    expect(new Set(denials.map(outcome))).toEqual(new Set(['scanned']));
    expect(outcome(await claim(token, owner, 'confirm'))).toBe('claimed');
  });

  test('concurrent confirms and denials of one install end in one final status', async () => {
    const token = await newToken();
    const installId = freshId();
    await claim(token, installId, 'scan');
    const replies = await Promise.all(['confirm', 'deny', 'confirm', 'deny'].map((step) => claim(token, installId, step)));
    const final = await statusOf(token);
    expect(['claimed', 'denied']).toContain(final);
    expect(replies.map(outcome)).toEqual(
      final === 'claimed' ? ['claimed', 'claimed', 'claimed', 'claimed'] : ['pair_denied', 'denied', 'pair_denied', 'denied'],
    );
  });

  test('a claim creates the account of a new install, a scan and a denial do not', async () => {
    const [looker, winner] = [freshId(), freshId()];
    await claim(await newToken(), looker, 'scan');
    await claim(await newToken(), looker, 'deny');
    expect((await service.post('/v1/account/resolve', { installId: looker })).body.created).toBe(true);
    await claim(await newToken(), winner);
    expect((await service.post('/v1/account/resolve', { installId: winner })).body.created).toBe(false);
  });

  test('the winner may repeat the claim until the pairing is deleted, 600 seconds after it expired', async () => {
    const token = await newToken();
    const installId = freshId();
    service.advance(175_000);
    expect(outcome(await claim(token, installId))).toBe('claimed');
    service.advance(600_000);
    expect(outcome(await claim(token, installId))).toBe('claimed');
    service.advance(5_000);
    const gone = await claim(token, installId);
    expect([gone.status, gone.body.error.code]).toEqual([404, 'pair_not_found']);
  });

  test('the asking browser learns the first name of the winner, and nobody else does', async () => {
    const { body: opened } = await service.post('/v1/pair/new', { session: 'token' });
    const { token, secret } = opened;
    const [loser, winner] = [freshId(), freshId()];
    const polled = async (headers = {}) => (await service.get(`/v1/pair/status?token=${token}`, { headers })).body;
    const named = (installId: string, name?: string, step?: string) => service.post('/v1/pair/claim', { token, installId, step, name });
    await named(loser, 'Eve', 'scan');
    expect(await polled({ 'x-pair-secret': secret })).toEqual({ ok: true, status: 'scanned' });
    await named(winner, ' Ada\u0301 ');
    await named(winner, 'Grace');
    await named(loser, 'Eve');
    await named(loser, 'Eve', 'deny');
    expect(await polled()).toEqual({ ok: true, status: 'claimed' });
    const handed = { ok: true, status: 'claimed', claimedBy: { name: 'Ad\u00e1' } };
    expect(await polled({ 'x-pair-secret': secret })).toEqual({ ...handed, sessionToken: expect.any(String) });
    expect(await polled({ 'x-pair-secret': secret })).toEqual(handed);
    expect(await polled()).toEqual({ ok: true, status: 'claimed' });
  });

  test('a winner without a name may give one with a repetition', async () => {
    const { body: opened } = await service.post('/v1/pair/new', { session: 'token' });
    const { token, secret } = opened;
    const installId = freshId();
    const polled = async () => (await service.get(`/v1/pair/status?token=${token}`, { headers: { 'x-pair-secret': secret } })).body;
    await service.post('/v1/pair/claim', { token, installId });
    expect((await polled()).claimedBy).toEqual({});
    await service.post('/v1/pair/claim', { token, installId, name: 'Ada' });
    expect((await polled()).claimedBy).toEqual({ name: 'Ada' });
  });

  test.each(['A'.repeat(24), '}{pair:x', 'x'.repeat(5000)])('the unknown token %.30s is answered with pair_not_found', async (token) => {
    const { status, body } = await claim(token, freshId());
    expect([status, body.error.code]).toEqual([404, 'pair_not_found']);
  });

  test.each([
    [{ installId: 'install-0001' }, 'token'],

    [{ token: 'A'.repeat(24), installId: 'install-0001', step: 'steal' }, 'step'],

    [{ token: 'A'.repeat(24), installId: 'install-0001', name: 'a\u202eb' }, 'name'],
  ])('%j is refused, and the error names the field %s', async (body, field) => {
    const reply = await service.post('/v1/pair/claim', body);
    expect([reply.status, reply.body.error.code, reply.body.error.field]).toEqual([400, 'invalid_request', field]);
  });

  test('the user agent is cut to 200 characters and treated as text only', async () => {
    const long = await service.post('/v1/pair/new', {}, { headers: { 'user-agent': 'x'.repeat(500) } });
    expect((await claim(long.body.token, freshId())).body.requester.userAgent).toBe('x'.repeat(200));
    // ScriptRunner answer `account_created` when they create an account. A user agent must not be read as that answer.
    const odd = await service.post('/v1/pair/new', {}, { headers: { 'user-agent': 'account_created' } });
    expect((await claim(odd.body.token, freshId(), 'scan')).body.requester).toEqual({
      address: '127.0.0.1',
      userAgent: 'account_created',
      ageSeconds: 0,
    });
  });

  test('no reply contains an installId or an account id', async () => {
    const token = await newToken();
    const installId = freshId();
    const { body: account } = await service.post('/v1/account/resolve', { installId });
    const replies = [
      await claim(token, installId, 'scan'),
      await claim(token, freshId()),
      await claim(token, installId),
      await claim(token, freshId()),
      await service.get(`/v1/pair/status?token=${token}`),
    ];
    const said = JSON.stringify(replies.map(({ body }) => body));
    expect(said).not.toContain(installId);
    expect(said).not.toContain(account.accountId);
  });

  test('an address that guesses tokens is rate-limited', async () => {
    await using limited = await start({ settings: { RATE_LIMIT: 'on', RATE_LIMIT_MISSES_PER_MINUTE: '3' } });
    const guess = () => limited.post('/v1/pair/claim', { token: 'A'.repeat(24), installId: freshId() });
    const codes = [];
    for (let round = 0; round < 4; round++) codes.push((await guess()).body.error.code);
    expect(codes).toEqual(['pair_not_found', 'pair_not_found', 'pair_not_found', 'rate_limited']);
  });
});
