import { describe, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { forFile, freshId, start, type TestReply, type TestService } from '../harness.ts';
import { makeServerKey } from '../server-keys.ts';
import { Browser, consoleSignIn, signedIn } from './sign-in/person.ts';
import { Provider } from './sign-in/provider.ts';

/** The yes of a second person above TWO_PERSON_COINS, and how people try to do without. */
let clock: (() => number) | undefined;
const provider = await forFile(Provider.start(() => clock?.() ?? Date.now()));
const settings = { ADMIN_API: 'on', CONSOLE_SIGN_IN: consoleSignIn(provider), TWO_PERSON_COINS: '1000', ECONOMIST_DAILY_COINS: '50000' };
const service: TestService = await forFile(start({ settings }));
clock = service.now;

const reason = 'test';
const HOUR_MS = 3_600_000;

async function anAccount(): Promise<string> {
  const installId = freshId();
  await service.post('/v1/coins/credit', { installId, coins: 5000, key: 'welcome' });
  return accountIdOf(installId);
}

/** The person at the provider of each browser. */
const accountOf = new Map<Browser, NonNullable<Provider['current']>>();

async function person(...groups: string[]): Promise<Browser> {
  const browser = await signedIn(service, provider, freshId('person'), ...groups);
  accountOf.set(browser, provider.current!);
  return browser;
}

/** Signs the person of another browser in, in this one. */
async function signInAs(browser: Browser, other: Browser): Promise<void> {
  provider.current = accountOf.get(other)!;
  expect(await browser.signIn()).toBe('/console');
}

const adjust = (by: Browser, accountId: string, coins: number, key = freshId('t')): Promise<TestReply> =>
  by.change('accounts adjust', `/v1/admin/accounts/${accountId}/adjust`, { accountId, coins, key, reason });
/** Sends the change although the page would not. */
const force = (by: Browser, accountId: string, coins: number): Promise<TestReply> =>
  by.post(`/v1/admin/accounts/${accountId}/adjust`, { coins, key: freshId('t'), reason });
const asking = (by: Browser, operation: string, input: object): Promise<TestReply> =>
  by.change('requests ask', '/console/requests', { operation, input, reason });
const asksFor = async (by: Browser, accountId: string, coins: number, key = freshId('t')): Promise<string> => {
  const { status, body } = await asking(by, 'accounts adjust', { accountId, coins, key, reason });
  expect([status, body.error]).toEqual([200, undefined]);
  return body.request.id;
};
const answer = (by: Browser, id: string, word: 'approve' | 'refuse' = 'approve'): Promise<TestReply> =>
  by.change(`requests ${word}`, `/console/requests/${id}/${word}`, { id, reason });
const balanceOf = async (by: Browser, accountId: string): Promise<number> =>
  (await by.get(`/v1/admin/accounts/${accountId}`)).body.balanceCoins;

test('above the bound a change waits for another person, and then happens once as the change of the person who asked', async () => {
  const [ada, ben, accountId] = [await person('economists'), await person('economists'), await anAccount()];
  const asked = await ada.post('/console/ask', { operation: 'accounts adjust', input: { accountId, coins: 1001, key: 'a', reason } });
  expect(asked.body).toMatchObject({
    secondPerson: expect.stringContaining('TWO_PERSON_COINS'),
    leftAlone: 1000,
    limits: [
      'Today you have changed 0 of at most 50000 coins (ECONOMIST_DAILY_COINS).',
      'Alone you may change 1000 coins within 24 hours (TWO_PERSON_COINS): you have changed 0, and this is 1001 more.',
    ],
  });
  expect((await force(ada, accountId, 1001)).body.error).toMatchObject({ code: 'forbidden', needs: 'second_person' });
  const id = await asksFor(ada, accountId, 1001);
  expect(await balanceOf(ada, accountId)).toBe(5000);
  const done = await answer(ben, id);
  expect(done.body).toMatchObject({ id, result: { balanceAfterCoins: 6001 } });
  const [bys, { entries }] = [
    await Promise.all([ada, ben].map(async (each) => (await each.get('/console/session')).body.by)),
    (await ben.get(`/v1/admin/log?account=${accountId}`)).body,
  ];
  expect(entries.map(({ action, by }: { action: string; by: string }) => [action, by])).toEqual([
    ['accounts adjust', bys[0]],
    ['requests approve', bys[1]],
    ['requests ask', bys[0]],
  ]);
  expect(entries[0]).toMatchObject({ what: { approvedBy: bys[1] }, outcome: { word: 'done' } });
  expect((await ben.get(`/v1/admin/log?operator=${bys[1]}&action=accounts`)).body.entries).toHaveLength(1);
  const { requests } = (await ada.get('/console/requests')).body;
  expect(requests[0]).toMatchObject({ id, state: 'approved', answeredBy: bys[1], coins: 1001 });
});

describe('the sum of 24 hours', () => {
  test('counts by the operator over all accounts, and what was approved does not count as done alone', async () => {
    const [ada, ben] = [await person('economists'), await person('economists')];
    const accounts = await Promise.all(Array.from({ length: 4 }, anAccount));
    expect((await adjust(ada, accounts[0]!, 500)).status).toBe(200);
    expect((await adjust(ada, accounts[1]!, -500)).status).toBe(200);
    expect((await force(ada, accounts[2]!, 1)).body.error).toMatchObject({ needs: 'second_person', aloneCoins: 1000 });
    expect((await answer(ben, await asksFor(ada, accounts[2]!, 4000))).status).toBe(200);
    service.advance(23 * HOUR_MS);
    const again = new Browser(service, provider);
    await signInAs(again, ada);
    expect((await force(again, accounts[3]!, 1)).body.error.needs).toBe('second_person');
    service.advance(HOUR_MS);
    await signInAs(again, ada);
    expect((await adjust(again, accounts[3]!, 1000)).status).toBe(200);
  });

  test('counts by the account over all operators, a guest and the account that it moved into as one', async () => {
    const accountId = await anAccount();
    expect((await adjust(await person('economists'), accountId, 600)).status).toBe(200);
    const ben = await person('economists');
    expect((await force(ben, accountId, 401)).body.error).toMatchObject({
      needs: 'second_person',
      message: expect.stringContaining('one account'),
    });
    expect((await adjust(ben, accountId, 400)).status).toBe(200);
    const grant = (entries: object[]) =>
      ben.post('/console/ask', { operation: 'coins grant', input: { entries, key: freshId('g'), reason } });
    expect((await grant([{ account: accountId, coins: 1 }])).body.secondPerson).toContain('one account');
  });

  test('counts a bulk by its total, split or not, and 40 changes at once', async () => {
    const [ada, ben] = [await person('economists'), await person('economists')];
    const accounts = await Promise.all(Array.from({ length: 3 }, anAccount));
    const input = { entries: accounts.map((account) => ({ account, coins: 400 })), key: freshId('bulk'), reason };
    expect((await ada.post('/console/ask', { operation: 'coins grant', input })).body.secondPerson).toContain('more than 1000');
    const id = (await asking(ada, 'coins grant', input)).body.request.id;
    expect((await answer(ben, id)).body.result.results.map(({ outcome }: { outcome: string }) => outcome)).toEqual([
      'granted',
      'granted',
      'granted',
    ]);
    const carl = await person('economists');
    const at = await Promise.all(
      (await Promise.all(Array.from({ length: 20 }, anAccount))).map((accountId) => adjust(carl, accountId, 100)),
    );
    expect(at.filter(({ status }) => status === 200)).toHaveLength(10);
    expect(at.filter(({ body }) => body.error?.needs === 'second_person')).toHaveLength(10);
  });

  test('does not count a replay, a repetition, or what the account refuses', async () => {
    const [ada, accountId] = [await person('economists'), await anAccount()];
    for (let times = 0; times < 3; times++) expect((await adjust(ada, accountId, 600, 'same')).status).toBe(200);
    for (let times = 0; times < 3; times++) {
      const other = await anAccount();
      await ada.change('accounts ban', `/v1/admin/accounts/${other}/ban`, { accountId: other, reason });
      expect((await adjust(ada, other, 300)).body.error.code).toBe('account_banned');
    }
    expect((await adjust(ada, await anAccount(), 400)).status).toBe(200);
  });
});

describe('no other approval counts', () => {
  test('than that of another person: not one’s own by a second session, and none of a server key', async () => {
    const [ada, accountId] = [await person('admins'), await anAccount()];
    const id = await asksFor(ada, accountId, 2000);
    const second = new Browser(service, provider);
    await signInAs(second, ada);
    for (const own of [ada, second])
      expect((await answer(own, id)).body.error).toMatchObject({ code: 'forbidden', message: expect.stringContaining('yourself') });
    const { token } = await makeServerKey(service, ['admin'], { role: 'admin' });
    for (const [path, body] of [
      [`/console/requests/${id}/approve`, { reason }],
      [`/console/requests/${id}/refuse`, { reason }],
      ['/console/requests', { operation: 'accounts adjust', input: { accountId, coins: 2000, key: 'k', reason }, reason }],
    ] as const)
      expect((await service.post(path, body, { bearer: token })).body.error.code).toBe('forbidden');
    const direct = await service.post(`/v1/admin/accounts/${accountId}/adjust`, { coins: 1001, key: 'k', reason }, { bearer: token });
    expect(direct.body.error).toMatchObject({
      code: 'forbidden',
      needs: 'second_person',
      message: expect.stringContaining('a server key cannot'),
    });
    expect(await balanceOf(ada, accountId)).toBe(5000);
  });

  test('than the first of two at once', async () => {
    const [ada, ben, carl, accountId] = [await person('economists'), await person('economists'), await person('admins'), await anAccount()];
    const id = await asksFor(ada, accountId, 2000);
    const replies = await Promise.all([ben, carl, ben, carl].map((each) => answer(each, id)));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await balanceOf(ada, accountId)).toBe(7000);
    expect((await answer(ben, id)).body.error.code).toBe('invalid_request');
  });

  test('than one within a day, and none after a rejection', async () => {
    const [ada, accountId] = [await person('economists'), await anAccount()];
    const [late, refused, withdrawn] = [
      await asksFor(ada, accountId, 2000),
      await asksFor(ada, accountId, 2001),
      await asksFor(ada, accountId, 2002),
    ];
    const ben = await person('economists');
    expect((await answer(ben, refused, 'refuse')).status).toBe(200);
    expect((await answer(ada, withdrawn, 'refuse')).status).toBe(200);
    for (const id of [refused, withdrawn]) expect((await answer(ben, id)).body.error.code).toBe('invalid_request');
    service.advance(24 * HOUR_MS);
    const later = await person('economists');
    expect((await answer(later, late)).body.error.code).toBe('invalid_request');
    expect((await later.get('/console/requests')).body.requests.find(({ id }: { id: string }) => id === late).state).toBe('ended');
    expect(await balanceOf(later, accountId)).toBe(5000);
  });

  test('than by a role that may make the change, for a person whose role still may', async () => {
    const [ada, accountId] = [await person('economists'), await anAccount()];
    const self = provider.current!;
    const ids = [await asksFor(ada, accountId, 2000), await asksFor(ada, accountId, 2001)] as const;
    expect((await answer(await person('helpers'), ids[0])).body.error).toMatchObject({ code: 'forbidden', role: 'economist' });
    // The role of the person who asked is lowered in between, and then taken away.
    self.groups = ['readers'];
    service.advance(15 * 60_000);
    expect((await ada.get('/console/session')).status).toBe(401);
    const ben = await person('economists');
    expect((await answer(ben, ids[0])).body.error).toMatchObject({ code: 'forbidden', role: 'economist' });
    provider.current = { ...self, groups: ['others'] };
    expect(await ada.signIn()).toBe('/console#/why/no_group');
    expect((await answer(ben, ids[1])).body.error).toMatchObject({ code: 'forbidden', message: expect.stringContaining('no role') });
    expect(await balanceOf(ben, accountId)).toBe(5000);
  });

  test('than to the change as it is at the yes', async () => {
    const [ada, ben, accountId] = [await person('economists'), await person('economists'), await anAccount()];
    const id = await asksFor(ada, accountId, 2000);
    const { seen } = (await ben.post('/console/ask', { operation: 'requests approve', input: { id, reason } })).body;
    expect((await adjust(ada, accountId, 10)).status).toBe(200);
    expect((await ben.post(`/console/requests/${id}/approve`, { reason }, seen)).body.error).toMatchObject({ needs: 'confirmation' });
    await ben.change('accounts ban', `/v1/admin/accounts/${accountId}/ban`, { accountId, reason });
    expect((await answer(ben, id)).body.error.code).toBe('account_banned');
    expect(await balanceOf(ben, accountId)).toBe(5010);
  });
});

test('nobody makes a key in the console with which coins could be given alone', async () => {
  const ada = await person('admins');
  const fields = { name: 'mine', expiresInDays: 1, reason };
  for (const key of [{ scopes: ['coins'] }, { scopes: ['admin'] }, { role: 'support' }, { role: 'viewer', scopes: ['rooms', 'coins'] }])
    expect([key, (await ada.change('keys create', '/console/keys', { ...fields, ...key })).body.error]).toMatchObject([
      key,
      { code: 'forbidden', message: expect.stringContaining('only the tool makes keys') },
    ]);
  const made = await makeServerKey(service, ['coins']);
  const rotated = await ada.change('keys rotate', `/console/keys/${made.id}/rotate`, { id: made.id, expiresInDays: 1, reason });
  expect(rotated.body.error.code).toBe('forbidden');
  for (const key of [{ scopes: ['rooms'] }, { role: 'viewer' }])
    expect((await ada.change('keys create', '/console/keys', { ...fields, ...key })).status).toBe(200);
  expect((await ada.change('keys revoke', `/console/keys/${made.id}/revoke`, { id: made.id, reason })).status).toBe(200);
});

test('the bound of a role and day holds for corrections and grants together, with a yes too', async () => {
  const [ada, ben] = [await person('economists'), await person('economists')];
  const account = await anAccount();
  expect((await answer(ben, await asksFor(ada, account, 49_500))).status).toBe(200);
  const grant = { entries: [{ account: await anAccount(), coins: 501 }], key: freshId('g'), reason };
  expect((await ada.post('/console/ask', { operation: 'coins grant', input: grant })).body.error).toMatchObject({
    code: 'forbidden',
    leftCoins: 500,
    role: 'admin',
  });
  expect((await asking(ada, 'coins grant', grant)).body.error.leftCoins).toBe(500);
});

test('a grant that is taken back counts as coins, and above the bound waits for another person', async () => {
  const [ada, ben] = [await person('economists'), await person('economists')];
  const [account, key] = [await anAccount(), freshId('g')];
  const entries = [{ account, coins: 1500 }];
  const { body } = await asking(ada, 'coins grant', { entries, key, reason });
  expect((await answer(ben, body.request.id)).status).toBe(200);
  const back = { accounts: [account], key, reason };
  const path = '/v1/admin/coins/take-back';
  expect((await ada.change('coins take-back', path, back)).body.error).toMatchObject({ code: 'forbidden', needs: 'second_person' });
  const { request } = (await asking(ada, 'coins take-back', back)).body;
  expect(request).toMatchObject({ operation: 'coins take-back', coins: 1500 });
  expect((await answer(ada, request.id)).body.error.code).toBe('forbidden');
  expect((await answer(ben, request.id)).body.result.results).toMatchObject([{ outcome: 'taken', takenCoins: 1500 }]);
  expect(await balanceOf(ada, account)).toBe(5000);
  // What was taken back before counts nothing more.
  expect((await ada.change('coins take-back', path, back)).body.results).toMatchObject([{ outcome: 'replayed', takenCoins: 1500 }]);
});

test('without CONSOLE_SIGN_IN nobody is the second person, and the start says so; a wrong request is refused', async () => {
  const logLines: string[] = [];
  await using alone = await start({ settings: { ADMIN_API: 'on', TWO_PERSON_COINS: '0' }, logLines });
  const { token } = await makeServerKey(alone, ['admin'], { role: 'admin' });
  const path = `/v1/admin/accounts/${await anAccount()}/adjust`;
  expect((await alone.post(path, { coins: 1, key: 'a', reason }, { bearer: token })).body.error.needs).toBe('second_person');
  const ada = await person('economists');
  for (const [operation, input] of [
    ['accounts ban', { accountId: 'a'.repeat(22), reason }],
    ['coins grant', { entries: [{ account: 'a', coins: 1 }], key: 'k', reason, dryRun: true }],
    ['accounts adjust', { accountId: 'x' }],
  ] as const)
    expect((await asking(ada, operation, input)).body.error.code).toBe('invalid_request');
  expect((await answer(ada, `${'a'.repeat(16)}.${'b'.repeat(8)}`)).body.error.code).toBe('invalid_request');
});
