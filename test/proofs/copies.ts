import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** A text in a file of the service, and its replacement in a copy. */
export interface Change {
  readonly file: string;
  readonly from: string | RegExp;
  readonly to: string;
}

/** Copies the service with changes, for a proof. @returns the copy's main.ts */
export function copyService(folder: string, changes: readonly Change[]): string {
  mkdirSync(folder, { recursive: true });
  for (const name of ['src', 'package.json']) cpSync(join(root, name), join(folder, name), { recursive: true });
  for (const name of ['node_modules', '.cache']) if (existsSync(join(root, name))) symlinkSync(join(root, name), join(folder, name));
  for (const change of changes) writeFileSync(join(folder, change.file), changed(change, folder));
  return join(folder, 'src/main.ts');
}

/** The text of a changed file. @throws Error if the file has nothing to change: then this list has to follow the service */
export function changed({ file, from, to }: Change, folder = root): string {
  const text = readFileSync(join(folder, file), 'utf8');
  const found = text.replace(from, () => to);
  if (found === text) throw new Error(`${file} has no "${from}" to replace`);
  return found;
}

const AHEAD_MS = "Number(process.env['CLOCK_AHEAD_MS'] ?? 0)";

/** Redis's clock is ahead by CLOCK_AHEAD_MS, and so are the processes and the audit, which go by it. So a season ends during a proof. */
export const AHEAD: readonly Change[] = [
  {
    file: 'src/service.ts',
    from: 'export async function startService(config: Config, options: ServiceOptions): Promise<Service> {',
    to: `export async function startService(config: Config, given: ServiceOptions): Promise<Service> {
  const options = { ...given, redisAheadMs: ${AHEAD_MS} };`,
  },
  { file: 'src/consistency/wrong-types.ts', from: 'return this.#clock.now();', to: `return this.#clock.now() + ${AHEAD_MS};` },
];

const wait = (file: string, name: string, from: string, to: string): Change => ({
  file: `src/${file}.ts`,
  from: `const ${name} = ${from};`,
  to: `const ${name} = ${to};`,
});

const QUESTIONS = 'features/purchases/coins/refund-questions';

/** Short waits between the checks of purchases, so that a proof needs minutes and not hours. The lease of a purchase stays as it is. */
export const HASTY: readonly Change[] = [
  wait('apart/sandbox/settings', 'ASK_FOR_VOIDED_EVERY_MS', '60_000', '6_000'),
  // The copy asks every few seconds. Reading the refunds of a whole day each time would take most of its time.
  wait(QUESTIONS, 'OVERLAP_MS', '24 * 3_600_000', '20_000'),
  wait(QUESTIONS, 'LEASE_MS', '120_000', '12_000'),
  wait(QUESTIONS, 'RETRY_MS', '60_000', '6_000'),
  // Each request also covers this time before the last one.
  wait(QUESTIONS, 'CLOCKS_DIFFER_MS', '10 * 60_000', '10_000'),
  wait('features/purchases/core/check-schedule', 'PENDING_WAIT_MS', '10 * MINUTE_MS', '10_000'),
  // The store runs inside the service, so each kill of the service or its Redis opens the circuit.
  wait('stores/circuit', 'OPEN_MS', '10_000', '1_000'),
  wait('journal/backoff', 'FIRST_BACKOFF_MS', '60_000', '3_000'),
  wait('journal/backoff', 'LONGEST_BACKOFF_MS', '30 * 60_000', '12_000'),
];

/** Attempts of webhooks follow every few seconds, without end, so that an event arrives even after many refusals. The service waits hours. */
export const HASTY_HOOKS: readonly Change[] = [
  {
    file: 'src/features/webhooks/retry-schedule.ts',
    from: 'const dueMs = DUE_MS.find((age) => age > now - failedSince);',
    to: 'const dueMs: number | undefined = now - failedSince + DUE_MS[0]!;',
  },
  wait('features/webhooks/backlog', 'PROBE_AGAIN_MS', '300_000', '10_000'),
];
