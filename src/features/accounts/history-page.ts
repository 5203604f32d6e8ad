import type { Caller } from '../../server/identity/caller.ts';

/** An entry of the ledger, as `GET /v1/coins/history` shows it. */
export interface HistoryEntry {
  readonly id: string;
  readonly type: string;
  readonly coins: number;
  readonly balanceAfterCoins: number;
  readonly key: string;
  readonly at: string;
}

/** Reads a page of the caller's history, newest entry first. The cursor is '' at first; a page without `nextCursor` is the last. */
export type HistoryPage = (
  caller: Caller,
  at: { readonly cursor: string; readonly limit: number },
) => Promise<{ entries: HistoryEntry[]; nextCursor?: string }>;
