import type { Cluster } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { forFile, freshId, isOnCluster, sharedClient, signIn, start, tokenFor } from '../../harness.ts';
import { openDesk } from '../../operator/parts.ts';
import { RawSocket } from '../../realtime/raw-socket.ts';
import { eventually, type Message, type Watcher, type WatchOptions } from '../../realtime/watcher.ts';
import { deleteAccount, issue, signInToStore } from '../../store.ts';
import { withOrigin } from '../coins/with-origin.ts';
import { listOf, pair } from '../sessions/paired.ts';
import { touched } from '../trial/device.ts';
import { account, openAccount, reaches, watchAccount } from './watching.ts';

const desk = await forFile(openDesk());
const here = desk.service;
/** Another process on the same Redis. */
const there = await forFile(start());
const origin = await withOrigin(here);

/** Gives coins on the other process. */
const credit = (installId: string, coins: number, key = freshId('key')) => there.post('/v1/coins/credit', { installId, coins, key });
const open = (options?: WatchOptions) => openAccount(here, options);
const watch = (installId: string, service = here) => watchAccount(service, installId);

/** An install whose account has coins. */
async function rich(coins: number): Promise<string> {
  const installId = freshId();
  expect((await credit(installId, coins)).status).toBe(200);
  return installId;
}

/** The error, and the code of the close after it. */
async function lost(watcher: Watcher): Promise<[code: string, close: number]> {
  const { code } = await watcher.closed;
  return [watcher.messages.at(-1)?.error?.code, code];
}

test('Redis tracks the keys of a watched account, those of a Cluster too', async () => {
  await watch(await rich(1));
  const client = sharedClient();
  await client.ping();
  const nodes = isOnCluster() ? (client as unknown as Cluster).nodes('master') : [client];
  const stats = await Promise.all(nodes.map((node) => node.info('stats')));
  client.disconnect();
  expect(stats.join('\n')).toMatch(/^tracking_total_keys:[1-9]/m);
});

describe('a connection gets the account at once', () => {
  test.each<[string, (installId: string) => Promise<WatchOptions & { hello?: object }>]>([
    ['cookie of the upgrade', async (installId) => ({ cookies: await signIn(here, installId) })],
    ['bearer of the upgrade', async (installId) => ({ headers: { authorization: `Bearer ${await tokenFor(here, installId)}` } })],
    ['sessionToken of a hello', async (installId) => ({ hello: { sessionToken: await tokenFor(here, installId), installId: freshId() } })],
    ['installId of a hello', async (installId) => ({ hello: { installId } })],
  ])('by the %s', async (_, by) => {
    const installId = await rich(7);
    const { hello, ...options } = await by(installId);
    const watcher = await open(options);
    if (hello !== undefined) watcher.send({ type: 'hello', ...hello });
    expect(await account(watcher)).toEqual({
      type: 'account',
      accountId: accountIdOf(installId),
      balanceCoins: 7,
      entitlement: { state: 'none', access: false },
      version: expect.any(Number),
    });
  });

  test('of an install that was never seen, with balance 0, and creates nothing', async () => {
    const installId = freshId();
    expect((await account(await watch(installId))).balanceCoins).toBe(0);
    expect(await here.service.redis.keys(`{${accountIdOf(installId)}}*`)).toEqual([]);
  });

  test('by the last hello, and no other account any more', async () => {
    const [first, second] = [await rich(1), await rich(2)];
    const watcher = await watch(first);
    watcher.send({ type: 'hello', installId: first });
    watcher.send({ type: 'hello', installId: second });
    await reaches(watcher, 2);
    await credit(first, 10);
    await credit(second, 10);
    await reaches(watcher, 12);
    expect(watcher.messages.map(({ balanceCoins }) => balanceCoins)).toEqual([1, 2, 12]);
    const versions = watcher.messages.map(({ version }) => version);
    expect(versions).toEqual(versions.toSorted((one, other) => one - other));
    expect(new Set(versions).size).toBe(3);
  });
});

describe('a connection gets a change', () => {
  const DAY = 86_400_000;

  test.each<[string, (installId: string) => Promise<unknown>, (message: Message) => boolean]>([
    ['of a credit on another process', (installId) => credit(installId, 5), ({ balanceCoins }) => balanceCoins === 105],
    [
      'of a debit on its own process',
      (installId) => here.post('/v1/coins/debit', { installId, coins: 5, key: 'd' }),
      ({ balanceCoins }) => balanceCoins === 95,
    ],
    [
      'of a refund, which leaves a debt',
      (installId) =>
        origin.bookings.book(accountIdOf(installId), { type: 'refund', coins: -150, key: ['google', 'r'], refusesBanned: false }),
      ({ balanceCoins, debtCoins }) => balanceCoins === 0 && debtCoins === 50,
    ],
    [
      'of a prize',
      (installId) => origin.bookings.book(accountIdOf(installId), { type: 'prize', coins: 3, key: ['season', 'p'], refusesBanned: false }),
      ({ balanceCoins }) => balanceCoins === 103,
    ],
    [
      'by an operator',
      (installId) => desk.change(`/accounts/${accountIdOf(installId)}/adjust`, { coins: 11, key: 'o' }),
      ({ balanceCoins }) => balanceCoins === 111,
    ],
    [
      'of access that an operator gives',
      (installId) => desk.change(`/accounts/${accountIdOf(installId)}/give`, { until: new Date(here.now() + DAY).toISOString() }),
      ({ entitlement }) => entitlement.state === 'subscribed' && entitlement.access && entitlement.expiresAt !== undefined,
    ],
    [
      'of a subscription that was bought',
      async (installId) => {
        const { purchaseToken } = await issue(there, { kind: 'subscription', minutes: 60 });
        return there.post('/v1/subscription/purchase', { installId, purchaseToken });
      },
      ({ entitlement }) => entitlement.state === 'subscribed',
    ],
    [
      'of a trial that is linked',
      async (installId) =>
        there.post('/v1/trial/link', {}, { cookies: [await signIn(there, installId), ...(await touched(there)).cookies] }),
      ({ entitlement }) => entitlement.state === 'trial' && entitlement.access,
    ],
  ])('%s', async (_, changes, shows) => {
    const installId = await rich(100);
    const watcher = await watch(installId);
    await changes(installId);
    await account(watcher, shows);
  });

  test('of a guest that moves into the account, in whole', async () => {
    const subject = freshId('subject');
    const { cookies } = await signInToStore(here, subject);
    const watcher = await open({ cookies });
    await reaches(watcher, 0);
    await signInToStore(there, subject, { installId: await rich(40) });
    await reaches(watcher, 40);
    expect(watcher.messages.map(({ balanceCoins }) => balanceCoins)).toEqual([0, 40]);
  });

  test('that the clock makes, such as the end of access', async () => {
    const installId = await rich(1);
    const until = new Date(here.now() + 1500).toISOString();
    await desk.change(`/accounts/${accountIdOf(installId)}/give`, { until });
    const watcher = await watch(installId);
    expect((await account(watcher)).entitlement).toEqual({ state: 'subscribed', access: true, expiresAt: until });
    expect((await account(watcher, ({ entitlement }) => !entitlement.access)).entitlement).toEqual({
      state: 'expired',
      access: false,
      expiresAt: until,
    });
  });

  test('at most four times a second if many come in a row, and always the last one', async () => {
    const installId = await rich(1);
    const watchers = [await watch(installId), await watch(installId), await watch(installId, there)];
    const beganAt = performance.now();
    for (let count = 0; count < 120; count++) await credit(installId, 1);
    await Promise.all(watchers.map((watcher) => reaches(watcher, 121)));
    const seconds = (performance.now() - beganAt) / 1000;
    for (const { messages } of watchers) {
      expect(messages.length).toBeLessThanOrEqual(2 + 4 * seconds);
      const versions = messages.map(({ version }) => version);
      expect(versions).toEqual([...new Set(versions)].toSorted((one, other) => one - other));
    }
  });
});

describe('a hello', () => {
  test('that names nobody who may watch gets the error, and another may follow', async () => {
    const installId = await rich(3);
    const watcher = await open();
    const ended = await tokenFor(here, installId);
    await there.post('/v1/logout', {}, { bearer: ended });
    for (const sessionToken of ['a.b.c', ended]) {
      watcher.send({ type: 'hello', sessionToken, installId });
      const before = watcher.messages.length;
      await eventually(() => watcher.messages.length > before);
      expect(watcher.messages.at(-1).error.code).toBe('session_required');
    }
    watcher.send({ type: 'hello', installId });
    await reaches(watcher, 3);
    // A wrong one leaves the connection as it was.
    watcher.send({ type: 'hello', sessionToken: ended });
    await credit(installId, 1);
    await reaches(watcher, 4);
    expect(watcher.isClosed).toBe(false);
  });

  test.each([
    [{}, 'installId: Is needed, or a sessionToken'],
    [{ installId: 7 }, 'installId: '],
    [{ installId: 'short' }, 'installId: '],
    [{ installId: `install-${'x'.repeat(8000)}` }, 'installId: '],
    [{ sessionToken: null, installId: 'install-0001' }, 'sessionToken: '],
    [{ sessionToken: `a.${'b'.repeat(10_000)}.c` }, 'sessionToken: '],
    [{ sessionToken: ['a.b.c'] }, 'sessionToken: '],
  ])('%j is refused, and the third such closes the connection', async (fields, message) => {
    const watcher = await open();
    for (let count = 0; count < 3; count++) watcher.send({ type: 'hello', ...fields });
    expect(await lost(watcher)).toEqual(['invalid_request', 4400]);
    expect(watcher.messages.map(({ error }) => error.message.startsWith(message))).toEqual([true, true, true]);
  });

  test('beyond WATCHERS_PER_ROOM is overloaded, and another account may follow', async () => {
    await using strict = await start({ settings: { WATCHERS_PER_ROOM: '2' } });
    const installId = await rich(1);
    const watchers = [await watch(installId, strict), await watch(installId, strict)];
    const late = await openAccount(strict);
    late.send({ type: 'hello', installId });
    expect((await late.until(({ type }) => type === 'error')).error.code).toBe('overloaded');
    late.send({ type: 'hello', installId: await rich(2) });
    await reaches(late, 2);
    expect(watchers.map(({ isClosed }) => isClosed)).toEqual([false, false]);
  });

  test('is awaited for ten seconds', async () => {
    const [silent, named] = [await open(), await watch(freshId())];
    const withEnded = await open({ cookies: await endedCookie() });
    here.advance(10_000);
    expect([(await silent.closed).code, (await withEnded.closed).code]).toEqual([4502, 4502]);
    expect([silent.messages, withEnded.messages, named.isClosed]).toEqual([[], [], false]);
  });

  async function endedCookie(): Promise<string> {
    const cookies = await signIn(here, freshId());
    await there.post('/v1/logout', {}, { cookies });
    return cookies;
  }

  test('follows a cookie whose session has ended', async () => {
    const watcher = await open({ cookies: await endedCookie() });
    watcher.send({ type: 'hello', installId: await rich(6) });
    expect((await account(watcher)).balanceCoins).toBe(6);
    expect(watcher.messages).toHaveLength(1);
  });
});

describe('a connection loses its caller', () => {
  test.each<[string, (session: { cookies: string; installId: string }) => Promise<unknown>, string]>([
    ['signs out', ({ cookies }) => there.post('/v1/logout', {}, { cookies }), 'session_required'],
    ['signs out everywhere', ({ installId }) => there.post('/v1/logout', { installId, everywhere: true }), 'session_required'],
    [
      'is ended by another',
      async ({ cookies, installId }) => {
        const id = (await listOf(there, cookies)).find(({ current }) => current).id;
        return there.post('/v1/sessions/end', { installId, id });
      },
      'session_required',
    ],
    ['belongs to a guest that moves', ({ installId }) => signInToStore(there, freshId('subject'), { installId }), 'sign_in_required'],
    ['belongs to an account that is deleted', ({ installId }) => deleteAccount(there, { installId }), 'account_deleted'],
    ['belongs to an account that is banned', ({ installId }) => desk.change(`/accounts/${accountIdOf(installId)}/ban`), 'account_banned'],
  ])('when its session %s: the error, then 4503', async (_, ends, code) => {
    const installId = await rich(9);
    const { cookies } = await pair(here, { installId });
    const watcher = await open({ cookies });
    const guest = await watch(installId, there);
    await reaches(watcher, 9);
    await ends({ cookies, installId });
    expect(await lost(watcher)).toEqual([code, 4503]);
    expect(watcher.messages.map(({ type }) => type)).toEqual(['account', 'error']);
    if (code === 'session_required') {
      // The install may still watch.
      await credit(installId, 1);
      await reaches(guest, 10);
    } else expect(await lost(guest)).toEqual([code, 4503]);
  });

  test('at once if the account that a hello names is closed, or the cookie or bearer of the upgrade', async () => {
    const installId = await rich(2);
    const token = await tokenFor(here, installId);
    await desk.change(`/accounts/${accountIdOf(installId)}/ban`);
    const watcher = await open();
    watcher.send({ type: 'hello', installId });
    expect(await lost(watcher)).toEqual(['account_banned', 4503]);
    expect(await lost(await open({ cookies: `svc_session=${token}` }))).toEqual(['account_banned', 4503]);
    const { status, body } = await RawSocket.open(here.port, '/v1/account/live', { authorization: `Bearer ${token}` });
    expect([status, body.error.code]).toEqual([403, 'account_banned']);
  });
});
