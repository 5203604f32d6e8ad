import type { Credential, Identity, Owner } from './identity.ts';
import { backoff, failure, sleep } from './request.ts';
import { operations, type Failure, type Result } from './routes.ts';
import { randomText, type Exclusive, type SafeStore } from './storage.ts';

export interface Operation {
  type: 'credit' | 'purchase' | 'debit';
  coins: number;
  key: string;
}

/** A purchase of coins in an app store. */
export interface Purchase {
  type: 'buy';
  store: 'google' | 'apple';
  purchaseToken?: string;
  transaction?: string;
  transactionId?: string;
}

export type Kept = Operation | Purchase;

/** An entry of the outbox, as the store has it. */
type Entry = [operation: Kept, owner: Owner];

/** The HTTP statuses of a final refusal: nothing was changed, and the same operation would be refused again. */
const DEFINITE = [400, 403, 409, 410, 413, 422];

export type Outbox = ReturnType<typeof outboxOf>;

/**
 * The unfinished operations. Each operation is stored before it is sent. Operations are sent one after the other, in the order of the
 * calls, each under the same idempotency key until the service has answered.
 * @param prefix the prefix of the store's keys under which the operations are kept
 */
export function outboxOf(
  store: SafeStore,
  prefix: string,
  exclusive: Exclusive,
  identity: Identity,
  closed: AbortSignal,
  send: (operation: Kept, credential: Credential) => Promise<Result>,
  onResult?: (operation: Kept, result: Result) => void,
) {
  /** The operations that this client has made. The client finishes them even if the store loses them. */
  const own = new Map<string, { entry: Entry; isKept: Promise<void>; done: (result: Result) => void }>();
  /** The store's keys of the operations to send, in their order. */
  let queue: string[] = [];
  /** The store's keys of operations that still have to be sorted into the queue. */
  let late: string[] = [];
  /** The store's keys of operations that wait until their owner signs in. */
  let held: string[] = [];
  let heldOwners: Owner[] = [];
  let hasAdopted = false;
  let isRunning = false;
  /** The number of failures since the last finished operation. */
  let tries = 0;
  let lastStamp = 0;
  let lastFailure: Failure | undefined;
  /** The wait before purchases are sent again, because the app store was down or the catalogue lacked the product. */
  let retry: Promise<void> | undefined;
  /** Aborts the wait before the next try. */
  let waking = new AbortController();

  const remove = (id: string): Promise<void> => {
    own.delete(id);
    return store.put(id);
  };

  /** Adds operations of the store that this client does not know, from an earlier start or from another tab. */
  const adopt = async (): Promise<void> => {
    hasAdopted = true;
    const known = new Set([...queue, ...late, ...held, ...own.keys()]);
    for (const id of await store.keys(prefix)) {
      if (!known.has(id)) late.push(id);
      // New operations must come after the stored ones, even if the clock was ahead when a stored operation was made.
      lastStamp = Math.max(lastStamp, parseInt(id.slice(prefix.length, -24), 36) || 0);
    }
  };

  /** Sends one operation. Returns the failure after which it has to be sent again. */
  const finish = async (id: string): Promise<Failure | undefined> => {
    const mine = own.get(id);
    await mine?.isKept;
    let entry = mine?.entry;
    if (!entry) {
      const text = await store.get(id);
      // Another tab has finished the operation, or the store cannot be read at the moment.
      if (text === undefined) return undefined;
      try {
        entry = JSON.parse(text) as Entry;
        if (!operations[entry[0].type] || !/^[ais][!-~]+$/.test(entry[1])) throw entry;
      } catch {
        // The entry is not readable, because the store was damaged or another program wrote it. The entry is removed.
        return void (await remove(id));
      }
    }
    const [operation, owner] = entry;
    const credential = heldOwners.includes(owner) ? undefined : await identity.credentialOf(owner);
    let result: Result = { ...failure('sign_in_required' as never), status: 401 };
    if (credential) result = await send(operation, credential);
    // The answer is not from coinop: another server has answered.
    if (result.ok && !('balanceAfterCoins' in result)) return failure('not_coinop');
    const { status } = result as Failure;
    // `bad_token` is final too: the app store does not know the purchase token, and another caller would not change that.
    if (result.ok || DEFINITE.includes(status!) || result.error.code === 'bad_token') await remove(id);
    else if (status === 401) {
      heldOwners.push(owner);
      held.push(id);
      result.pending = true;
    } else if (operation.type === 'buy' && status) {
      // The app store is down, or the catalogue lacks the product. Coin operations must not wait for this purchase.
      own.delete(id);
      result.pending = true;
      // One timer is enough for all waiting purchases, because it sends all of them again.
      retry ??= sleep(60_000, closed).then(() => {
        retry = undefined;
        wake();
      });
    } else return result;
    mine?.done(result);
    onResult?.(operation, result);
    return undefined;
  };

  /** Finishes the operations one after the other. Returns the failure that interrupts it. */
  const turn = async (): Promise<Failure | undefined> => {
    if (!hasAdopted) await adopt();
    for (; !closed.aborted; queue.shift(), tries = 0) {
      if (late.length) {
        queue = [...queue, ...late].sort();
        late = [];
      }
      if (!queue.length || (lastFailure = await finish(queue[0]!))) break;
    }
    return queue.length ? lastFailure : undefined;
  };

  const start = async (): Promise<void> => {
    if (isRunning) return;
    isRunning = true;
    while (!closed.aborted) {
      const failed = await exclusive(prefix, turn);
      if (failed) {
        waking = new AbortController();
        await sleep(backoff(tries++, failed.error, 15_000), waking.signal, closed);
      } else if (!queue.length && hasAdopted) break;
    }
    // The queue was checked in this turn of the event loop. In a later turn an operation might have been added, which would stay unsent.
    isRunning = false;
  };

  /** Tries again at once, and takes over the operations that closed tabs left. */
  const wake = (): void => {
    hasAdopted = false;
    waking.abort();
    void start();
  };

  closed.addEventListener('abort', () => {
    own.forEach(({ done }) => done({ ...failure('aborted'), pending: true }));
  });

  return {
    wake,
    lastFailure: () => lastFailure,

    /** Puts the operations that waited for a sign-in back into the queue. */
    resume(): void {
      late.push(...held);
      held = [];
      heldOwners = [];
      wake();
    },

    /** Keeps an operation and starts to send it. `done` gets its result. */
    add(operation: Kept, owner: Owner, done: (result: Result) => void): void {
      // The time in the key rises even if the clock is set back, so that the keys keep the order of the operations.
      lastStamp = Math.max(lastStamp + 1, Date.now());
      // The key of the entry: the prefix, the time in 9 digits of base 36 (enough until the year 5188), and 24 random characters.
      const id = prefix + lastStamp.toString(36).padStart(9, '0') + randomText();
      const entry: Entry = [operation, owner];
      own.set(id, { entry, isKept: store.put(id, JSON.stringify(entry)), done });
      queue.push(id);
      void start();
    },

    /** Removes the operations that wait for a sign-in. */
    async discard(): Promise<void> {
      for (const id of held.splice(0)) await remove(id);
    },
  };
}
