import fc from 'fast-check';
import { expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { audited } from '../../consistency/audited.ts';
import { forFile, freshId, type RequestOptions, start } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { historyOf, signInToStore } from '../../store.ts';
import { sized } from '../../sized.ts';
import { ofLedgers, withOrigin } from './with-origin.ts';

/**
 * Credits, debits, bought coins, refunds, adjustments, moves and retention in random order give the answers of a naive model, which
 * searches lists of entries.
 */

const DAY_MS = 86_400_000;
const KEPT_DAYS = 30;
const GUESTS = 3;
const USERS = 2;

interface Entry {
  readonly operation: string;
  readonly coins: number;
  readonly after: number;
  readonly key: string;
  readonly at: number;
}

/** An account in the model. */
class Account {
  readonly entries: Entry[] = [];
  readonly guests: Account[] = [];
  readonly name: string;
  movedTo: Account | undefined;

  constructor(name: string) {
    this.name = name;
  }

  get balance(): number {
    return this.entries.at(-1)?.after ?? 0;
  }

  append(operation: string, coins: number, key: string, at: number): void {
    this.entries.push({ operation, coins, after: this.balance + coins, key, at });
  }

  /** The entries of a key, in the order of their priority. */
  under(key: string): Entry[] {
    return [this, ...this.guests].flatMap(({ entries }) => entries.filter((entry) => entry.key === key && entry.operation !== 'm'));
  }

  /** Deletes at most two old entries, after a new one. */
  retain(at: number): void {
    for (let deleted = 0; deleted < 2 && this.entries.length > 1 && this.entries[0]!.at < at - KEPT_DAYS * DAY_MS; deleted++)
      this.entries.shift();
  }

  /** The answer to a credit, a debit or an adjustment. */
  operate(operation: string, coins: number, key: string, at: number): object {
    const used = this.under(key);
    const same = used.find((entry) => entry.operation === operation && entry.coins === coins);
    if (same !== undefined) return { balanceAfterCoins: Math.max(0, same.after), replayed: true, ...shown(this.balance) };
    if (used.length > 0) return { code: 'key_reused' };
    if (coins < 0 && this.balance + coins < 0) return { code: 'insufficient_coins', ...shown(this.balance) };
    this.append(operation, coins, key, at);
    this.retain(at);
    const { balanceCoins, ...debt } = shown(this.balance);
    return { balanceAfterCoins: balanceCoins, ...debt };
  }

  book(coins: number, key: string, at: number): object {
    const [same] = this.under(key);
    if (same !== undefined) return { word: 'replayed', coins: same.coins, balanceAfter: same.after, balance: this.balance };
    this.append('booking', coins, key, at);
    this.retain(at);
    return { word: 'done', coins, balanceAfter: this.balance, balance: this.balance };
  }

  moveInto(target: Account, at: number): void {
    const coins = this.balance;
    if (coins !== 0) {
      this.append('m', -coins, target.name, at);
      target.append('m', coins, this.name, at);
    }
    this.movedTo = target;
    target.guests.push(this);
  }
}

function shown(balance: number): { balanceCoins: number; debtCoins?: number } {
  return balance < 0 ? { balanceCoins: 0, debtCoins: -balance } : { balanceCoins: balance };
}

type Step =
  | { do: 'credit' | 'purchase' | 'debit' | 'adjust'; who: number; coins: number; key: string }
  | { do: 'topup' | 'refund'; who: number; coins: number; key: string }
  | { do: 'move'; who: number; user: number }
  | { do: 'wait'; days: number };

const who = fc.nat(GUESTS + USERS - 1);
const coins = fc.integer({ min: 1, max: 20 });
const key = fc.constantFrom('a', 'b', 'c d', ' ', '__proto__', 'constructor', 'A', 'a ', '12 34 c5', '{x}');
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom('credit' as const, 'purchase' as const, 'debit' as const, 'adjust' as const),
      who,
      coins,
      key,
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constantFrom('topup' as const, 'refund' as const, 'refund' as const), who, coins, key }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('move' as const), who: fc.nat(GUESTS - 1), user: fc.nat(USERS - 1) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const), days: fc.constantFrom(1, 20, 31) }) },
);

const settings = { LEDGER_RETENTION_DAYS: String(KEPT_DAYS) };
const redis = await forFile(startRedis());
const service = await forFile(start({ redis: redis.location, settings, stoppedClock: true }));
const origin = await withOrigin(service, settings);

test('random operations on balances above and below 0 answer as a naive model does', async () => {
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 60 }), run), { numRuns: sized(3, 12) });
  expect(ofLedgers((await audited(redis.location, { now: service.now })).findings)).toEqual([]);
});

async function run(steps: Step[]): Promise<void> {
  const installs = Array.from({ length: GUESTS }, () => freshId());
  const users = await Promise.all(
    Array.from({ length: USERS }, async () => {
      const subject = freshId('subject');
      const { body, cookies } = await signInToStore(service, subject);
      return { subject, cookies, accountId: body.accountId as string };
    }),
  );
  const accounts = [...installs.map(accountIdOf), ...users.map(({ accountId }) => accountId)].map((id) => new Account(id));

  /** The account that acts for a moved guest, and its name in requests. */
  const actor = (index: number): { account: Account; body: object; options: RequestOptions } => {
    const named = accounts[index]!;
    const account = named.movedTo ?? named;
    const user = users.find(({ accountId }) => accountId === account.name);
    return user === undefined
      ? { account, body: { installId: installs[index] }, options: {} }
      : { account, body: {}, options: { cookies: user.cookies } };
  };

  for (const one of steps) {
    const at = service.now();
    if (one.do === 'wait') {
      service.advance(one.days * DAY_MS);
      // Sessions end after 30 days.
      for (const user of users) user.cookies = (await signInToStore(service, user.subject)).cookies;
    } else if (one.do === 'move') {
      const [guest, target] = [accounts[one.who]!, accounts[GUESTS + one.user]!];
      if (guest.movedTo !== undefined) continue;
      const { body } = await signInToStore(service, users[one.user]!.subject, { installId: installs[one.who]! });
      const { balanceCoins: movedCoins, debtCoins: movedDebtCoins } = shown(guest.balance);
      expect([body.moved, body.movedCoins, body.movedDebtCoins]).toEqual([true, movedCoins, movedDebtCoins]);
      guest.moveInto(target, at);
    } else if (one.do === 'topup' || one.do === 'refund') {
      const booked = one.do === 'topup' ? one.coins : -one.coins;
      const outcome = await origin.bookings.book(accounts[one.who]!.name, {
        type: one.do,
        coins: booked,
        key: ['google', one.key],
        refusesBanned: false,
      });
      const { account } = actor(one.who);
      expect(outcome).toEqual({ accountId: account.name, ...account.book(booked, `${one.do}·google·${one.key}`, at) });
    } else if (one.do === 'adjust') {
      const { account } = actor(one.who);
      const adjusted = one.coins % 2 === 0 ? one.coins : -one.coins;
      const { accountId: _, field: __, ...outcome } = await origin.adjust({ accountId: accounts[one.who]!.name }, adjusted, one.key);
      expect(outcome).toEqual(account.operate('a', adjusted, one.key, at));
    } else {
      const { account, body, options } = actor(one.who);
      const { body: reply } = await service.post(`/v1/coins/${one.do}`, { ...body, coins: one.coins, key: one.key }, options);
      const { ok, error, ...fields } = reply;
      const { message: _, field: __, ...refusal } = error ?? {};
      const signed = one.do === 'debit' ? -one.coins : one.coins;
      expect(ok ? fields : refusal).toEqual(account.operate(one.do[0]!, signed, one.key, at));
    }
  }

  for (const { cookies, accountId } of users) {
    const account = accounts.find(({ name }) => name === accountId)!;
    expect((await service.get('/v1/balance', { cookies })).body).toEqual({ ok: true, ...shown(account.balance) });
    const entries = [account, ...account.guests].flatMap((each) => each.entries);
    const history = await historyOf(service, cookies);
    const figures = (list: { coins: number; after: number }[]) => list.map((each) => `${each.coins} ${each.after}`).toSorted();
    expect(figures(history.map((entry) => ({ coins: entry.coins, after: entry.balanceAfterCoins })))).toEqual(figures(entries));
  }
}
