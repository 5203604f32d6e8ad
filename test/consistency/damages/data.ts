import type { Redis } from 'ioredis';
import { expect } from 'vitest';
import { accountKey, standingKey } from '../../../src/accounts/account-keys.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { halfSipHash } from '../../../src/features/coins/key-hash.ts';
import { ledgerKeys } from '../../../src/features/coins/ledger-layout.ts';
import { coinKeys } from '../../../src/features/coins/model.ts';
import { KEY_SECRET } from '../../../src/features/coins/secret-keys.ts';
import { eventKeys } from '../../../src/features/events/model.ts';
import { GIVEN_NAMES } from '../../../src/features/names/model.ts';
import { pairKeys } from '../../../src/features/pairing/model.ts';
import { roomKeys } from '../../../src/features/rooms/model.ts';
import { purchaseHash } from '../../../src/features/purchases/core/purchase-ids.ts';
import { deviceHash } from '../../../src/features/trial/model.ts';
import { freshId, signIn, type TestService } from '../../harness.ts';
import { issue, signInToStore } from '../../store.ts';

/** Real data, made by a service. Each damage then changes some of it by hand. */

export const HOUR_MS = 3_600_000;

/** The service that makes the data, and its Redis. */
export let service: TestService;
export let redis: Redis;

/** Damages are made in this Redis from now on. One test at a time makes them. */
export function useData(of: TestService, client: Redis): void {
  [service, redis] = [of, client];
}

/** Makes a damage, and resolves with the subject that the audit has to name. */
type Make = () => Promise<string>;

/** A damage, with the kind of its one finding. */
export type Damage = { readonly kind: string } & (
  | { /** The commands of its advice put it right. */ readonly mended: Make }
  | { /** It has no advice with commands, because nobody can know the right value without a backup. */ readonly lasting: Make }
);

export const makeOf = (damage: Damage): Make => ('mended' in damage ? damage.mended : damage.lasting);

/** The damages by name. The name describes the damage. */
export type Damages = Readonly<Record<string, Damage>>;

/** Makes something of an account, and damages it. The subject is the account. */
export function ofAccount<Made extends { id: string }>(made: () => Promise<Made>, damage: (made: Made) => Promise<unknown>) {
  return async (): Promise<string> => {
    const each = await made();
    await damage(each);
    return `account ${each.id}`;
  };
}

/** As `ofAccount`, for an account with entries of these coins. */
export const ofCoins = (coins: readonly number[], damage: (id: string) => Promise<unknown>) =>
  ofAccount(
    async () => ({ id: await accountWith(coins) }),
    ({ id }) => damage(id),
  );

/** Adds a member that names no document to a queue. */
export const queuedAlone =
  (queue: string, member: string, subject = `queue ${queue}`): Make =>
  async () => {
    await redis.zadd(queue, Date.now() + 24 * HOUR_MS, member);
    return subject;
  };

/** An account with an entry for each of these coins, under the keys k1, k2, … @returns its account id */
export async function accountWith(coins: readonly number[], installId = freshId()): Promise<string> {
  for (const [index, each] of coins.entries()) {
    const operation = each < 0 ? 'debit' : index % 2 === 0 ? 'credit' : 'purchase';
    const { status } = await service.post(`/v1/coins/${operation}`, { installId, coins: Math.abs(each), key: `k${index + 1}` });
    expect(status).toBe(200);
  }
  return accountIdOf(installId);
}

/** An account with 130 entries: more than one page, in five buckets. */
export async function largeAccount(installId = freshId()): Promise<string> {
  return accountWith(Array<number>(130).fill(7), installId);
}

/** A store account into which a guest moved. */
export async function moved(guest: (installId: string) => Promise<unknown>): Promise<{ guest: string; target: string }> {
  const installId = freshId();
  await guest(installId);
  const { body } = await signInToStore(service, freshId('subject'), { installId });
  expect(body.moved).toBe(true);
  return { guest: accountIdOf(installId), target: body.accountId };
}

/** Buys a subscription. @returns the hash of the purchase, and the account's id */
export async function bought(installId = freshId()): Promise<{ hash: string; id: string }> {
  const { purchaseToken } = await issue(service, { kind: 'subscription' });
  const { body } = await service.post('/v1/subscription/purchase', { installId, purchaseToken });
  expect(body.subscribed).toBe(true);
  return { hash: purchaseHash(purchaseToken), id: accountIdOf(installId) };
}

/** A purchase of coins that is pending, or granted and consumed. */
export async function boughtCoins(state: 'pending' | 'purchased', installId = freshId()) {
  const { purchaseToken } = await issue(service, { kind: 'purchase', state });
  return claimCoins(purchaseToken, installId);
}

export async function claimCoins(purchaseToken: string, installId: string) {
  const { body } = await service.post('/v1/purchases', { installId, store: 'google', purchaseToken });
  expect(body.ok).toBe(true);
  const { purchaseId } = body.purchase;
  const [record, subject] = [`{product-purchase:${purchaseId}}`, `coin-purchase ${purchaseId}`];
  return { purchaseId, installId, id: accountIdOf(installId), purchaseToken, record, subject };
}

/** The store refunds a granted purchase. */
export async function refund({ purchaseToken, installId, record }: Awaited<ReturnType<typeof claimCoins>>): Promise<void> {
  await issue(service, { kind: 'purchase', purchaseToken, refundedQuantity: 1 });
  // The service asks the store again.
  await claimCoins(purchaseToken, installId);
  await expect.poll(() => redis.hmget(record, 'returnedUnits', 'booking')).toEqual(['1', null]);
}

/** Lets each queue of the damages hold something, as that of a busy service does. An empty one counts as lost. */
export async function fillQueues(): Promise<void> {
  await boughtCoins('pending');
  await bought();
  for (const queue of ['moves:due', 'rooms:due', 'bans:due', 'deletions:due'])
    await redis.zadd(queue, Date.now() + 60_000, 'some-entry#written-ahead');
}

export async function player(game: string, score = 10, installId = freshId()): Promise<string> {
  expect((await service.post(`/v1/highscores/${game}`, { installId, score, name: 'Ada' })).status).toBe(200);
  return accountIdOf(installId);
}

/** Deletes an account, and waits until it is erased. Its damage comes before. */
export async function deleteAccount(installId = freshId(), damage: (id: string) => Promise<unknown> = async () => {}): Promise<string> {
  const id = await accountWith([5], installId);
  await damage(id);
  const { confirm } = (await service.post('/v1/account/delete', { installId })).body;
  expect((await service.post('/v1/account/delete', { installId, confirm })).status).toBe(200);
  await expect.poll(() => redis.zscore('deletions:due', id)).toBe(null);
  return id;
}

/** A room of two players with data and a private part, which is damaged then. @param damage gets its key */
export async function room(damage: (key: string) => Promise<unknown>): Promise<string> {
  const [host, guest] = [freshId(), freshId()];
  const { code } = (await service.post('/v1/rooms', { installId: host, tags: { mode: 'duel' } })).body.room;
  const act = async (action: string, installId: string, body: object = {}) =>
    expect((await service.post(`/v1/rooms/${code}/${action}`, { installId, ...body })).status).toBe(200);
  await act('join', guest);
  await act('data', guest, { data: { x: 1 } });
  await act('private', host, { seats: { p2: ['hearts-7'] }, state: { round: 1 } });
  await damage(roomKeys.room(code));
  return `room ${code}`;
}

/** An account with the trial of a device. @returns the hash of the deviceId */
export async function linkedTrial(): Promise<{ id: string; device: string }> {
  const [installId, deviceId] = [freshId(), freshId()];
  await service.post('/v1/trial/touch', { deviceId });
  const cookies = await signIn(service, installId);
  expect((await service.post('/v1/trial/link', {}, { cookies, headers: { 'x-device-id': deviceId } })).status).toBe(200);
  return { id: accountIdOf(installId), device: deviceHash(deviceId) };
}

/** An account to which operators gave a name. */
export async function renamed(): Promise<{ id: string }> {
  const id = await accountWith([5]);
  await redis.hset(accountKey(id), { nameGivenAt: Date.now(), nameGiven: 'Ada', nameGivenBy: 'ada@ops-1', nameGivenReason: 'test' });
  await redis.hset(GIVEN_NAMES, id, 'Ada');
  return { id };
}

/** A banned account whose ban ends in an hour. */
export async function bannedForAnHour(): Promise<{ id: string }> {
  const id = await accountWith([5]);
  await redis.set(standingKey(id), `!${Date.now() + HOUR_MS} ${Date.now()} -\n`);
  return { id };
}

/** An account whose events are in the log. @returns a function that changes the account's event with this number */
export async function told(): Promise<{ id: string; change: (number: number, from: string | RegExp, to: string) => Promise<unknown> }> {
  const id = await accountWith([5, 6]);
  const find = async (number: number): Promise<{ key: string; line: string } | undefined> => {
    for (const chunk of await redis.zrange(eventKeys.chunks, '0', '-1')) {
      const key = eventKeys.chunk(Number(chunk));
      const line = (await redis.lrange(key, '0', '-1')).find((each) => each.split(' ', 4).slice(2).join(' ') === `${id} ${number}`);
      if (line !== undefined) return { key, line };
    }
    return undefined;
  };
  await expect.poll(() => find(3)).toBeDefined();
  return {
    id,
    async change(number, from, to) {
      const { key, line } = (await find(number))!;
      await redis.linsert(key, 'BEFORE', line, line.replace(from, to));
      await redis.lrem(key, 1, line);
    },
  };
}

/** A pairing that an account has claimed, which is damaged then. @param damage gets its key */
export async function pairing(damage: (key: string) => Promise<unknown>): Promise<string> {
  const { token } = (await service.post('/v1/pair/new')).body;
  expect((await service.post('/v1/pair/claim', { token, installId: freshId() })).status).toBe(200);
  await damage(pairKeys.pair(token));
  return `pairing ${token.slice(0, 6)}…`;
}

/** A pairing that was claimed, and whose browser fetched its session. */
export async function paired(): Promise<{ id: string; token: string }> {
  const installId = freshId();
  const { token, secret } = (await service.post('/v1/pair/new', { session: 'token' })).body;
  await service.post('/v1/pair/claim', { token, installId });
  const { body } = await service.get(`/v1/pair/status?token=${token}`, { headers: { 'x-pair-secret': secret } });
  expect(body.sessionToken).toEqual(expect.any(String));
  return { id: accountIdOf(installId), token };
}

export const ledger = (id: string): string => coinKeys.ledger(id);
export const bucket = (id: string, number = 0): string => ledgerKeys.bucket(id, number);

/** The hash of an idempotency key, as the index holds it. */
export async function hashOf(key: string): Promise<string> {
  return String(halfSipHash(Buffer.from((await redis.get(KEY_SECRET))!, 'hex'))(key));
}

export const entryAt = async (id: string, index: number): Promise<string> => (await redis.lindex(ledger(id), index))!;

/** Changes an entry of a ledger, counted from 0. */
export async function rewrite(id: string, index: number, change: (entry: string) => string): Promise<void> {
  await redis.lset(ledger(id), index, change(await entryAt(id, index)));
}

/** An account with entries of these coins, of which one is changed. */
export const rewritten = (coins: readonly number[], index: number, from: string | RegExp, to: string) =>
  ofCoins(coins, (id) => rewrite(id, index, (entry) => entry.replace(from, to)));
