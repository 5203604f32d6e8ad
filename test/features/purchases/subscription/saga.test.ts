import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { accountIdOf } from '../../../../src/accounts/ids.ts';
import { accountKey, standingKey } from '../../../../src/accounts/account-keys.ts';
import { finishPurchase } from '../../../../src/features/purchases/subscription/finish-purchase.ts';
import { subscriptionKeys } from '../../../../src/features/purchases/subscription/model.ts';
import { moveSubscriptionPurchase } from '../../../../src/features/purchases/subscription/move-purchase.ts';
import { subscriptionNoticed } from '../../../../src/features/purchases/subscription/notices.ts';
import { checkUnowned } from '../../../../src/features/purchases/subscription/unowned-purchase.ts';
import { claimSubscription } from '../../../../src/features/purchases/subscription/claim-subscription.ts';
import { purchaseHash } from '../../../../src/features/purchases/core/purchase-ids.ts';
import { GoogleStore } from '../../../../src/stores/google/google-store.ts';
import { Stores } from '../../../../src/stores/stores.ts';
import { memberOf } from '../../../../src/redis/queue.ts';
import type { ScriptConnection } from '../../../../src/redis/script-runner.ts';
import { callerFrom } from '../../../../src/server/identity/caller.ts';
import { audited } from '../../../consistency/audited.ts';
import { DyingScripts } from '../../../dying-scripts.ts';
import { freshId } from '../../../harness.ts';
import { PACKAGE, UNACKNOWLEDGED } from './fake-google.ts';
import { DAY, openShop, until, type Shop } from './shop.ts';
import { seeded } from '../../../seeded.ts';
import { isFullSize, sized } from '../../../sized.ts';
import { testConfig } from '../../../environment.ts';

let shop: Shop;
/** The store of the other processes. They share its access token, because each costs a signature. */
let store: GoogleStore;
// A service for each test: the audit uses the real clock, so the service's clock may be a minute ahead at most.
beforeEach(async () => {
  shop = await openShop();
  const { now } = shop.service;
  store = new GoogleStore({ settings: () => shop.google.settings, log, now, wallClock: now, monotonic: () => performance.now() });
});
afterEach(() => shop[Symbol.asyncDispose]());

const log = pino({ level: 'silent' });
const location = () => ({ socketPath: (shop.redis.options as { path: string }).path });

/** The scripts of another process on the same Redis. */
function otherScripts(): DyingScripts {
  const connection: ScriptConnection = { call: (command, words) => shop.redis.call(command, ...words) };
  return new DyingScripts(connection, shop.service.now);
}

/** Buys as a request to another process does. @returns the error if the process died or the request was refused */
async function buy(scripts: DyingScripts, installId: string, purchaseToken: string): Promise<unknown> {
  const { now } = shop.service;
  const services = { stores: new Stores([store]), scripts, now, log, config: testConfig() };
  const caller = callerFrom({ address: '127.0.0.1' }, accountIdOf(installId), undefined, undefined);
  try {
    const reply = await claimSubscription.handle({ caller, body: { installId, purchaseToken }, meta: {} } as never, services);
    return reply instanceof Error ? reply : undefined;
  } catch (error) {
    return error;
  }
}

/** Accounts and purchases by name, so that the states of two runs can be compared. */
interface Stage {
  readonly installs: Readonly<Record<string, string>>;
  readonly tokens: Readonly<Record<string, string>>;
}

async function stateOf({ installs, tokens }: Stage) {
  const nameOf = (things: Readonly<Record<string, string>>, isIt: (value: string) => boolean): string | undefined =>
    Object.entries(things).find(([, value]) => isIt(value))?.[0];
  const token = (hash: string | undefined) => nameOf(tokens, (value) => purchaseHash(value) === hash);
  const entries = await shop.redis.zrange(subscriptionKeys.due, '0', '-1');
  const purchases: Record<string, { queued: number; [field: string]: unknown }> = {};
  for (const [name, value] of Object.entries(tokens)) {
    const { owner, retiredBy, todo, state, acknowledged } = await shop.record(value);
    purchases[name] = {
      owner: nameOf(installs, (installId) => accountIdOf(installId) === owner),
      retiredBy: token(retiredBy),
      todo,
      state,
      acknowledged,
      queued: entries.filter((entry) => memberOf(entry) === purchaseHash(value)).length,
    };
  }
  const lines: Record<string, string[]> = {};
  for (const [name, installId] of Object.entries(installs)) {
    lines[name] = (await shop.lines(installId)).map((line) => `${token(line.split(' ')[0])} ${line.split(' ')[1]}`).toSorted();
  }
  return { purchases, lines };
}

interface Scenario {
  /** Purchases before the one that dies: buyer and token. */
  readonly before: readonly (readonly [string, string])[];
  readonly linked?: string;
  readonly state?: string;
  /** Whether the purchase of `old` ends before `ann` buys: otherwise its owner would own `new` too. */
  readonly hasOldEnded?: boolean;
}

/** Each ends with the purchase of `new` by `ann`. */
const scenarios: Record<string, Scenario> = {
  'a first purchase': { before: [] },
  'a purchase sent again': { before: [['ann', 'new']] },
  'a purchase that replaces another of the account': { before: [['ann', 'old']], linked: 'old' },
  'a purchase that replaces an unknown one': { before: [], linked: 'old' },
  'a purchase that replaces one of another account, which has ended': { before: [['cid', 'old']], linked: 'old', hasOldEnded: true },
  'a purchase that is not paid yet': { before: [], state: 'PENDING' },
};

async function staged({ before, linked, state = 'ACTIVE', hasOldEnded = false }: Scenario): Promise<Stage> {
  const installs = { ann: freshId(), bob: freshId(), cid: freshId() };
  const tokens = { old: freshId('old'), new: freshId('new') } as const;
  const expiresAt = (days: number) => shop.service.now() + days * DAY;
  shop.sold(hasOldEnded ? 'EXPIRED' : 'ACTIVE', expiresAt(hasOldEnded ? -1 : 20), {}, tokens.old);
  shop.sold('ACTIVE', expiresAt(30), {}, tokens.new);
  for (const [buyer, token] of before) expect(await buy(otherScripts(), installs[buyer as 'ann'], tokens[token as 'new'])).toBeUndefined();
  const more = linked === undefined ? {} : { linkedPurchaseToken: tokens.old };
  const ends = state === 'PENDING' ? undefined : expiresAt(30);
  const acknowledgement = before.some(([, token]) => token === 'new') ? {} : { acknowledgementState: UNACKNOWLEDGED };
  shop.sold(state, ends, { ...more, ...acknowledgement }, tokens.new);
  return { installs, tokens };
}

/** Lets processes die before and after each call that one which lives has made. */
const dyingAtEachCall = ({ calls }: DyingScripts, act: (doomed: DyingScripts) => Promise<Stage>): Promise<Stage[]> =>
  Promise.all(
    Array.from({ length: 2 * calls.length }, (_, index) => {
      const doomed = otherScripts();
      doomed.dieBefore(Math.floor(index / 2) + 1, index % 2 === 1);
      return act(doomed);
    }),
  );

/** The first stands for purchases that come in, the last for those that replace one of another account. */
const SMALL = ['a first purchase', 'a purchase that replaces one of another account, which has ended'];

describe('a process that dies during', () => {
  test.each(Object.entries(scenarios).filter(([name]) => isFullSize || SMALL.includes(name)))(
    '%s leaves nothing half done',
    async (_, scenario) => {
      const undisturbed = await staged(scenario);
      const before = await stateOf(undisturbed);
      const whole = otherScripts();
      expect(await buy(whole, undisturbed.installs['ann']!, undisturbed.tokens['new']!)).toBeUndefined();
      const after = await stateOf(undisturbed);
      expect(after.purchases['new']).toMatchObject({ owner: 'ann', todo: undefined, queued: 1 });

      const stages = await dyingAtEachCall(whole, async (doomed) => {
        const stage = await staged(scenario);
        await buy(doomed, stage.installs['ann']!, stage.tokens['new']!);
        return stage;
      });
      // The audit distinguishes unfinished work from damage.
      expect((await audited(location())).findings).toEqual([]);

      // Half of them are finished by the next request, the others by the queue.
      const isByRequest = (index: number): boolean => index % 4 < 2;
      for (const [index, { installs, tokens }] of stages.entries()) {
        if (isByRequest(index)) expect(await buy(otherScripts(), installs['ann']!, tokens['new']!)).toBeUndefined();
      }
      shop.service.advance(61_000);
      await until(async () => {
        const entries = await shop.redis.zrange(subscriptionKeys.due, '0', '-1', 'WITHSCORES');
        return !entries.some((entry, index) => (index % 2 === 0 ? entry.includes('#') : Number(entry) <= shop.service.now() + 30_000));
      });
      const afterwards = await Promise.all(stages.map(stateOf));
      for (const [index, state] of afterwards.entries()) {
        const isDone = isByRequest(index) || JSON.stringify(state) !== JSON.stringify(before);
        expect(state, `step ${Math.floor(index / 2) + 1}`).toEqual(isDone ? after : before);
      }
      expect((await audited(location())).findings).toEqual([]);
    },
  );
});

/** A notification to another process, whose check of the purchase follows. @returns the error if the process died */
async function notice(scripts: DyingScripts, token: string): Promise<unknown> {
  const { now } = shop.service;
  const stores = new Stores([store]);
  try {
    await subscriptionNoticed({ store: 'google', id: token, packageName: PACKAGE }, { scripts, now, stores });
  } catch (error) {
    return error;
  }
  await checkUnowned(purchaseHash(token), { scripts, now, log, stores, config: testConfig() }).catch(() => {});
  return undefined;
}

describe('a process that dies while it records a purchase that no app has sent', () => {
  const bound = (installId: string) => ({ externalAccountIdentifiers: { obfuscatedExternalAccountId: accountIdOf(installId) } });
  test.each(
    [
      ['of the account that it names', false],
      ['of the owner of the purchase that it replaces', true],
    ].slice(sized(1, 0)) as [string, boolean][],
  )('%s, loses nothing', async (_, linked) => {
    const sell = async (): Promise<Stage> => {
      const stage = await staged({ before: linked ? [['ann', 'old']] : [] });
      const more = linked ? { linkedPurchaseToken: stage.tokens['old']! } : bound(stage.installs['ann']!);
      const token = shop.sold('ACTIVE', shop.service.now() + 30 * DAY, { acknowledgementState: UNACKNOWLEDGED, ...more });
      return { ...stage, tokens: linked ? { old: stage.tokens['old']!, new: token } : { new: token } };
    };
    const undisturbed = await sell();
    const whole = otherScripts();
    expect(await notice(whole, undisturbed.tokens['new']!)).toBeUndefined();
    await until(async () => (await shop.record(undisturbed.tokens['new']!))['acknowledged'] === '1');
    // The check takes its own entry out of the queue at the end.
    await until(async () => (await stateOf(undisturbed)).purchases['new']!.queued === 1);
    const after = await stateOf(undisturbed);
    expect(after.purchases['new']).toMatchObject({ owner: 'ann', acknowledged: '1', todo: undefined, queued: 1 });
    expect(after.lines['ann']).toEqual(['new active']);

    const stages = await dyingAtEachCall(whole, async (doomed) => {
      const stage = await sell();
      // Google sends a notification again that was not answered.
      if ((await notice(doomed, stage.tokens['new']!)) !== undefined) await notice(otherScripts(), stage.tokens['new']!);
      return stage;
    });
    expect((await audited(location())).findings).toEqual([]);
    shop.service.advance(61_000);
    for (const [index, stage] of stages.entries()) {
      await until(async () => JSON.stringify(await stateOf(stage)) === JSON.stringify(after)).catch(() => {});
      expect(await stateOf(stage), `step ${Math.floor(index / 2) + 1}`).toEqual(after);
      expect(shop.google.acknowledgements).toContain(stage.tokens['new']);
    }
    await until(async () => (await shop.redis.zcard(subscriptionKeys.unowned)) === 0);
    expect((await audited(location())).findings).toEqual([]);
  });
});

test('the audit finds a purchase without an owner that no queue holds', async () => {
  const token = shop.sold('ACTIVE', shop.service.now() + 30 * DAY, { acknowledgementState: UNACKNOWLEDGED });
  expect(await notice(otherScripts(), token)).toBeUndefined();
  await until(async () => (await shop.record(token))['state'] === 'active');
  expect((await audited(location())).findings).toEqual([]);
  await until(async () => (await shop.redis.zrange(subscriptionKeys.unowned, '0', '-1')).join() === purchaseHash(token));
  await shop.redis.del(subscriptionKeys.unowned);
  expect((await audited(location())).findings).toMatchObject([
    {
      kind: 'lost_queue',
      subject: `queue ${subscriptionKeys.unowned}`,
      commands: [['ZADD', subscriptionKeys.unowned, 0, purchaseHash(token)]],
    },
  ]);
});

/** A process whose calls take different times, so that the calls of several requests interleave in many ways. */
function slowScripts(random: () => number): DyingScripts {
  const scripts = otherScripts();
  const { run } = scripts;
  scripts.run = async (script, keys, args, prologue) => {
    await pause(random() * 6);
    const answer = await run.call(scripts, script, keys as never, args as never, prologue);
    await pause(random() * 6);
    return answer as never;
  };
  return scripts;
}

test('accounts that record one purchase at once leave it one owner, and a line in its account only', async () => {
  const random = seeded(20_261_122);
  for (let round = 0; round < sized(1, 4); round++) {
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        const { installs, tokens } = await staged({ before: [] });
        const names = Object.values(installs);
        if (random() < 0.3) await shop.makeStoreAccount(names[0]!);
        const buyers = [...names, ...names].map((installId) => buy(slowScripts(random), installId, tokens['new']!));
        await Promise.all(buyers);
        const { owner, todo } = await shop.record(tokens['new']!);
        expect(todo).toBeUndefined();
        for (const installId of names) {
          expect(await shop.held(installId)).toEqual(accountIdOf(installId) === owner ? [purchaseHash(tokens['new']!)] : []);
        }
      }),
    );
  }
  expect((await audited(location())).findings).toEqual([]);
});

describe('a line that follows its purchase', () => {
  const finished = (token: string, scripts = otherScripts()) => finishPurchase(purchaseHash(token), { scripts, now: shop.service.now });

  test('late, from a process that saw an earlier owner, is ignored', async () => {
    const { installs, tokens } = await staged({ before: [] });
    const [ann, bob, token] = [installs['ann']!, installs['bob']!, tokens['new']!];
    await shop.makeStoreAccount(bob);
    const slow = otherScripts();
    const { run } = slow;
    let isHeld = false;
    slow.run = async (script, keys, args, prologue) => {
      if (script.name === 'subscription/put-line' && !isHeld) {
        isHeld = true;
        const byOperator = { ownerSeen: accountIdOf(ann), owner: accountIdOf(bob), key: 'ticket-4711' };
        const services = { scripts: otherScripts(), now: shop.service.now };
        expect(await moveSubscriptionPurchase(purchaseHash(token), byOperator, services)).toBe('moved');
      }
      return run.call(slow, script, keys as never, args as never, prologue) as never;
    };
    expect(await buy(slow, ann, token)).toBeUndefined();
    expect(isHeld).toBe(true);
    expect([await shop.lines(ann), (await shop.lines(bob)).length]).toEqual([[], 1]);
  });

  test('is written to the account that its owner moved into, and dropped from there', async () => {
    const { installs, tokens } = await staged({ before: [['ann', 'new']] });
    const [ann, bob, cid] = ['ann', 'bob', 'cid'].map((name) => accountIdOf(installs[name]!)) as [string, string, string];
    const purchase = subscriptionKeys.purchase(purchaseHash(tokens['new']!));
    await shop.redis.hset(purchase, { todo: 'line', revision: 7 });
    for (const account of [bob, cid]) await shop.redis.hset(accountKey(account), { createdAt: 1, store: 'google' });
    await shop.redis.del(accountKey(ann));
    await shop.redis.set(standingKey(ann), `>${cid}`);
    expect((await finished(tokens['new']!))?.todo).toEqual([]);
    expect(await shop.lines(installs['cid']!)).toHaveLength(1);
    await shop.redis.hset(purchase, { owner: bob, todo: `line drop:${ann}`, revision: 8 });
    await finished(tokens['new']!);
    expect([(await shop.lines(installs['cid']!)).length, (await shop.lines(installs['bob']!)).length]).toEqual([0, 1]);
  });

  test('waits for a move that is under way', async () => {
    const { installs, tokens } = await staged({ before: [['ann', 'new']] });
    const [guest, token] = [accountIdOf(installs['ann']!), tokens['new']!];
    await shop.redis.hset(subscriptionKeys.purchase(purchaseHash(token)), { todo: 'line' });
    await shop.redis.hdel(accountKey(guest), 'purchases');
    await shop.redis.set(standingKey(guest), '~move-1 some-account google 2026-11-22\n');
    const scripts = otherScripts();
    scripts.helpMove = async (accountId) => void (await shop.redis.del(standingKey(accountId)));
    await finished(token, scripts);
    expect(await shop.lines(installs['ann']!)).toHaveLength(1);
  });
});
