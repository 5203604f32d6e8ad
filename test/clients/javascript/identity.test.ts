import { describe, expect, test } from 'vitest';
import type { Fetch } from '../../../src/clients/javascript/request.ts';
import { forFile, freshId, start } from '../../harness.ts';
import { done, player, TestStore, type Player } from './player.ts';
import { issue } from './sandbox.ts';

const DAY_MS = 86_400_000;

const service = await forFile(start({ settings: { STORE: 'sandbox' } }));

/** A fetch that loses the next answer after `drop()`. */
function dropping() {
  let drops = false;
  const fetch: Fetch = async (url, init) => {
    const response = await globalThis.fetch(url, init);
    if (!drops) return response;
    drops = false;
    throw new TypeError('the connection was lost');
  };
  return { fetch, drop: () => void (drops = true) };
}

/** A network that carries no coin operations while `isOffline`. */
function withoutCoins() {
  const network: { isOffline: boolean; fetch: Fetch } = {
    isOffline: true,
    async fetch(url, init) {
      if (network.isOffline && url.includes('/v1/coins/')) throw new TypeError('offline');
      return globalThis.fetch(url, init);
    },
  };
  return network;
}

/** Ends the client's session behind its back. */
async function signOut(client: Player): Promise<void> {
  await service.post('/v1/logout', {}, { bearer: (await client.who()).sessionToken! });
}

/** The caller's data in the store. */
const kept = (store: TestStore) => JSON.parse(store.getItem('coinop:me')!) as Record<string, unknown>;

describe('the install', () => {
  test('is created once and kept, also if many calls begin at once', async () => {
    const store = new TestStore();
    using client = player(service.url, { installId: undefined }, store);
    await Promise.all([client.coins.credit({ coins: 1 }), client.coins.balance(), client.who(), client.coins.credit({ coins: 2 })]);
    const { installId } = await client.who();
    expect(installId).toMatch(/^[a-z0-9]{24}$/);
    using next = player(service.url, { installId: undefined }, store);
    expect([(await next.who()).installId, await next.coins.balance()]).toEqual([installId, { ok: true, balanceCoins: 3 }]);
  });

  test.each(['[]', '"x"', '0', 'null', '{}', '{"installId":7}', 'not json'])('is made anew where the store has %s', async (text) => {
    const store = new TestStore();
    store.setItem('coinop:me', text);
    using client = player(service.url, { installId: undefined }, store);
    expect(await client.coins.credit({ coins: 1 })).toMatchObject({ ok: true, balanceAfterCoins: 1 });
    expect(kept(store)['installId']).toMatch(/^[a-z0-9]{24}$/);
    expect(client.warnings).toEqual([]);
  });

  test.each([undefined, '[]'])('of an open page stays when its store is emptied or spoiled, and is written again: %s', async (text) => {
    const store = new TestStore();
    using client = player(service.url, { installId: undefined }, store);
    await client.sessions.login();
    await client.coins.credit({ coins: 3 });
    const before = await client.who();
    store.kept.clear();
    if (text !== undefined) store.setItem('coinop:me', text);
    expect(await client.coins.balance()).toEqual({ ok: true, balanceCoins: 3 });
    expect([await client.who(), kept(store)]).toEqual([before, before]);
    expect(client.warnings).toEqual(['coinop: the store was emptied']);
  });

  test('that the game names is another player than the install before', async () => {
    const store = new TestStore();
    using ada = player(service.url, { installId: freshId() }, store);
    await ada.sessions.login();
    using bob = player(service.url, { installId: freshId() }, store);
    expect((await bob.who()).sessionToken).toBeUndefined();
  });
});

describe('a session', () => {
  test('from a login belongs to the account of the install', async () => {
    using client = player(service.url);
    await client.coins.credit({ coins: 5 });
    expect(await client.sessions.login()).toMatchObject({ ok: true });
    expect(await client.coins.history()).toMatchObject({ ok: true, entries: [{ coins: 5 }] });
    expect(await client.sessions.current()).toMatchObject({ authenticated: true, accountId: (await client.who()).accountId });
    await client.sessions.logout();
    expect(await client.coins.history()).toMatchObject({
      ok: false,
      error: { code: 'session_required', message: expect.stringContaining('client.sessions.login()') },
    });
    expect(await client.coins.balance()).toEqual({ ok: true, balanceCoins: 5 });
  });

  test('that ends itself is forgotten, also after a lost answer', async () => {
    const { fetch, drop } = dropping();
    using client = player(service.url, { fetch });
    await client.sessions.login();
    const listed = await client.sessions.list();
    drop();
    const reply = await client.sessions.end({ id: listed.ok ? listed.sessions[0]!.id : '' });
    expect(reply).toMatchObject({ ok: false, error: { code: 'session_required' } });
    expect((await client.who()).sessionToken).toBeUndefined();
    expect(await client.coins.balance()).toMatchObject({ ok: true });
  });

  test('of an account that was deleted elsewhere ends with the logout', async () => {
    using client = player(service.url);
    await client.store.provision({ token: await issue(service, 'leaver') });
    const token = await issue(service, 'leaver');
    const { body } = await service.post('/v1/account/delete', { token });
    await service.post('/v1/account/delete', { token, confirm: body.confirm });
    expect(await client.coins.balance()).toMatchObject({ error: { code: 'account_deleted' } });
    await client.sessions.logout();
    expect((await client.who()).sessionToken).toBeUndefined();
  });

  test('is used by another tab at its next call', async () => {
    const store = new TestStore();
    const installId = freshId();
    using one = player(service.url, { installId }, store);
    using two = player(service.url, { installId }, store);
    await two.coins.balance();
    await one.store.provision({ token: await issue(service, freshId('user')) });
    expect((await two.who()).accountId).toBe((await one.who()).accountId);
    expect(await two.coins.credit({ coins: 5 })).toMatchObject({ ok: true });
    expect(await one.coins.balance()).toEqual({ ok: true, balanceCoins: 5 });
  });

  test('owns operations and finishes them, also before the client can request its account', async () => {
    using phone = player(service.url);
    const store = new TestStore();
    const onlyPairing: Fetch = (url, init) => (url.includes('/pair/') ? fetch(url, init) : Promise.reject(new TypeError('offline')));
    {
      using client = player(service.url, { installId: undefined, timeoutMs: 1500, fetch: onlyPairing }, store);
      const pairing = await done(client.pairing.open());
      await phone.pairing.claim({ token: pairing.token });
      expect(await client.pairing.status({ token: pairing.token, secret: pairing.secret })).toMatchObject({ status: 'claimed' });
      expect(await client.coins.credit({ coins: 5 })).toMatchObject({ pending: true });
    }
    using next = player(service.url, { installId: undefined }, store);
    await expect.poll(() => next.settled).toMatchObject([[{ coins: 5 }, { ok: true }]]);
    expect(await phone.coins.balance()).toEqual({ ok: true, balanceCoins: 5 });
    // The next call requests the account.
    await next.coins.balance();
    await expect.poll(async () => (await next.who()).accountId).toBeDefined();
    expect(await next.coins.credit({ coins: 6 })).toMatchObject({ ok: true, balanceAfterCoins: 11 });
  });

  test('that ended does not fall back to the install', async () => {
    using client = player(service.url, { installId: undefined });
    await client.store.provision({ token: await issue(service, freshId('user')) });
    await signOut(client);
    expect(await client.coins.balance()).toMatchObject({ ok: false, error: { code: 'session_required' } });
    expect(await client.highscores.top({ game: 'none' })).toMatchObject({ ok: true });
  });

  test('is renewed past half of its life', async () => {
    await using old = await start();
    const store = new TestStore();
    const installId = freshId();
    {
      using client = player(old.url, { installId }, store);
      await client.sessions.login();
    }
    const { sessionToken, askedAt } = kept(store);
    store.setItem('coinop:me', JSON.stringify({ ...kept(store), askedAt: (askedAt as number) - 16 * DAY_MS }));
    old.advance(16 * DAY_MS);
    using next = player(old.url, { installId }, store);
    expect(await next.coins.history()).toMatchObject({ ok: true });
    await expect.poll(() => kept(store)['sessionToken']).not.toBe(sessionToken);
    expect(kept(store)['askedAt']).toBeGreaterThanOrEqual(askedAt as number);
    old.advance(16 * DAY_MS);
    expect(await next.coins.history()).toMatchObject({ ok: true });
  });

  test('costs one request after a jump of the clock', async () => {
    const store = new TestStore();
    const installId = freshId();
    {
      using client = player(service.url, { installId }, store);
      await client.sessions.login();
    }
    for (const askedAt of [0, Date.now() + 1e12, -1e15, null]) {
      store.setItem('coinop:me', JSON.stringify({ ...kept(store), askedAt }));
      let questions = 0;
      const fetch: Fetch = (url, init) => ((questions += Number(url.endsWith('/v1/session'))), globalThis.fetch(url, init));
      using client = player(service.url, { installId, fetch }, store);
      for (let times = 0; times < 3; times++) expect(await client.coins.balance()).toMatchObject({ ok: true });
      expect(questions).toBe(1);
    }
  });
});

describe('a sign-in with the store', () => {
  test('with a lost answer moves the guest and its operations once', async () => {
    const network = withoutCoins();
    const lossy = dropping();
    const fetch: Fetch = (url, init) => (url.endsWith('store-provision') ? lossy.fetch(url, init) : network.fetch(url, init));
    using client = player(service.url, { installId: undefined, fetch });
    network.isOffline = false;
    await client.coins.credit({ coins: 1 });
    network.isOffline = true;
    await client.coins.credit({ coins: 5 }, { timeoutMs: 20 });
    lossy.drop();
    expect(await client.store.provision({ token: await issue(service, freshId('user')) })).toMatchObject({ ok: true, moved: false });
    network.isOffline = false;
    client.wake();
    await expect.poll(() => client.settled.at(-1)).toMatchObject([{ coins: 5 }, { ok: true, balanceAfterCoins: 6 }]);
  });

  test('of another client leaves the operations of the guest held, and other operations continue', async () => {
    const network = withoutCoins();
    const installId = freshId();
    using client = player(service.url, { installId, fetch: network.fetch });
    using other = player(service.url, { installId });
    await other.coins.credit({ coins: 1 });
    await client.coins.credit({ coins: 5, key: 'of-guest' }, { timeoutMs: 20 });
    // Another client moves the guest, so this client does not know about the move.
    expect(await other.store.provision({ token: await issue(service, freshId('user')) })).toMatchObject({ moved: true });
    expect(await client.store.provision({ token: await issue(service, freshId('user')) })).toMatchObject({ ok: true, moved: false });
    network.isOffline = false;
    expect(await client.coins.credit({ coins: 7 })).toMatchObject({ ok: true, balanceAfterCoins: 7 });
    expect(client.settled[0]).toMatchObject([{ key: 'of-guest' }, { pending: true, error: { code: 'sign_in_required' } }]);
    expect(client.kept.operations).toBe(1);
  });
});

describe('a deletion', () => {
  const fresh = { installId: undefined };

  /** Both calls of a deletion. The first call deletes nothing. */
  async function deleted(client: Player, proof: { token?: string } = {}): Promise<void> {
    const before = await client.who();
    const offer = await done(client.accounts.delete(proof));
    expect(await client.who()).toEqual(before);
    expect(await client.accounts.delete({ ...proof, confirm: offer.confirm! })).toMatchObject({ ok: true, deleted: true });
  }

  test('of a guest starts a new one', async () => {
    using client = player(service.url, fresh);
    await client.coins.credit({ coins: 5 });
    await client.sessions.login();
    const { installId } = await client.who();
    await deleted(client);
    expect(await client.coins.balance()).toEqual({ ok: true, balanceCoins: 0 });
    expect((await client.who()).installId).not.toBe(installId);
  });

  test('with a lost answer has the same effect', async () => {
    const { fetch, drop } = dropping();
    using client = player(service.url, { ...fresh, fetch });
    const { installId } = await client.who();
    const offer = await client.accounts.delete();
    drop();
    const reply = await client.accounts.delete({ confirm: offer.ok ? offer.confirm! : '' });
    expect(reply).toMatchObject({ ok: false, error: { code: 'account_deleted' } });
    expect((await client.who()).installId).not.toBe(installId);
  });

  test('of a store account starts a new guest if the install had moved into the account', async () => {
    using client = player(service.url, fresh);
    await client.coins.credit({ coins: 5 });
    const { installId } = await client.who();
    const token = await issue(service, freshId('user'));
    await client.store.provision({ token });
    await deleted(client, { token });
    const after = await client.who();
    expect([after.sessionToken, after.installId === installId]).toEqual([undefined, false]);
  });

  test('keeps an installId that the game has given', async () => {
    const installId = freshId();
    using client = player(service.url, { installId });
    await deleted(client);
    expect(await client.coins.balance()).toMatchObject({ ok: false, error: { code: 'account_deleted' } });
    expect((await client.who()).installId).toBe(installId);
  });
});
