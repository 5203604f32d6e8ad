import { copyService, type Change } from './unguarded.ts';

/** Waits of purchases, and what stands for them in a copy. */
const WAITS: readonly Change[] = [
  wait('src/stores/sandbox/settings.ts', 'ASK_FOR_VOIDED_EVERY_MS', '60_000', '6_000'),
  // A service that read a store's refunds of a day every few seconds would do little else.
  wait('src/features/purchases/refund-questions.ts', 'OVERLAP_MS', '24 * 3_600_000', '20_000'),
  wait('src/features/purchases/refund-questions.ts', 'LEASE_MS', '120_000', '12_000'),
  wait('src/features/purchases/refund-questions.ts', 'RETRY_MS', '60_000', '6_000'),
  // Each question looks again at purchases of so long before.
  wait('src/features/purchases/refund-questions.ts', 'CLOCKS_DIFFER_MS', '10 * 60_000', '10_000'),
  wait('src/features/purchases/purchases.ts', 'PENDING_WAIT_MS', '10 * 60_000', '10_000'),
  // The store dies with the service and its Redis: the circuit opens at each of their deaths.
  wait('src/stores/google/circuit.ts', 'OPEN_MS', '10_000', '1_000'),
  wait('src/journal/backoff.ts', 'FIRST_BACKOFF_MS', '60_000', '3_000'),
  wait('src/journal/backoff.ts', 'LONGEST_BACKOFF_MS', '30 * 60_000', '12_000'),
];

/** Attempts of webhooks: every few seconds, without end, so that an event comes through that an endpoint refused many times. */
const HOOK_WAITS: readonly Change[] = [
  {
    file: 'src/features/webhooks/schedule.ts',
    from: 'const dueMs = DUE_MS.find((each) => each > now - failedSince);',
    to: 'const dueMs: number | undefined = now - failedSince + DUE_MS[0]!;',
  },
  wait('src/features/webhooks/backlog.ts', 'PROBE_AGAIN_MS', '300_000', '10_000'),
];

/** How often the copy asks the store for refunds. */
export const POLL_MS = 6000;

function wait(file: string, name: string, from: string, to: string): Change {
  return { file, from: `const ${name} = ${from};`, to: `const ${name} = ${to};` };
}

/**
 * Copies the service with short waits between its looks at purchases, so that a proof sees in minutes what takes a service an hour.
 * How long a process may work on a purchase stays.
 * @returns the copy's main.ts
 */
export function copyHasty(folder: string): string {
  return copyService(folder, WAITS);
}

/** Copies the service with short waits between attempts to deliver to a webhook: those of the service take hours. @returns the copy's main.ts */
export function copyHastyHooks(folder: string): string {
  return copyService(folder, HOOK_WAITS);
}
