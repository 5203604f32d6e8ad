import type { Scenario } from '../scenario.ts';

/** The table of contents, in the order in which they run. */
export const scenarios: readonly Scenario[] = [];
