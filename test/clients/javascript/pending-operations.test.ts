import { describe, expect, test, vi } from 'vitest';
import type { Fetch } from '../../../src/clients/javascript/request.ts';
import type { Operation } from '../../../src/clients/javascript/client.ts';
import { forFile, freshId, sleep, start } from '../../harness.ts';
import { issue } from './sandbox.ts';
import { player, TestStore } from './player.ts';

const service = await forFile(start({ settings: { STORE: 'sandbox' } }));

/** A fetch that loses coin operations before the service gets them, or their answers, until the test says `never`. */
function losing(when: 'before' | 'after' | 'never') {
  const send = async (...[url, init]: Parameters<Fetch>) => {
    if (!/coins\/(credit|debit|purchase)$/.test(url)) return fetch(url, init);
    losses.keys.push((JSON.parse(init.body!) as Operation).key);
    if (losses.when === 'before') throw new TypeError('offline');
    const answer = await fetch(url, init);
    if (losses.when === 'after') throw new TypeError('the answer is lost');
    return answer;
  };
  const losses = Object.assign(send, { when, keys: [] as string[] });
  return losses;
}

const balanceOf = async (installId: string) =>
  (await service.get('/v1/balance', { headers: { 'x-install-id': installId } })).body.balanceCoins as number;

describe('a coin operation', () => {
  test('is in the store before it is sent, and is removed after the answer', async () => {
    const store = new TestStore();
    const kept: number[] = [];
    const send: Fetch = (url, init) => (kept.push(store.operations), fetch(url, init));
    using client = player(service.url, { fetch: send }, store);
    expect(await client.coins.credit({ coins: 5 })).toEqual({ ok: true, balanceAfterCoins: 5 });
    expect([kept, store.operations]).toEqual([[1], 0]);
  });

  test('is applied once when its answer is lost', async () => {
    const send = losing('after');
    using client = player(service.url, { fetch: send });
    const credited = client.coins.credit({ coins: 5 });
    // More than two tries may come between two polls.
    await expect.poll(() => send.keys.length).toBeGreaterThan(1);
    send.when = 'never';
    expect(await credited).toEqual({ ok: true, balanceAfterCoins: 5, replayed: true, balanceCoins: 5 });
    expect(new Set(send.keys).size).toBe(1);
  });

  test('is finished at the next start, once, after a crash between send and answer', async () => {
    const store = new TestStore();
    const installId = freshId();
    let crashing;
    {
      using crashed = player(service.url, { installId, fetch: losing('after') }, store);
      crashing = crashed.coins.credit({ coins: 5 });
      await expect.poll(() => balanceOf(installId)).toBe(5);
    }
    expect(await crashing).toMatchObject({ ok: false, pending: true });
    expect(store.operations).toBe(1);
    using next = player(service.url, { installId }, store);
    await expect.poll(() => next.settled).toMatchObject([[{ coins: 5 }, { ok: true, replayed: true }]]);
    expect([await balanceOf(installId), store.operations]).toEqual([5, 0]);
  });

  test('ends with a definite refusal', async () => {
    using client = player(service.url);
    expect(await client.coins.debit({ coins: 5 })).toMatchObject({ error: { code: 'insufficient_coins', balanceCoins: 0 } });
    expect(await client.coins.credit({ coins: 1.5 })).toMatchObject({ error: { code: 'invalid_request' } });
    await client.coins.credit({ coins: 5, key: 'once' });
    expect(await client.coins.credit({ coins: 6, key: 'once' })).toMatchObject({ error: { code: 'key_reused' } });
    expect(await client.coins.credit({ coins: 5, key: 'k'.repeat(20_000) })).toMatchObject({ error: { code: 'payload_too_large' } });
    expect(client.settled.map(([, result]) => result.ok)).toEqual([false, false, true, false, false]);
    expect(client.kept.operations).toBe(0);
  });

  test('keeps its place in the order while the service is away', async () => {
    const send = losing('before');
    using client = player(service.url, { fetch: send });
    const first = client.coins.credit({ coins: 10 });
    const second = client.coins.debit({ coins: 10 });
    await expect.poll(() => send.keys.length).toBeGreaterThan(1);
    expect(new Set(send.keys).size).toBe(1);
    send.when = 'never';
    client.wake();
    expect([await first, await second]).toMatchObject([{ balanceAfterCoins: 10 }, { balanceAfterCoins: 0 }]);
  });

  test('keeps its place although the clock goes back', async () => {
    const store = new TestStore();
    const installId = freshId();
    {
      using offline = player(service.url, { installId, fetch: losing('before') }, store);
      // The clock is ahead for this operation only: the service runs in this process too.
      const [{ now }, { setItem }] = [Date, store];
      store.setItem = (...kept) => {
        [Date.now, store.setItem] = [now, setItem];
        setItem(...kept);
      };
      Date.now = () => now() + 1e10;
      void offline.coins.credit({ coins: 10 });
      await offline.coins.debit({ coins: 10 }, { timeoutMs: 20 });
    }
    using next = player(service.url, { installId, fetch: losing('never') }, store);
    await expect.poll(() => next.settled.map(([{ type }, { ok }]) => `${type} ${ok}`)).toEqual(['credit true', 'debit true']);
    expect(await next.coins.credit({ coins: 1 })).toMatchObject({ ok: true });
  });

  test('does not end with an answer of another server', async () => {
    let isOther = true;
    const send: Fetch = (url, init) =>
      isOther && url.endsWith('/credit') ? ((isOther = false), Promise.resolve(new Response('{"ok":true}'))) : fetch(url, init);
    using client = player(service.url, { fetch: send });
    expect(await client.coins.credit({ coins: 5 })).toEqual({ ok: true, balanceAfterCoins: 5 });
  });

  test('outlives a session that ended, and can be discarded', async () => {
    using client = player(service.url, { installId: undefined });
    await client.store.provision({ token: await issue(service, freshId('user')) });
    const { accountId, sessionToken } = await client.who();
    await service.post('/v1/logout', {}, { headers: { authorization: `Bearer ${sessionToken}` } });
    expect(await client.coins.credit({ coins: 5 })).toMatchObject({ ok: false, pending: true, error: { code: 'session_required' } });
    expect(await client.coins.debit({ coins: 5 })).toMatchObject({ ok: false, pending: true, error: { code: 'sign_in_required' } });
    expect([client.kept.operations, accountId]).toEqual([2, (await client.who()).accountId]);
    await client.discardHeld();
    expect(client.kept.operations).toBe(0);
  });
});

describe('operations of an account', () => {
  test('of a guest are finished as operations of the account that the guest moved into', async () => {
    const send = losing('never');
    using client = player(service.url, { fetch: send, installId: undefined });
    const token = await issue(service, freshId('user'));
    await client.coins.credit({ coins: 1 });
    send.when = 'before';
    await client.coins.credit({ coins: 5 }, { timeoutMs: 20 });
    expect(await client.store.provision({ token })).toMatchObject({ ok: true, moved: true });
    send.when = 'never';
    client.wake();
    await expect.poll(() => client.settled.length).toBe(2);
    expect(client.settled[1]).toMatchObject([{ coins: 5 }, { ok: true, balanceAfterCoins: 6 }]);
    // The next sign-out leaves an install that is no longer valid, so the client makes a new one.
    const { installId } = await client.who();
    await client.sessions.logout();
    expect((await client.who()).installId).not.toBe(installId);
    expect(await client.coins.balance()).toEqual({ ok: true, balanceCoins: 0 });
  });

  test('wait while another account is signed in, and are finished when their account signs in again', async () => {
    const send = losing('never');
    using client = player(service.url, { fetch: send, installId: undefined });
    const [ada, bob] = [await issue(service, freshId('ada')), await issue(service, freshId('bob'))];
    await client.store.provision({ token: ada });
    send.when = 'before';
    await client.coins.credit({ coins: 5 }, { timeoutMs: 20 });
    await client.store.provision({ token: bob });
    send.when = 'never';
    client.wake();
    await expect.poll(() => client.settled).toMatchObject([[{ coins: 5 }, { pending: true }]]);
    // Operations of other accounts go on.
    expect(await client.coins.credit({ coins: 7 })).toEqual({ ok: true, balanceAfterCoins: 7 });
    expect(client.kept.operations).toBe(1);
    await client.store.provision({ token: ada });
    await expect.poll(() => client.settled.at(-1)).toMatchObject([{ coins: 5 }, { ok: true, balanceAfterCoins: 5 }]);
    expect(client.kept.operations).toBe(0);
  });
});

describe('an outbox', () => {
  /** Answers every operation at once. */
  const answering =
    (keys: string[]): Fetch =>
    async (_, init) => {
      keys.push((JSON.parse(init.body!) as Operation).key);
      return new Response('{"ok":true,"balanceAfterCoins":1}');
    };

  test('of 10,000 operations is finished in order', async () => {
    const store = new TestStore();
    const offline: Fetch = () => Promise.reject(new TypeError('offline'));
    const wanted = Array.from({ length: 10_000 }, (_, number) => `key-${number}`);
    {
      using client = player('https://coinop.example', { fetch: offline, installId: 'install-0001' }, store);
      for (const key of wanted) void client.coins.credit({ coins: 1, key });
      await expect.poll(() => store.operations).toBe(10_000);
    }
    const keys: string[] = [];
    using next = player('https://coinop.example', { fetch: answering(keys), installId: 'install-0001' }, store);
    await expect.poll(() => keys.length).toBe(10_000);
    expect(keys).toEqual(wanted);
    await expect.poll(() => [store.operations, next.settled.length]).toEqual([0, 10_000]);
  });

  test('of two clients loses nothing and uses one key for each operation', async () => {
    const store = new TestStore();
    const installId = freshId();
    const [one, two] = [losing('before'), losing('before')];
    using first = player(service.url, { installId, fetch: one }, store);
    const mine = first.coins.credit({ coins: 5, key: 'of-one' });
    await expect.poll(() => one.keys.length).toBeGreaterThan(0);
    using second = player(service.url, { installId, fetch: two }, store);
    const other = second.coins.credit({ coins: 7, key: 'of-two' });
    await expect.poll(() => two.keys.length).toBeGreaterThan(0);
    one.when = two.when = 'never';
    first.wake();
    second.wake();
    expect([await mine, await other]).toMatchObject([{ ok: true }, { ok: true }]);
    await expect.poll(() => store.operations).toBe(0);
    expect(await balanceOf(installId)).toBe(12);
    expect(new Set([...one.keys, ...two.keys])).toEqual(new Set(['of-one', 'of-two']));
  });

  test.each([
    '{',
    'null',
    '[1,2]',
    '[{"type":"credit"},7]',
    '[{"type":"grant","coins":1,"key":"k"},"iinstall-0001"]',
    '[{"type":"credit","coins":1,"key":"k"},"iÄ\u4f60 x"]',
  ])('drops the damaged entry %j', async (text) => {
    const store = new TestStore();
    store.setItem('coinop:op:000000001x', text);
    using client = player(service.url, {}, store);
    expect(await client.coins.credit({ coins: 5 })).toMatchObject({ ok: true });
    expect(store.operations).toBe(0);
  });
});

test('an outbox works if the browser forbids Web Locks', async () => {
  vi.stubGlobal('navigator', { locks: { request: () => Promise.reject(new DOMException('denied', 'SecurityError')) } });
  using client = player(service.url, { store: undefined, installId: undefined });
  vi.unstubAllGlobals();
  expect(await client.coins.credit({ coins: 5 })).toMatchObject({ ok: true });
});

describe('a store', () => {
  test('that cannot be read for a moment loses neither the install nor its operations', async () => {
    const store = new TestStore();
    const installId = freshId();
    store.setItem('coinop:me', JSON.stringify({ installId }));
    store.setItem('coinop:op:000000001x', JSON.stringify([{ type: 'credit', coins: 5, key: 'kept' }, `i${installId}`]));
    const before = new Map(store.kept);
    const { getItem } = store;
    store.getItem = () => {
      throw new Error('SQLITE_BUSY');
    };
    {
      using client = player(service.url, {}, store);
      expect(await client.coins.balance()).toMatchObject({ ok: true });
    }
    expect(store.kept).toEqual(before);
    store.getItem = getItem;
    using next = player(service.url, {}, store);
    await expect.poll(() => next.settled).toMatchObject([[{ key: 'kept' }, { ok: true }]]);
    expect(await balanceOf(installId)).toBe(5);
  });

  test('that is full leaves the operation in memory, and the client warns once', async () => {
    const store = new TestStore();
    store.setItem = () => {
      throw new Error('QuotaExceededError');
    };
    const send = losing('before');
    using client = player(service.url, { fetch: send }, store);
    const pending = client.coins.credit({ coins: 5 });
    await expect.poll(() => send.keys.length).toBeGreaterThan(0);
    send.when = 'never';
    client.wake();
    expect(await pending).toMatchObject({ ok: true });
    expect(await client.coins.credit({ coins: 5 })).toMatchObject({ ok: true, balanceAfterCoins: 10 });
    expect(client.warnings).toEqual(['coinop: data in memory: Error: QuotaExceededError']);
  });

  test.each([
    [
      'forbidden',
      (): never => {
        throw new Error('SecurityError');
      },
      1,
    ],
    ['slow', () => sleep(5), 0],
  ] as const)('that is %s stops no call', async (_, first, warnings) => {
    const kept = new TestStore();
    const store = {
      getItem: async (key: string) => (await first(), kept.getItem(key)),
      setItem: async (key: string, value: string) => (await first(), kept.setItem(key, value)),
      removeItem: async (key: string) => (await first(), kept.removeItem(key)),
      getAllKeys: async () => (await first(), kept.getAllKeys()),
    };
    using client = player(service.url, { store });
    const { installId } = await client.who();
    const both = Promise.all([client.coins.credit({ coins: 5 }), client.coins.debit({ coins: 5 })]);
    expect(await both).toMatchObject([{ ok: true }, { ok: true }]);
    expect([(await client.who()).installId, client.warnings.length]).toEqual([installId, warnings]);
    await expect.poll(() => kept.operations).toBe(0);
  });

  test('that is damaged stops no call', async () => {
    const store = new TestStore();
    store.setItem('coinop:me', '{"installId":');
    using client = player(service.url, { installId: undefined }, store);
    expect(await client.coins.balance()).toMatchObject({ ok: true });
  });

  test.each([
    [undefined, ['coinop: data in memory: no store']],
    [null, []],
  ])('that is missing causes one warning, unless the game says that it has none', async (store, warnings) => {
    using client = player(service.url, { store });
    expect(await client.coins.credit({ coins: 5 })).toMatchObject({ ok: true });
    expect(client.warnings).toEqual(warnings);
  });

  test('with two names holds two players', async () => {
    const store = new TestStore();
    using ada = player(service.url, { name: 'ada', installId: undefined }, store);
    using bob = player(service.url, { name: 'bob', installId: undefined }, store);
    await ada.coins.credit({ coins: 5 });
    expect(await bob.coins.balance()).toEqual({ ok: true, balanceCoins: 0 });
    expect((await ada.who()).installId).not.toBe((await bob.who()).installId);
  });
});
