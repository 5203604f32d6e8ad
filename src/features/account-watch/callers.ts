import type { Refusal } from '../../errors.ts';
import type { Caller } from '../../server/identity/caller.ts';
import type { Metrics } from '../../server/metrics.ts';

/** A caller as whom a connection watches its account, or wants to. */
export interface WatchingCaller {
  readonly caller: Caller;
  /** Whether a read has found that the caller may watch the account. */
  isChecked: boolean;
  /** Called when the caller may not watch the account any more. */
  readonly lost: (reason: Refusal) => void;
}

/** The callers as whom the connections of this process watch their accounts. */
export class WatchingCallers {
  readonly #ofAccounts = new Map<string, Set<WatchingCaller>>();
  /** The number of reads of watched accounts since the start of the process. */
  reads = 0;

  add(watching: WatchingCaller): void {
    const { accountId } = watching.caller;
    const ofAccount = this.#ofAccounts.get(accountId) ?? new Set();
    this.#ofAccounts.set(accountId, ofAccount.add(watching));
  }

  remove(watching: WatchingCaller): void {
    const { accountId } = watching.caller;
    const ofAccount = this.#ofAccounts.get(accountId);
    ofAccount?.delete(watching);
    if (ofAccount?.size === 0) this.#ofAccounts.delete(accountId);
  }

  /** The callers of an account. Callers of one session are together, because one check serves them all. */
  of(accountId: string): WatchingCaller[][] {
    return [...Map.groupBy(this.#ofAccounts.get(accountId) ?? [], ({ caller }) => caller.session?.id).values()];
  }

  addTo(metrics: Pick<Metrics, 'count' | 'gauge'>): void {
    metrics.gauge({
      name: 'coinop_live_accounts',
      help: 'Accounts that connections of this process watch.',
      value: () => this.#ofAccounts.size,
    });
    metrics.count({
      name: 'coinop_live_account_reads_total',
      help: 'Reads of watched accounts.',
      value: () => this.reads,
    });
  }
}
