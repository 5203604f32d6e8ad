import { ScriptRunner } from '../../src/redis/script-runner.ts';
import { keepPurchase, type IssuedPurchase } from '../../src/apart/sandbox/google/purchase-record.ts';
import { newOrderId, newPurchaseToken } from '../../src/apart/sandbox/model.ts';
import { SANDBOX_PACKAGE_NAME } from '../../src/apart/sandbox/settings.ts';
import { Api, inParallel } from '../load/api.ts';
import { Posts } from '../load/posts.ts';
import { onSchedule } from '../load/schedule.ts';
import { monotonicMs } from '../measure/clock.ts';
import { Meter } from '../measure/meter.ts';
import { percentile } from '../measure/statistics.ts';
import type { Bench, Contestant, Scenario } from '../scenario.ts';
import { CALLERS } from './http.ts';

/** Coins that are bought with money, beside coins that are earned. */

const RATE = 500;
const SECONDS = 4;
const CONNECTIONS = 64;
const UNIT_COINS = 500;

/** Two cores have 4,000 µs for each of 500 purchases a second, its credit and the store's own work included. */
const MOST_MICROSECONDS = 4000;

export const purchases: Scenario = {
  name: 'purchases',
  title: 'Coins bought with money',
  summary: `${RATE} purchases of coins a second, each with a credit beside it, to ${CALLERS} accounts. The sandbox is the store, in the service's own process: it answers a look at the purchase and takes its consumption. Latency is that of a purchase, from its due time. CPU is all of a purchase, its credit and the store.`,
  operation: 'purchase',
  sides: [{ id: 'coinop', name: 'coinop', kind: 'service', open }],
  targets: [
    { what: 'CPU of server, store and Redis for a purchase and a credit, µs', figure: 'cpu', side: 'coinop', most: MOST_MICROSECONDS },
  ],
  anywhere: false,
  apart: { minutes: 2 },
};

async function open(bench: Bench): Promise<Contestant> {
  const service = await bench.service({ fresh: true });
  const scripts = new ScriptRunner(service.redis!, { now: Date.now });
  const posts = await Posts.open(service.url, CONNECTIONS);
  const problems = new Set<string>();
  let made = 0;
  return {
    async round() {
      const seconds = bench.settings.quick ? bench.settings.seconds : SECONDS;
      const tokens = await issue(Math.ceil(RATE * seconds), scripts);
      const latencies: number[] = [];
      const sent: Promise<void>[] = [];
      const send = (what: string, path: string, body: object, answered?: () => void): void => {
        const answer = posts.post(path, body).then(answered, (error: Error) => void problems.add(`a ${what} was ${error.message}`));
        sent.push(answer);
      };
      const meter = new Meter(service);
      await meter.begin();
      const startedAt = monotonicMs();
      await onSchedule({ rate: RATE, seconds, signal: bench.signal }, (dueMs, number) => {
        const installId = `bench-buyer-${made++ % CALLERS}`;
        const purchase = { installId, store: 'google', purchaseToken: tokens[number]! };
        send('purchase', '/v1/purchases', purchase, () => void latencies.push(monotonicMs() - dueMs));
        send('credit', '/v1/coins/credit', { installId, coins: 1, key: `bench-${made}` });
      });
      await Promise.all(sent);
      const took = (monotonicMs() - startedAt) / 1000;
      await meter.end();
      const { serverCpu, redisCpu } = meter.each(tokens.length);
      latencies.sort((one, other) => one - other);
      return {
        ...{ serverCpu, redisCpu, cpu: serverCpu + redisCpu, atRate: RATE, perSecond: latencies.length / took },
        ...{ p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99) },
      };
    },
    async audit() {
      const held = await coinsAt(service.url);
      const expected = made * (UNIT_COINS + 1);
      return [...problems, ...(held === expected ? [] : [`the accounts hold ${held} coins in place of ${expected}`])];
    },
    async close() {
      posts.close();
      await service.stop();
    },
  };
}

/** Has the sandbox sell purchases, without a request for each. */
async function issue(count: number, scripts: ScriptRunner): Promise<string[]> {
  const tokens = Array.from({ length: count }, newPurchaseToken);
  await inParallel(tokens, (token) => keepPurchase(scripts, token, newPurchase(), { seen: '', now: Date.now() }));
  return tokens;
}

function newPurchase(): IssuedPurchase {
  const now = Date.now();
  return {
    packageName: SANDBOX_PACKAGE_NAME,
    productId: 'coins_500',
    state: 'purchased',
    quantity: 1,
    refundedQuantity: 0,
    obfuscatedAccountId: undefined,
    test: false,
    orderId: newOrderId(),
    issuedAt: now,
    completedAt: now,
  };
}

async function coinsAt(url: string): Promise<number> {
  const api = new Api(url);
  const balances = await inParallel(Array.from({ length: CALLERS }), async (_, number) => {
    const { body } = await api.expectOk(api.get(`/v1/balance?installId=bench-buyer-${number}`));
    return body['balanceCoins'] as number;
  });
  api.close();
  return balances.reduce((sum, coins) => sum + coins, 0);
}
