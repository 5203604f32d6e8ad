import type { Scenario } from '../scenario.ts';
import { submit, top } from './boards.ts';
import { balance, creditInstall, creditReplay, creditSession, mixedDay } from './coins.ts';
import { health } from './health.ts';
import { ledgerMemory } from './ledger-memory.ts';

/** The table of contents, in the order in which they run. */
export const scenarios: readonly Scenario[] = [
  health,
  top,
  submit,
  balance,
  creditInstall,
  creditSession,
  creditReplay,
  mixedDay,
  ledgerMemory,
];
