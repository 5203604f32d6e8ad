import { checksCaller } from '../../accounts/prologues.ts';
import { defineScript } from '../../redis/script.ts';
import { ledgerEntry } from './model.ts';

/** Reads the balance, which the last ledger entry holds. Answers balance(coins, below 0 for a debt). */
const reading = {
  lua: `local last = redis.call('LINDEX', ledger, -1)
    return {'balance', last and string.match(last, '<entry: balance>') or '0'}`,
  keys: ['ledger'],
  answers: ['balance'],
  formats: [ledgerEntry],
  readOnly: true,
} as const;

export const balanceScript = defineScript({ ...reading, name: 'coins/balance', prologue: checksCaller });

/** Reads the balance for the service itself. Unlike `balanceScript`, it works for a banned account too. */
export const balanceInScript = defineScript({ ...reading, name: 'coins/balance-in' });
