import { describe, expect, test } from 'vitest';
import { standingKey } from '../../../src/accounts/account-keys.ts';
import { ban } from '../../../src/accounts/ban.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import type { Booking, BookingOutcome } from '../../../src/features/coins/bookings.ts';
import { moveKeys } from '../../../src/features/guest-moves/model.ts';
import { forFile, freshId, signIn, start } from '../../harness.ts';
import { historyOf, signInToStore } from '../../store.ts';
import { peopleOf, person } from '../sign-in/people.ts';
import { withOrigin } from './with-origin.ts';

/** Coins that the service itself books. Moves and retention of bookings: grant.test.ts. */

const service = await forFile(start({ settings: { COIN_AUTHORITY: 'server', CREDIT_DAILY_CAP: '5', REQUIRE_INSTALL_PROOF: 'credit' } }));
const origin = await withOrigin(service);

const topup = (coins: number, ...key: string[]): Booking => ({ type: 'topup', coins, key, refusesBanned: false });
const refund = (coins: number, ...key: string[]): Booking => ({ type: 'refund', coins, key, refusesBanned: false });
const prize = (coins: number, ...key: string[]): Booking => ({ type: 'prize', coins, key, refusesBanned: true });

const book = (installId: string, booking: Booking): Promise<BookingOutcome> => origin.bookings.book(accountIdOf(installId), booking);

test('the service books bought coins, a refund and a prize, past the bounds for callers, and shows their types and keys in the history', async () => {
  const installId = freshId();
  const accountId = accountIdOf(installId);
  const outcome = { word: 'done', accountId, coins: 500, balanceAfter: 500, balance: 500 };
  expect(await book(installId, topup(500, 'google', 'GPA.3301'))).toEqual(outcome);
  expect(await book(installId, refund(-200, 'google', 'GPA.3301', '1'))).toMatchObject({ word: 'done', coins: -200, balanceAfter: 300 });
  expect(await book(installId, refund(200, 'google', 'GPA.3301', '2'))).toMatchObject({ word: 'done', coins: 200, balanceAfter: 500 });
  expect(await book(installId, prize(1_000_000, 'pebble-drop', '2026-W48'))).toMatchObject({ word: 'done', balanceAfter: 1_000_500 });
  const at = expect.any(String);
  expect(await historyOf(service, await signIn(service, installId))).toEqual([
    { id: '4', type: 'prize', coins: 1_000_000, balanceAfterCoins: 1_000_500, key: 'prize·pebble-drop·2026-W48', at },
    { id: '3', type: 'refund', coins: 200, balanceAfterCoins: 500, key: 'refund·google·GPA.3301·2', at },
    { id: '2', type: 'refund', coins: -200, balanceAfterCoins: 300, key: 'refund·google·GPA.3301·1', at },
    { id: '1', type: 'topup', coins: 500, balanceAfterCoins: 500, key: 'topup·google·GPA.3301', at },
  ]);
});

test('50 bookings at once under one key book it once, and each answer has the coins of the entry', async () => {
  const installId = freshId();
  const outcomes = await Promise.all(Array.from({ length: 50 }, (_, index) => book(installId, topup(index < 25 ? 7 : 8, 'google', 'a'))));
  expect(outcomes.filter(({ word }) => word === 'done')).toHaveLength(1);
  expect(new Set(outcomes.map((outcome) => 'coins' in outcome && outcome.coins))).toEqual(new Set([7]));
  expect(await origin.linesOf({ installId })).toEqual([expect.stringMatching(/^1:7 t7 \w+ topup·google·a$/)]);
});

test('an account with 10^12 coins gets no more, and the key stays unused', async () => {
  const installId = freshId();
  await origin.adjust({ installId }, 1e12, 'a');
  expect(await book(installId, prize(1, 'pebble-drop', 'a'))).toEqual({ word: 'balance_limit', accountId: accountIdOf(installId) });
  await origin.adjust({ installId }, -1, 'b');
  expect(await book(installId, prize(1, 'pebble-drop', 'a'))).toMatchObject({ word: 'done', balance: 1e12 });
});

test('a banned account gets the coins that it bought, but no prize; a deleted one gets nothing, and is not created again', async () => {
  const installId = freshId();
  const accountId = accountIdOf(installId);
  await book(installId, prize(3, 'pebble-drop', 'before'));
  await ban(accountId, {}, { scripts: origin.scripts, now: service.now });
  expect(await book(installId, topup(5, 'google', 'a'))).toMatchObject({ word: 'done', balance: 8 });
  expect(await book(installId, refund(-5, 'google', 'a'))).toMatchObject({ word: 'done', balance: 3 });
  expect(await book(installId, prize(5, 'pebble-drop', 'during'))).toEqual({ word: 'banned', accountId });
  expect(await book(installId, prize(3, 'pebble-drop', 'before'))).toMatchObject({ word: 'replayed', coins: 3 });
  const deleted = freshId();
  await book(deleted, topup(5, 'google', 'a'));
  const { confirm } = (await service.post('/v1/account/delete', { installId: deleted })).body;
  expect((await service.post('/v1/account/delete', { installId: deleted, confirm })).status).toBe(200);
  expect(await book(deleted, topup(5, 'google', 'a'))).toEqual({ word: 'deleted', accountId: accountIdOf(deleted) });
  expect(await origin.linesOf({ installId: deleted })).toEqual([]);
});

/** An account that is about to move into another one. */
interface Mover {
  readonly accountId: string;
  /** A request of the account, which finishes its move. */
  ask(): Promise<unknown>;
  /** @returns the id of the other account */
  move(): Promise<string>;
}

const movers: readonly [name: string, make: () => Promise<Mover>][] = [
  [
    'a guest that moves into a store account',
    async () => {
      const installId = freshId();
      return {
        accountId: accountIdOf(installId),
        ask: () => service.get(`/v1/balance?installId=${installId}`),
        move: async () => (await signInToStore(service, freshId('subject'), { installId })).body.accountId,
      };
    },
  ],
  [
    'an account that is merged into another one',
    async () => {
      const { enter, merge } = peopleOf(service);
      const [one, other] = [await enter(person()), await enter(person('apple'))];
      return {
        accountId: other.accountId,
        ask: () => service.get('/v1/balance', other),
        move: async () => ((await merge(one, other)).body.merged === true ? one.accountId : 'not merged'),
      };
    },
  ],
];

test.each(movers)('%s has each topup, refund and prize once if each arrives twice meanwhile', async (_, make) => {
  const { accountId, ask, move } = await make();
  await origin.bookings.book(accountId, topup(1, 'google', 'first'));
  origin.scripts.helpMove = async () => void (await ask());
  const moving = move();
  let [moved, booked] = [false, 0];
  void moving.then(() => (moved = true));
  const done: Promise<BookingOutcome>[] = [];
  while (!moved || booked < 50) {
    const key = String(booked);
    const booking = [topup(3, 'google', key), refund(-1, 'google', key, '1'), prize(2, 'pebble-drop', key)][booked++ % 3]!;
    done.push(origin.bookings.book(accountId, booking), origin.bookings.book(accountId, booking));
    await done.at(-1);
  }
  const [target, ...outcomes] = await Promise.all([moving, ...done]);
  const once = outcomes.filter(({ word }) => word === 'done');
  expect(once).toHaveLength(booked);
  expect(new Set(outcomes.map((outcome) => outcome.accountId))).toEqual(new Set([accountId, target]));
  const coins = once.reduce((sum, outcome) => sum + ('coins' in outcome ? outcome.coins : 0), 1);
  expect(await origin.bookings.book(target, topup(1, 'google', 'first'))).toMatchObject({ word: 'replayed', balance: coins });
});

describe('a guest that moves into a store account', () => {
  // A request of the frozen guest finishes its move.
  const helpMovesOf = (installId: string): void => {
    origin.scripts.helpMove = async () => void (await service.get(`/v1/balance?installId=${installId}`));
  };

  test('gets a booking in the right account once an interrupted move has been finished', async () => {
    const installId = freshId();
    await book(installId, topup(1, 'google', 'a'));
    const [guestId, { body }] = [accountIdOf(installId), await signInToStore(service, freshId('subject'))];
    const { redis } = service.service;
    await redis.set(moveKeys.record(body.accountId, 'move-0001'), `open ${guestId}`, 'EX', 30);
    await redis.set(standingKey(guestId), `~move-0001 ${body.accountId} sandbox 2026-11-22\n`);
    helpMovesOf(installId);
    expect(await book(installId, topup(2, 'google', 'b'))).toMatchObject({ word: 'done', accountId: body.accountId, balanceAfter: 3 });
  });
});

test('no caller can send a key of the service, and keys that differ in the dot are different keys', async () => {
  const installId = freshId();
  const debit = async (key: string) => (await service.post('/v1/coins/debit', { installId, coins: 1, key })).body.error.code;
  expect(await debit('prize·pebble-drop·a')).toBe('invalid_request');
  expect(await debit('prize\u00c2\u00b7pebble-drop')).toBe('invalid_request');
  await origin.adjust({ installId }, 5, 'prize.pebble-drop.a');
  expect(await book(installId, prize(5, 'pebble-drop', 'a'))).toMatchObject({ word: 'done', balance: 10 });
});

test.each<[why: string, booking: Booking]>([
  ['no coins', topup(0, 'google', 'a')],
  ['coins that a topup does not take', topup(-1, 'google', 'a')],
  ['a prize below 0', prize(-1, 'game', 'a')],
  ['more than 10^12 coins', topup(1e12 + 1, 'google', 'a')],
  ['half a coin', refund(-0.5, 'google', 'a')],
  ['a key without parts', topup(1)],
  ['an empty part', topup(1, 'google', '')],
  ['a dot in a part', topup(1, 'google·a')],
  ['a line break', topup(1, 'google', 'a\nb')],
  ['a long key', topup(1, 'google', 'a'.repeat(243))],
])('refuses %s before it asks Redis', async (_, booking) => {
  await expect(book(freshId(), booking)).rejects.toThrow(RangeError);
});
