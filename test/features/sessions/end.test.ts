import { describe, expect, test } from 'vitest';
import { codeOf, forFile, freshId, signIn, start } from '../../harness.ts';
import { areSignedIn, isSignedIn, listOf, pair, phoneWithBrowsers } from './paired.ts';

const here = await forFile(start());
const there = await forFile(start());
const CLEARED = [expect.stringMatching(/^svc_session=; .*Max-Age=0/)];

const end = (id: string, cookies: string, on = here) => on.post('/v1/sessions/end', { id }, { cookies });
const idOf = async (userAgent: string, cookies: string): Promise<string> =>
  (await listOf(here, cookies)).find((session) => session.userAgent === userAgent).id;
const ownId = async (cookies: string): Promise<string> => (await listOf(here, cookies)).find(({ current }) => current).id;

describe('POST /v1/sessions/end', () => {
  test('ends one session on every process at once, and no other', async () => {
    const { installId, phone, first, second } = await phoneWithBrowsers(here);
    // This process has just verified the session.
    expect((await there.post('/v1/coins/credit', { coins: 5, key: 'a' }, { cookies: first })).status).toBe(200);
    const id = await idOf('First', phone);
    const reply = await end(id, phone);
    expect([reply.status, reply.body, reply.setCookies]).toEqual([200, { ok: true, current: false }, []]);
    expect(codeOf(await there.post('/v1/coins/debit', { coins: 5, key: 'b' }, { cookies: first }))).toBe('401 identity_required');
    expect(await areSignedIn(there, [phone, first, second])).toEqual([true, false, true]);
    expect((await listOf(there, phone)).map(({ userAgent }) => userAgent)).not.toContain('First');
    // A repetition after a lost answer.
    expect([await end(id, phone), await end(id, phone, there)].map(({ status }) => status)).toEqual([200, 200]);
    const byInstall = await there.post('/v1/sessions/end', { id: await idOf('Second', phone), installId });
    expect([byInstall.status, await isSignedIn(here, second)]).toEqual([200, false]);
  });

  test('the session of the request itself ends as by a logout, even one of a login', async () => {
    for (const cookies of [await signIn(here, freshId()), (await pair(here, { installId: freshId() })).cookies]) {
      const reply = await end(await ownId(cookies), cookies);
      expect([reply.status, reply.body]).toEqual([200, { ok: true, current: true }]);
      expect(reply.setCookies).toEqual(CLEARED);
      expect([await isSignedIn(here, cookies), await isSignedIn(there, cookies)]).toEqual([false, false]);
    }
    const bearer = (await signIn(here, freshId())).slice('svc_session='.length);
    const { id } = (await here.get('/v1/sessions', { bearer })).body.sessions[0];
    const reply = await here.post('/v1/sessions/end', { id }, { bearer });
    expect([reply.body, reply.setCookies]).toEqual([{ ok: true, current: true }, []]);
    expect((await there.get('/v1/session', { bearer })).status).toBe(401);
  });

  test('a session past half its life is not renewed beside its end', async () => {
    await using later = await start();
    const cookies = await signIn(later, freshId());
    later.advance(16 * 86_400_000);
    const { id } = (await later.get('/v1/sessions', { cookies })).body.sessions[0];
    const { setCookies } = await later.post('/v1/sessions/end', { id }, { cookies });
    expect(setCookies).toEqual(CLEARED);
  });

  test('an unknown id, and one of another account, is 404 session_not_found', async () => {
    const { phone, first } = await phoneWithBrowsers(here);
    const stranger = await signIn(here, freshId());
    for (const id of [await idOf('First', phone), '0.AAAAAAAAAAAAAAAA', 'x', '', '}{a:', '0.'.repeat(4000), 'ü'])
      expect([id, codeOf(await end(id, stranger))]).toEqual([id, '404 session_not_found']);
    expect(await isSignedIn(there, first)).toBe(true);
    const none = await here.post('/v1/sessions/end', { installId: freshId() });
    expect([codeOf(none), none.body.error.field]).toEqual(['400 invalid_request', 'id']);
  });

  test('a session from a pairing lists the others, and ends only itself', async () => {
    const { phone, first, second } = await phoneWithBrowsers(here);
    const ids = [await idOf('Second', first), '0.AAAAAAAAAAAAAAAA'];
    for (const id of ids) expect(codeOf(await end(id, first))).toBe('403 forbidden');
    expect((await end(await ownId(first), first)).status).toBe(200);
    expect(await areSignedIn(there, [phone, first, second])).toEqual([true, false, true]);
    expect(codeOf(await end(ids[0]!, first))).toBe('401 identity_required');
  });
});
