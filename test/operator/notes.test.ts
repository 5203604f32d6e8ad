import { expect, test } from 'vitest';
import { forFile, freshId } from '../harness.ts';
import { signInToStore } from '../store.ts';
import { logged, openDesk } from './parts.ts';

/** Notes of operators on accounts. */

const { service, id, read, change, newest, account } = await forFile(openDesk({ role: 'support' }));

const write = async (accountId: string, text: string, reason = 'ticket 4711') =>
  (await change(`/accounts/${accountId}/note`, { text, reason })).body;
const notesOf = async (accountId: string) => (await read(`/accounts/${accountId}`)).body.notes;

test('a note shows its operator, time and ticket to operators only, and in the timeline', async () => {
  const { installId, accountId } = await account(1);
  const { note, ...rest } = await write(accountId, 'Called about a lost phone.');
  expect(rest).toEqual({ ok: true, accountId, wasThere: false, logged });
  const written = { id: note, at: expect.any(String), by: `key:${id}`, reason: 'ticket 4711', text: 'Called about a lost phone.' };
  expect(await notesOf(accountId)).toEqual([written]);
  const [{ at }] = await notesOf(accountId);
  expect((await read(`/accounts/${accountId}/timeline?kind=note`)).body.moments).toEqual([
    { at, kind: 'note', by: `key:${id}`, text: 'Called about a lost phone. (ticket 4711)' },
  ]);
  // The log outlives the account.
  expect(await newest()).toMatchObject([{ action: 'accounts note', what: { account: accountId, note }, why: 'ticket 4711' }]);
  expect(JSON.stringify(await newest())).not.toContain('phone');
  expect(JSON.stringify((await service.get(`/v1/account/export?installId=${installId}`)).body)).not.toContain('phone');
});

test('a repeated note is written once, and a removed one is gone', async () => {
  const { accountId } = await account(1);
  const { note } = await write(accountId, 'once');
  expect(await write(accountId, 'once')).toMatchObject({ note, wasThere: true });
  expect(await notesOf(accountId)).toHaveLength(1);
  const drop = async () => (await change(`/accounts/${accountId}/drop-note`, { note })).body;
  expect(await drop()).toEqual({ ok: true, accountId, wasThere: true, logged });
  expect(await drop()).toEqual({ ok: true, accountId, wasThere: false });
  expect(await notesOf(accountId)).toEqual([]);
});

test('notes move with a guest, and are erased with the account', async () => {
  const [guest, owner, subject] = [await account(1), await account(1), freshId('user')];
  const { accountId } = (await signInToStore(service, subject, { installId: owner.installId })).body;
  const { note } = await write(accountId, 'of the owner');
  await write(guest.accountId, 'of the guest');
  await signInToStore(service, subject, { installId: guest.installId });
  const texts = async () => (await notesOf(accountId)).map(({ text }: { text: string }) => text).toSorted();
  expect(await texts()).toEqual(['of the guest', 'of the owner']);
  expect(await write(guest.accountId, 'later')).toMatchObject({ accountId });
  expect(await service.service.redis.exists(`{${accountId}}:notes`)).toBe(1);
  const admin = await forFile(openDesk());
  expect((await admin.change(`/accounts/${accountId}/delete`)).body).toMatchObject({ ok: true });
  await expect.poll(() => service.service.redis.exists(`{${accountId}}:notes`)).toBe(0);
  expect((await write(accountId, 'too late')).error.code).toBe('account_deleted');
  expect((await change(`/accounts/${accountId}/drop-note`, { note })).body.error.code).toBe('account_deleted');
});

test('a text that is too long, empty or of several lines is refused, and so is one on a full or unknown account', async () => {
  const { accountId } = await account(1);
  for (const text of ['', ' ', 'a'.repeat(501), 'two\nlines', '\u202e'])
    expect((await write(accountId, text)).error).toMatchObject({ code: 'invalid_request', field: 'text' });
  expect((await write(accountId, 'ä'.repeat(500))).ok).toBe(true);
  for (let count = 2; count <= 100; count++) await write(accountId, `note ${count}`);
  expect((await write(accountId, 'one more')).error).toMatchObject({ code: 'invalid_request', field: 'text' });
  expect((await write(accountId, 'note 2')).wasThere).toBe(true);
  expect((await write('a'.repeat(22), 'x')).error.code).toBe('account_not_found');
});
