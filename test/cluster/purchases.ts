import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { parseEntry } from '../../src/features/coins/ledger-layout.ts';
import { coinKeys, entryLetters } from '../../src/features/coins/model.ts';
import { purchaseIdOf, purchaseKeys } from '../../src/features/purchases/model.ts';
import { sandboxRedisKeys } from '../../src/stores/sandbox/model.ts';
import type { IssuedPurchase } from '../../src/stores/sandbox/purchase-record.ts';
import { runAuditCommand } from '../consistency/command.ts';
import { Client } from './client.ts';
import { reportAudit, type Stand } from './coins.ts';
import { openCluster, openSingle, type Running } from './seasons.ts';

/**
 * Purchases of coins against the sandbox, which loses, doubles and delays notifications, fails, and refunds at random, while processes and
 * Redis die. At the end each ledger has to hold what the sandbox's own books say, to the coin.
 */
export interface PurchaseScenario {
  readonly name: string;
  readonly about: string;
  readonly isOnCluster: boolean;
  /** At a rate of 1,500. */
  readonly purchases: number;
}

export const purchaseScenarios: readonly PurchaseScenario[] = [
  {
    name: 'purchase-kill',
    about: 'coins are bought and refunded in a chaotic sandbox while four workers and their Redis die again and again',
    isOnCluster: false,
    purchases: 100_000,
  },
  {
    name: 'purchase-failover',
    about: 'the same on a Cluster whose primary dies, with REDIS_WAIT_REPLICAS=1',
    isOnCluster: true,
    purchases: 20_000,
  },
];

const UNIT_COINS = 500;
const CONNECTIONS = 32;
const PURCHASES_AN_ACCOUNT = 10;
const BETWEEN_KILLS_MS = 3000;
const REDIS_DIES_EVERY = 4;
const LAST_RETRY_MS = 60_000;
/** Looks that a dead process left behind are due after 30 s, the next question for refunds after 60 s, and failed looks after 1 or 2 minutes. */
const SETTLED_WITHIN_MS = 300_000;
const REFUND_BY_LIST_MS = 15 * 60_000;

interface Bought {
  readonly installId: string;
  readonly token: string;
  isAcknowledged: boolean;
}

export async function provePurchases(scenario: PurchaseScenario, stand: Stand): Promise<void> {
  const { rate, history, figures, closing } = stand;
  const wanted = Math.max(100, Math.round((scenario.purchases * rate) / 1500));
  const settings = { STORE: 'sandbox', SANDBOX_CHAOS: '32', RATE_LIMIT: 'off', SLOW_REQUEST_MS: '0', CLOCK_AHEAD_MS: '0' };
  const running = await (scenario.isOnCluster ? openCluster : openSingle)(settings, stand);
  const client = new Client(() => running.url());
  closing.push(() => client.close());
  const load = new Shopping(client, wanted);
  let isOver = false;
  const killing = (async () => {
    await pause(BETWEEN_KILLS_MS);
    for (let kills = 1; !isOver; kills++) {
      const isOfRedis = scenario.isOnCluster ? kills === REDIS_DIES_EVERY : kills % REDIS_DIES_EVERY === 0;
      await (isOfRedis ? running.killRedis() : running.kill());
      await pause(BETWEEN_KILLS_MS);
    }
    history.event('the last kill');
  })();
  await load.run();
  isOver = true;
  await killing;

  const settledFrom = Date.now();
  let wrong = await compare(load.bought, running);
  while (wrong.accounts + wrong.unfinished > 0 && Date.now() - settledFrom < SETTLED_WITHIN_MS) {
    await pause(2000);
    wrong = await compare(load.bought, running);
  }
  figures.report('purchases', load.bought.length);
  figures.report('of accounts', new Set(load.bought.map(({ installId }) => installId)).size);
  figures.report('refunds that the clients asked for', load.refunds);
  figures.report('purchases acknowledged', load.bought.filter(({ isAcknowledged }) => isAcknowledged).length);
  figures.atMost('books and ledgers agree after the last kill, ms', Date.now() - settledFrom, REFUND_BY_LIST_MS);
  figures.report('coins that the books of the store say', wrong.due);
  figures.report('coins in ledgers', wrong.booked);
  figures.exactly('acknowledged purchases that are not recorded', wrong.lost, 0);
  figures.exactly('accounts whose ledger is not what the books say', wrong.accounts, 0);
  figures.exactly('keys of purchases with two entries', wrong.doubled, 0);
  figures.exactly('purchases of which the store was not told', wrong.unfinished, 0);
  reportAudit(figures, await runAuditCommand(['--full-speed', '--list', '5'], running.settings));
}

/** Buys over several connections, shows each purchase until the service answers, and has some refunded. */
class Shopping {
  readonly bought: Bought[] = [];
  refunds = 0;
  readonly #client: Client;
  readonly #wanted: number;
  readonly #prefix = `prove-${randomBytes(4).toString('hex')}`;
  #begun = 0;

  constructor(client: Client, wanted: number) {
    [this.#client, this.#wanted] = [client, wanted];
  }

  async run(): Promise<void> {
    await Promise.all(
      Array.from({ length: CONNECTIONS }, async () => {
        while (this.#begun < this.#wanted) await this.#buy(this.#begun++);
      }),
    );
  }

  async #buy(number: number): Promise<void> {
    const installId = `${this.#prefix}-${number % Math.ceil(this.#wanted / PURCHASES_AN_ACCOUNT)}`;
    const isBound = number % 2 === 0;
    const order = { quantity: 1 + (number % 3), notify: isBound, ...(isBound ? { obfuscatedAccountId: accountIdOf(installId) } : {}) };
    const issued = await this.#until('/sandbox/issue', { kind: 'purchase', ...order });
    if (issued === undefined) return;
    const bought: Bought = { installId, token: issued['purchaseToken'] as string, isAcknowledged: false };
    this.bought.push(bought);
    const { token } = bought;
    if (number % 7 === 0) await this.#refund(token, 1);
    bought.isAcknowledged = (await this.#until('/v1/purchases', { installId, store: 'google', purchaseToken: token })) !== undefined;
    if (number % 5 === 0) await this.#refund(token, 1 + (number % 3));
  }

  async #refund(purchaseToken: string, refundedQuantity: number): Promise<void> {
    this.refunds++;
    await this.#until('/sandbox/issue', { kind: 'purchase', purchaseToken, refundedQuantity, notify: true });
  }

  /** @returns the body of the answer with 200. Undefined: there was none */
  async #until(path: string, body: object): Promise<Record<string, unknown> | undefined> {
    for (const giveUpAt = Date.now() + LAST_RETRY_MS; Date.now() < giveUpAt; await pause(100)) {
      const answer = await this.#client.post(path, body).catch(() => undefined);
      if (answer?.status === 200) return answer.body as Record<string, unknown>;
    }
    return undefined;
  }
}

/** The books of the sandbox against the ledgers. */
async function compare(bought: readonly Bought[], { command }: Running) {
  const found = { due: 0, booked: 0, lost: 0, accounts: 0, doubled: 0, unfinished: 0 };
  for (const [installId, ofAccount] of Map.groupBy(bought, (one) => one.installId)) {
    const recorded = new Map<string, number>();
    for (const { token, isAcknowledged } of ofAccount) {
      const purchaseId = purchaseIdOf('google', token);
      const state = await command('HMGET', purchaseKeys.purchase(purchaseId), 'state', 'grantedAt');
      const [known, grantedAt] = state as (string | null)[];
      if (known === null) {
        if (isAcknowledged) found.lost++;
        continue;
      }
      const [json, consumedAt] = (await command('HMGET', sandboxRedisKeys.purchase(token), 'issued', 'consumedAt')) as (string | null)[];
      const { quantity, refundedQuantity, state: inBooks } = JSON.parse(json!) as IssuedPurchase;
      recorded.set(purchaseId, inBooks === 'purchased' ? UNIT_COINS * (quantity - refundedQuantity) : 0);
      if (grantedAt !== null && consumedAt === null) found.unfinished++;
    }
    // A notice may have booked a purchase whose issue had no answer: the entries tell which purchase they are of.
    const texts = (await command('LRANGE', coinKeys.ledger(accountIdOf(installId)), 0, -1)) as string[];
    const entries = texts
      .map((text) => parseEntry(text)!)
      .filter(({ letter }) => letter === entryLetters.topup || letter === entryLetters.refund);
    if (new Set(entries.map(({ key }) => key)).size < entries.length) found.doubled++;
    const booked = new Map<string, number>();
    for (const { key, coins } of entries) {
      const purchaseId = key.split('·')[2]!;
      booked.set(purchaseId, (booked.get(purchaseId) ?? 0) + coins);
    }
    const wrong = [...recorded].filter(([purchaseId, due]) => (booked.get(purchaseId) ?? 0) !== due);
    if (wrong.length > 0) found.accounts++;
    for (const [purchaseId, due] of recorded) {
      found.due += due;
      found.booked += booked.get(purchaseId) ?? 0;
    }
  }
  return found;
}
