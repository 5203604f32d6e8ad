import type { Finding } from './auditor.ts';

/** What to do about a kind of drift. */
export interface Advice {
  /** Which side is right. */
  readonly right: string;
  /** The command that repairs the drift, or the page about it. Undefined: there is none. */
  readonly mend?: string;
}

/** @returns the advice for a finding, with the names of its subject filled in */
export type AdviceOf = (finding: Finding) => Advice | undefined;
