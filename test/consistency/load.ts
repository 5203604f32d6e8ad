import type { TestService } from '../harness.ts';
import { freshId } from '../harness.ts';
import { issue } from '../store.ts';

/** The jump of the clock of the service with retention. It makes entries of the load old during the load. */
const JUMP_MS = 6 * 3_600_000;

/** Load that changes all data that an audit compares: entries, buckets, retention, moves of guests, boards, purchases. */
export interface MixedLoad {
  /** Calls answered with 200, by name. */
  readonly done: Record<string, number>;
  stop(): Promise<void>;
}

/**
 * Sends random operations until it is stopped. Half of the coin operations go to one ledger, so that it grows and shrinks fast.
 * @param services on one Redis. Their clocks jump ahead together
 */
export function mixedLoad(services: readonly TestService[], clients = 8): MixedLoad {
  const done: Record<string, number> = { coins: 0, moves: 0, scores: 0, purchases: 0 };
  const hot = freshId('hot');
  const subjects = Array.from({ length: 3 }, () => freshId('subject'));
  let isRunning = true;
  let operations = 0;
  /** Buys a subscription. Then it buys a replacement, or lets another guest take over the subscription and takes it back. */
  const buy = async (service: TestService, installId: string): Promise<void> => {
    const purchase = async (buyer: string, purchaseToken: string): Promise<void> => {
      const { status } = await service.post('/v1/subscription/purchase', { installId: buyer, purchaseToken });
      if (status === 200) done['purchases']!++;
    };
    const { purchaseToken } = await issue(service, { kind: 'subscription' });
    await purchase(installId, purchaseToken);
    if (Math.random() < 0.5) {
      const upgrade = await issue(service, { kind: 'subscription', linkedPurchaseToken: purchaseToken });
      return purchase(installId, upgrade.purchaseToken);
    }
    for (const buyer of [freshId(), installId]) await purchase(buyer, purchaseToken);
  };
  const one = async (service: TestService, installId: string): Promise<void> => {
    const chance = Math.random();
    if (chance < 0.8) {
      const who = chance < 0.4 ? hot : installId;
      const operation = Math.random() < 0.7 ? 'credit' : 'debit';
      const { status } = await service.post(`/v1/coins/${operation}`, { installId: who, coins: 3, key: `key-${operations++}` });
      if (status === 200) done['coins']!++;
    } else {
      const game = `live-${Math.floor(Math.random() * 3)}`;
      const name = Math.random() < 0.5 ? 'Ada' : 'Bob';
      await service.post(`/v1/highscores/${game}`, { installId, score: Math.floor(Math.random() * 1000), name });
      done['scores']!++;
    }
  };
  const client = async (number: number): Promise<void> => {
    const service = services[number % services.length]!;
    while (isRunning) {
      const installId = freshId();
      for (let index = 0; index < 12 && isRunning; index++) await one(service, installId);
      await buy(service, installId);
      // The sandbox of the same service issues the token.
      const { token } = await issue(service, { kind: 'id_token', subject: subjects[number % subjects.length]! });
      const { body } = await service.post('/v1/account/store-provision', { token, installId });
      if (body.moved === true) done['moves']!++;
      for (const each of services) each.advance(JUMP_MS);
    }
  };
  const running = Promise.all(Array.from({ length: clients }, (_, number) => client(number)));
  return {
    done,
    async stop() {
      isRunning = false;
      await running;
    },
  };
}
