import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { accountKey, standingKey } from '../../../src/accounts/account-keys.ts';
import { sessionsKey } from '../../../src/accounts/session-list.ts';
import { DELETIONS_DUE, TOMBSTONES } from '../../../src/accounts/tombstones.ts';
import { coinKeys } from '../../../src/features/coins/model.ts';
import { boardKeys } from '../../../src/features/highscores/model.ts';
import { audited } from '../../consistency/audited.ts';
import { freshId, start, type TestService } from '../../harness.ts';
import { startRedis, type OwnRedis } from '../../own-redis.ts';
import { pair } from '../sessions/paired.ts';
import { issue, signInToStore } from '../../store.ts';

let own: OwnRedis;
let service: TestService;
let redis: Redis;
beforeAll(async () => {
  own = await startRedis();
  service = await start({ redis: own.location });
  ({ redis } = own);
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await own[Symbol.asyncDispose]();
});

async function deletedGuest(): Promise<string> {
  const installId = freshId();
  await service.post('/v1/coins/credit', { installId, coins: 1, key: 'a' });
  const { confirm } = (await service.post('/v1/account/delete', { installId })).body;
  await service.post('/v1/account/delete', { installId, confirm });
  return accountIdOf(installId);
}

const kindsOf = async (): Promise<string[]> => (await audited(own.location)).findings.map(({ kind }) => kind).toSorted();

test('deleted, banned and moved accounts are no drift', async () => {
  const [installId, subject, banned] = [freshId(), freshId('subject'), freshId()];
  await deletedGuest();
  await service.post('/v1/coins/credit', { installId, coins: 1, key: 'a' });
  await service.post('/v1/coins/credit', { installId: banned, coins: 1, key: 'a' });
  await redis.set(standingKey(accountIdOf(banned)), '!0 1 MTIz\n');
  const { body } = await signInToStore(service, subject, { installId });
  await redis.set(standingKey(body.accountId), `!0 1 -\n${await redis.get(standingKey(body.accountId))}`);
  const { findings, counts } = await audited(own.location);
  expect(findings).toEqual([]);
  expect(JSON.stringify(counts)).toContain('tombstones');
});

test.each<[string, (id: string) => Promise<unknown>, string[]]>([
  ['fields of a deleted account', (id) => redis.hset(accountKey(id), 'createdAt', 1), ['deleted_account_left']],
  [
    'sessions of a deleted account',
    (id) => redis.multi().hset(sessionsKey(id), '0.a', 'pairing 1 1 9 Browser').expire(sessionsKey(id), 60).exec(),
    ['deleted_account_left'],
  ],
  ['a ledger of a deleted account', (id) => redis.rpush(coinKeys.ledger(id), '1:5 c5 m a'), ['deleted_account_left']],
  ['a set of boards of a deleted account', (id) => redis.sadd(boardKeys.ofAccount(id), 'game'), ['deleted_account_left']],
  ['a tombstone that the index lacks', (id) => redis.zrem(TOMBSTONES, id), ['tombstone_without_index']],
  ['an account of the index that a backup brought back', (id) => redis.del(standingKey(id)), ['index_without_tombstone']],
  [
    'an account that nobody erases',
    // A queue that holds nothing at all would count as lost.
    (id) =>
      redis
        .multi()
        .set(standingKey(id), '=1\n')
        .zadd(DELETIONS_DUE, Date.now() + 30_000, 'another')
        .exec(),
    ['document_without_queue'],
  ],
])('the audit names %s', async (_, damage, kinds) => {
  const id = await deletedGuest();
  await damage(id);
  const { findings } = await audited(own.location);
  expect(findings.map(({ kind }) => kind).toSorted()).toEqual(kinds);
  expect(new Set(findings.map(({ subject }) => subject))).toEqual(new Set([`account ${id}`]));
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
  expect((await audited(own.location)).findings).toEqual([
    { kind: 'unreadable_record', subject: `account ${body.accountId}`, text: 'Its list of sessions has 2 unreadable entries.' },
  ]);
  for (let count = 0; count < 50; count++) await redis.hset(key, `0.${count}`, 'pairing 1 1 9 x');
  expect(await kindsOf()).toEqual(['too_many_sessions']);
  // The pairing's own entry stays: the audit would miss it.
  await redis.hdel(key, ...(await redis.hkeys(key)).filter((name) => /^0\.(?:[ab]|\d\d?)$/.test(name)));
});

test('the audit names a member of the queue that is due too late', async () => {
  await redis.zadd(DELETIONS_DUE, Date.now() + 3_600_000, 'nobody');
  expect(await kindsOf()).toEqual(['queue_without_document']);
  await redis.zrem(DELETIONS_DUE, 'nobody');
});

test('guests of a deleted account that still act on their own are drift', async () => {
  const [subject, installId] = [freshId('subject'), freshId()];
  await service.post('/v1/coins/credit', { installId, coins: 1, key: 'a' });
  await signInToStore(service, subject, { installId });
  const { token } = await issue(service, { kind: 'id_token', subject });
  const { confirm, accountId } = (await service.post('/v1/account/delete', { token })).body;
  await service.post('/v1/account/delete', { token, confirm });
  await redis.set(standingKey(accountIdOf(installId)), `>${accountId}`);
  expect(await kindsOf()).toEqual(['index_without_tombstone']);
});
