import type { Refusal } from '../../errors.ts';
import type { Caller } from '../../server/identity/caller.ts';
import type { Metrics } from '../../server/metrics.ts';

/** A caller for whom a connection watches the caller's account, or asks to watch it. */
export interface WatchingCaller {
  readonly caller: Caller;
  /** True once a read has shown that the caller may watch the account. */
  isChecked: boolean;
  /** Called when the caller may not watch the account any more. */
  readonly lost: (reason: Refusal) => void;
}

/** The callers whose accounts the connections of this process watch. */
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

  /** The callers of an account. Callers with the same session are in one array, because one check serves all of them. */
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
