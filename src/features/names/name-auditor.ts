import type { Auditor } from '../../consistency/auditor.ts';

/** The index of given names follows the accounts: the account is the truth. */
export const nameAuditor: Auditor = {
  keys: [{ pattern: /^\{given-names\}$/, type: 'hash', life: 'lasts' }],
};
