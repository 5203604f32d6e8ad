import type { Figures } from '../figures.ts';
import { newKeyPrefix, type LoadOutcome, type RequestPlan } from '../load/order.ts';
import { redisUsedMemory } from '../measure/redis.ts';
import type { Bench, Contestant, Scenario } from '../scenario.ts';
import { auditLedgers, type Done } from '../audit.ts';
import type { Measured } from '../measure/measured.ts';

const ENTRIES_PER_ACCOUNT = 100;

const resolve: RequestPlan = { method: 'POST', path: '/v1/account/resolve', body: '{"installId":"$installId"}' };
const credit: RequestPlan = {
  method: 'POST',
  path: '/v1/coins/credit',
  body: '{"installId":"$installId","coins":$coins,"key":"$key"}',
  isOperation: true,
};

export const ledgerMemory: Scenario = {
  name: 'ledger-memory',
  title: 'Memory of the ledger',
  summary: `Growth of Redis's used_memory by new accounts, and by ${ENTRIES_PER_ACCOUNT} credits with UUID keys to each.`,
  operation: 'entry',
  anywhere: false,
  rounds: 1,
  warmUp: false,
  sides: [
    { id: 'coinop', name: 'coinop', kind: 'service', open: async (bench) => new Ledgers(bench, await bench.service({ fresh: true })) },
  ],
  targets: [{ what: 'Redis memory a ledger entry', figure: 'entryBytes', side: 'coinop', most: 130 }],
};

class Ledgers implements Contestant {
  readonly #bench: Bench;
  readonly #service: Measured;
  #done: Done | undefined;

  constructor(bench: Bench, service: Measured) {
    this.#bench = bench;
    this.#service = service;
  }

  async round(): Promise<Figures> {
    const accounts = this.#bench.settings.quick ? 100 : 1000;
    const run = crypto.randomUUID();
    const callers = Array.from({ length: accounts }, (_, index) => ({ installId: `bench-${run}-${index}` }));
    const keyPrefix = newKeyPrefix();
    const load = (plan: RequestPlan, count: number): Promise<LoadOutcome> =>
      this.#bench.load({
        url: this.#service.url,
        connections: Math.min(this.#bench.settings.connections, accounts),
        requests: [plan],
        callers,
        keyPrefix,
        from: 0,
        seconds: 120,
        count,
      });
    const redis = this.#service.redis!;
    // The scripts themselves are kept in memory too, from their first run on.
    for (const plan of [resolve, credit]) await load({ ...plan, body: plan.body!.replace('$installId', 'bench-not-counted') }, 1);
    const empty = await redisUsedMemory(redis);
    await load(resolve, accounts);
    const opened = await redisUsedMemory(redis);
    const { acknowledged, unanswered, failures } = await load(credit, accounts * ENTRIES_PER_ACCOUNT);
    if (Object.keys(failures).length > 0) throw new Error(`credits failed: ${Object.keys(failures).join(', ')}`);
    const credited = await redisUsedMemory(redis);
    this.#done = { callers, keyPrefix, acknowledged, unanswered };
    return { accountBytes: (opened - empty) / accounts, entryBytes: (credited - opened) / acknowledged.length };
  }

  audit(): Promise<string[]> {
    return this.#done === undefined ? Promise.resolve([]) : auditLedgers(this.#service.url, this.#done);
  }

  close(): Promise<void> {
    return this.#service.stop();
  }
}
