import { describe, expect, test } from 'vitest';
import { pairKeys } from '../../../src/features/pairing/model.ts';
import { forFile, freshId, start, type TestReply } from '../../harness.ts';

const service = await forFile(start({ stoppedClock: true }));

const newToken = async (): Promise<string> => (await service.post('/v1/pair/new')).body.token;
const claim = (token: unknown, installId: string, step?: string, name?: string) =>
  service.post('/v1/pair/claim', { token, installId, step, name });
const statusOf = async (token: string): Promise<string> => (await service.get(`/v1/pair/status?token=${token}`)).body.status;

/** The `status` of a success, the error code of a failure. */
const outcome = ({ body }: TestReply): string => (body.ok === true ? body.status : body.error.code);

describe('POST /v1/pair/claim', () => {
  test('without a step claims at once and describes the asking browser, whose user agent is cut and is text only', async () => {
    // ScriptRunner answers `account_created` when a script creates an account. A user agent must not be read as that answer.
    for (const [sent, userAgent] of [
      ['account_created', 'account_created'],
      ['x'.repeat(500), 'x'.repeat(200)],
    ] as const) {
      const { body: opened } = await service.post('/v1/pair/new', {}, { headers: { 'user-agent': sent } });
      service.advance(5000);
      const { status, body } = await claim(opened.token, freshId());
      expect(status).toBe(200);
      const requester = { address: '127.0.0.1', userAgent, ageSeconds: 5 };
      expect(body).toEqual({ ok: true, status: 'claimed', matchCode: opened.matchCode, requester });
      expect(await statusOf(opened.token)).toBe('claimed');
    }
  });

  test('the step scan shows the pairing, the step confirm claims it', async () => {
    const [token, installId] = [await newToken(), freshId()];
    const scanned = await claim(token, installId, 'scan');
    expect([scanned.body.status, await statusOf(token)]).toEqual(['scanned', 'scanned']);
    expect((await claim(token, installId, 'confirm')).body).toEqual({ ...scanned.body, status: 'claimed' });
    expect(await statusOf(token)).toBe('claimed');
  });

  // Requests of installs `a`, `b` and `c` in this order, and the outcome of the last one. `claim` sends no step, `wait` lets
  // the 180 seconds pass.
  test.each([
    ['a:deny', 'pending'],
    ['a:deny b:confirm', 'claimed'],
    ['a:scan a:deny', 'denied'],
    // A scan reserves nothing.
    ['a:scan b:claim a:confirm', 'already_claimed'],
    // Only the account that scanned may deny.
    ['a:scan b:deny', 'scanned'],
    ['a:scan b:deny a:deny', 'denied'],
    ['a:scan b:scan a:scan a:deny', 'scanned'],
    ['a:scan b:scan c:scan c:deny', 'scanned'],
    ['a:scan b:scan a:deny b:deny b:confirm', 'claimed'],
    ['a:claim a:confirm', 'claimed'],
    ['a:claim a:scan', 'claimed'],
    ['a:claim a:deny', 'claimed'],
    ['a:claim b:scan', 'already_claimed'],
    ['a:claim b:deny', 'claimed'],
    ['a:scan a:deny a:deny', 'denied'],
    ['a:scan a:deny b:confirm', 'pair_denied'],
    ['wait a:scan', 'pair_expired'],
    ['wait a:deny', 'expired'],
    ['a:scan wait a:confirm', 'pair_expired'],
    ['a:claim wait b:claim', 'already_claimed'],
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
    const outcomes = (await Promise.all(installs.map((installId) => claim(token, installId)))).map(outcome);
    expect(outcomes.toSorted()).toEqual([...Array(29).fill('already_claimed'), 'claimed']);
    expect(outcome(await claim(token, installs[outcomes.indexOf('claimed')]!))).toBe('claimed');
  });

  test('30 concurrent scans lock nobody out, and keep no more than one does', async () => {
    const [token, other] = [await newToken(), await newToken()];
    const installs = Array.from({ length: 30 }, () => freshId());
    const { redis } = service.service;
    await claim(other, freshId(), 'scan');
    for (const step of ['scan', 'deny'])
      expect(new Set((await Promise.all(installs.map((id) => claim(token, id, step)))).map(outcome))).toEqual(new Set(['scanned']));
    const [fields, ofOneScan] = await Promise.all([token, other].map((of) => redis.hkeys(pairKeys.pair(of))));
    expect(fields!.toSorted()).toEqual(ofOneScan!.toSorted());
    expect(outcome(await claim(token, installs[15]!, 'confirm'))).toBe('claimed');
  });

  test('concurrent confirms and denials of one install end in one final status', async () => {
    const [token, installId] = [await newToken(), freshId()];
    await claim(token, installId, 'scan');
    const replies = await Promise.all(['confirm', 'deny', 'confirm', 'deny'].map((step) => claim(token, installId, step)));
    const final = await statusOf(token);
    expect(['claimed', 'denied']).toContain(final);
    const ofConfirm = final === 'claimed' ? 'claimed' : 'pair_denied';
    expect(replies.map(outcome)).toEqual([ofConfirm, final, ofConfirm, final]);
  });

  test('a claim creates the account of a new install, a scan and a denial do not', async () => {
    const [looker, winner] = [freshId(), freshId()];
    for (const step of ['scan', 'deny']) await claim(await newToken(), looker, step);
    await claim(await newToken(), winner);
    for (const [installId, created] of [
      [looker, true],
      [winner, false],
    ] as const)
      expect((await service.post('/v1/account/resolve', { installId })).body.created).toBe(created);
  });

  test('the winner may repeat the claim until the pairing is deleted, 600 seconds after it expired', async () => {
    const [token, installId] = [await newToken(), freshId()];
    const outcomes = [];
    for (const wait of [175_000, 600_000, 5_000]) {
      service.advance(wait);
      outcomes.push(outcome(await claim(token, installId)));
    }
    expect(outcomes).toEqual(['claimed', 'claimed', 'pair_not_found']);
  });

  test('the asking browser learns the first name of the winner, which a repetition may give, and nobody else does', async () => {
    const { token, secret } = (await service.post('/v1/pair/new', { session: 'token' })).body;
    const [loser, winner] = [freshId(), freshId()];
    const polled = async (headers: Record<string, string> = { 'x-pair-secret': secret }) =>
      (await service.get(`/v1/pair/status?token=${token}`, { headers })).body;
    await claim(token, loser, 'scan', 'Eve');
    expect(await polled()).toEqual({ ok: true, status: 'scanned' });
    await claim(token, winner);
    expect(await polled()).toEqual({ ok: true, status: 'claimed', claimedBy: {}, sessionToken: expect.any(String) });
    for (const name of [' Ada\u0301 ', 'Grace']) await claim(token, winner, undefined, name);
    for (const step of [undefined, 'deny']) await claim(token, loser, step, 'Eve');
    expect(await polled()).toEqual({ ok: true, status: 'claimed', claimedBy: { name: 'Ad\u00e1' } });
    expect(await polled({})).toEqual({ ok: true, status: 'claimed' });
  });
});
