import { describe, expect, test } from 'vitest';
import { standingKey } from '../../../src/accounts/account-keys.ts';
import { Refusal } from '../../../src/errors.ts';
import { coinKeys } from '../../../src/features/coins/model.ts';
import { audited } from '../../consistency/audited.ts';
import { forFile, start } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { type Around, callerOf, dyingAt, freshInstall, type Mover, Movers, openMoving } from './mortal.ts';
import { seeded } from '../../seeded.ts';
import { isFullSize, sized } from '../../sized.ts';

/**
 * Several helpers, two sign-ins and coin operations work on one guest at the same time. A seed decides which of them runs the next script.
 * MOVE_SEED=… repeats a run.
 */

const RUNS = Number(process.env['MOVE_RUNS'] ?? sized(10, 60));
const seed = Number(process.env['MOVE_SEED'] ?? (isFullSize ? Math.floor(Math.random() * 2 ** 32) : 7));

const MAX_BALANCE = 1e12;

const { own, service, redis, movers } = await forFile(openMoving());

/** Lets one of the waiting actors run a script at a time. */
class Turns {
  readonly #random: () => number;
  readonly #waiting: (() => Promise<unknown>)[] = [];
  #asked = (): void => {};
  #left = 0;

  constructor(random: () => number) {
    this.#random = random;
  }

  readonly around: Around = (_, call) =>
    new Promise((resolve, reject) => {
      this.#waiting.push(() => call().then(resolve, reject));
      this.#asked();
    });

  actor<Result>(act: () => Promise<Result>): Promise<Result | Error> {
    this.#left++;
    return act()
      .catch((error: unknown) => error as Error)
      .finally(() => this.#left--);
  }

  async run(): Promise<void> {
    while (this.#left > 0) {
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#waiting.length === 0) continue;
      const [next] = this.#waiting.splice(Math.floor(this.#random() * this.#waiting.length), 1);
      // A script of a frozen guest ends only after the scripts of its help, which wait for turns of their own.
      const asked = new Promise<void>((resolve) => (this.#asked = resolve));
      await Promise.race([next!(), asked]);
    }
  }
}

/** A store account whose balance has room for `room` coins more. */
async function storeAccount(room: number): Promise<string> {
  const { accountId } = freshInstall();
  await redis.hset(`{${accountId}}:account`, 'createdAt', 1, 'store', 'sandbox');
  await movers.makeRich(accountId, MAX_BALANCE - room);
  return accountId;
}

async function balanceOf(accountId: string): Promise<number> {
  const last = await redis.lindex(coinKeys.ledger(accountId), -1);
  return Number(/^\d+:(\d+)/.exec(last ?? '0:0')![1]);
}

interface Applied {
  readonly accountId: string;
  readonly operation: string;
  readonly key: string;
  readonly after: string;
}

/** Applies operations one after the other. @returns the acknowledged operations */
async function traffic(accountId: string, operations: readonly string[], mover: Mover): Promise<Applied[]> {
  const applied: Applied[] = [];
  for (const [index, operation] of operations.entries()) {
    const key = `${accountId} traffic ${index}`;
    try {
      const [word, after] = await movers.apply(accountId, operation, key, mover);
      if (word === 'done') applied.push({ accountId, operation, key, after: after! });
    } catch (error) {
      // The guest moved, or it was frozen for longer than a request waits.
      expect(error).toBeInstanceOf(Refusal);
    }
  }
  return applied;
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0);
const coinsOf = (applied: readonly Applied[]): number => sumOf(applied.map(({ operation }) => Number(operation.slice(1))));

async function interleaved(random: () => number): Promise<'moved' | 'refused' | 'stayed'> {
  const below = (count: number): number => Math.floor(random() * count);
  const { accountId: guestId } = freshInstall();
  const entries = [0, 3, 101, 130][below(4)]!;
  // Half of the moves reach the bound of the balance, which depends on the traffic of the account.
  const targets = [await storeAccount(below(2) === 0 ? Math.max(0, 2 * entries + below(20) - 10) : 1e6), await storeAccount(1e6)];
  const mover = movers.mover();
  const before: Applied[] = await Promise.all(
    Array.from({ length: entries }, async (_, index) => {
      const [, after] = await movers.apply(guestId, 'c2', `${guestId} ${index}`, mover);
      return { accountId: guestId, operation: 'c2', key: `${guestId} ${index}`, after: after! };
    }),
  );
  const initial = sumOf(await Promise.all(targets.map(balanceOf))) + 2 * entries;

  const turns = new Turns(random);
  const actor = (dies: boolean): Mover => {
    const dying = dyingAt(1 + below(25));
    return movers.mover(dies ? (script, call) => dying.around(script, () => turns.around(script, call)) : turns.around);
  };
  const signIn = (target: string, signing: Mover) => turns.actor(() => movers.begin(guestId, target, signing));
  const begun = [signIn(targets[0]!, actor(below(3) === 0)), signIn(targets[below(2)]!, actor(below(3) === 0))];
  const helping = [actor(false), actor(below(3) === 0), actor(false)].map((helper) =>
    turns.actor(async () => {
      for (let times = 0; times < 4; times++) {
        await helper.scripts.around('check the queue', () => Promise.resolve(['checked']));
        await movers.work(helper);
      }
    }),
  );
  const operations = (letters: string[]) => Array.from({ length: 5 }, () => `${letters[below(letters.length)]}${1 + below(9)}`);
  const applying = [
    turns.actor(() => traffic(guestId, operations(['c', 'p', 'd-']), actor(false))),
    turns.actor(() => traffic(targets[0]!, operations(['c', 'd-']), actor(false))),
  ];
  await turns.run();
  await Promise.all(helping);
  const applied = [
    ...before,
    ...(await Promise.all(applying)).flatMap((done) => (done instanceof Error ? expect.fail(done.message) : done)),
  ];
  await movers.drained();

  const record = await redis.get(standingKey(guestId));
  const owner = record === null ? guestId : record.slice(1);
  expect([guestId, ...targets]).toContain(owner);
  const answers = await Promise.all(begun);
  const moved = answers.filter((answer) => !(answer instanceof Error) && answer.moved);
  expect(moved.length).toBeLessThanOrEqual(record === null ? 0 : 1);
  const given = moved[0];
  if (given !== undefined && !(given instanceof Error) && given.moved)
    expect(given.coins).toBe(coinsOf(applied.filter(({ accountId }) => accountId === guestId)));

  // Each acknowledged operation is there once, and the coins are those of the operations.
  const total = sumOf(await Promise.all([...new Set([owner, ...targets])].map(balanceOf)));
  expect(total).toBe(initial + coinsOf(applied.slice(entries)));
  const balances = new Map(await Promise.all([owner, ...targets].map(async (id) => [id, String(await balanceOf(id))] as const)));
  const holders = applied.map(({ accountId }) => (accountId === guestId ? owner : accountId));
  expect(await Promise.all(applied.map(({ operation, key }, index) => movers.apply(holders[index]!, operation, key, mover)))).toEqual(
    applied.map(({ after }, index) => ['replayed', after, balances.get(holders[index]!)]),
  );
  if (record !== null) return 'moved';
  return answers.some((answer) => !(answer instanceof Error) && !answer.moved && answer.reason === 'balance_limit') ? 'refused' : 'stayed';
}

test(
  `moves interleaved with helpers, sign-ins and coin operations are done once or not at all (MOVE_SEED=${seed})`,
  { timeout: 480_000 },
  async () => {
    const random = seeded(seed);
    const outcomes = { moved: 0, refused: 0, stayed: 0 };
    for (let run = 0; run < RUNS; run++) outcomes[await interleaved(random)]++;
    // The runs cover the interesting cases.
    expect(outcomes.moved).toBeGreaterThan(0);
    if (isFullSize) expect(outcomes.refused).toBeGreaterThan(0);
    expect((await audited(own.location)).findings).toEqual([]);
  },
);

/** A mover that stops before its first call of a script, until it may go on. */
function stoppingAt(name: string): { mover: Mover; stopped: Promise<void>; goOn: () => void } {
  const [mayGoOn, stopped] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const mover = movers.mover(async (script, call) => {
    if (script === name) {
      stopped.resolve();
      await mayGoOn.promise;
    }
    return call();
  });
  return { mover, stopped: stopped.promise, goOn: () => mayGoOn.resolve() };
}

async function guestWith(entries: number): Promise<string> {
  const { accountId } = freshInstall();
  const mover = movers.mover();
  await Promise.all(Array.from({ length: entries }, (_, index) => movers.apply(accountId, 'c2', `k${index}`, mover)));
  return accountId;
}

describe('a late helper', () => {
  test('of a refused move gets the same answer although the account has room by now', async () => {
    const [guestId, targetId] = [await guestWith(3), await storeAccount(5)];
    const late = stoppingAt('guest-moves/add-guest-to-account');
    const moving = movers.begin(guestId, targetId, late.mover);
    await late.stopped;
    await movers.work();
    expect(await redis.get(standingKey(guestId))).toBeNull();
    expect((await movers.apply(targetId, 'd-9', 'spent'))[0]).toBe('done');
    late.goOn();
    expect(await moving).toEqual({ moved: false, reason: 'balance_limit' });
    expect(await redis.get(standingKey(guestId))).toBeNull();
    expect([await balanceOf(guestId), await balanceOf(targetId)]).toEqual([6, MAX_BALANCE - 5 - 9]);
    // The next sign-in moves the guest.
    expect(await movers.begin(guestId, targetId)).toMatchObject({ moved: true, coins: 6 });
    await movers.drained();
  });

  test('does not copy a chunk again, and not after the move was decided', async () => {
    const [guestId, targetId] = [await guestWith(130), await storeAccount(1e6)];
    const late = stoppingAt('guest-moves/copy-guest-ledger');
    const moving = movers.begin(guestId, targetId, late.mover);
    await late.stopped;
    const [other, stopping] = [movers.mover(), stoppingAt('guest-moves/add-guest-to-account')];
    const helping = movers.work(stopping.mover);
    await stopping.stopped;
    expect((await redis.keys(`{${targetId}}:move:*:ledger`)).length).toBe(1);
    late.goOn();
    expect(await moving).toMatchObject({ moved: true, coins: 260 });
    stopping.goOn();
    await helping;
    await movers.work(other);
    expect(await redis.llen(coinKeys.guestLedger(targetId, guestId))).toBe(131);
    await movers.drained();
  });

  test('of a refused move leaves the next move of the guest frozen', async () => {
    const [guestId, targetId] = [await guestWith(3), await storeAccount(5)];
    const late = stoppingAt('guest-moves/thaw-guest');
    const first = movers.begin(guestId, targetId, late.mover);
    await late.stopped;
    await movers.work();
    expect((await movers.apply(targetId, 'd-9', 'spent'))[0]).toBe('done');
    const next = stoppingAt('guest-moves/add-guest-to-account');
    const second = movers.begin(guestId, targetId, next.mover);
    await next.stopped;
    const frozen = await redis.get(standingKey(guestId));
    expect(frozen).toMatch(/^~/);
    // The late thaw comes now. Its helper then helps the second move too.
    const [before] = await Promise.all([redis.get(standingKey(guestId)), late.goOn()]);
    expect(before).toBe(frozen);
    expect(await first).toEqual({ moved: false, reason: 'balance_limit' });
    next.goOn();
    expect(await second).toMatchObject({ moved: true });
    expect(await redis.get(standingKey(guestId))).toBe(`>${targetId}`);
    expect(await balanceOf(targetId)).toBe(MAX_BALANCE - 5 - 9 + 6);
    await movers.drained();
  });
});

describe('a failover may lose', () => {
  test('the freeze, after the account accepted: the guest keeps what it did since, and the audit names the account', async () => {
    await using lossy = await startRedis();
    await using other = await start({ redis: lossy.location });
    const { redis: client } = lossy;
    using lossyMovers = await Movers.open(client);
    const [{ accountId: guestId }, { accountId: targetId }] = [freshInstall(), freshInstall()];
    await lossyMovers.apply(guestId, 'c2', 'first');
    const failing = lossyMovers.mover(async (script, call) => {
      if (script === 'guest-moves/mark-guest-moved') {
        await client.del(standingKey(guestId));
        await lossyMovers.apply(guestId, 'c3', 'since');
      }
      return call();
    });
    await lossyMovers.begin(guestId, targetId, failing);
    expect(lossyMovers.errors.map((error) => error.guestId)).toEqual([guestId]);
    expect(await lossyMovers.recordOf(guestId)).toBeNull();
    expect(await client.lrange(coinKeys.ledger(guestId), 0, -1)).toHaveLength(2);
    const { findings } = await audited(lossy.location);
    // The standing and the record of the move name a guest without a standing: one damage, and one finding.
    expect(findings.map(({ kind, subject }) => [kind, subject])).toEqual([['half_move', `account ${targetId}`]]);
    expect((await other.get('/ready')).status).toBe(200);
  });

  test('the freeze, before the account accepted: the move ends, and the guest stays as it is', async () => {
    const [guestId, targetId] = [await guestWith(3), await storeAccount(1e6)];
    const failing = movers.mover(async (script, call) => {
      if (script === 'guest-moves/copy-guest-ledger') {
        await redis.del(standingKey(guestId));
        await movers.apply(guestId, 'c3', 'since');
      }
      return call();
    });
    await expect(movers.begin(guestId, targetId, failing)).rejects.toMatchObject({ code: 'store_unavailable' });
    expect([await balanceOf(guestId), await balanceOf(targetId)]).toEqual([9, MAX_BALANCE - 1e6]);
    expect(await redis.get(standingKey(guestId))).toBeNull();
    // The audit accepts the copy without a guest.
    expect((await audited(own.location)).findings).toEqual([]);
    for (const key of await redis.keys(`{${targetId}}:move:*`)) await redis.del(key);
    await movers.drained();
  });

  test('the record of an open move in the account: the move is void, and the guest thaws', async () => {
    const [guestId, targetId] = [await guestWith(130), await storeAccount(1e6)];
    const before = [await movers.contentOf(guestId), await movers.contentOf(targetId)];
    const failing = movers.mover(async (script, call) => {
      if (script === 'guest-moves/add-guest-to-account')
        for (const key of await redis.keys(`{${targetId}}:move:*`)) if (!/:(ledger|index:\d+)$/.test(key)) await redis.del(key);
      return call();
    });
    await expect(movers.begin(guestId, targetId, failing)).rejects.toMatchObject({ code: 'store_unavailable' });
    expect([await movers.contentOf(guestId), await movers.contentOf(targetId)]).toEqual(before);
    await movers.drained();
  });
});

test('a request of a guest whose move lasts too long is refused, and has done nothing', async () => {
  const { installId, accountId: guestId } = freshInstall();
  await movers.apply(guestId, 'c2', 'first');
  // Nobody can finish this move: its account has a key of the wrong type.
  const { accountId: targetId } = freshInstall();
  await redis.set(coinKeys.ledger(targetId), 'no list');
  const stuck = movers.mover();
  await expect(movers.begin(guestId, targetId, stuck)).rejects.toThrow(/WRONGTYPE/);
  const reply = await service.post('/v1/coins/credit', { installId, coins: 1, key: 'second' });
  expect([reply.status, reply.body.error]).toMatchObject([503, { code: 'store_unavailable', retryAfterMs: 1000 }]);
  expect(reply.body.error.outcome).toBeUndefined();
  await redis.del(coinKeys.ledger(targetId));
  expect((await service.post('/v1/coins/credit', { installId, coins: 1, key: 'second' })).body.error?.code).toBe('sign_in_required');
  expect(await balanceOf(targetId)).toBe(2);
  await movers.work();
});

test('a guest whose refusal a failover lost thaws only once the account has decided again', async () => {
  const { accountId: guestId } = freshInstall();
  const target = { accountId: await storeAccount(0), store: 'google' as const };
  await movers.apply(guestId, 'c5', 'first');
  const atThaw: (string | null)[] = [];
  let isLost = false;
  const { moves } = movers.mover(async (script, call) => {
    const [record = ''] = await redis.keys(`{${target.accountId}}:move:*`);
    if (script === 'guest-moves/delete-copy' && !isLost) {
      isLost = true;
      await redis.set(record, `open ${guestId}`, 'EX', 60);
    }
    if (script === 'guest-moves/thaw-guest') atThaw.push(await redis.get(record));
    return call();
  });
  expect(await moves.begin(callerOf(guestId), target)).toEqual({ moved: false, reason: 'balance_limit' });
  expect(isLost).toBe(true);
  expect(atThaw).toEqual([`refused ${guestId} balance_limit`]);
});
