import { copyService, type Change } from './unguarded.ts';

/** Waits of purchases, and their replacements in the copy. */
const WAITS: readonly Change[] = [
  wait('src/stores/sandbox/settings.ts', 'ASK_FOR_VOIDED_EVERY_MS', '60_000', '6_000'),
  // The copy asks every few seconds. Reading the refunds of a whole day each time would take most of its time.
  wait('src/features/purchases/refund-questions.ts', 'OVERLAP_MS', '24 * 3_600_000', '20_000'),
  wait('src/features/purchases/refund-questions.ts', 'LEASE_MS', '120_000', '12_000'),
  wait('src/features/purchases/refund-questions.ts', 'RETRY_MS', '60_000', '6_000'),
  // Each request also covers this time before the last one.
  wait('src/features/purchases/refund-questions.ts', 'CLOCKS_DIFFER_MS', '10 * 60_000', '10_000'),
  wait('src/features/purchases/purchases.ts', 'PENDING_WAIT_MS', '10 * 60_000', '10_000'),
  // The store runs inside the service, so each kill of the service or its Redis opens the circuit.
  wait('src/stores/google/circuit.ts', 'OPEN_MS', '10_000', '1_000'),
  wait('src/journal/backoff.ts', 'FIRST_BACKOFF_MS', '60_000', '3_000'),
  wait('src/journal/backoff.ts', 'LONGEST_BACKOFF_MS', '30 * 60_000', '12_000'),
];

/** Attempts of webhooks: every few seconds, without end, so that an event arrives even after many refusals. */
const HOOK_WAITS: readonly Change[] = [
  {
    file: 'src/features/webhooks/schedule.ts',
    from: 'const dueMs = DUE_MS.find((each) => each > now - failedSince);',
    to: 'const dueMs: number | undefined = now - failedSince + DUE_MS[0]!;',
  },
  wait('src/features/webhooks/backlog.ts', 'PROBE_AGAIN_MS', '300_000', '10_000'),
];

/** The interval at which the copy asks the store for refunds. */
export const POLL_MS = 6000;

function wait(file: string, name: string, from: string, to: string): Change {
  return { file, from: `const ${name} = ${from};`, to: `const ${name} = ${to};` };
}

/**
 * Copies the service with short waits between its checks of purchases, so that a proof needs minutes instead of hours. The lease of a
 * purchase stays as long as in the service.
 * @param mistake that the proof has to find
 * @returns the copy's main.ts
 */
export function copyHasty(folder: string, mistake: readonly Change[] = []): string {
  return copyService(folder, [...WAITS, ...mistake]);
}

/** Copies the service with short waits between attempts of webhooks. The service waits up to hours. @returns the copy's main.ts */
export function copyHastyHooks(folder: string): string {
  return copyService(folder, HOOK_WAITS);
}
