import type { Finding } from './auditor.ts';

/** What an operator should know about a finding. */
export interface Advice {
  /** Which of the contradicting parts of the data is right. */
  readonly right: string;
  /** The commands and further steps that mend the drift. Undefined: there are none. */
  readonly mend?: string;
  /** The commands in `mend`, in their order, each as one line for a shell. */
  readonly commands?: readonly string[];
}

/** @returns the advice for a finding, which names the finding's own account, key or board */
export type AdviceOf = (finding: Finding) => Advice | undefined;
