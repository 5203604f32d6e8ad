import type { Auditor } from '../../consistency/auditor.ts';

/** Declares the key of the index of given names, and checks its type. */
export const nameAuditor: Auditor = {
  keys: [{ pattern: /^\{given-names\}$/, type: 'hash', life: 'lasts' }],
};
