import { afterAll, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { deviceHash } from '../../src/features/trial/model.ts';
import { Refusal } from '../../src/errors.ts';
import { operations } from '../../src/operator/endpoints.ts';
import { judge } from '../../src/operator/operation.ts';
import { keyOperations } from '../../src/operator/server-keys.ts';
import { forFile, freshId, signIn } from '../harness.ts';
import { keyChangesOf } from '../server-keys.ts';
import { signInToStore } from '../store.ts';
import { openDesk, openParts } from './parts.ts';

/** What the question of a change already says of its refusal, and what the change then answers. */

const { service, change, account } = await forFile(openDesk());
const { parts, [Symbol.dispose]: closeParts } = openParts(service);
afterAll(closeParts);
const { redis } = service.service;
const reason = 'test';

/** What the console would show in place of the question: a code, `nothing`, or '' for the question. */
async function foreseen(name: string, input: object): Promise<string> {
  const declared = [...operations, ...keyOperations].find((each) => each.name === name)!;
  const judged = await judge(declared, declared.input.parse({ reason, ...input }), parts, { by: 'test', role: 'admin' }).catch(
    (error) => error,
  );
  if (judged instanceof Refusal) return judged.code;
  return 'reply' in judged ? 'nothing' : (judged.change.foreseen?.code ?? '');
}

const codeOf = async (path: string, body: object): Promise<string> => (await change(path, body)).body.error?.code ?? '';

/** An account that has a standing, and no fields. */
async function unused(): Promise<string> {
  const accountId = accountIdOf(freshId());
  await parts.bans.ban(accountId, { until: undefined, reason });
  return accountId;
}

test('changes that write fields of an account foresee that it has none', async () => {
  const accountId = await unused();
  const device = freshId('device');
  await service.post('/v1/trial/touch', { deviceId: device });
  const until = new Date(service.now() + 86_400_000).toISOString();
  for (const [verb, fields] of [
    ['give', { until }],
    ['rename', { name: 'Ada' }],
    ['note', { text: 'called' }],
  ] as const) {
    expect([verb, await foreseen(`accounts ${verb}`, { accountId, ...fields })]).toEqual([verb, 'account_not_found']);
    expect([verb, await codeOf(`/accounts/${accountId}/${verb}`, fields)]).toEqual([verb, 'account_not_found']);
  }
  expect(await foreseen('trials restart', { device, account: accountId })).toBe('account_not_found');
});

test('changes that would change nothing say so, and the log does not have them', async () => {
  const { accountId } = await account(1);
  expect(await foreseen('accounts unname', { accountId })).toBe('nothing');
  expect((await change(`/accounts/${accountId}/unname`)).body).toEqual({ ok: true, accountId, hadName: false });
  const { id } = (await change('/webhooks', { url: 'https://play.example.com/coinop' })).body;
  expect(await foreseen('webhooks enable', { id })).toBe('nothing');
  expect(await foreseen('webhooks disable', { id })).toBe('');
  await change(`/webhooks/${id}/disable`);
  expect(await foreseen('webhooks disable', { id })).toBe('nothing');
  expect((await change(`/webhooks/${id}/disable`)).body.logged).toBeUndefined();
});

test('a preview foresees that the session or sign-in to be ended does not exist, or that the sign-in is the last one', async () => {
  const { body } = await signInToStore(service, freshId('user'), {});
  const { accountId } = body;
  const [{ id: signIn }] = (await service.get('/v1/account/sign-ins', await signInToStore(service, freshId('user'), {}))).body.signIns;
  expect(await foreseen('accounts remove-sign-in', { accountId, signIn })).toBe('sign_in_not_found');
  expect(await codeOf(`/accounts/${accountId}/remove-sign-in`, { signIn })).toBe('sign_in_not_found');
  expect(await foreseen('accounts remove-sign-in', { accountId, signIn: accountId })).toBe('last_sign_in');
  expect(await codeOf(`/accounts/${accountId}/remove-sign-in`, { signIn: accountId })).toBe('last_sign_in');
  expect(await foreseen('accounts end-session', { accountId, session: '0.abcdefgh' })).toBe('session_not_found');
  expect(await codeOf(`/accounts/${accountId}/end-session`, { session: '0.abcdefgh' })).toBe('session_not_found');
});

test('a save of a banned account, a restart that never was, and full lists are foreseen', async () => {
  const { installId, accountId } = await account(1);
  const session = await signIn(service, installId);
  await service.post('/v1/saves/pebble-drop/slot-1', { data: { level: 1 } }, { cookies: session });
  await change(`/accounts/${accountId}/ban`);
  const save = { accountId, game: 'pebble-drop', name: 'slot-1', version: 1 };
  expect(await foreseen('saves bring-back', save)).toBe('account_banned');
  expect(await codeOf(`/accounts/${accountId}/saves/pebble-drop/slot-1/bring-back`, { version: 1 })).toBe('account_banned');

  const device = freshId('device');
  await service.post('/v1/trial/touch', { deviceId: device });
  expect(await foreseen('trials restore', { device: deviceHash(device) })).toBe('no_trial');
  expect(await codeOf('/trials/restore', { device })).toBe('no_trial');

  const full = (await account(1)).accountId;
  for (let count = 0; count < 100; count++) await change(`/accounts/${full}/note`, { text: `note ${count}` });
  expect(await foreseen('accounts note', { accountId: full, text: 'one more' })).toBe('invalid_request');
  expect(await codeOf(`/accounts/${full}/note`, { text: 'one more' })).toBe('invalid_request');
  expect(await codeOf(`/accounts/${full}/note`, { text: 'note 1' })).toBe('');

  const other = (await account(1)).accountId;
  const names = Array.from({ length: 10_000 }, (_, index) => [`name-${index}`, 'Ada']).flat();
  await redis.hset('{given-names}', 'version', '1', ...names);
  expect(await foreseen('accounts rename', { accountId: other, name: 'Ada' })).toBe('invalid_request');
  expect(await codeOf(`/accounts/${other}/rename`, { name: 'Ada' })).toBe('invalid_request');
  await redis.del('{given-names}');

  const { id } = await keyChangesOf(service).create({
    name: 'old',
    scopes: ['coins'],
    role: undefined,
    game: undefined,
    expiresAt: undefined,
  });
  expect(await foreseen('keys rotate', { id })).toBe('');
  await keyChangesOf(service).revoke(id);
  expect(await foreseen('keys rotate', { id })).toBe('invalid_request');
});
