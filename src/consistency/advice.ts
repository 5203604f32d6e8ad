import type { Finding } from './auditor.ts';

/** What to do about a kind of drift. */
export interface Advice {
  /** Which side is right. */
  readonly right: string;
  /** The commands that put it right, and what else to do. Undefined: nothing. */
  readonly mend?: string;
  /** The commands in `mend` by themselves, each as a shell takes it, in their order. */
  readonly commands?: readonly string[];
}

/** @returns the advice for a finding, with the names of its subject filled in */
export type AdviceOf = (finding: Finding) => Advice | undefined;
