import type { Identity, Owner } from './identity.ts';
import type { Kept, Outbox } from './pending-operations.ts';
import { failure, stopped, within, type Input } from './request.ts';
import type { CallOptions, Failure, Result } from './routes.ts';
import { randomText } from './storage.ts';

export type Operate = (type: Kept['type'], input: Input, more: CallOptions) => Promise<Result>;

/** Makes the function that runs coin operations and purchases through the outbox. */
export function operateBy(outbox: Outbox, identity: Identity, callMs: number, closed: AbortSignal): Operate {
  /**
   * The owner of the last operation. Each call waits for the one before, so operations are stored in the order of the calls even if the
   * store is slow.
   */
  let owner: Promise<unknown> = Promise.resolve();
  return async (type, input, { signal, timeoutMs = callMs }) => {
    const by = await (owner = owner.then(identity.owner));
    if (signal?.aborted || closed.aborted) return failure('aborted');
    const isLate = (whole: AbortSignal): Promise<Result> =>
      new Promise((resolve) => {
        // The app store's own id makes a purchase unique.
        const key = type === 'buy' ? undefined : (input['key'] ?? randomText());
        outbox.add({ ...input, key, type } as unknown as Kept, by as Owner, resolve);
        whole.onabort = () => resolve({ ...((!signal?.aborted && outbox.lastFailure()) || stopped([signal])), pending: true } as Failure);
      });
    return within(timeoutMs, [signal], isLate);
  };
}
