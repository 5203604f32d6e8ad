import { expect, test, vi } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { GrantPace } from '../../src/operator/grant-pace.ts';
import { audited } from '../consistency/audited.ts';
import { forFile, freshId, start } from '../harness.ts';
import { startRedis } from '../own-redis.ts';
import { makeServerKey } from '../server-keys.ts';
import { signInToStore } from '../store.ts';
import { logged, openDesk } from './parts.ts';

/** `POST /v1/admin/coins/take-back`. */

const own = await forFile(startRedis());
const { service, id, read, change, newest, account } = await forFile(openDesk({ redis: own.location, settings: { EVENTS: 'on' } }));

const grant = (key: string, ...accounts: string[]) =>
  change('/coins/grant-many', { entries: accounts.map((each) => ({ account: each, coins: 20 })), key });
const takeBack = (key: string, accounts: readonly string[], more: object = {}) => change('/coins/take-back', { accounts, key, ...more });
const results = async (...call: Parameters<typeof takeBack>) => (await takeBack(...call)).body.results;
const spend = (installId: string, coins: number) => service.post('/v1/coins/debit', { installId, coins, key: freshId() });
const balanceOf = async (accountId: string) => {
  const { balanceCoins, debtCoins = 0 } = (await read(`/accounts/${accountId}`)).body;
  return balanceCoins - debtCoins;
};

test('each account gives back the granted coins that it still has, only once, and the entry names the operator', async () => {
  const [rich, poor, broke] = [await account(5), await account(5), await account(5)];
  const ids = [rich, poor, broke].map(({ accountId }) => accountId);
  await grant('wrong', ...ids);
  await spend(poor.installId, 18);
  await spend(broke.installId, 25);
  const taken = (takenCoins: number, balanceAfterCoins: number, index: number, outcome = 'taken') => ({
    ...{ account: ids[index], outcome, takenCoins, grantedCoins: 20, balanceAfterCoins, grantedTo: ids[index] },
  });
  const expected = [taken(20, 5, 0), taken(7, 0, 1), taken(0, 0, 2)];
  expect(await results('wrong', ids, { dryRun: true })).toEqual(expected);
  expect(await balanceOf(rich.accountId)).toBe(25);
  expect((await takeBack('wrong', ids, { reason: 'ticket 4711' })).body).toEqual({ ok: true, results: expected, logged });
  expect(await newest()).toMatchObject([
    {
      ...{ action: 'coins take-back', what: { accounts: 3, key: 'wrong' }, why: 'ticket 4711' },
      outcome: { word: 'done', coins: 27, taken: 3 },
    },
  ]);
  const { history } = (await read(`/accounts/${poor.accountId}`)).body;
  expect(history[0]).toMatchObject({
    ...{ type: 'adjust', coins: -7, balanceAfterCoins: 0, key: `take-back·${poor.accountId}·wrong` },
    ...{ by: `key:${id}`, reason: 'ticket 4711' },
  });
  // Whoever has coins again gives nothing more, into debt neither.
  await service.post('/v1/coins/credit', { installId: broke.installId, coins: 50, key: 'again' });
  const replayed = [taken(20, 5, 0, 'replayed'), taken(7, 0, 1, 'replayed'), taken(0, 50, 2, 'replayed')];
  expect(await results('wrong', ids, { dryRun: true })).toEqual(replayed);
  expect(await results('wrong', ids, { intoDebt: true })).toEqual(replayed);
  // The log of an account has the grant and that it was taken back.
  expect((await read(`/log?account=${rich.accountId}`)).body.entries.map(({ action }: { action: string }) => action)).toEqual([
    'coins take-back',
    'coins take-back',
    'coins grant',
  ]);
});

test('into debt, accounts owe what they have spent, banned ones too, and deleted ones nothing', async () => {
  const [spent, banned, gone] = [await account(5), await account(5), await account(5)];
  const ids = [spent, banned, gone].map(({ accountId }) => accountId);
  await grant('debt', ...ids);
  await spend(spent.installId, 22);
  await change(`/accounts/${banned.accountId}/ban`);
  await change(`/accounts/${gone.accountId}/delete`);
  expect(await results('debt', ids, { intoDebt: true })).toMatchObject([
    { outcome: 'taken', takenCoins: 20, balanceAfterCoins: 0, debtCoins: 17 },
    { outcome: 'taken', takenCoins: 20, balanceAfterCoins: 5 },
    { account: gone.accountId, outcome: 'deleted' },
  ]);
  expect([await balanceOf(spent.accountId), await balanceOf(banned.accountId)]).toEqual([-17, 5]);
});

test('only grants of operators under the key are taken back, so nobody can make an account give back other coins', async () => {
  const [own, server, other, nobody] = [await account(), await account(5), await account(5), accountIdOf(freshId())];
  // The account used the key itself, so that the grant is refused.
  await service.post('/v1/coins/credit', { installId: own.installId, coins: 9, key: 'mine' });
  const { token: bearer } = await makeServerKey(service, ['coins']);
  await service.post('/v1/coins/credit', { accountId: server.accountId, coins: 9, key: 'mine' }, { bearer });
  await grant('mine', own.accountId, other.accountId);
  const asked = [own.accountId, server.accountId, nobody, 'no id', other.accountId];
  expect((await results('mine', asked)).map(({ outcome }: { outcome: string }) => outcome)).toEqual([
    ...['no_grant', 'no_grant', 'no_grant', 'no_grant', 'taken'],
  ]);
  expect([await balanceOf(own.accountId), await balanceOf(server.accountId)]).toEqual([9, 14]);
  // No caller can use up the key of the entry beforehand.
  const key = `take-back·${other.accountId}·next`;
  expect((await service.post('/v1/coins/credit', { installId: other.installId, coins: 1, key })).body.error.field).toBe('key');
});

test('two operators and repeated lines take each grant back once, also with a key that is too long for that of the entry', async () => {
  const key = 'k'.repeat(255);
  const ids = await Promise.all(Array.from({ length: 30 }, async () => (await account(5)).accountId));
  await grant(key, ...ids);
  const asked = [...ids, ...ids.toReversed()];
  const all = (await Promise.all([results(key, asked), results(key, asked.toReversed()), results(key, ids, { intoDebt: true })])).flat();
  const counted = (word: string) => all.filter(({ outcome }) => outcome === word).length;
  expect([all.length, counted('taken'), counted('replayed')]).toEqual([150, 30, 120]);
  expect(await Promise.all(ids.map(balanceOf))).toEqual(ids.map(() => 5));
});

test('an account gives back what its guests got before they moved, filed or not, each grant once', async () => {
  const [small, large, owner] = [await account(1), await account(1), await account(1)];
  // The ledger of a guest with more than 100 entries is not filed with the account.
  for (let count = 0; count < 105; count++)
    await service.post('/v1/coins/credit', { installId: large.installId, coins: 1, key: `n${count}` });
  const subject = freshId('user');
  const { accountId } = (await signInToStore(service, subject, {})).body;
  await grant('both', small.accountId, large.accountId, owner.accountId, accountId);
  // One guest gives its coins back before it moves.
  expect(await results('both', [owner.accountId])).toMatchObject([{ outcome: 'taken' }]);
  for (const { installId } of [small, large, owner]) await signInToStore(service, subject, { installId });
  expect(await balanceOf(accountId)).toBe(1 + 106 + 1 + 60);
  // Named by the account alone: its own.
  expect(await results('both', [accountId])).toMatchObject([{ outcome: 'taken', grantedTo: accountId }]);
  expect(await results('both', [small.accountId, large.accountId, owner.accountId, accountId, small.accountId])).toMatchObject([
    { outcome: 'taken', movedTo: accountId, grantedTo: small.accountId, takenCoins: 20 },
    { outcome: 'taken', movedTo: accountId, grantedTo: large.accountId, takenCoins: 20 },
    { outcome: 'replayed', movedTo: accountId, grantedTo: owner.accountId },
    { outcome: 'replayed', grantedTo: accountId },
    { outcome: 'replayed', grantedTo: small.accountId },
  ]);
  expect(await balanceOf(accountId)).toBe(1 + 106 + 1);
  // A grant that reached the guest after its move is that of the account.
  await grant('later', small.accountId);
  expect(await results('later', [accountId, small.accountId])).toMatchObject([
    { outcome: 'taken', grantedTo: accountId },
    { outcome: 'replayed', grantedTo: accountId },
  ]);
  // An account whose line was a replay of its guest's grant gives that one back.
  const guest = await account(1);
  await grant('guest', guest.accountId);
  await signInToStore(service, subject, { installId: guest.installId });
  expect(await results('guest', [accountId, guest.accountId])).toMatchObject([
    { outcome: 'taken', grantedTo: guest.accountId },
    { outcome: 'replayed', grantedTo: guest.accountId },
  ]);
  expect(await balanceOf(accountId)).toBe(1 + 106 + 1 + 1);
});

test('a grant that retention forgets cannot be taken back', async () => {
  const settings = { ADMIN_API: 'on', LEDGER_RETENTION_DAYS: '30' };
  await using later = await start({ redis: own.location, settings });
  const [guest, subject] = [await account(1), freshId('user')];
  await grant('old', guest.accountId);
  const { accountId } = (await signInToStore(service, subject, { installId: guest.installId })).body;
  later.advance(31 * 86_400_000);
  const { token: bearer } = await makeServerKey(later, ['admin']);
  const body = { accounts: [accountId, guest.accountId], key: 'old', reason: 'test' };
  expect((await later.post('/v1/admin/coins/take-back', body, { bearer })).body.results).toMatchObject([
    { outcome: 'no_grant' },
    { outcome: 'no_grant' },
  ]);
});

test('a key of support may not, and a body beyond its bounds is refused', async () => {
  const { token: bearer } = await makeServerKey(service, ['admin'], { role: 'support' });
  const body = { accounts: ['a'], key: 'k', reason: 'test' };
  expect((await service.post('/v1/admin/coins/take-back', body, { bearer })).body.error).toMatchObject({
    code: 'forbidden',
    role: 'economist',
  });
  for (const [field, wrong] of [
    ['accounts', []],
    ['accounts', Array.from({ length: 1001 }, () => 'a')],
    ['key', 'ä'],
    ['intoDebt', 'yes'],
  ])
    expect((await change('/coins/take-back', { ...body, [field as string]: wrong })).body.error.code).toBe('invalid_request');
});

test('the audit finds nothing wrong in what was taken back', async () => {
  expect((await audited(own.location)).findings).toEqual([]);
});

test('too many at once have to wait for their turns', async () => {
  const { accountId } = await account(1);
  const begin = vi.spyOn(GrantPace.prototype, 'begin').mockReturnValueOnce(false);
  const { body, headers } = await takeBack('late', [accountId]);
  expect([body.error.code, headers.get('retry-after')]).toEqual(['rate_limited', '1']);
  begin.mockRestore();
});
