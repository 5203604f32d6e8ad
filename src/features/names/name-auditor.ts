import type { Auditor } from '../../consistency/auditor.ts';

/** Checks that the index of given names agrees with the accounts. The account is the truth. */
export const nameAuditor: Auditor = {
  keys: [{ pattern: /^\{given-names\}$/, type: 'hash', life: 'lasts' }],
};
