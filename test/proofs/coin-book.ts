import { parseEntry, type LedgerEntry } from '../../src/features/coins/ledger-layout.ts';
import { coinKeys, entryLetters } from '../../src/features/coins/model.ts';
import { inParallel, sum } from './client.ts';
import type { Operation } from './history.ts';

/** The differences between credits and ledgers, by kind. */
export type CoinDifferences = Record<'lost' | 'doubled' | 'keys that no longer replay' | 'accounts with a wrong sum', number>;

/** The calls of the service that the book needs. */
export interface CoinService {
  balanceOf(account: string): Promise<number>;
  /** Sends a credit again. */
  credit(operation: Operation): Promise<Operation['answer']>;
}

/** Sends a command to the primary of its key, the first word. */
export type Command = (name: string, key: string, ...words: (string | number)[]) => Promise<unknown>;

/** The most credits that are sent again, spread over all. */
const MOST_REPLAYS = 30_000;

export async function ledgerOf(key: string, command: Command): Promise<LedgerEntry[]> {
  return ((await command('LRANGE', key, 0, -1)) as string[]).map((text) => parseEntry(text)!);
}

/**
 * Compares credits with the ledgers of their accounts.
 * @param homes the accounts that guests have moved into
 */
export async function compareCoins(
  operations: readonly Operation[],
  service: CoinService,
  command: Command,
  homes: ReadonlyMap<string, string> = new Map(),
): Promise<CoinDifferences> {
  const found = { lost: 0, doubled: 0, 'keys that no longer replay': 0, 'accounts with a wrong sum': 0 };
  const guests = Map.groupBy(homes.keys(), (guest) => homes.get(guest)!);
  const kept: Operation[] = [];
  await inParallel(
    Map.groupBy(operations, ({ account }) => homes.get(account) ?? account),
    async ([account, own]) => {
      const entries = await ledgerOf(coinKeys.ledger(account), command);
      const ofGuests = (guests.get(account) ?? []).map((guest) => ledgerOf(coinKeys.guestLedger(account, guest), command));
      // The entry of a move has the coins of the guest's ledger.
      const all = [...entries, ...(await Promise.all(ofGuests)).flat()].filter(({ letter }) => letter !== entryLetters.merge);
      const keys = new Set(all.map(({ key }) => key));
      found.doubled += all.length - keys.size;
      const acknowledged = own.filter(({ acknowledgedAt }) => acknowledgedAt !== undefined);
      kept.push(...acknowledged.filter(({ key }) => keys.has(key)));
      found.lost += acknowledged.filter(({ key }) => !keys.has(key)).length;
      const balance = await service.balanceOf(account);
      if (!areInOrder(entries) || balance !== sum(all.map(({ coins }) => coins))) found['accounts with a wrong sum']++;
    },
  );
  const every = Math.ceil(kept.length / MOST_REPLAYS);
  await inParallel(
    kept.filter((_, index) => index % every === 0),
    async (operation) => {
      const answer = await service.credit(operation);
      if (answer?.replayed !== true || answer.balanceAfterCoins !== operation.answer!.balanceAfterCoins)
        found['keys that no longer replay']++;
    },
  );
  return found;
}

function areInOrder(entries: readonly LedgerEntry[]): boolean {
  let balance = 0;
  return entries.every((entry, index) => entry.seq === index + 1 && entry.balance === (balance += entry.coins));
}
