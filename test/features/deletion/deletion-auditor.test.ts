import { expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { accountKey, standingKey } from '../../../src/accounts/account-keys.ts';
import { signInEntry, signInsKey } from '../../../src/accounts/sign-ins.ts';
import { sessionsKey } from '../../../src/accounts/session-list.ts';
import { DELETIONS_DUE, TOMBSTONES } from '../../../src/accounts/tombstones.ts';
import { coinKeys } from '../../../src/features/coins/model.ts';
import { boardKeys } from '../../../src/features/highscores/model.ts';
import { audited } from '../../consistency/audited.ts';
import { forFile, freshId, start } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { pair } from '../sessions/paired.ts';
import { deleteAccount, issue, signInToStore } from '../../store.ts';

const own = await forFile(startRedis());
const service = await forFile(start({ redis: own.location }));
const { redis } = own;

const credit = (installId: string) => service.post('/v1/coins/credit', { installId, coins: 1, key: 'a' });

async function deletedGuest(): Promise<string> {
  const installId = freshId();
  await credit(installId);
  return (await deleteAccount(service, { installId })).accountId;
}

// An index of tombstones that holds nothing at all would count as lost.
await deletedGuest();

const kindsOf = async (): Promise<string[]> => (await audited(own.location, { isStill: true })).findings.map(({ kind }) => kind).toSorted();

test.each<[string, (id: string) => Promise<unknown>, string]>([
  ['fields of a deleted account', (id) => redis.hset(accountKey(id), 'createdAt', 1), 'deleted_account_left'],
  [
    'sessions of a deleted account',
    (id) => redis.multi().hset(sessionsKey(id), '0.a', 'pairing 1 1 9 Browser').expire(sessionsKey(id), 60).exec(),
    'deleted_account_left',
  ],
  ['a ledger of a deleted account', (id) => redis.rpush(coinKeys.ledger(id), '1:5 c5 m a'), 'deleted_account_left'],
  ['a set of boards of a deleted account', (id) => redis.sadd(boardKeys.ofAccount(id), 'game'), 'deleted_account_left'],
  ['a tombstone that the index lacks', (id) => redis.zrem(TOMBSTONES, id), 'tombstone_without_index'],
  ['an account of the index that a backup brought back', (id) => redis.del(standingKey(id)), 'index_without_tombstone'],
  [
    'an account that nobody erases',
    // A queue that holds nothing at all would count as lost.
    (id) => Promise.all([redis.set(standingKey(id), '=1\n'), redis.zadd(DELETIONS_DUE, Date.now() + 30_000, 'another#act')]),
    'document_without_queue',
  ],
])('the audit names %s', async (_, damage, kind) => {
  const id = await deletedGuest();
  await damage(id);
  const { findings } = await audited(own.location, { isStill: true });
  expect(findings).toMatchObject([{ kind, subject: `account ${id}` }]);
  await redis.zrem(TOMBSTONES, id);
  await redis.del(standingKey(id), ...(await redis.keys(`{${id}}:*`)));
  expect(await kindsOf()).toEqual([]);
});

test('the audit reads the sessions of accounts, and names entries that their owner would not see', async () => {
  const { body, cookies } = await signInToStore(service, freshId('subject'));
  await pair(service, { cookies }, 'A \u00fc <browser> 1 2');
  expect(await kindsOf()).toEqual([]);
  const key = sessionsKey(body.accountId);
  await redis.hset(key, '0.a', 'sauna 1 1 9 x', '0.b', '');
  expect((await audited(own.location, { isStill: true })).findings).toEqual([
    {
      kind: 'unreadable_record',
      subject: `account ${body.accountId}`,
      text: expect.stringMatching(/^Its list of sessions has 2 texts \("0\.[ab]"\) that cannot be read\.$/),
    },
  ]);
  for (let count = 0; count < 50; count++) await redis.hset(key, `0.${count}`, 'pairing 1 1 9 x');
  expect(await kindsOf()).toEqual(['too_many_sessions', 'unreadable_record']);
  // The pairing's own entry stays: the audit would miss it.
  await redis.hdel(key, ...(await redis.hkeys(key)).filter((name) => /^0\.(?:[ab]|\d\d?)$/.test(name)));
});

test('guests of a deleted account that still act on their own are drift, and moved and banned accounts are none', async () => {
  const [subject, installId] = [freshId('subject'), freshId()];
  await credit(installId);
  const { body } = await signInToStore(service, subject, { installId });
  const standing = (await redis.get(standingKey(body.accountId)))!;
  await redis.set(standingKey(body.accountId), `!0 1 -\n${standing}`);
  expect(await kindsOf()).toEqual([]);
  await redis.set(standingKey(body.accountId), standing);
  const { accountId } = await deleteAccount(service, { token: (await issue(service, { kind: 'id_token', subject })).token });
  await redis.set(standingKey(accountIdOf(installId)), `>${accountId}`);
  expect(await kindsOf()).toEqual(['index_without_tombstone']);
});

test('a deleted account that is not erased yet may name guests and sign-ins that are', async () => {
  const [subject, installId] = [freshId('subject'), freshId()];
  await credit(installId);
  const { body } = await signInToStore(service, subject, { installId });
  const named = (await redis.get(standingKey(body.accountId)))!;
  expect(named).toContain(accountIdOf(installId));
  const { accountId } = await deleteAccount(service, { token: (await issue(service, { kind: 'id_token', subject })).token });
  const [tombstone] = (await redis.get(standingKey(accountId)))!.split('\n');
  await redis.set(standingKey(accountId), `${tombstone}\n${named}`);
  await redis.hset(signInsKey(accountId), accountIdOf(installId), signInEntry.write({ addedAt: 1, usedAt: 1, provider: 'apple' }));
  await redis.zadd(DELETIONS_DUE, Date.now() + 60_000, accountId);
  const ofAccount = { subject: `account ${accountId}` };
  expect((await audited(own.location, { isStill: true })).findings).not.toContainEqual(expect.objectContaining(ofAccount));
});
