import { describe, expect, test } from 'vitest';
import { ban, unban } from '../../../src/accounts/ban.ts';
import { CallerScripts } from '../../../src/accounts/caller-scripts.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { standingKey } from '../../../src/accounts/account-keys.ts';
import { parseStanding } from '../../../src/accounts/standing.ts';
import { codeOf, forFile, freshId, signIn, start } from '../../harness.ts';
import { watchRoom } from '../../realtime/watcher.ts';
import { balanceOf, deleteAccount, historyOf, provision, signInToStore } from '../../store.ts';
import { open } from '../rooms/room.ts';
import { areSignedIn, isSignedIn } from '../sessions/paired.ts';

/** Another process on the same Redis. */
const service = await forFile(start({ stoppedClock: true }));
const other = await forFile(start());
const scripts = new CallerScripts(service.service.connections.scripts, { now: service.now });

const BANNED = '403 account_banned';

const banned = (accountId: string, options: { until?: number; reason?: string } = {}) =>
  ban(accountId, options, { scripts, now: service.now });
const unbanned = (accountId: string) => unban(accountId, { scripts });
const standingOf = (accountId: string) => service.service.redis.get(standingKey(accountId));
const credit = (installId: string, key: string) => service.post('/v1/coins/credit', { installId, coins: 5, key });

describe('a banned account', () => {
  test('is refused at once on every process, in whatever way it is named', async () => {
    const installId = freshId();
    const cookies = await signIn(service, installId);
    await credit(installId, 'a');
    const accountId = accountIdOf(installId);
    expect(await banned(accountId, { reason: 'cheated' })).toMatchObject({ word: 'banned', accountId });
    const bearer = cookies.slice('svc_session='.length);
    for (const each of [service, other])
      for (const options of [{ headers: { 'x-install-id': installId } }, { cookies }, { bearer }]) {
        expect(codeOf(await each.get('/v1/balance', options))).toBe(BANNED);
        expect(codeOf(await each.post('/v1/coins/credit', { coins: 5, key: 'a' }, options))).toBe(BANNED);
      }
    expect(codeOf(await service.post('/v1/account/delete', { installId }))).toBe(BANNED);
  });

  test('learns the end of the ban, and never its reason', async () => {
    const installId = freshId();
    const until = service.now() + 60_000;
    await banned(accountIdOf(installId), { until, reason: 'secret words' });
    const { body } = await credit(installId, 'a');
    expect(body.error).toMatchObject({ code: 'account_banned', until: new Date(until).toISOString() });
    expect(JSON.stringify(body)).not.toContain('secret');
    service.advance(60_000);
    expect((await credit(installId, 'a')).status).toBe(200);
  });

  test('signs out with 200, and the signed-out sessions stay ended after the ban', async () => {
    const installId = freshId();
    const sessions = await Promise.all(Array.from({ length: 4 }, () => signIn(service, installId)));
    const logout = (cookies: string, everywhere: boolean) => service.post('/v1/logout', { everywhere }, { cookies });
    await banned(accountIdOf(installId));
    // An ended session does not end the others.
    for (const everywhere of [false, true]) expect((await logout(sessions[0]!, everywhere)).status).toBe(200);
    await unbanned(accountIdOf(installId));
    expect(await areSignedIn(service, sessions)).toEqual([false, true, true, true]);
    await banned(accountIdOf(installId));
    expect((await logout(sessions[1]!, true)).status).toBe(200);
    expect((await other.post('/v1/logout', { everywhere: true }, { cookies: sessions[2]! })).status).toBe(200);
    // A sign-out everywhere does not end the ban.
    expect(codeOf(await credit(installId, 'a'))).toBe(BANNED);
    await unbanned(accountIdOf(installId));
    expect(await standingOf(accountIdOf(installId))).toBe('#1\n');
    expect(await areSignedIn(service, [...sessions, await signIn(service, installId)])).toEqual([false, false, false, false, true]);
  });

  test('has everything back after its end: coins, keys, guests, and sessions of the same generation', async () => {
    const [subject, installId] = [freshId('subject'), freshId()];
    await credit(installId, 'guest');
    const old = await signInToStore(service, subject, { installId });
    await service.post('/v1/logout', { everywhere: true }, { cookies: old.cookies });
    const { cookies, body } = await signInToStore(service, subject);
    const before = await historyOf(service, cookies);
    const record = await standingOf(body.accountId);
    for (let times = 0; times < 2; times++) await banned(body.accountId, { reason: 'twice' });
    expect(codeOf(await service.get('/v1/coins/history', { cookies }))).toBe(BANNED);
    expect(codeOf(await credit(installId, 'guest'))).toBe('401 sign_in_required');
    for (const word of ['unbanned', 'not_banned'])
      expect(await unbanned(body.accountId)).toMatchObject({ word, accountId: body.accountId });
    expect(await standingOf(body.accountId)).toBe(record);
    expect(await historyOf(service, cookies)).toEqual(before);
    expect((await service.post('/v1/coins/credit', { coins: 5, key: 'guest' }, { cookies })).body.replayed).toBe(true);
    expect(await isSignedIn(service, old.cookies)).toBe(false);
  });

  test('signs in with the store only after its end', async () => {
    const subject = freshId('subject');
    const { body } = await signInToStore(service, subject);
    await banned(body.accountId, { until: service.now() + 1000 });
    const guest = freshId();
    await credit(guest, 'a');
    expect(codeOf(await provision(service, subject))).toBe(BANNED);
    expect(codeOf(await provision(service, subject, { installId: guest }))).toBe(BANNED);
    expect((await credit(guest, 'b')).body.balanceAfterCoins).toBe(10);
    service.advance(1000);
    const { body: again } = await signInToStore(service, subject, { installId: guest });
    expect(again).toMatchObject({ accountId: body.accountId, moved: true, movedCoins: 10 });
    expect(parseStanding((await standingOf(body.accountId))!)).toMatchObject({ unreadable: 0, guests: [{ id: accountIdOf(guest) }] });
  });

  test('cannot move into a store account as a guest, and a ban of a moved guest bans its account', async () => {
    const [subject, installId] = [freshId('subject'), freshId()];
    await credit(installId, 'a');
    await banned(accountIdOf(installId));
    expect(codeOf(await provision(service, subject, { installId }))).toBe(BANNED);
    await unbanned(accountIdOf(installId));
    const { cookies, body } = await signInToStore(service, subject, { installId });
    expect(await banned(accountIdOf(installId))).toMatchObject({ word: 'banned', accountId: body.accountId });
    expect(codeOf(await service.get('/v1/balance', { cookies }))).toBe(BANNED);
    expect(await unbanned(accountIdOf(installId))).toMatchObject({ word: 'unbanned', accountId: body.accountId });
    expect(await balanceOf(service, { cookies })).toBe(5);
  });

  test('may be a guest without a record, but a deleted account cannot be banned', async () => {
    const [gone, unseen] = [freshId(), freshId()];
    await deleteAccount(service, { installId: gone });
    expect((await banned(accountIdOf(gone))).word).toBe('deleted');
    expect((await unbanned(accountIdOf(gone))).word).toBe('deleted');
    await banned(accountIdOf(unseen));
    expect(codeOf(await credit(unseen, 'a'))).toBe(BANNED);
    await unbanned(accountIdOf(unseen));
    expect(await standingOf(accountIdOf(unseen))).toBe(null);
  });

  test('keeps its seat in the middle of a room; its actions are refused, and its connection loses its caller', async () => {
    const room = await open(service);
    const installId = await room.join();
    const socket = await watchRoom(other, room.code);
    expect((await socket.hello(installId)).type).toBe('welcome');
    const until = service.now() + 3_600_000;
    await banned(accountIdOf(installId), { until });
    expect(codeOf(await room.act('ready', installId))).toBe(BANNED);
    const told = { code: 'account_banned', until: new Date(until).toISOString() };
    expect((await socket.until(({ type }) => type === 'error')).error).toMatchObject(told);
    expect((await socket.hello(installId)).error).toMatchObject(told);
    await expect.poll(() => socket.last.room.players.map(({ connected }: { connected: boolean }) => connected)).toEqual([false, false]);
    await unbanned(accountIdOf(installId));
    expect((await room.act('ready', installId)).body.you.playerId).toBe('p2');
    await socket.close();
  });

  test('applies or refuses each of 60 credits that come with the ban, and shows the applied ones after an unban', async () => {
    const installId = freshId();
    const credits = Array.from({ length: 60 }, (_, number) => credit(installId, `key-${number}`));
    const ended = banned(accountIdOf(installId));
    const codes = (await Promise.all(credits)).map(codeOf);
    await ended;
    for (const code of codes) expect(['200', BANNED]).toContain(code);
    await unbanned(accountIdOf(installId));
    expect(await balanceOf(service, { installId })).toBe(5 * codes.filter((code) => code === '200').length);
  });
});

test('a ban and a move at the same time end in one of the two orders', async () => {
  for (let round = 0; round < 8; round++) {
    const [subject, installId] = [freshId('subject'), freshId()];
    await credit(installId, 'a');
    scripts.helpMove = async () => void (await service.get('/v1/balance', { headers: { 'x-install-id': installId } }));
    const [move, ended] = await Promise.all([
      provision(service, subject, { installId }),
      banned(accountIdOf(installId)).catch(() => undefined),
    ]);
    if (move.status === 200) {
      const cookies = move.cookies.find((cookie) => cookie.startsWith('svc_session='))!;
      if (ended !== undefined)
        expect([ended.accountId, codeOf(await service.get('/v1/balance', { cookies }))]).toEqual([move.body.accountId, BANNED]);
    } else expect([codeOf(move), ended?.accountId]).toEqual([BANNED, accountIdOf(installId)]);
  }
});
