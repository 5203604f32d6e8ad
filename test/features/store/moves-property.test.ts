import fc from 'fast-check';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountIdOf, storeAccountIdOf } from '../../../src/accounts/ids.ts';
import { standingKey } from '../../../src/accounts/account-keys.ts';
import { coinKeys } from '../../../src/features/coins/model.ts';
import { audited } from '../../consistency/audited.ts';
import { freshId, sleep, start, type RequestOptions, type TestReply, type TestService } from '../../harness.ts';
import { startRedis, type OwnRedis } from '../../own-redis.ts';
import { RedisLink } from '../../realtime/redis-link.ts';
import { historyOf } from '../../store.ts';

/**
 * Random moves, credits and debits reach two processes whose Redis connections break at random. Afterwards every answered
 * operation must be in a ledger once, and every balance must be the sum of its history.
 */

const INSTALLS = 4;
const SUBJECTS = 3;

type Step =
  | { do: 'credit' | 'debit'; install: number; coins: number; key: string; at: number; again: boolean }
  | { do: 'move'; install: number; subject: number; at: number }
  | { do: 'cut'; at: number };

const place = fc.nat(1);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom('credit' as const, 'credit' as const, 'debit' as const),
      install: fc.nat(INSTALLS - 1),
      coins: fc.integer({ min: 1, max: 20 }),
      key: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'),
      at: place,
      again: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('move' as const), install: fc.nat(INSTALLS - 1), subject: fc.nat(SUBJECTS - 1), at: place }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cut' as const), at: place }) },
);

let redis: OwnRedis;
let links: RedisLink[];
let services: TestService[];
/** The test's own connection, which no step cuts. */
let direct: Redis;
beforeAll(async () => {
  redis = await startRedis();
  ({ redis: direct } = redis);
  links = await Promise.all([0, 1].map(() => RedisLink.open(redis.location.socketPath)));
  services = await Promise.all(links.map((link) => start({ redis: link.location })));
});
afterAll(async () => {
  await Promise.all(services.map((service) => service[Symbol.asyncDispose]()));
  await Promise.all(links.map((link) => link[Symbol.asyncDispose]()));
  await redis[Symbol.asyncDispose]();
});

/** Repeats a request until the answer is not 503, as an app does with the same key. */
async function untilAnswered(send: () => Promise<TestReply>): Promise<TestReply> {
  for (let tries = 0; tries < 100; tries++) {
    const reply = await send();
    if (reply.status !== 503) return reply;
    // The pause of an app between two tries.
    await sleep(20);
  }
  throw new Error('never answered');
}

/** The expected balances after steps taken one after the other. */
class Model {
  readonly #ledgers = new Map<string, { balance: number; operations: Map<string, string> }>();
  readonly #movedTo = new Map<string, string>();

  ownerOf(install: number): string {
    return this.#movedTo.get(`install ${install}`) ?? `install ${install}`;
  }

  balanceOf(owner: string): number {
    return this.#ledger(owner).balance;
  }

  move(install: number, subject: number): void {
    const guest = `install ${install}`;
    const account = `subject ${subject}`;
    if (this.#movedTo.has(guest)) return;
    this.#movedTo.set(guest, account);
    this.#ledger(account).balance += this.#ledger(guest).balance;
  }

  apply(install: number, type: 'credit' | 'debit', coins: number, key: string): void {
    const owner = this.ownerOf(install);
    const known = [owner, ...[...this.#movedTo].flatMap(([guest, account]) => (account === owner ? [guest] : []))];
    if (known.some((one) => this.#ledger(one).operations.has(key))) return;
    const ledger = this.#ledger(owner);
    const after = ledger.balance + (type === 'credit' ? coins : -coins);
    if (after < 0) return;
    ledger.balance = after;
    ledger.operations.set(key, `${type} ${coins}`);
  }

  #ledger(owner: string) {
    const ledger = this.#ledgers.get(owner) ?? { balance: 0, operations: new Map<string, string>() };
    this.#ledgers.set(owner, ledger);
    return ledger;
  }
}

/** An operation that was answered with 200. */
interface Done {
  install: number;
  type: 'credit' | 'debit';
  coins: number;
  key: string;
}

async function run(steps: readonly Step[], atOnce: boolean): Promise<void> {
  const installs = Array.from({ length: INSTALLS }, () => freshId());
  const subjects = Array.from({ length: SUBJECTS }, () => freshId('subject'));
  const done: Done[] = [];

  const take = async (one: Step): Promise<void> => {
    const service = services[one.at]!;
    if (one.do === 'cut') {
      links[one.at]!.cut('commands');
      links[one.at]!.restore();
    } else if (one.do === 'move') {
      const { token } = await issueSurely(service, subjects[one.subject]!);
      const reply = await untilAnswered(() => service.post('/v1/account/store-provision', { token, installId: installs[one.install] }));
      expect([reply.status, reply.body.error]).toEqual([200, undefined]);
    } else {
      const { install, coins, key, do: type } = one;
      const send = (options: RequestOptions) => service.post(`/v1/coins/${type}`, { installId: installs[install], coins, key }, options);
      const asked = Array.from({ length: one.again ? 2 : 1 }, () => asApp(service, installs[install]!, subjects, send));
      const replies = await Promise.all(asked);
      if (replies.some(({ status }) => status === 200)) done.push({ install, type, coins, key });
      for (const { status, body } of replies) expect([200, 409, 422], JSON.stringify(body)).toContain(status);
    }
  };
  if (atOnce) await Promise.all(steps.map(take));
  else await inOrder(steps, take, installs, subjects);

  // The account and session of each install after all moves.
  const [service] = services as [TestService];
  const owners = new Map<string, { cookies: string }>();
  for (const installId of installs) {
    const target = await movedTo(installId, subjects);
    const reply =
      target === undefined ? await untilAnswered(() => service.post('/v1/login', { installId })) : await signInAs(service, target);
    owners.set(reply.body.accountId, { cookies: reply.cookies[0]! });
  }
  let total = 0;
  const entries = [];
  for (const owner of owners.values()) {
    const balance = await untilAnswered(() => service.get('/v1/balance', owner));
    const history = await historyOf(service, owner.cookies, 7);
    expect(history.reduce((sum, { coins }) => sum + coins, 0)).toBe(balance.body.balanceCoins);
    expect(new Set(history.map(({ id }) => id)).size).toBe(history.length);
    total += balance.body.balanceCoins;
    entries.push(...history);
  }
  // Merge entries cancel out over all accounts. The rest are operations, and every answered one is among them.
  const operations = entries.filter(({ type }) => type !== 'merge');
  expect(entries.filter(({ type }) => type === 'merge').reduce((sum, { coins }) => sum + coins, 0)).toBe(0);
  expect(total).toBe(operations.reduce((sum, { coins }) => sum + coins, 0));
  for (const { type, coins, key } of done) {
    expect(operations.some((entry) => entry.type === type && Math.abs(entry.coins) === coins && entry.key === key)).toBe(true);
  }
  await onceEach(installs);
  expect((await audited(redis.location)).findings).toEqual([]);
}

/** The subject of the account that an install moved into. */
async function movedTo(installId: string, subjects: readonly string[]): Promise<string | undefined> {
  const record = await direct.get(standingKey(accountIdOf(installId)));
  return subjects.find((subject) => record === `>${storeAccountIdOf('sandbox', subject)}`);
}

async function signInAs(service: TestService, subject: string): Promise<TestReply> {
  const { token } = await issueSurely(service, subject);
  return untilAnswered(() => service.post('/v1/account/store-provision', { token }));
}

/** Sends a request as an app does: by installId, and after the install moved by a session of the store sign-in. */
async function asApp(
  service: TestService,
  installId: string,
  subjects: readonly string[],
  send: (options: RequestOptions) => Promise<TestReply>,
): Promise<TestReply> {
  const reply = await untilAnswered(() => send({}));
  if (reply.body.error?.code !== 'sign_in_required') return reply;
  const { cookies } = await signInAs(service, (await movedTo(installId, subjects))!);
  return untilAnswered(() => send({ cookies }));
}

async function inOrder(
  steps: readonly Step[],
  take: (step: Step) => Promise<void>,
  installs: readonly string[],
  subjects: readonly string[],
): Promise<void> {
  const model = new Model();
  for (const one of steps) {
    await take(one);
    if (one.do === 'move') model.move(one.install, one.subject);
    else if (one.do !== 'cut') model.apply(one.install, one.do, one.coins, one.key);
  }
  for (const [install, installId] of installs.entries()) {
    const { body } = await asApp(services[0]!, installId, subjects, (options) =>
      services[0]!.get('/v1/balance', { headers: { 'x-install-id': installId }, ...options }),
    );
    expect(body.balanceCoins).toBe(model.balanceOf(model.ownerOf(install)));
  }
}

async function issueSurely(service: TestService, subject: string): Promise<{ token: string }> {
  const reply = await untilAnswered(() => service.post('/sandbox/issue', { kind: 'id_token', subject }));
  expect([reply.status, reply.body.error]).toEqual([200, undefined]);
  return reply.body as { token: string };
}

/** Checks that every ledger holds each key once. */
async function onceEach(installs: readonly string[]): Promise<void> {
  const store = services[0]!.service.redis;
  for (const installId of installs) {
    const guestId = accountIdOf(installId);
    const target = (await store.get(standingKey(guestId)))?.replace('>', '');
    const ledgers = target === undefined ? [coinKeys.ledger(guestId)] : [coinKeys.guestLedger(target, guestId), coinKeys.ledger(target)];
    for (const ledger of ledgers) {
      const keys = (await store.lrange(ledger, 0, -1)).map((entry) => entry.split(' ').slice(3).join(' '));
      expect(new Set(keys).size, `${keys}`).toBe(keys.length);
    }
  }
}

describe('coins are conserved', () => {
  test('when random operations come one after the other', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), (steps) => run(steps, false)),
      { numRuns: 12 },
    );
  });

  test('when random operations come all at once', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), (steps) => run(steps, true)),
      { numRuns: 12 },
    );
  });
});
