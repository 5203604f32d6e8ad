import { parseEntry, type LedgerEntry } from '../../src/features/coins/ledger-layout.ts';
import { coinKeys } from '../../src/features/coins/model.ts';
import type { Operation } from './history.ts';
import type { Load } from './load.ts';

/** The result of comparing a history with the data. */
export interface Verdict {
  readonly acknowledged: number;
  /** Acknowledged credits that are in no ledger. */
  readonly lost: number;
  /** Entries of a key beyond its first. */
  readonly doubled: number;
  /** Acknowledged credits in the ledger whose key no longer gives the original answer. */
  readonly forgotten: number;
  /** Accounts whose entries do not follow each other, or whose sum is not their balance. */
  readonly wrongSums: number;
}

/** The calls of the service that the checks need. */
type Service = Pick<Load, 'credit' | 'balance'>;

/** Replays under way at a time. */
const REPLAYS_AT_ONCE = 64;

/** @param command sends a command to the primary of its key, the first word */
export async function check(
  operations: readonly Operation[],
  load: Service,
  command: (name: string, key: string, ...words: (string | number)[]) => Promise<unknown>,
): Promise<Verdict> {
  const acknowledged = operations.filter(({ acknowledgedAt }) => acknowledgedAt !== undefined);
  const byAccount = Map.groupBy(operations, ({ account }) => account);
  let [doubled, wrongSums] = [0, 0];
  const found = new Set<Operation>();
  for (const [account, ofAccount] of byAccount) {
    const texts = (await command('LRANGE', coinKeys.ledger(account), 0, -1)) as string[];
    const entries = texts.map((text) => parseEntry(text)!);
    const counts = new Map<string, number>();
    for (const { key } of entries) counts.set(key, (counts.get(key) ?? 0) + 1);
    for (const count of counts.values()) doubled += count - 1;
    for (const operation of ofAccount) if (counts.has(operation.key)) found.add(operation);
    const balance = await load.balance(ofAccount[0]!.installId);
    if (!areInOrder(entries) || balance !== entries.reduce((sum, { coins }) => sum + coins, 0)) wrongSums++;
  }
  return {
    acknowledged: acknowledged.length,
    lost: acknowledged.filter((operation) => !found.has(operation)).length,
    doubled,
    forgotten: await replay(
      acknowledged.filter((operation) => found.has(operation)),
      load,
    ),
    wrongSums,
  };
}

function areInOrder(entries: readonly LedgerEntry[]): boolean {
  let balance = 0;
  return entries.every((entry, index) => entry.seq === index + 1 && entry.balance === (balance += entry.coins));
}

/** Sends each credit again. @returns the number of answers that were no replays with the original balance */
async function replay(operations: readonly Operation[], load: Service): Promise<number> {
  const rest = operations.values();
  let forgotten = 0;
  const one = async (): Promise<void> => {
    for (const operation of rest) {
      let answer: Operation['answer'];
      // A service that has just lost a connection may refuse.
      for (let attempt = 0; answer === undefined && attempt < 20; attempt++) answer = await load.credit(operation);
      if (answer?.replayed !== true || answer.balanceAfterCoins !== operation.answer!.balanceAfterCoins) forgotten++;
    }
  };
  await Promise.all(Array.from({ length: REPLAYS_AT_ONCE }, one));
  return forgotten;
}
