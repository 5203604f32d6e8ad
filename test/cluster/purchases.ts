import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { entryLetters } from '../../src/features/coins/model.ts';
import { purchaseIdOf } from '../../src/features/purchases/model.ts';
import { sandboxRedisKeys } from '../../src/stores/sandbox/model.ts';
import { SANDBOX_PACKAGE_NAME } from '../../src/stores/sandbox/settings.ts';
import { runAuditCommand } from '../consistency/command.ts';
import { Client } from './client.ts';
import { reportAudit, type Stand } from './coins.ts';
import { openCluster, openSingle, type Dying } from './dying.ts';
import { copyHasty, POLL_MS } from './hasty.ts';
import { now, type History } from './history.ts';
import { killWhile } from './kills.ts';
import { compare, entriesOf, inParallel, keptCoins, readBooks, type Differences, type Sold } from './purchase-books.ts';
import { PurchaseLoad, SKU, UNIT_COINS, type Bought } from './purchase-load.ts';
import { GRANT_BEFORE_CLAIM, REFUND_BY_ADD, STATE_OF_CLIENT } from './purchase-mutants.ts';
import type { Change } from './unguarded.ts';

/**
 * Purchases of many accounts at the sandbox with faults, while processes and Redis are killed. At the end the ledgers are compared with the
 * books of the store. The sandbox runs in the service, so its pending notifications are lost with it. Its books are in Redis. With
 * REDIS_WAIT_REPLICAS they are on a replica before the sandbox answers, because a real store does not lose its books either.
 */
export interface PurchaseScenario {
  readonly name: string;
  readonly about: string;
  readonly isOnCluster: boolean;
  /** The number at a rate of 1,500. An account buys ten times. */
  readonly purchases: number;
  /** A copy of the service with a mistake, which the checks have to find. Nothing is killed. */
  readonly mistake?: readonly Change[];
}

export const purchaseScenarios: readonly PurchaseScenario[] = [
  {
    name: 'purchase-kill',
    about: 'coins are bought and refunded at a store in chaos, while the service, its workers and their Redis die again and again',
    isOnCluster: false,
    purchases: 100_000,
  },
  {
    name: 'purchase-failover',
    about: 'the same with three processes on a Cluster of which a primary dies, with REDIS_WAIT_REPLICAS=1',
    isOnCluster: true,
    purchases: 100_000,
  },
  {
    name: 'purchase-client-state',
    about: 'a mutant that believes the state that the client sends: the checks find coins that nobody paid for',
    isOnCluster: false,
    purchases: 10_000,
    mistake: STATE_OF_CLIENT,
  },
  {
    name: 'purchase-refund-add',
    about: 'a mutant that takes refunded units again at each check: the checks find coins that are missing',
    isOnCluster: false,
    purchases: 10_000,
    mistake: REFUND_BY_ADD,
  },
  {
    name: 'purchase-grant-first',
    about: 'a mutant that grants before it records the owner: the checks find coins of a thief',
    isOnCluster: false,
    purchases: 10_000,
    mistake: GRANT_BEFORE_CLAIM,
  },
];

const PURCHASES_AN_ACCOUNT = 10;
const CHAOS_SEED = '32';

/** A purchase takes up to 17 s. */
const TIMEOUT_MS = 20_000;

const BETWEEN_KILLS_MS = 3000;
const SOLD_BETWEEN_KILLS = 500;

/**
 * A killed process may leave a check of a purchase under its lease of 30 s, and the process that takes it over may be killed too: another
 * 30 s. The rest is for a poll and the store's failures.
 */
const AGREED_WITHIN_MS = 90_000;

/** Without kills, ledgers and books of a service without a mistake agree sooner than this. */
const MISTAKE_SHOWS_MS = 30_000;

const NOTICED_WITHIN_MS = 5000;
/** Purchases that are refunded after the kills. */
const MOST_TIMED = 200;
const TIMED_AT_ONCE = 4;

export async function provePurchases(scenario: PurchaseScenario, stand: Stand): Promise<void> {
  const { folder, rate, minutes, history, figures, closing } = stand;
  const purchases = Math.round((scenario.purchases * rate) / 1500);
  const catalogue = join(folder, 'catalogue.json');
  const products = [{ productId: 'coins-100', coins: UNIT_COINS, stores: { google: SKU } }];
  writeFileSync(catalogue, JSON.stringify({ apps: [], products }));
  const settings = { CATALOGUE_FILE: catalogue, SANDBOX_CHAOS: CHAOS_SEED };
  const options = {
    program: copyHasty(join(folder, 'hasty'), scenario.mistake),
    settings,
    hit: sandboxRedisKeys.voided(SANDBOX_PACKAGE_NAME),
  };
  const running = await (scenario.isOnCluster ? openCluster : openSingle)(options, stand);
  const client = new Client(() => running.url(), TIMEOUT_MS);
  closing.push(() => client.close());
  const load = new PurchaseLoad(client, { purchases, accounts: Math.ceil(purchases / PURCHASES_AN_ACCOUNT) }, history);
  closing.push(() => load.close());

  const startedAt = now();
  const sending = load.run(startedAt + minutes * 60_000);
  if (scenario.mistake !== undefined) {
    await sending;
    figures.report('purchases, and accounts', `${load.bought.length}; ${load.installs.length}`);
    return reportMistake(await settled(load, running, history, MISTAKE_SHOWS_MS), figures);
  }
  const kills = {
    isOnCluster: scenario.isOnCluster,
    betweenMs: BETWEEN_KILLS_MS,
    done: () => load.bought.length,
    leastBetween: SOLD_BETWEEN_KILLS,
  };
  const killed = await killWhile(sending, running, kills, history);
  figures.report('purchases, and accounts', `${load.bought.length}; ${load.installs.length}`);
  figures.report('purchases a second', (load.bought.length / (now() - startedAt)) * 1000);
  figures.atLeast('SIGKILL for a process', killed.processes, 1);
  figures.atLeast(scenario.isOnCluster ? 'SIGKILL for a primary' : 'SIGKILL for Redis', killed.redis, 1);
  if (!scenario.isOnCluster) figures.report('SIGKILL for the whole service', killed.services);
  history.event(`all is sold after ${JSON.stringify(killed)} kills`);

  const end = await settled(load, running, history, AGREED_WITHIN_MS);
  reportEnd(end, load, figures);
  reportChaos(load, await booked(load, running), figures);
  await running.restart({ CATALOGUE_FILE: catalogue });
  history.event('the store is quiet now');
  await timeRefunds([...end.owned.values()].flat(), load, running, figures);
  reportAudit(figures, await runAuditCommand(['--full-speed', '--list', '5'], running.settings));
}

/** The end of a load, when ledgers and books agree, or have had the time to. */
interface End {
  /** The purchases of each account. The thief has none. */
  readonly owned: ReadonlyMap<string, readonly Sold[]>;
  readonly differences: Differences;
  /** How long it took. */
  readonly ms: number;
  readonly unseen: number;
  readonly nobodys: number;
  readonly lostByStore: number;
  readonly stuck: number;
}

/** Sends purchases that were never sent, and waits until ledgers and books agree. Meanwhile each call of the store may cause random refunds. */
async function settled(load: PurchaseLoad, running: Dying, history: History, withinMs: number): Promise<End> {
  const books = await readBooks(running);
  const known = new Map(load.bought.map((bought) => [bought.token, bought]));
  const buyers = new Map(load.bought.map(({ accountId, installId }) => [accountId, installId]));
  let nobodys = 0;
  for (const { token, issued } of books.values()) {
    if (known.has(token)) continue;
    const accountId = issued.obfuscatedAccountId;
    const installId = accountId === undefined ? undefined : buyers.get(accountId);
    if (accountId === undefined || installId === undefined) nobodys++;
    else known.set(token, { token, accountId, installId, isShown: false, isStuck: false, refundedAt: [] });
  }
  const unseen = [...known.values()].filter(({ isShown }) => !isShown);
  await load.restore(unseen);
  const startedAt = now();
  for (;;) {
    const ms = now() - startedAt;
    const owned = ownedOf(known, await readBooks(running)).set(accountIdOf(load.thief), []);
    const differences = await compare(owned, running);
    history.note({ differences: { ...differences, accounts: differences.accounts.length } });
    if (differences.accounts.length > 0 && ms < withinMs) {
      await untilAgreed(differences.accounts, known, running, now() + withinMs);
      continue;
    }
    const lostByStore = [...known.keys()].filter((token) => !books.has(token)).length;
    const stuck = [...known.values()].filter(({ isStuck }) => isStuck).length;
    return { owned, differences, ms, unseen: unseen.length, nobodys, lostByStore, stuck };
  }
}

function reportEnd({ differences, ms, unseen, nobodys, lostByStore, stuck }: End, load: PurchaseLoad, figures: Stand['figures']): void {
  figures.report('purchases that the client shows at its next start', unseen);
  figures.report('purchases whose buyer nobody knows: the answer was lost', nobodys);
  figures.exactly('purchases that the store has lost itself', lostByStore, 0);
  figures.exactly('requests that never succeeded', stuck, 0);
  figures.exactly('answers with 500', load.refusals.get('500 internal') ?? 0, 0);
  figures.report('  refusals', [...load.refusals].map(([refusal, count]) => `${refusal} × ${count}`).join(', ') || 'none');
  figures.exactly('purchases that another account got', load.stolen, 0);
  figures.report('coins granted; refunded', `${differences.grantedCoins}; ${differences.refundedCoins}`);
  const difference = differences.grantedCoins - differences.refundedCoins;
  figures.exactly('coins granted − refunded, against the store’s books', difference, differences.keptCoins);
  figures.exactly('accounts with another sum than the store’s books', differences.wrongAccounts, 0);
  figures.exactly('purchases booked less than they came to', differences.lost, 0);
  figures.exactly('purchases booked more than they came to', differences.doubled, 0);
  figures.exactly('purchases that were booked although nobody paid', differences.unpaid, 0);
  figures.exactly('entries of purchases of others', differences.strange, 0);
  figures.exactly('purchases left unconsumed', differences.unconsumed, 0);
  figures.atMost('all agrees after the last request, ms', ms, AGREED_WITHIN_MS);
}

function reportMistake({ differences: { lost, doubled, unpaid, strange, wrongAccounts } }: End, figures: Stand['figures']): void {
  figures.report('  booked less; more; although nobody paid; of others', `${lost}; ${doubled}; ${unpaid}; ${strange}`);
  figures.report('  accounts with another sum than the store’s books', wrongAccounts);
  figures.atLeast('faults that the checks find in the mutant', lost + doubled + unpaid + strange, 1);
}

/** Waits until these accounts agree with the books, or until the time is up. Reading all books takes a minute. */
async function untilAgreed(
  accounts: readonly string[],
  known: ReadonlyMap<string, Bought>,
  running: Dying,
  giveUpAt: number,
): Promise<void> {
  const those = new Set(accounts);
  const some = new Map([...known].filter(([, { accountId }]) => those.has(accountId)));
  while (now() < giveUpAt) {
    await pause(1000);
    const { accounts: left } = await compare(ownedOf(some, await readBooks(running, [...some.keys()])), running);
    if (left.length === 0) return;
  }
}

function ownedOf(known: ReadonlyMap<string, Bought>, books: ReadonlyMap<string, Sold>): Map<string, Sold[]> {
  const owned = new Map<string, Sold[]>();
  for (const { token, accountId } of known.values()) {
    const sold = books.get(token);
    const purchases = owned.get(accountId) ?? [];
    owned.set(accountId, purchases);
    if (sold !== undefined) purchases.push(sold);
  }
  return owned;
}

/** The durations of refunds during the kills, in milliseconds. */
async function booked({ bought }: PurchaseLoad, running: Dying): Promise<number[]> {
  const times: number[] = [];
  const refunded = bought.filter(({ refundedAt }) => refundedAt.length > 0);
  await inParallel(refunded, async ({ token, accountId, refundedAt: [at] }) => {
    const own = (await entriesOf(accountId, running)).get(purchaseIdOf('google', token)) ?? [];
    // An earlier random refund may have taken everything.
    const entry = own.find(({ letter, at: bookedAt }) => letter === entryLetters.refund && bookedAt >= Math.floor(at!));
    if (entry !== undefined) times.push(entry.at - at!);
  });
  return times.toSorted((one, other) => one - other);
}

function reportChaos(load: PurchaseLoad, times: readonly number[], figures: Stand['figures']): void {
  const at = (part: number): number => times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? Number.NaN;
  figures.report('refunds in chaos: how many; within 5 s', `${times.length}; ${times.filter((ms) => ms <= NOTICED_WITHIN_MS).length}`);
  figures.report('  median, p99 and longest, s', [at(0.5), at(0.99), at(1)].map((ms) => (ms / 1000).toFixed(1)).join('; '));
}

/** Refunds a unit of each purchase, with and without a notification, at a store without faults. */
async function timeRefunds(sold: readonly Sold[], load: PurchaseLoad, running: Dying, figures: Stand['figures']): Promise<void> {
  const owners = new Map(load.bought.map(({ token, accountId }) => [token, accountId]));
  const some = sold.filter(({ token, issued }) => keptCoins(issued) > 0 && owners.has(token)).slice(0, MOST_TIMED);
  const time = async ({ token, issued }: Sold, notify: boolean): Promise<number> => {
    const changed = { ...issued, refundedQuantity: issued.refundedQuantity + 1 };
    if (!(await load.change({ token }, { refundedQuantity: changed.refundedQuantity, notify }))) return Number.POSITIVE_INFINITY;
    for (const startedAt = now(); ; await pause(50)) {
      const own = (await entriesOf(owners.get(token)!, running)).get(purchaseIdOf('google', token)) ?? [];
      const ms = now() - startedAt;
      if (own.reduce((sum, { coins }) => sum + coins, 0) === keptCoins(changed)) return ms;
      if (ms > AGREED_WITHIN_MS) return Number.POSITIVE_INFINITY;
    }
  };
  const [told, untold]: [number[], number[]] = [[], []];
  await inParallel(
    some.filter((_, index) => index % 2 === 0),
    async (each) => told.push(await time(each, true)),
    TIMED_AT_ONCE,
  );
  await inParallel(
    some.filter((_, index) => index % 2 === 1),
    async (each) => untold.push(await time(each, false)),
  );
  figures.report('refunds at a quiet store, with and without a notification', `${told.length}; ${untold.length}`);
  figures.atMost('longest from a notification to the entry, ms', Math.max(...told), NOTICED_WITHIN_MS);
  figures.atMost(
    `longest from a refund without one to the entry, ms, at a poll of ${POLL_MS / 1000} s`,
    Math.max(...untold),
    POLL_MS + NOTICED_WITHIN_MS,
  );
}
