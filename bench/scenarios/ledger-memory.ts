import type { Figures } from '../figures.ts';
import { newKeyPrefix, type LoadCaller, type LoadOutcome, type RequestPlan } from '../load/order.ts';
import { redisUsedMemory } from '../measure/redis.ts';
import type { Bench, Contestant, Scenario } from '../scenario.ts';
import { auditLedgers, type LoadRecord } from '../audit.ts';
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
  warmUpSeconds: 0,
  sides: [
    { id: 'coinop', name: 'coinop', kind: 'service', open: async (bench) => new Ledgers(bench, await bench.service({ fresh: true })) },
  ],
  targets: [{ what: 'Redis memory per ledger entry', figure: 'entryBytes', side: 'coinop', most: 120 }],
};

class Ledgers implements Contestant {
  readonly #bench: Bench;
  readonly #service: Measured;
  #record: LoadRecord | undefined;

  constructor(bench: Bench, service: Measured) {
    this.#bench = bench;
    this.#service = service;
  }

  async round(): Promise<Figures> {
    const credited = this.#bench.settings.quick ? 100 : 1000;
    const opened = 10 * credited;
    const run = crypto.randomUUID();
    const all = Array.from({ length: opened }, (_, index) => ({ installId: `bench-${run}-${index}` }));
    const callers = all.slice(0, credited);
    const keyPrefix = newKeyPrefix();
    const redis = this.#service.redis!;
    // Runs each script once before measuring, because Redis keeps it in memory from its first run on.
    for (const plan of [resolve, credit]) {
      await this.#load({ plan: { ...plan, body: plan.body!.replace('$installId', 'bench-not-counted') }, callers, keyPrefix, count: 1 });
    }
    const empty = await redisUsedMemory(redis);
    await this.#load({ plan: resolve, callers: all, keyPrefix, count: opened });
    const withAccounts = await redisUsedMemory(redis);
    const { acknowledged, unanswered } = await this.#load({ plan: credit, callers, keyPrefix, count: credited * ENTRIES_PER_ACCOUNT });
    const withEntries = await redisUsedMemory(redis);
    this.#record = { callers, keyPrefix, acknowledged, unanswered };
    return { accountBytes: (withAccounts - empty) / opened, entryBytes: (withEntries - withAccounts) / acknowledged.length };
  }

  async #load(load: { plan: RequestPlan; callers: readonly LoadCaller[]; keyPrefix: string; count: number }): Promise<LoadOutcome> {
    const { plan, callers, keyPrefix, count } = load;
    const { connections } = this.#bench.settings;
    const outcome = await this.#bench.load({
      url: this.#service.url,
      connections,
      requests: [plan],
      callers,
      keyPrefix,
      from: 0,
      seconds: 120,
      count,
    });
    const failures = Object.entries(outcome.failures).map(([what, times]) => `${what} (${times} times)`);
    if (failures.length > 0) throw new Error(`answered with ${failures.join(', ')}`);
    return outcome;
  }

  audit(): Promise<string[]> {
    return this.#record === undefined ? Promise.resolve([]) : auditLedgers(this.#service.url, this.#record);
  }

  close(): Promise<void> {
    return this.#service.stop();
  }
}
