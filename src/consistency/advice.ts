import type { Finding } from './auditor.ts';

/** What to do about a kind of drift. */
export interface Advice {
  /** Which side is right. */
  readonly right: string;
  /** The command that mends it, or where to read on. Undefined: there is none. */
  readonly mend?: string;
}

/** @returns the advice for a finding, with its own names */
export type AdviceOf = (finding: Finding) => Advice | undefined;
