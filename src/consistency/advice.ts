import type { Finding } from './auditor.ts';

/** The advice about a kind of drift. */
export interface Advice {
  /** The side that is right. */
  readonly right: string;
  /** The commands that put it right, and further steps. Undefined: none. */
  readonly mend?: string;
  /** The commands in `mend` by themselves, each as a shell takes it, in their order. */
  readonly commands?: readonly string[];
}

/** @returns the advice for a finding, with the names of its subject filled in */
export type AdviceOf = (finding: Finding) => Advice | undefined;
