import { accountPatterns } from '../../accounts/account-auditor.ts';
import { standingKey } from '../../accounts/account-keys.ts';
import { parseStanding } from '../../accounts/standing.ts';
import type { Auditor } from '../../consistency/auditor.ts';
import type { NumbersCheck } from './numbers-check.ts';

const isWhole = (text: string): boolean => /^-?\d{1,16}$/.test(text);
const subject = (_: readonly string[], name: string): string => `day ${name}`;

/** Checks the keys of the numbers of days, and compares the coins of each day with the ledgers (`NumbersCheck`). */
export function numbersAuditor(check: NumbersCheck): Auditor {
  return {
    keys: [
      {
        pattern: /^\{[0-9a-z]+\}counters:(\d+)$/,
        type: 'hash',
        life: 'lasts',
        texts: { what: 'counters', isRight: isWhole, subject },
      },
      { pattern: /^\{[0-9a-z]+\}counters:days$/, type: 'hash', life: 'lasts', texts: { what: 'days', isRight: isWhole, subject } },
      { pattern: /^\{numbers\}active$/, type: 'hash', life: 'lasts', texts: { what: 'active accounts', isRight: isWhole, subject } },
      { pattern: /^\{numbers\}active:\d+$/, type: 'string', life: 'ends' },
      { pattern: /^\{numbers\}refusals:\d+$/, type: 'hash', life: 'ends' },
      {
        pattern: accountPatterns.standing,
        async check([id], probe) {
          const { moving, deleted } = parseStanding((await probe.ask('GET', standingKey(id!))) as string | null);
          if (moving !== undefined || deleted?.isClosed === false) check.disturb();
          return [];
        },
      },
    ],
    last: (probe) => check.run(probe),
  };
}
